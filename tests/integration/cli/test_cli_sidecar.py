"""`ankka sidecar`: the options, and refusals that name who is in the way."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.integration.cli.programs import ankka, started_sidecar


def test_it_runs_until_it_is_told_to_stop(tmp_path: Path) -> None:
    sidecar, url = started_sidecar(tmp_path, "--journal", "sqlite:///journal.db", "--drain", "1s")
    with sidecar:
        assert ankka("list", "--sidecar", url, "--json", cwd=tmp_path).stdout == "[]\n"
        sidecar.send(signal.SIGTERM)
        assert sidecar.ends() == 0


def test_a_journal_that_is_open_names_its_holder(tmp_path: Path) -> None:
    sidecar, url = started_sidecar(tmp_path, "--journal", "sqlite:///journal.db")
    with sidecar:
        refused = ankka("sidecar", "--http", "127.0.0.1:0", cwd=tmp_path, ANKKA_JOURNAL="sqlite:///journal.db")
        assert refused.returncode == 1
        assert f"pid {sidecar.process.pid}" in refused.stderr
        assert f"ANKKA_SIDECAR={url}" in refused.stderr


def test_a_port_that_a_sidecar_has_names_it(tmp_path: Path) -> None:
    sidecar, url = started_sidecar(tmp_path, "--journal", "sqlite:///journal.db")
    with sidecar:
        refused = ankka("sidecar", "--journal", "sqlite:///other.db", "--http", url.removeprefix("http://"), cwd=tmp_path)
        assert refused.returncode == 1
        assert f"another sidecar has it (pid {sidecar.process.pid}, {url}); to use that one set ANKKA_SIDECAR={url}" in refused.stderr


def test_a_port_that_another_program_has_names_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        holder = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(taken.fileno(),)
        )  # it has the socket too: only it is left when this one closes it
        taken.close()
        with holder:
            refused = ankka("sidecar", "--journal", "sqlite:///journal.db", "--http", f"127.0.0.1:{port}", cwd=tmp_path)
            holder.kill()
        assert refused.returncode == 1
        assert f"another program has it (pid {holder.pid})" in refused.stderr


def test_bad_settings_are_bad_usage_all_at_once(tmp_path: Path) -> None:
    refused = ankka("sidecar", "--drain", "soon", "--http", "9000", cwd=tmp_path, ANKKA_SHARDS="none")
    assert refused.returncode == 2
    for option in ("--drain", "--shards", "--journal", "--http"):
        assert option in refused.stderr
    assert ankka("sidecar", "--unheard-of", cwd=tmp_path).returncode == 2


def test_without_the_runtime_the_extra_is_named(tmp_path: Path) -> None:
    # What lies in the folder of a package that is not there: the same import error as without the extra.
    code = (
        "import sys, importlib.util\nfind = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name in ('fastapi', 'uvicorn') else find(name, *rest)\n"
        "import ankka.cli\nsys.exit(ankka.cli.main(['sidecar', '--journal', 'sqlite:///j.db']))"
    )
    refused = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "ankka-engine[sidecar]" in refused.stderr
    assert "fastapi, uvicorn" in refused.stderr


def test_help_lists_the_options(tmp_path: Path) -> None:
    shown = ankka("sidecar", "--help", cwd=tmp_path)
    assert shown.returncode == 0
    assert "--attach-wait" in shown.stdout
    assert "ANKKA_HANDLER_TIMEOUT" in shown.stdout
