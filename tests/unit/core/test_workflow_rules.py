"""The rules of a workflow by themselves: `evolve`, `decide_…`, `due` and `deadline` (W1, W6-W11, I7-I10)."""

import pytest
from ankka_sidecar.core import workflow as rules
from ankka_sidecar.core.durations import LAST
from ankka_sidecar.core.events import (
    Deleted,
    Ended,
    Failed,
    FailedOver,
    Interrupted,
    Paused,
    Resumed,
    Retried,
    Started,
    Transitioned,
    Updated,
    WorkflowEvent,
)
from ankka_sidecar.core.records import Failure, Pause, Pending, WorkflowRecord
from ankka_sidecar.core.retry import delay
from ankka_sidecar.core.workflow import Fault

from ankka.protocol.attempt import Token
from ankka.protocol.errors import ErrorCode
from ankka.protocol.frames import StepDone, WorkflowCommandDone
from ankka.protocol.lifecycle import LifecycleStatus
from ankka.protocol.payload import StepTarget
from ankka.protocol.spec import BackoffSpec, RecoverySpec
from tests.unit.core.machine import END, S, fail, goto, pause, value

A, B, C = StepTarget("a"), StepTarget("b", value("1")), StepTarget("c")
TOKEN = Token("checkout", "c1", 10, 1, 1, 1)
STARTED = Started(10, 1, A, "go", until=10 + 60 * S, budget=60 * S, changed=True)


def after(*events: WorkflowEvent) -> WorkflowRecord:
    record = WorkflowRecord()
    for event in events:
        record = rules.evolve(record, event)
    return record


def evolved(record: WorkflowRecord, event: WorkflowEvent | None) -> WorkflowRecord:
    assert event is not None
    return rules.evolve(record, event)


def command(transition: StepTarget | None = None, state: str | None = None, *, delete: bool = False) -> WorkflowCommandDone:
    return WorkflowCommandDone(0, value("ok"), None if state is None else value(state), transition, delete)


def test_w1_a_start_begins_a_life_and_journals_its_instant_and_its_budget() -> None:
    event = rules.decide_command(WorkflowRecord(), command(A, "s"), "go", 60 * S, "trace", 10)
    assert event == Started(10, 1, A, "go", 10 + 60 * S, 60 * S, changed=True, trace="trace")
    assert after(STARTED) == WorkflowRecord(
        generation=10, sequence=1, status=LifecycleStatus.RUNNING, run=1, started_at=10, updated_at=10, until=10 + 60 * S, budget=60 * S,
        pending=Pending(A, 1, 10), state_sequence=1,
    )  # fmt: skip


def test_w1_a_transition_of_a_live_run_redirects_it_and_keeps_its_budget() -> None:
    record = after(STARTED, Retried(20, "a", 2, "no"))
    event = rules.decide_command(record, command(B), "go", 5 * S, None, 30)
    assert event == Transitioned(30, B, "go", redirected=True)
    redirected = evolved(record, event)
    assert redirected.pending == Pending(B, 3, 30)
    assert (redirected.until, redirected.run, redirected.started_at, redirected.retries) == (record.until, 1, 10, {"a": 1})


@pytest.mark.parametrize("end", [Ended(20, "a"), Failed(20, "INTERNAL", "no", "a")])
def test_w1_a_transition_out_of_an_end_starts_a_run_with_everything_anew(end: WorkflowEvent) -> None:
    record = after(STARTED, Retried(15, "a", 2, "no"), end)
    event = rules.decide_command(record, command(B), "go", None, None, 30)
    assert event == Started(30, 2, B, "go")
    again = evolved(record, event)
    assert (again.run, again.started_at, again.until, again.retries, again.failure) == (2, 30, None, {}, None)
    assert (again.generation, again.sequence, again.state_sequence) == (10, 4, 1)


def test_w1_a_command_that_only_sets_the_state_starts_nothing() -> None:
    event = rules.decide_command(WorkflowRecord(), command(state="s"), "go", 60 * S, None, 10)
    assert event == Updated(10, "go")
    assert evolved(WorkflowRecord(), event) == WorkflowRecord(generation=10, sequence=1, updated_at=10, state_sequence=1)


def test_w2_a_reply_alone_journals_nothing() -> None:
    assert rules.decide_command(after(STARTED), command(), "go", None, None, 20) is None


def test_w7_then_fail_fails_at_once_with_its_message_and_code() -> None:
    event = rules.decide_step(after(STARTED), StepDone(TOKEN, 1, fail("no\x00stock", ErrorCode.CONFLICT)), 20)
    assert event == Failed(20, "CONFLICT", "no\\x00stock", "a")
    assert after(STARTED, event).failure == Failure("CONFLICT", "no\\x00stock")


