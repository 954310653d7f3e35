"""All that is wrong with a class is in one error, raised when the class is defined."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from ankka.codec import DONE, Done, json_codec
from ankka.definition.build import definition_of
from ankka.effects.event_sourced import EventSourcedEffect
from ankka.effects.workflow import WorkflowEffect, WorkflowReadOnlyEffect, WorkflowStepEffect
from ankka.event_sourced_entity import EventSourcedEntity, RegistrationError, command, query
from ankka.workflow import Recovery, StepSettings, Workflow, WorkflowSettings, step


@dataclass(frozen=True)
class State:
    text: str = ""


class Good(Workflow[State]):
    """What the tests below spoil; itself without a problem."""

    component_id = "good"
    state_codec = json_codec(State, "state")

    def empty_state(self) -> State:
        return State()

    @command("start")
    def start(self) -> WorkflowEffect[State, Done]:
        return self.effects.transition_to("work").then_reply(lambda _: DONE)

    @step("work")
    def work(self) -> WorkflowStepEffect[State]:
        return self.step_effects.then_end()

    @step("ship")
    def ship(self, number: int) -> WorkflowStepEffect[State]:
        return self.step_effects.then_end()


def problems_of(define: Callable[[], object]) -> list[str]:
    with pytest.raises(RegistrationError) as raised:
        define()
    for problem in raised.value.problems:
        assert problem in str(raised.value)
    return raised.value.problems


def test_an_object_instead_of_its_class_is_refused() -> None:
    made: Any = Good()
    with pytest.raises(RegistrationError) as raised:
        definition_of(made)
    assert str(raised.value) == "an object of Good cannot be registered: register the class, not an object: .register(Good)"


def test_a_problem_is_a_value_error() -> None:
    assert issubclass(RegistrationError, ValueError)


def test_everything_at_once() -> None:
    def define() -> object:
        class Broken(Workflow[State]):
            settings = WorkflowSettings(steps={"wrok": StepSettings()})

            @command("ankka:start")
            def start(self, a: int, b: int) -> WorkflowEffect[State, Done]:
                return self.effects.transition_to("wrok").then_reply(lambda _: DONE)

            @query("status")
            def status(self) -> WorkflowEffect[State, State]:
                return self.effects.reply(self.state)

            @step("work")
            def work(self):  # type: ignore[no-untyped-def]
                return self.step_effects.then_end()

        return Broken

    assert sorted(problems_of(define)) == sorted(
        [
            'component_id is missing; give it the name callers use: component_id = "checkout"',
            'state_codec is missing; say how its state is stored: state_codec = json_codec(State, "state")',
            "empty_state is missing; define empty_state(self): the state before anything happened",
            "command 'ankka:start' (start): names that begin with 'ankka:' are reserved",
            "command 'ankka:start' (start) takes 2 inputs (a, b); a handler takes at most one: put them into one dataclass",
            "query 'status' (status) returns WorkflowEffect[State, State]; a query's read-only effect is expected: WorkflowReadOnlyEffect[…, …]",
            "step 'work' (work) has no return annotation; WorkflowStepEffect[…] is expected",
            "settings: steps['wrok'] names the step 'wrok', which is not declared; did you mean 'work'?",
            "start: transition to the step 'wrok', which is not declared; did you mean 'work'?",
        ]
    )


def test_a_handler_that_yields() -> None:
    def define() -> object:
        class Broken(Good):
            @query("sync")
            def sync(self) -> Iterator[WorkflowReadOnlyEffect[State, int]]:
                yield self.effects.reply(1)

            @step("async")
            async def asynchronous(self) -> AsyncIterator[WorkflowStepEffect[State]]:
                yield self.step_effects.then_end()

        return Broken

    assert problems_of(define) == [
        "query 'sync' (sync) has a yield; a handler returns one effect",
        "step 'async' (asynchronous) has a yield; a handler returns one effect",
    ]


def test_two_handlers_with_one_wire_name() -> None:
    def define() -> object:
        class Broken(Good):
            @query("start")
            def other(self) -> WorkflowReadOnlyEffect[State, int]:
                return self.effects.reply(1)

            @step("new", aliases=("work",))
            def renamed(self) -> WorkflowStepEffect[State]:
                return self.step_effects.then_end()

        return Broken

    assert problems_of(define) == [
        "two handlers have the wire name 'start': start and other",
        "two steps have the wire name 'work': work and renamed",
    ]


def test_a_command_and_a_step_may_share_a_name() -> None:
    class Fine(Good):
        @command("work")
        def work_now(self) -> WorkflowEffect[State, Done]:
            return self.effects.transition_to("work").then_no_reply()

    assert set(definition_of(Fine).handlers) == {"start", "work"}


def test_handlers_may_be_named_cancel_and_await() -> None:
    class Fine(Good):
        @command("cancel")
        def cancel(self) -> WorkflowEffect[State, Done]:
            return self.effects.transition_to("work").then_no_reply()

        @query("await")
        def wait(self) -> WorkflowReadOnlyEffect[State, int]:
            return self.effects.reply(1)

    assert set(definition_of(Fine).handlers) == {"start", "cancel", "await"}


def test_a_method_that_replaces_another_with_its_handler_is_missed() -> None:
    def define() -> object:
        class Broken(Good):
            @command("first")
            def same(self) -> WorkflowEffect[State, Done]:  # pyright: ignore[reportRedeclaration]
                return self.effects.transition_to("work").then_no_reply()

            @command("second")  # type: ignore[no-redef]
            def same(self) -> WorkflowEffect[State, Done]:  # noqa: F811
                return self.effects.transition_to("work").then_no_reply()

        return Broken

    (problem,) = problems_of(define)
    assert problem.startswith("the command 'first' is lost: another 'same' replaces it")


def test_an_override_without_a_decorator() -> None:
    def define() -> object:
        class Broken(Good):
            def start(self) -> WorkflowEffect[State, Done]:
                return self.effects.transition_to("ship", 3).then_no_reply()

        return Broken

    assert problems_of(define) == ["start replaces the command 'start' of Good without a decorator; add @command(\"start\")"]


def test_missing_annotations() -> None:
    def define() -> object:
        class Broken(Good):
            @command("untyped")
            def untyped(self, mode) -> WorkflowEffect[State, Done]:  # type: ignore[no-untyped-def]  # pyright: ignore
                return self.effects.transition_to("work").then_no_reply()

            @command("bare")
            def bare(self) -> WorkflowEffect:  # type: ignore[type-arg]  # pyright: ignore
                return self.effects.transition_to("work").then_no_reply()

            @command("other")
            def other(self) -> int:
                return 1

        return Broken

    assert problems_of(define) == [
        "command 'untyped' (untyped): its input 'mode' has no annotation",
        "command 'bare' (bare) returns WorkflowEffect; WorkflowEffect[…, …] needs 2 type arguments",
        "command 'other' (other) returns int; a command's effect is expected: WorkflowEffect[…, …]",
    ]


def test_inputs_that_are_no_ordinary_parameter() -> None:
    def define() -> object:
        class Broken(Good):
            @command("star")
            def star(self, *modes: str) -> WorkflowEffect[State, Done]:
                return self.effects.transition_to("work").then_no_reply()

            @command("keyword")
            def keyword(self, *, mode: str) -> WorkflowEffect[State, Done]:
                return self.effects.transition_to("work").then_no_reply()

        return Broken

    assert problems_of(define) == [
        "command 'star' (star): its input '*modes' must be an ordinary parameter",
        "command 'keyword' (keyword): its input 'mode' must be an ordinary parameter",
    ]


def test_types_that_cannot_be_encoded() -> None:
    class Opaque:
        pass

    def define() -> object:
        class Broken(Good):
            state_codec = json_codec(Opaque, "opaque")

            @command("take")
            def take(self, value: Opaque) -> WorkflowEffect[State, Opaque]:
                return self.effects.transition_to("work").then_reply(lambda _: value)

        return Broken

    state, taken, reply = problems_of(define)
    assert state.startswith("state_codec cannot hold its type")
    assert taken.startswith("command 'take' (take): its input 'value'")
    assert reply.startswith("command 'take' (take): its reply")
    assert all("Opaque" in problem for problem in (state, taken, reply))


def test_settings_that_name_no_step_or_one_with_an_input() -> None:
    def define() -> object:
        class Broken(Good):
            settings = WorkflowSettings(
                default_recovery=Recovery(failover_to="wrok"),
                steps={"work": StepSettings(recovery=Recovery(failover_to="ship"))},
                cancel_to="nowhere",
            )

        return Broken

    assert problems_of(define) == [
        "settings: default_recovery.failover_to names the step 'wrok', which is not declared; did you mean 'work'?",
        "settings: cancel_to names the step 'nowhere', which is not declared; declared are ship, work",
        "settings: steps['work'].recovery.failover_to names the step 'ship', which takes an input (number); "  # noqa: ISC004
        "it is entered without one: read the state instead",
    ]


@pytest.mark.parametrize("name", ["", " ", "a\nb", "ankka:x"])
def test_component_ids_that_cannot_be(name: str) -> None:
    def define() -> object:
        return type("Broken", (Good,), {"component_id": name, "__module__": __name__})

    (problem,) = problems_of(define)
    assert problem.startswith("component_id ")


def test_a_step_in_an_entity_and_what_an_entity_needs() -> None:
    def define() -> object:
        class Broken(EventSourcedEntity[int, int]):
            component_id = "broken"
            snapshot_every = 0

            @step("work")
            def work(self) -> WorkflowStepEffect[int]:
                raise NotImplementedError

            @command("add")
            def add(self) -> WorkflowEffect[int, int]:
                raise NotImplementedError

        return Broken

    assert problems_of(define) == [
        'state_codec is missing; say how its state is stored: state_codec = json_codec(State, "state")',
        'event_codec is missing; say how its event is stored: event_codec = json_codec(Event, "event")',
        "empty_state is missing; define empty_state(self): the state before anything happened",
        "apply_event is missing; define apply_event(self, state, event): the state after an event",
        "snapshot_every is 0; a whole number of 1 or more is expected",
        "step 'work' (work): only a workflow has steps",
        "command 'add' (add) returns WorkflowEffect[int, int]; a command's effect is expected: EventSourcedEffect[…, …, …]",
    ]
    assert EventSourcedEffect is not None


def test_a_handler_that_hides_what_every_component_has() -> None:
    def define() -> object:
        class Broken(Good):
            @query("state")
            def state(self) -> WorkflowReadOnlyEffect[State, State]:  # type: ignore[override]  # pyright: ignore
                raise NotImplementedError

        return Broken

    assert problems_of(define) == ["the method 'state' hides self.state; name the method otherwise, its wire name may stay 'state'"]


def test_what_is_no_ordinary_method() -> None:
    def define() -> object:
        class Broken(Good):
            @command("static")
            @staticmethod
            def static(number: int) -> WorkflowEffect[State, Done]:
                raise NotImplementedError

            @query("one")
            @command("two")
            def both(self) -> WorkflowReadOnlyEffect[State, int]:
                return self.effects.reply(1)

        return Broken

    assert problems_of(define) == [
        "static is a staticmethod; a handler is an ordinary method",
        'both has 2 marks (@command("two"), @query("one")); a method is one handler',
    ]


def test_settings_that_name_one_step_twice() -> None:
    def define() -> object:
        class Broken(Good):
            settings = WorkflowSettings(steps={"renamed": StepSettings(), "before": StepSettings()})

            @step("renamed", aliases=("before",))
            def renamed(self) -> WorkflowStepEffect[State]:
                return self.step_effects.then_end()

        return Broken

    assert problems_of(define) == ["settings: steps has the step 'renamed' twice, also as 'before'"]


def test_a_decorator_without_a_name() -> None:
    def define() -> object:
        without_a_name: Any = define
        return command(without_a_name)

    assert problems_of(define) == ['@command needs the wire name: write @command("name")']


def test_what_is_no_component() -> None:
    for cls in (int, Workflow, EventSourcedEntity):
        with pytest.raises(RegistrationError):
            definition_of(cls)
