"""W5, I12: a sync step that ignores its cancellation. No call of it counts after it was replaced."""

from typing import Any

from tests.integration.support.programs import Programs, Sidecar, wait_for

MODULE = "tests.integration.process_edges.replaced"


def lines(programs: Programs) -> list[str]:
    ledger = programs.folder / "ledger.txt"
    return ledger.read_text().splitlines() if ledger.exists() else []


def journal(sidecar: Sidecar, path: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = sidecar.http.get(f"/v1/{path}/ankka:journal").json()["items"]
    return items


def test_i12_a_late_call_is_refused_and_the_late_result_dropped(programs: Programs) -> None:
    sidecar = programs.sidecar("--cancel-grace", "300ms")
    programs.process(MODULE, sidecar)
    assert sidecar.http.post("/v1/stubborn/s/start", json="late").status_code == 204
    assert sidecar.http.get("/v1/stubborn/s/ankka:await").json() == "second"
    # Its time is over, so the process refuses the call before it is sent: it is certainly not done.
    wait_for(lambda: "late refused UNAVAILABLE" in lines(programs), "the first attempt's late call is refused")
    assert [item["type"] for item in journal(sidecar, "stubborn/s")] == ["started", "retried", "ended"]
    assert journal(sidecar, "tray/s") == []


def test_i12_a_call_that_waits_in_the_mailbox_is_withdrawn(programs: Programs) -> None:
    sidecar = programs.sidecar("--cancel-grace", "300ms")
    programs.process(MODULE, sidecar)
    slow = programs.run("-m", "tests.integration.process_edges.ask", sidecar.url, "tray", "w", "slowly", "slow")
    wait_for(lambda: "slowly began" in lines(programs), "the tray is busy")
    assert sidecar.http.post("/v1/stubborn/w/start", json="waits").status_code == 204
    assert sidecar.http.get("/v1/stubborn/w/ankka:await").json() == "second"
    assert slow.ended() == 0
    wait_for(lambda: any(line.startswith("waited ") for line in lines(programs)), "the waiting call has its answer")
    assert "waited done" not in lines(programs)
    assert [item["detail"]["event"] for item in journal(sidecar, "tray/w")] == [{"what": "slow"}]
