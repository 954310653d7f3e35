"""The demonstration shows what it claims: real processes, a real sidecar, `kill -9` in the middle of a step."""

import os
import re

import pytest

from samples.checkout.demo import main


@pytest.mark.slow
@pytest.mark.chaos
def test_the_demo_ends_by_itself_and_shows_each_case(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("ANKKA_")]:
        monkeypatch.delenv(name)
    code = main()
    said = capfd.readouterr()
    assert (code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert "c1     charged" in lines
    assert "c2     declined, retried once, compensated" in lines
    assert re.search(r"^c3     paused, resumed by its deadline after \d\.\d s, charged$", said.out, re.MULTILINE)
    killed = r"^slow-1 killed in step charge, resumed at charge \d+\.\d s later \(reserve ran once, no retry used\), charged$"
    assert re.search(killed, said.out, re.MULTILINE)
    timeline = [line.split()[3] for line in lines[lines.index("The journal of slow-1:") + 1 :] if line.startswith("  ")]
    assert timeline == ["started", "transitioned", "interrupted", "ended"]
    assert lines[-1] == "Ctrl-C: the process and its sidecar have ended."