def test_w6_retries_are_counted_per_visit_and_their_total_per_step_of_the_run() -> None:
    record = after(STARTED, Retried(20, "a", 2, "no"), Transitioned(30, A, "a"), Retried(40, "a", 2, "no"))
    assert record.pending == Pending(A, 3, 30, attempt=2, retries=1)
    assert record.retries == {"a": 2}


@pytest.mark.parametrize("most", [0, 1, 3])
def test_w6_as_many_retries_as_recovery_allows_then_failover_without_input(most: int) -> None:  # F83, I10
    record, recovery = after(Started(10, 1, B, "go")), RecoverySpec(most, "c")
    for number in range(most):
        event = rules.decide_fault(record, Fault("E: no"), recovery, TOKEN, 20)
        assert event == Retried(20, "b", number + 2, "step 'b' failed: E: no")
        record = rules.evolve(record, event)
    event = rules.decide_fault(record, Fault("E: no"), recovery, TOKEN, 20)
    assert event == FailedOver(20, "b", "step 'b' failed: E: no", C)
    assert rules.evolve(record, event).pending == Pending(C, most + 2, 20)


def test_w6_an_error_in_not_on_goes_straight_to_failover() -> None:
    event = rules.decide_fault(after(STARTED), Fault("E: no", retryable=False), RecoverySpec(3, "c"), TOKEN, 20)
    assert event == FailedOver(20, "a", "step 'a' failed: E: no", C)


def test_w6_without_failover_the_workflow_fails_saying_which_step() -> None:  # F16
    event = rules.decide_fault(after(STARTED), Fault("E: no\ud800"), RecoverySpec(), TOKEN, 20)
    assert event == Failed(20, "INTERNAL", "step 'a' failed: E: no\\ud800", "a")


def test_w6_each_step_is_entered_by_failover_once_and_both_errors_are_told() -> None:  # F87
    recovery = RecoverySpec(0, "c")
    record = after(STARTED)
    record = rules.evolve(record, rules.decide_fault(record, Fault("E: first"), recovery, TOKEN, 20))
    event = rules.decide_fault(record, Fault("E: second"), recovery, TOKEN, 30)
    assert event == Failed(30, "INTERNAL", "step 'c' failed: E: second (after: step 'a' failed: E: first)", "c")


def test_w6_a_step_that_succeeds_allows_failover_again() -> None:
    record = after(STARTED, FailedOver(20, "a", "no", C), Transitioned(30, A, "c"))
    assert (record.failovers, record.cause) == ((), None)
    assert isinstance(rules.decide_fault(record, Fault("E"), RecoverySpec(0, "c"), TOKEN, 40), FailedOver)


def test_w6_a_redirect_by_a_command_is_no_success_of_a_step() -> None:
    record = after(STARTED, FailedOver(20, "a", "no", C), Transitioned(30, A, "go", redirected=True))
    assert (record.failovers, record.cause) == (("c",), "no")


def test_w6_backoff_is_a_durable_deadline_that_grows() -> None:
    recovery = RecoverySpec(2, None, BackoffSpec(100, 2.0))
    record = after(Started(10, 1, A, "go"))
    event = rules.decide_fault(record, Fault("E"), recovery, TOKEN, 1_000)
    assert event == Retried(1_000, "a", 2, "step 'a' failed: E", not_before=1_100)
    record = rules.evolve(record, event)
    assert (rules.deadline(record), rules.due(record, 1_099)) == (1_100, None)
    assert rules.due(record, 1_100) == record.pending
    again = rules.decide_fault(record, Fault("E"), recovery, TOKEN, 2_000)
    assert again == Retried(2_000, "a", 3, "step 'a' failed: E", not_before=2_200)


def test_w6_backoff_is_the_same_wherever_it_is_decided_and_never_overflows() -> None:
    spread = BackoffSpec(1_000, 2.0, maximum=8_000, jitter=0.5)
    assert delay(spread, 3, TOKEN) == delay(spread, 3, TOKEN)
    assert 4_000 <= delay(spread, 9, TOKEN) <= 8_000
    assert delay(BackoffSpec(1_000, 10.0), 5_000, TOKEN) == 10 * 365 * 86_400 * S
    assert delay(BackoffSpec(0, 10.0), 5, TOKEN) == 0


def test_w8_the_budget_wins_a_tie_with_the_pause() -> None:
    record = after(STARTED, Paused(20, "a", 10 + 60 * S, B))
    event = rules.decide_deadline(record, 10 + 60 * S)
    assert event == Failed(10 + 60 * S, "TIMEOUT", "workflow timed out after 1 min")
    assert rules.decide_deadline(record, 9 + 60 * S) is None


