"""W12: steps and components that a version has not; nothing is failed by a deploy, and it goes on when somebody has them."""

import pytest

from tests.integration.versions.deploying import Deploying


def test_a_renamed_step_is_found_by_its_alias(deploying: Deploying) -> None:
    # F70: paused before `reserve`, deployed with `hold`
    v1 = deploying.attach("v1")
    deploying.post("order/o/start", "rest-a-little")
    deploying.until("o", status="Paused")
    deploying.leave(v1)
    deploying.attach("v2")
    assert deploying.get("order/o/ankka:await") == {"item": "book, held by v2", "title": "untitled", "gift": False}
    assert deploying.types("o") == ["started", "paused", "resumed", "ended"]


def test_a_pending_step_that_nobody_attached_has_is_running_and_says_what_it_waits_for(deploying: Deploying) -> None:
    # F64 F70: without an alias
    v1 = deploying.attach("v1")
    deploying.post("order/o/start", "rest")
    deploying.until("o", status="Paused")
    deploying.post("order/o/go", "gated")
    v1.kill()
    (deploying.folder / "gate").touch()
    v2 = deploying.attach("v2")
    parked = deploying.until("o", waitingFor="a process that runs step 'gated' of 'order'")
    assert (parked["status"], parked["pendingStep"], parked["failure"]) == ("Running", "gated", None)
    assert deploying.get("order/o/state")["item"] == "book"
    deploying.leave(v2)
    deploying.attach("v1")
    assert deploying.get("order/o/ankka:await")["item"] == "book, legacy of v1"


@pytest.mark.parametrize("action", ["cancel", "delete"])
def test_a_parked_instance_can_be_cancelled_and_deleted(deploying: Deploying, action: str) -> None:
    # F48 F63
    v1 = deploying.attach("v1")
    deploying.post("order/o/start", "gated")
    deploying.until("o", pendingStep="gated", waitingFor=None)
    v1.kill()
    deploying.attach("v2")
    deploying.until("o", waitingFor="a process that runs step 'gated' of 'order'")
    if action == "cancel":
        deploying.post("order/o/ankka:cancel")
        deploying.until("o", status="Failed", failure="cancelled")
    else:
        assert deploying.sidecar.http.delete("/v1/order/o").status_code == 204
        deploying.until("o", status="NotStarted")
    deploying.post("order/o/start", "hold")
    assert deploying.get("order/o/ankka:await")["item"] == "book, held by v2"
    (deploying.folder / "gate").touch()
    deploying.attach("v1")
    assert deploying.get("order/o/state")["item"] == "book, held by v2"


def test_it_goes_on_while_the_newer_version_stays_attached(deploying: Deploying) -> None:
    # W12: the newer one has not written the state, so the older one may have it
    v1 = deploying.attach("v1")
    deploying.post("order/o/start", "gated")
    deploying.until("o", pendingStep="gated", waitingFor=None)
    v1.kill()
    deploying.attach("v2")
    deploying.until("o", waitingFor="a process that runs step 'gated' of 'order'")
    (deploying.folder / "gate").touch()
    deploying.attach("v1")
    assert deploying.get("order/o/ankka:await")["item"] == "book, legacy of v1"


def test_a_step_that_only_an_older_version_has_waits_while_the_state_is_a_newer_ones(deploying: Deploying) -> None:
    v1 = deploying.attach("v1")
    deploying.post("order/o/start", "gated")
    deploying.until("o", pendingStep="gated", waitingFor=None)
    v2 = deploying.attach("v2")
    assert deploying.post("order/o/wrap") == "v2"  # while v1 runs the step
    (deploying.folder / "gate").touch()
    parked = deploying.until("o", pendingStep="legacy")
    assert parked["status"] == "Running"
    assert parked["waitingFor"].startswith("a process that runs step 'legacy' of 'order'")
    assert deploying.get("order/o/version") == "v2"
    deploying.leave(v2)
    assert deploying.get("order/o/ankka:await")["item"] == "book, legacy of v1"
    assert v1.running.poll() is None


def test_a_component_that_nobody_attached_has_waits_and_is_not_lost(deploying: Deploying) -> None:
    # W12, W13
    v1 = deploying.attach("v1")
    assert deploying.post("extra/e/add", 2) == 2
    deploying.leave(v1)
    v2 = deploying.attach("v2")
    waiting = deploying.sidecar.http.post("/v1/extra/e/add", json=3)
    assert (waiting.status_code, waiting.json()["code"]) == (503, "UNAVAILABLE")
    assert "no process that runs 'extra' is attached" in waiting.json()["detail"]
    assert deploying.get("extra/e/ankka:lifecycle")["sequence"] == 1
    deploying.attach("v1")
    assert deploying.post("extra/e/add", 3) == 5
    assert v2.running.poll() is None


def test_a_rolling_deploy_loses_no_run(deploying: Deploying) -> None:
    v1 = deploying.attach("v1")
    names = [f"o{number}" for number in range(20)]
    for name in names:
        deploying.post(f"order/{name}/start", "rest-a-little" if name[-1] in "02468" else "rest")
    v2 = deploying.attach("v2")
    deploying.leave(v1)
    for name in names:
        if name[-1] not in "02468":
            deploying.until(name, status="Paused")
            deploying.post(f"order/{name}/go", "reserve")
        assert deploying.get(f"order/{name}/ankka:await")["item"] in ("book, held by v2", "book, reserved by v1")
    assert v2.running.poll() is None
