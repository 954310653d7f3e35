"""The scenarios: each does something to a job, and ends where nothing goes on by itself."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.integration.same_history.jobs import CarefulWorkflow, HurriedWorkflow, JobWorkflow
from tests.integration.same_history.stages import Stage


@dataclass(frozen=True)
class Scenario:
    """A name, what is played, on which workflow, and the types of entries it leads to."""

    name: str
    play: Callable[[Stage], None]
    types: str
    workflow: type[JobWorkflow] = JobWorkflow


def runs(at: str) -> Callable[[Stage], None]:
    """Start at a step, wait for the end."""

    def play(stage: Stage) -> None:
        assert stage.call("start", at) is None
        stage.until_over()

    return play


def refused(stage: Stage) -> None:
    assert stage.call("start", "nowhere") == "CONFLICT"


def updated_before_the_start(stage: Stage) -> None:
    stage.call("note", "early")
    runs("end")(stage)


def redirected_while_paused(stage: Stage) -> None:
    stage.call("start", "waits")
    stage.until_paused()
    stage.call("note", "approved")
    assert stage.call("go", "end") is None
    stage.until_over()


def timed_out_while_paused(stage: Stage) -> None:
    stage.call("start", "waits")
    stage.until_out_of_time()


def second_run(stage: Stage) -> None:
    runs("flaky")(stage)
    runs("broken")(stage)


def updated_after_the_end(stage: Stage) -> None:
    runs("refuses")(stage)
    stage.call("note", "late")


def merged(stage: Stage) -> None:
    stage.call("start", "gated")
    stage.until_gated()
    stage.call("note", "one")
    stage.call("note", "two")
    stage.open()
    stage.until_over()


def merged_where_both_changed(stage: Stage) -> None:
    stage.call("start", "gated")
    stage.until_gated()
    stage.call("set", "mine")
    stage.open()
    stage.until_over()


def redirected_while_a_step_runs(stage: Stage) -> None:
    stage.call("start", "gated")
    stage.until_gated()
    stage.call("go", "end")
    stage.until_over()


def redirected_to_the_same_step(stage: Stage) -> None:
    stage.call("start", "gated")
    stage.until_gated()
    stage.call("go", "gated")
    stage.open()
    stage.until_over()


def deleted(stage: Stage) -> None:
    runs("end")(stage)
    assert stage.call("delete") is None


def deleted_while_a_step_runs_and_again(stage: Stage) -> None:
    stage.call("start", "gated")
    stage.until_gated()
    stage.call("delete")
    stage.call("start", "flaky")
    stage.until_over()


def deleted_before_it_lived(stage: Stage) -> None:
    assert stage.call("delete") is None


def keyed(stage: Stage) -> None:
    assert stage.call("note", "gift", key="k") is None
    assert stage.call("note", "gift", key="k") is None
    assert stage.call("note", "other", key="k") == "CONFLICT"
    assert stage.call("set", "gift", key="k") == "CONFLICT"
    assert stage.call("start", "nowhere", key="s") == "CONFLICT"
    assert stage.call("start", "end", key="s") is None
    stage.until_over()


SCENARIOS = (
    Scenario("success", runs("end"), "started ended"),
    Scenario("a thread, then steps with inputs", runs("in-thread"), "started transitioned transitioned transitioned transitioned ended"),
    Scenario("W6 retries with back-off", runs("flaky"), "started retried retried transitioned ended"),
    Scenario("W6 failover", runs("broken"), "started retried failed-over ended"),
    Scenario("W6 a failover that fails too", runs("doomed"), "started failed-over failed"),
    Scenario("W6 no recovery", runs("fatal"), "started failed"),
    Scenario("W6 not_on", runs("declined"), "started failed-over ended"),
    Scenario("W6 a step's timeout", runs("slow"), "started retried failed-over ended"),
    Scenario("W6 a call that hangs", runs("hangs"), "started retried failed-over ended"),
    Scenario("W7 then_fail", runs("refuses"), "started failed"),
    Scenario("W8 workflow timeout while a step runs", runs("slow"), "started failed", HurriedWorkflow),
    Scenario("W8 workflow timeout while paused", timed_out_while_paused, "started paused failed", HurriedWorkflow),
    Scenario("W9 a pause with a deadline", runs("pauses"), "started paused resumed transitioned transitioned ended"),
    Scenario("W9 a pause that leads nowhere", runs("pauses-for-nothing"), "started paused failed"),
    Scenario("W9 redirected while paused", redirected_while_paused, "started paused updated transitioned ended"),
    Scenario("W11 once", runs("once"), "started sent transitioned ended"),
    Scenario("W11 once, with a retry", runs("once-flaky"), "started sent retried sent transitioned ended"),
    Scenario("W15 commands with a key", keyed, "updated started ended"),
    Scenario("W16 calls of a retried step", runs("calls"), "started retried retried transitioned ended"),
    Scenario("W16 a call that is not repeated", runs("wavers"), "started retried transitioned ended"),
    Scenario("W2 a refused command", refused, ""),
    Scenario("W1 an update before the start", updated_before_the_start, "updated started ended"),
    Scenario("W1 a second run", second_run, "started retried retried transitioned ended started retried failed-over ended"),
    Scenario("W1 an update after the end", updated_after_the_end, "started failed updated"),
    Scenario("W14 merged", merged, "started updated updated ended"),
    Scenario("W14 merged where both changed", merged_where_both_changed, "started updated ended"),
    Scenario("W14 a merge that raises", merged, "started updated updated failed-over ended", CarefulWorkflow),
    Scenario("W5 redirected while a step runs", redirected_while_a_step_runs, "started transitioned ended"),
    Scenario("W5 redirected to the step that runs", redirected_to_the_same_step, "started transitioned ended"),
    Scenario("W10 deleted", deleted, "deleted"),
    Scenario("W10 deleted before it lived", deleted_before_it_lived, ""),
    Scenario("W10 deleted while a step runs, and again", deleted_while_a_step_runs_and_again, "started retried retried transitioned ended"),
)