def test_w9_a_pause_ends_at_an_instant_with_its_steps_input() -> None:  # F30
    event = rules.decide_step(after(STARTED), StepDone(TOKEN, 1, pause(10 * S, "b"), value("s")), 20)
    assert event == Paused(20, "a", 20 + 10 * S, StepTarget("b"), changed=True)
    record = after(STARTED, Paused(20, "a", 20 + 10 * S, B))
    assert (record.status, record.pending, record.pause) == (LifecycleStatus.PAUSED, None, Pause(20 + 10 * S, B))
    assert rules.decide_deadline(record, 19 + 10 * S) is None
    assert rules.decide_deadline(record, 20 + 10 * S) == Resumed(20 + 10 * S, B)


def test_w9_a_resumed_pause_is_over_and_does_not_fire_again() -> None:  # F23, F31
    record = after(STARTED, Paused(20, "a", 30, B), Resumed(30, B))
    assert (record.pending, record.pause) == (Pending(B, 3, 30), None)
    assert rules.decide_deadline(record, 40) is None
    again = rules.evolve(record, Paused(50, "b", 60, A))
    assert rules.decide_deadline(again, 59) is None
    assert rules.decide_deadline(again, 60) == Resumed(60, A)


def test_w9_a_pause_that_times_out_without_a_step_fails_saying_so() -> None:
    record = after(Started(10, 1, A, "go"), Paused(20, "a", 30))
    assert rules.decide_deadline(record, 30) == Failed(30, "TIMEOUT", "the pause timed out and names no step to go to (on_timeout)")


def test_w9_an_end_takes_every_deadline_along() -> None:  # F36
    record = after(STARTED, Paused(20, "a", 30, B), Transitioned(25, A, "go", redirected=True), Ended(26, "a"))
    assert rules.deadline(record) is None
    assert rules.decide_deadline(record, 10**18) is None


def test_w10_delete_leaves_the_generation_and_nothing_else() -> None:
    record = after(STARTED)
    event = rules.decide_command(record, command(delete=True), "go", None, None, 20)
    assert event == Deleted(20, "go")
    assert evolved(record, event) == WorkflowRecord(generation=10)
    assert rules.decide_command(WorkflowRecord(), command(delete=True), "go", None, None, 20) is None


def test_w10_a_new_life_has_a_higher_generation_even_if_the_clock_stands_still() -> None:  # F52
    record = after(STARTED, Deleted(20, "go"), Started(10, 1, A, "go"))
    assert (record.generation, record.sequence, record.run) == (11, 1, 1)


def test_w11_an_interruption_is_another_attempt_of_the_visit_and_no_retry() -> None:  # F84
    record = after(STARTED, Retried(20, "a", 2, "no", 25))
    event = rules.decide_interrupted(record, "its process died", 30)
    assert event == Interrupted(30, "a", 3, "its process died")
    assert isinstance(event, Interrupted)
    interrupted = rules.evolve(record, event)
    assert interrupted.pending == Pending(A, 1, 10, attempt=3, retries=1)
    assert interrupted.retries == {"a": 1}


def test_w14_a_steps_state_names_the_updates_it_was_merged_with() -> None:
    record = after(STARTED, Updated(20, "go"), Updated(21, "go"))
    assert (record.changed, rules.unseen(record, 1), rules.unseen(record, 3)) == ((2, 3), (2, 3), ())
    merged = rules.decide_step(record, StepDone(TOKEN, 2, END, value("s")), 30, ("status",))
    assert merged == Ended(30, "a", changed=True, merged=(3,), both=("status",))
    assert rules.decide_step(record, StepDone(TOKEN, 1, goto("b"), value("s")), 30) == Transitioned(
        30, StepTarget("b"), "a", changed=True, merged=(2, 3)
    )
    assert rules.decide_step(record, StepDone(TOKEN, 1, END), 30) == Ended(30, "a"), "a step without a state of its own replaces nothing"
    assert after(STARTED, Updated(20, "go"), Transitioned(30, B, "a")).changed == ()


def test_i7_nothing_ends_twice() -> None:
    with pytest.raises(AssertionError, match="I7"):
        after(STARTED, Ended(20, "a"), Failed(30, "INTERNAL", "no"))


def test_i8_nothing_is_retried_that_is_not_pending() -> None:
    with pytest.raises(AssertionError, match="I8"):
        after(STARTED, Paused(20, "a"), Retried(30, "a", 2, "no"))


def test_i9_the_earliest_deadline_is_the_listings() -> None:
    assert rules.deadline(after(STARTED)) == 10 + 60 * S
    assert rules.deadline(after(STARTED, Paused(20, "a", 30, B))) == 30
    assert rules.deadline(after(STARTED, Retried(20, "a", 2, "no", 40))) == 40
    assert rules.deadline(WorkflowRecord()) is None


def test_durations_beyond_what_a_journal_holds_end_at_its_last_instant() -> None:
    forever = 2**63
    assert rules.decide_command(WorkflowRecord(), command(A), "go", forever, None, 10) == Started(10, 1, A, "go", LAST, forever)
    assert rules.decide_step(after(STARTED), StepDone(TOKEN, 1, pause(forever)), 20) == Paused(20, "a", LAST)
