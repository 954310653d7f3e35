"""The transfer sample as its README runs it: uvicorn, curl, and kill -9 of everything while money is on its way."""

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import httpx
import pytest

from tests.docs.markdown import ROOT, blocks_of
from tests.integration.support.programs import Program, Programs, Sidecar, wait_for

README = ROOT / "samples" / "transfer" / "README.md"
TRANSFERS = 40
WALLETS = ("w0", "w1", "w2", "w3")


def serve(programs: Programs, sidecar: Sidecar | None = None) -> tuple[Program, str]:
    """`uvicorn samples.transfer.app:app` on a free port, and where it listens; without a sidecar it starts the folder's own."""
    environment = {"ANKKA_HTTP": "127.0.0.1:0", "PYTHONWARNINGS": "error"} if sidecar is None else {"ANKKA_SIDECAR": sidecar.url}
    program = programs.run("-m", "uvicorn", "samples.transfer.app:app", "--port", "0", "--no-access-log", environment=environment)
    return program, program.wait_for_output(r"Uvicorn running on (http://[\d.:]+)")[1]


@contextmanager
def calling(url: str) -> Generator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=30, trust_env=False) as http:
        yield http


def said(command: str) -> str:
    return subprocess.run([*shlex.split(command), "-sS"], capture_output=True, text=True, timeout=30, check=True).stdout


def as_shown(command: str, pattern: str) -> bool:
    return re.fullmatch(pattern, said(command)) is not None


def start(http: httpx.Client, number: int) -> None:
    """One transfer; every eighth goes to a wallet that does not exist."""
    source, target = WALLETS[number % 4], WALLETS[number // 4 % 4] if number % 8 else "nobody"
    http.post(f"/transfers/t{number}", json={"from_wallet": source, "to_wallet": target, "amount": number + 1}).raise_for_status()


def timeline(sidecar: Sidecar, number: int) -> list[str]:
    items = sidecar.http.get(f"/v1/transfer/t{number}/ankka:journal").raise_for_status().json()["items"]
    return [item["type"] for item in items]


def has_ended(http: httpx.Client, number: int) -> bool:
    lifecycle = http.get(f"/transfers/t{number}/lifecycle").json()
    assert lifecycle["status"] != "Failed", lifecycle
    return bool(lifecycle["status"] == "Completed")


@pytest.mark.slow
def test_the_readmes_commands_answer_as_it_shows(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("ANKKA_")]:
        monkeypatch.delenv(name)
    program, url = serve(programs)
    lines = [line for block in blocks_of(README, "console") if "curl" in block.text for line in block.text.splitlines()]
    for command, shown in zip(lines[::2], lines[1::2], strict=True):
        assert command.startswith("$ curl "), command
        typed = command.removeprefix("$ ").replace("http://127.0.0.1:8000", url)
        pattern = ".*".join(re.escape(part) for part in shown.split("…"))
        if " -X " in typed:
            assert re.fullmatch(pattern, answer := said(typed)), f"{command}\nanswers {answer}\nnot      {shown}"
        else:  # a reader types slower than a transfer runs
            wait_for(partial(as_shown, typed, pattern), f"{command} answers {shown}")
    assert program.stop() == -signal.SIGTERM, "uvicorn shuts down, then ends by the signal it got"
    assert not (programs.folder / ".ankka" / "sidecar.json").exists(), "the application took its sidecar with it"


@pytest.mark.slow
@pytest.mark.chaos
def test_the_balances_are_right_after_kill_9_of_everything_in_the_middle(programs: Programs) -> None:
    # W16, I3
    sidecar = programs.sidecar()
    program, url = serve(programs, sidecar)
    with calling(url) as http:
        for wallet in WALLETS:
            http.post(f"/wallets/{wallet}").raise_for_status()
            http.post(f"/wallets/{wallet}/deposits", json={"amount": 1_000}).raise_for_status()
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(partial(start, http), range(TRANSFERS)))
    sidecar.kill()
    program.kill()
    sidecar = programs.again(sidecar)
    program, url = serve(programs, sidecar)
    expected = dict.fromkeys(WALLETS, 1_000)
    with calling(url) as http:
        for number in range(TRANSFERS):
            wait_for(partial(has_ended, http, number), f"the end of t{number}")
            state = http.get(f"/transfers/t{number}").json()
            transfer = state["transfer"]
            assert state["status"] == ("completed" if number % 8 else "compensated")
            if number % 8:
                expected[transfer["from_wallet"]] -= transfer["amount"]
                expected[transfer["to_wallet"]] += transfer["amount"]
        assert {wallet: http.get(f"/wallets/{wallet}").json()["balance"] for wallet in WALLETS} == expected
    assert sum(expected.values()) == 4_000
    assert any("interrupted" in timeline(sidecar, number) for number in range(TRANSFERS)), "nothing was killed in the middle"
