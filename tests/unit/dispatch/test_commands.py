"""One command or query to its handler and back: rule W2, and what cannot be done."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, Never, cast

import pytest

from ankka.codec import DONE, Done, default_codec_for, json_codec
from ankka.command_error import CommandError
from ankka.definition.build import definition_of
from ankka.effects.common import ErrorCode
from ankka.effects.event_sourced import EventSourcedEffect
from ankka.effects.workflow import WorkflowEffect, WorkflowReadOnlyEffect, WorkflowStepEffect
from ankka.event_sourced_entity import EventSourcedEntity
from ankka.process.dispatch import CommandAnswer, QueryAnswer, fold, run_command, run_query
from ankka.protocol.errors import Error
from ankka.protocol.frames import EntityCommandDone, Fold, Folded, Refused, Replied, RunCommand, RunQuery, WorkflowCommandDone
from ankka.protocol.payload import Payload, StepTarget
from ankka.testkit.scripted_calls import codec_for
from ankka.workflow import Workflow, command, query, step
from tests.unit.shopping_cart import Cart, CartEntity, CartEvent, CheckedOut, Item, ItemAdded

NOTHING = Payload(b"", "", "")
SECRET = "the secret text of an exception"


def _as_it_is(value: object) -> object:
    return value


wrong = cast("Callable[[object], Never]", _as_it_is)  # a value the type checkers would refuse


@dataclass(frozen=True)
class Order:
    id: str
    count: int = 0


class OrderWorkflow(Workflow[Order]):
    component_id = "order"
    state_codec = json_codec(Order, "order")

    def empty_state(self) -> Order:
        return Order(self.entity_id)

    @command("start")
    def start(self, count: int) -> WorkflowEffect[Order, Order]:
        return self.effects.update_state(replace(self.state, count=count)).then_transition_to("ship", count).then_reply_state()

    @command("start-later")
    async def start_later(self, count: int) -> WorkflowEffect[Order, int]:
        await asyncio.sleep(0)
        return self.effects.update_state(replace(self.state, count=count)).then_reply(lambda order: order.count + 1)

    @command("redirect")
    def redirect(self) -> WorkflowEffect[Order, Done]:
        return self.effects.transition_to("old-ship", 3).then_no_reply()

    @command("delete")
    def remove(self) -> WorkflowEffect[Order, Order]:
        return self.effects.delete().then_reply_state()

    @command("look")
    def look(self) -> WorkflowEffect[Order, int]:
        return self.effects.reply(self.state.count)

    @command("refuse")
    def refuse(self) -> WorkflowEffect[Order, Done]:
        return self.effects.error("not now", ErrorCode.CONFLICT)

    @command("default")
    def with_default(self, count: int = 7) -> WorkflowEffect[Order, int]:
        return self.effects.reply(count)

    @command("optional")
    def with_optional(self, count: int | None) -> WorkflowEffect[Order, bool]:
        return self.effects.reply(count is None)

    @command("spoil")
    def spoil(self, how: str) -> WorkflowEffect[Order, Done]:
        match how:
            case "raise":
                raise ValueError(SECRET)
            case "exit":
                raise SystemExit(SECRET)
            case "stop-iteration":
                raise StopIteration(SECRET)
            case "command-error":
                raise CommandError("no such cart", ErrorCode.NOT_FOUND, {"cart": "c1"})
            case "odd-error":
                return self.effects.error("no\x00 stock \ud800")
            case "odd-details":
                raise CommandError("no", ErrorCode.CONFLICT, {"cart": object()})
            case "none":
                return wrong(None)
            case "text":
                return wrong("done")
            case "no-reply":
                return wrong(self.effects.update_state(self.state))
            case "step-effect":
                return wrong(self.step_effects.then_end())
            case "state":
                return self.effects.update_state(Order(self.entity_id, wrong("no"))).then_no_reply()
            case "reply":
                return self.effects.update_state(self.state).then_reply(lambda _: wrong(3))
            case "reply-raises":
                return self.effects.update_state(self.state).then_reply(lambda _: wrong(1 // 0))
            case "reply-value":
                return self.effects.update_state(self.state).then_reply(wrong(DONE))
            case "unknown-step":
                return self.effects.transition_to("sh" + "op").then_no_reply()
            case "no-input":
                return self.effects.transition_to("ship"[:]).then_no_reply()
            case "step-input":
                return self.effects.transition_to("ship", wrong("three")).then_no_reply()
            case "not-a-step":
                target: Any = self.start
                name = {"start": target}["start"]
                return self.effects.transition_to(name).then_no_reply()
            case _:
                return self.effects.update_state(self.state).then_transition_to("plain"[:], how).then_no_reply()

    @command("spoil-later")
    async def spoil_later(self, how: str) -> WorkflowEffect[Order, Done]:
        if how == "cancelled":
            raise asyncio.CancelledError(SECRET)
        if how == "wait":
            await asyncio.Event().wait()
        return self.spoil(how)

    @query("count")
    def count(self) -> WorkflowReadOnlyEffect[Order, int]:
        return self.effects.reply(self.state.count)

    @query("count-later")
    async def count_later(self) -> WorkflowReadOnlyEffect[Order, int]:
        return self.effects.reply(self.state.count)

    @query("changes")
    def changes(self) -> WorkflowReadOnlyEffect[Order, int]:
        return wrong(self.effects.update_state(self.state).then_reply(lambda _: 1))

    @step("ship", aliases=("old-ship",))
    def ship(self, count: int) -> WorkflowStepEffect[Order]:
        return self.step_effects.then_end()

    @step("plain")
    def plain(self) -> WorkflowStepEffect[Order]:
        return self.step_effects.then_end()


ORDER = definition_of(OrderWorkflow)
CART = definition_of(CartEntity)


def encoded(value: Any) -> Payload | None:
    return None if value is None else codec_for(type(value)).encode_payload(value)


def command_of(handler: str, value: Any = None, state: Any = None, definition: Any = ORDER) -> RunCommand:
    payload = value if isinstance(value, Payload) else encoded(value)
    state_payload = None if state is None else definition.state_codec.encode_payload(state)
    return RunCommand(5, definition.component_id, "o1", handler, payload, state_payload, 3, 1_000_000, {"tenant": "acme"})


def ran(frame: RunCommand, definition: Any = ORDER) -> CommandAnswer:
    answer = run_command(definition, frame)
    return asyncio.run(answer) if isinstance(answer, Coroutine) else answer


def refusal(handler: str, value: Any = None, definition: Any = ORDER) -> Error:
    answer = ran(command_of(handler, value, definition=definition), definition)
    assert isinstance(answer, Refused)
    assert answer.request == 5
    return answer.error


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


def test_events_state_and_reply_of_an_entity() -> None:
    item = Item("pen", 2)
    cart = Cart("o1", [Item("ink", 1)])
    answer = ran(command_of("add-item", item, cart, CART), CART)
    assert CART.event_codec is not None
    event = CART.event_codec.encode_payload(ItemAdded(item))
    state = CART.state_codec.encode_payload(Cart("o1", [Item("ink", 1), item]))
    assert answer == EntityCommandDone(5, default_codec_for(int).encode_payload(3), (event,), state)


def test_an_entity_that_is_deleted_has_the_empty_state() -> None:
    answer = ran(command_of("remove", None, Cart("o1", [Item("ink", 1)]), CART), CART)
    assert isinstance(answer, EntityCommandDone)
    assert (answer.delete, answer.state, len(answer.events)) == (True, None, 1)
    assert answer.reply == default_codec_for(Cart).encode_payload(Cart("o1"))


def test_no_events_at_all_are_a_reply() -> None:  # F18
    answer = ran(command_of("add-all", Payload(b"[]"), definition=CART), CART)
    assert answer == Replied(5, default_codec_for(Cart).encode_payload(Cart("o1")))
    assert ran(command_of("touch", definition=CART), CART) == Replied(5, NOTHING)


def fold_of(*events: CartEvent, state: Cart | None = None) -> Folded | Refused:
    assert CART.event_codec is not None
    payloads = tuple(CART.event_codec.encode_payload(event) for event in events)
    return fold(CART, Fold(8, "shopping-cart", "o1", None if state is None else CART.state_codec.encode_payload(state), payloads))


def test_fold_applies_the_events_in_order() -> None:
    expected = Cart("o1", [Item("pen", 2)], checked_out=True)
    assert fold_of(ItemAdded(Item("pen", 2)), CheckedOut(2)) == Folded(8, CART.state_codec.encode_payload(expected))
    assert fold_of(CheckedOut(2), state=Cart("o1", [Item("pen", 2)])) == Folded(8, CART.state_codec.encode_payload(expected))
    assert fold_of() == Folded(8, CART.state_codec.encode_payload(Cart("o1")))  # F18


def test_an_event_that_cannot_be_read_is_named() -> None:
    answer = fold(CART, Fold(8, "shopping-cart", "o1", None, (Payload(b'{"type":"Stolen"}', manifest="cart-event"),)))
    assert isinstance(answer, Refused)
    assert answer.error.code is ErrorCode.INTERNAL
    assert answer.error.message.startswith("event 1 of 1 of shopping-cart/o1 cannot be read: ")


class Careless(EventSourcedEntity[int, int]):
    component_id = "careless"
    state_codec = json_codec(int, "careless")
    event_codec = json_codec(int, "added")

    def empty_state(self) -> int:
        return 0

    def apply_event(self, state: int, event: int) -> int:
        if event == 0:
            return wrong(None)
        if event < 0:
            raise ValueError(SECRET)
        with pytest.raises(RuntimeError):
            _ = self.state
        with pytest.raises(RuntimeError):
            _ = self.context
        assert self.entity_id == "o1"
        return state + event

    @command("add")
    def add(self, number: int) -> EventSourcedEffect[int, int, int]:
        assert self.context.metadata["tenant"] == "acme"
        assert (self.context.entity_id, self.context.component_id, self.context.sequence_number) == ("o1", "careless", 3)
        return self.effects.persist(number).then_reply_state()

    @command("kind")
    def kind(self) -> EventSourcedEffect[int, int, int]:
        return self.effects.persist(wrong("three")).then_reply_state()


def test_apply_event_that_goes_wrong_journals_nothing() -> None:
    careless = definition_of(Careless)
    none = "apply_event of 'careless' returned None for int, expected the state after it"
    assert refusal("add", 0, careless) == Error(ErrorCode.INTERNAL, none)
    assert refusal("add", -1, careless) == Error(ErrorCode.INTERNAL, "'add' of careless/o1 failed; the log of its process has the reason")
    assert refusal("kind", definition=careless).message.startswith("event 1 of 'kind' of careless/o1 cannot be encoded: ")
    assert ran(command_of("add", 2, 3, careless), careless) == EntityCommandDone(
        5, default_codec_for(int).encode_payload(5), (json_codec(int, "added").encode_payload(2),), json_codec(int, "careless").encode_payload(5)
    )


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
