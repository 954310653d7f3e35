"""F93: the kit, a sidecar over a journal in memory and one over SQLite give the same history for the same scenario."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from ankka.codec import DONE
from ankka.testkit import EventSourcedTestKit
from tests.integration.same_history.jobs import TallyEntity
from tests.integration.same_history.scenarios import SCENARIOS, Scenario
from tests.integration.same_history.stages import Entry, KitStage, RealStage, as_json, entries_of
from tests.integration.support.fixtures import started
from tests.integration.support.programs import Sidecar, wait_for

SERVICE = "tests.integration.same_history.jobs"


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def sidecar(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    """A sidecar over that journal, with the service attached; all scenarios share it, each with an instance of its own."""
    for programs in started(tmp_path_factory.mktemp("same-history")):
        running = programs.sidecar("--cancel-grace", "300ms", journal="memory:" if request.param == "memory" else None)
        programs.process(SERVICE, running)
        yield running


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_f93_the_kit_and_the_engine_have_the_same_history(scenario: Scenario, sidecar: Sidecar) -> None:
    kit = KitStage(scenario.workflow, scenario.name)
    scenario.play(kit)
    assert " ".join(entry.type for entry in kit.timeline()) == scenario.types
    real = RealStage(sidecar, scenario.workflow, scenario.name)
    scenario.play(real)
    assert real.timeline() == kit.timeline()
    assert real.end() == kit.end()


def test_f93_entities_have_the_same_history(sidecar: Sidecar) -> None:
    kit = EventSourcedTestKit.of(TallyEntity, "t1")
    http = sidecar.http

    def both(handler: str, given: object = None, key: str | None = None) -> None:
        in_kit = kit.call(handler, given, idempotency_key=key)
        headers = {"Idempotency-Key": key} if key else {}
        answer = http.post(f"/v1/tally/t1/{handler}", headers=headers, **({} if given is None else {"json": given}))  # type: ignore[arg-type]
        if in_kit.error is not None:
            assert answer.json()["code"] == in_kit.error.code
        elif in_kit.reply == DONE:
            assert answer.status_code == 204
        else:
            assert answer.json() == in_kit.reply
        assert real() == entries_of(as_json(kit.journal))
        assert http.get("/v1/tally/t1/total").json() == kit.call("total").reply

    def real() -> list[Entry]:
        return entries_of(http.get("/v1/tally/t1/ankka:journal").raise_for_status().json()["items"])

    both("add", [1])
    both("add", [2, 3], "k")
    both("add", [2, 3], "k")
    both("add", [])
    both("add", [0])
    both("remove")
    both("remove")
    both("add", [4])
    assert kit.call("lend", 5).reply == http.post("/v1/tally/t1/lend", json=5).json()
    kit.advance(timedelta(seconds=1))
    wait_for(lambda: http.get("/v1/tally/t1/ankka:lifecycle").json()["status"] == "Empty", "the expiry of tally/t1")
    assert real() == entries_of(as_json(kit.journal)) == [Entry("deleted", None, None, None, {"by": "expired"})]
    both("add", [6])
