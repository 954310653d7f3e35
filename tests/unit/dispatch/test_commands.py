"""One command or query to its handler and back: rule W2, and what cannot be done."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import pytest

from ankka.codec import default_codec_for
from ankka.definition.build import definition_of
from ankka.effects.common import ErrorCode
from ankka.effects.workflow import WorkflowEffect
from ankka.process.dispatch import QueryAnswer, run_command, run_query
from ankka.protocol.errors import Error
from ankka.protocol.frames import Refused, Replied, RunCommand, RunQuery, WorkflowCommandDone
from ankka.protocol.payload import Payload, StepTarget
from ankka.workflow import command
from tests.unit.dispatch.ordering import NOTHING, ORDER, SECRET, Order, OrderWorkflow, command_of, ran, refusal


def test_reply_is_computed_from_the_new_state_in_the_same_answer() -> None:  # W2
    answer = run_command(ORDER, command_of("start", 2))
    new_state = ORDER.state_codec.encode_payload(Order("o1", 2))
    reply = default_codec_for(Order).encode_payload(Order("o1", 2))
    assert answer == WorkflowCommandDone(5, reply, new_state, StepTarget("ship", default_codec_for(int).encode_payload(2)))


def test_an_async_handler_answers_a_coroutine() -> None:
    answer = run_command(ORDER, command_of("start-later", 2))
    assert isinstance(answer, Coroutine)
    done = asyncio.run(answer)
    assert done == WorkflowCommandDone(5, default_codec_for(int).encode_payload(3), ORDER.state_codec.encode_payload(Order("o1", 2)))


def test_a_transition_alone_keeps_the_state_and_uses_the_declared_name() -> None:
    answer = ran(command_of("redirect", state=Order("o1", 9)))
    assert answer == WorkflowCommandDone(5, NOTHING, None, StepTarget("ship", default_codec_for(int).encode_payload(3)))


def test_after_delete_the_reply_gets_the_empty_state() -> None:
    answer = ran(command_of("delete", state=Order("o1", 9)))
    assert answer == WorkflowCommandDone(5, default_codec_for(Order).encode_payload(Order("o1")), delete=True)


def test_a_command_that_changes_nothing_only_replies() -> None:
    assert ran(command_of("look", state=Order("o1", 9))) == Replied(5, default_codec_for(int).encode_payload(9))


def test_error_is_a_refusal() -> None:
    assert refusal("refuse") == Error(ErrorCode.CONFLICT, "not now")


def test_a_raised_command_error_is_the_refusal_it_carries() -> None:  # W2
    assert refusal("spoil", "command-error") == Error(ErrorCode.NOT_FOUND, "no such cart", {"cart": "c1"})
    assert refusal("spoil-later", "command-error") == Error(ErrorCode.NOT_FOUND, "no such cart", {"cart": "c1"})


def test_a_refusal_that_could_not_be_sent_as_it_is() -> None:
    assert refusal("spoil", "odd-error") == Error(ErrorCode.BAD_REQUEST, "no\\x00 stock \\ud800")
    assert refusal("spoil", "odd-details") == Error(ErrorCode.CONFLICT, "no", {"unsent": "details that are no plain data: ['cart']"})


@pytest.mark.parametrize("how", ["raise", "exit", "stop-iteration"])
@pytest.mark.parametrize("handler", ["spoil", "spoil-later"])
def test_what_a_handler_raises_is_in_the_log_only(handler: str, how: str, caplog: pytest.LogCaptureFixture) -> None:  # W2
    error = refusal(handler, how)
    assert error == Error(ErrorCode.INTERNAL, f"'{handler}' of order/o1 failed; the log of its process has the reason")
    (record,) = [record for record in caplog.records if record.name == "ankka"]
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    assert SECRET in caplog.text


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("none", "'spoil' of order/o1 returned None, expected an effect (WorkflowEffect); return what self.effects builds"),
        ("text", "'spoil' of order/o1 returned str, expected an effect (WorkflowEffect); return what self.effects builds"),
        ("step-effect", "'spoil' of order/o1 returned WorkflowStepEffect, expected an effect (WorkflowEffect); return what self.effects builds"),
        (
            "no-reply",
            "'spoil' of order/o1 returned an effect without a reply; end it with .then_reply(…), .then_reply_state() or .then_no_reply()",
        ),
        (
            "state",
            "the state 'spoil' of order/o1 sets cannot be encoded: $.count: expected int, got str 'no'",
        ),
        ("reply", "the reply of 'spoil' of order/o1 cannot be encoded: $: expected DONE, got int 3"),
        ("reply-raises", "'spoil' of order/o1 failed; the log of its process has the reason"),
        ("reply-value", "'spoil' of order/o1 failed; the log of its process has the reason"),
        ("unknown-step", "'spoil' of order/o1 leads to the step 'shop', which 'order' does not declare; did you mean 'ship'?"),
        ("no-input", "'spoil' of order/o1 gives the step 'ship' no input, but the step needs one: count, int"),
        ("extra", "'spoil' of order/o1 gives the step 'plain' an input of type str, but the step takes none"),
        ("not-a-step", "'spoil' of order/o1 failed; the log of its process has the reason"),
    ],
)
def test_effects_that_cannot_be_used(how: str, message: str) -> None:
    assert refusal("spoil", how) == Error(ErrorCode.INTERNAL, message)


def test_a_refusal_of_ours_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    refusal("spoil", "none")
    (record,) = [record for record in caplog.records if record.name == "ankka"]
    assert record.getMessage() == "'spoil' of order/o1 returned None, expected an effect (WorkflowEffect); return what self.effects builds"
    assert record.exc_info is None


def test_a_step_input_that_cannot_be_encoded_names_the_step() -> None:
    error = refusal("spoil", "step-input")
    assert error.code is ErrorCode.INTERNAL
    assert error.message.startswith("the input 'spoil' of order/o1 gives the step 'ship' cannot be encoded: ")


def test_inputs_that_cannot_be_read_are_the_callers_fault() -> None:
    wrong = refusal("start", Payload(b'"two"'))
    assert wrong.code is ErrorCode.BAD_REQUEST
    assert "$: expected int" in wrong.message
    assert refusal("start", Payload(b"{")).code is ErrorCode.BAD_REQUEST
    assert refusal("look", 3) == Error(ErrorCode.BAD_REQUEST, "'look' of order/o1 takes no input, but one was given")


def test_empty_bodies() -> None:  # F18
    for nothing in (None, NOTHING):
        assert refusal("start", nothing) == Error(ErrorCode.BAD_REQUEST, "'start' of order/o1 needs an input: count, int")
        assert ran(command_of("default", nothing)) == Replied(5, default_codec_for(int).encode_payload(7))
        assert ran(command_of("optional", nothing)) == Replied(5, default_codec_for(bool).encode_payload(True))
        assert ran(command_of("look", nothing)) == Replied(5, default_codec_for(int).encode_payload(0))


def test_unknown_handlers() -> None:
    assert refusal("strat") == Error(ErrorCode.NOT_FOUND, "'order' has no handler 'strat'; did you mean 'start'?")
    answer = run_query(ORDER, RunQuery(6, "order", "o1", "start", None, None, 0, 1))
    assert isinstance(answer, Refused)
    assert answer.error.code is ErrorCode.NOT_FOUND


def query_of(handler: str, state: Order | None = None) -> QueryAnswer:
    payload = None if state is None else ORDER.state_codec.encode_payload(state)
    answer = run_query(ORDER, RunQuery(6, "order", "o1", handler, None, payload, 0, 1_000_000))
    return asyncio.run(answer) if isinstance(answer, Coroutine) else answer


def test_queries() -> None:
    assert query_of("count", Order("o1", 4)) == Replied(6, default_codec_for(int).encode_payload(4))
    assert query_of("count-later", Order("o1", 4)) == Replied(6, default_codec_for(int).encode_payload(4))
    fix = "a query changes nothing: end it with self.effects.reply(…), or make it a @command"
    message = f"'changes' of order/o1 returned WorkflowEffect, expected an effect (WorkflowReadOnlyEffect); {fix}"
    assert query_of("changes") == Refused(6, Error(ErrorCode.INTERNAL, message))


def test_a_state_that_cannot_be_read_is_no_empty_state() -> None:
    frame = RunCommand(5, "order", "o1", "look", None, Payload(b'{"id":"o1","count":"x"}', manifest="order"), 1, 1_000_000)
    answer = ran(frame)
    assert isinstance(answer, Refused)
    assert answer.error.code is ErrorCode.INTERNAL
    assert answer.error.message.startswith("the state of order/o1 cannot be read: ")
    assert "$.count" in answer.error.message


async def test_cancelled_error_raised_by_user_code_is_a_failure_and_a_real_one_is_passed_on() -> None:
    answer = run_command(ORDER, command_of("spoil-later", "cancelled"))
    assert isinstance(answer, Coroutine)
    assert isinstance(await answer, Refused)

    waiting = run_command(ORDER, command_of("spoil-later", "wait"))
    assert isinstance(waiting, Coroutine)
    task = asyncio.create_task(waiting)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_state_and_context_are_there_only_while_a_handler_runs() -> None:
    kept: list[OrderWorkflow] = []

    class Keeping(OrderWorkflow):
        @command("look")
        def look(self) -> WorkflowEffect[Order, int]:
            kept.append(self)
            assert self.state == Order("o1")
            assert self.context.client is not None
            return self.effects.reply(1)

    with pytest.raises(RuntimeError, match="only while a handler runs"):
        _ = Keeping().state
    with pytest.raises(RuntimeError, match="only while a handler runs"):
        _ = Keeping().context
    client: Any = object()
    run_command(definition_of(Keeping), command_of("look"), client)
    run_command(definition_of(Keeping), command_of("look"), client)
    assert kept[0] is not kept[1]
    with pytest.raises(RuntimeError, match="only while a handler runs"):
        _ = kept[0].state
    with pytest.raises(RuntimeError, match="only while a handler runs"):
        _ = kept[0].context
    assert kept[0].entity_id == "o1"


def test_what_belongs_to_a_step_is_not_there_in_a_command() -> None:
    class Asking(OrderWorkflow):
        @command("look")
        def look(self) -> WorkflowEffect[Order, int]:
            with pytest.raises(RuntimeError, match="only in a step"):
                _ = self.context.attempt
            with pytest.raises(RuntimeError, match="only in a step"):
                self.context.uuid()
            return self.effects.reply(1)

    assert isinstance(ran(command_of("look"), definition_of(Asking)), Replied)


def test_create_makes_a_fresh_object_per_call() -> None:
    class Injected(OrderWorkflow):
        def __init__(self, start: int) -> None:
            self._start = start

        @command("look")
        def look(self) -> WorkflowEffect[Order, int]:
            return self.effects.reply(self._start)

    definition = definition_of(Injected)
    assert run_command(definition, command_of("look"), create=lambda: Injected(4)) == Replied(5, default_codec_for(int).encode_payload(4))
    shared = Injected(4)
    run_command(definition, command_of("look"), create=lambda: shared)
    again = run_command(definition, command_of("look"), create=lambda: shared)
    assert again == Refused(5, Error(ErrorCode.INTERNAL, "create= of 'order' gave the same object twice; it must make a fresh one per call"))
    other = run_command(definition, command_of("look"), create=OrderWorkflow)
    assert other == Refused(5, Error(ErrorCode.INTERNAL, "create= of 'order' made OrderWorkflow, expected Injected"))
