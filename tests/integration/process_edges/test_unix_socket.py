"""A process attached to a real sidecar over a unix socket, and a client beside it."""

from datetime import timedelta
from pathlib import Path

from ankka import ComponentClient
from tests.integration.process_edges.test_stopping import SERVICE
from tests.integration.support.programs import Programs


async def test_a_workflow_runs_over_a_unix_socket(programs: Programs, tmp_path: Path) -> None:
    path = tmp_path / "ankka.sock"
    journal = f"sqlite:///{tmp_path / 'journal.db'}"
    sidecar = programs.run("-m", "ankka_sidecar", "--journal", journal, "--http", f"unix://{path}")
    sidecar.wait_for_output("listening at")
    process = programs.run("-m", SERVICE, environment={"ANKKA_SIDECAR": f"unix://{path}"})
    process.wait_for_output(f"ankka  unix://{path}")
    async with ComponentClient(f"unix://{path}") as client:
        edge = client.for_workflow("edge", "e1")
        await edge.call("start").invoke(("sleep", 0.0))
        assert await edge.await_end(timedelta(seconds=10), reply=list[str]) == ["sleep 1"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert process.stop() == 0
    assert sidecar.stop() == 0
    assert not path.exists()
