"""Settings are checked where they are made, and every step gets those that apply to it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from ankka.codec import json_codec
from ankka.definition.build import definition_of
from ankka.effects.workflow import WorkflowStepEffect
from ankka.event_sourced_entity import RegistrationError
from ankka.protocol.spec import BackoffSpec, ComponentKind, RecoverySpec
from ankka.workflow import Backoff, Recovery, StepSettings, Workflow, WorkflowSettings, step
from tests.unit.seed_checkout import CheckoutWorkflow
from tests.unit.shopping_cart import CartEntity

ANY: Any = "what a checker would refuse"
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Recovery(max_retries=-1), "max_retries=-1"),  # F83
        (lambda: Recovery(max_retries=ANY), "max_retries="),
        (lambda: Recovery(max_retries=True), "max_retries=True"),
        (lambda: Recovery(failover_to=""), "failover_to=''"),
        (lambda: Recovery(backoff=ANY), "backoff="),
        (lambda: Recovery(not_on=(ANY, 3)), "not_on has 3"),  # type: ignore[arg-type]  # pyright: ignore
        (lambda: Recovery(not_on=(int,)), "not_on has <class 'int'>"),  # type: ignore[arg-type]  # pyright: ignore
        (lambda: Backoff(timedelta(0)), "initial=0:00:00"),
        (lambda: Backoff(ANY), "initial="),
        (lambda: Backoff(SECOND, factor=0.5), "factor=0.5"),
        (lambda: Backoff(SECOND, factor=float("inf")), "factor=inf"),
        (lambda: Backoff(SECOND, jitter=1.5), "jitter=1.5"),
        (lambda: Backoff(SECOND, jitter=float("nan")), "jitter=nan"),
        (lambda: Backoff(SECOND, maximum=SECOND / 2), "maximum=0:00:00.500000"),
        (lambda: StepSettings(timeout=timedelta(0)), "timeout=0:00:00"),
        (lambda: StepSettings(timeout=timedelta(days=40_000)), "timeout=40000 days"),
        (lambda: StepSettings(recovery=ANY), "recovery="),
        (lambda: StepSettings(once=ANY), "once="),
        (lambda: WorkflowSettings(timeout=-SECOND), "timeout=-1 day"),
        (lambda: WorkflowSettings(default_step_timeout=ANY), "default_step_timeout="),
        (lambda: WorkflowSettings(default_recovery=ANY), "default_recovery="),
        (lambda: WorkflowSettings(steps=ANY), "steps="),
        (lambda: WorkflowSettings(steps={"charge": ANY}), "steps['charge']="),
        (lambda: WorkflowSettings(cancel_to=""), "cancel_to=''"),
    ],
)
def test_values_that_cannot_be(make: Callable[[], object], says: str) -> None:
    with pytest.raises(RegistrationError) as raised:
        make()
    (problem,) = raised.value.problems
    assert problem.startswith(says)


def test_all_that_is_wrong_with_a_value_is_said_at_once() -> None:
    with pytest.raises(RegistrationError) as raised:
        Backoff(timedelta(0), factor=0, jitter=2)
    assert len(raised.value.problems) == 3


def test_defaults_are_the_documents() -> None:
    assert WorkflowSettings() == WorkflowSettings(None, timedelta(seconds=30), None, {}, None)
    assert Recovery() == Recovery(0, None, None, ())
    assert StepSettings() == StepSettings(None, None, False)
    assert Backoff(SECOND) == Backoff(SECOND, 2.0, None, 0.0)


def test_settings_do_not_change_with_the_dict_they_were_made_of() -> None:
    steps = {"charge": StepSettings()}
    settings = WorkflowSettings(steps=steps)
    steps.clear()
    assert list(settings.steps) == ["charge"]


class Declined(Exception):
    pass


class Limited(Workflow[str]):
    component_id = "limited"
    state_codec = json_codec(str, "limited")
    settings = WorkflowSettings(
        timeout=timedelta(minutes=5),
        default_step_timeout=timedelta(seconds=10),
        default_recovery=Recovery(max_retries=2, failover_to="undo"),
        steps={
            "pay": StepSettings(
                timeout=timedelta(milliseconds=1500),
                recovery=Recovery(3, "undo", Backoff(SECOND, maximum=10 * SECOND, jitter=0.1), (Declined, "OutOfStock")),
                once=True,
            ),
            "undo": StepSettings(recovery=Recovery()),
        },
        cancel_to="undo",
    )

    def empty_state(self) -> str:
        return ""

    @step("charge", aliases=("pay",))
    def charge(self) -> WorkflowStepEffect[str]:
        """Take the money.

        At most once.
        """
        return self.step_effects.then_end()

    @step("ship")
    async def ship(self, number: int = 1) -> WorkflowStepEffect[str]:
        return self.step_effects.then_end()

    @step("undo")
    async def undo(self) -> WorkflowStepEffect[str]:
        return self.step_effects.then_end()


def test_every_step_has_the_settings_that_apply_to_it() -> None:
    spec = definition_of(Limited).spec()
    charge, ship, undo = spec.steps
    assert (spec.component, spec.kind, spec.timeout, spec.cancel_to) == ("limited", ComponentKind.WORKFLOW, 300_000_000, "undo")
    assert (charge.name, charge.aliases, charge.timeout, charge.once, charge.threaded) == ("charge", ("pay",), 1_500_000, True, True)
    not_on = (f"{__name__}.Declined", "OutOfStock")
    assert charge.recovery == RecoverySpec(3, "undo", BackoffSpec(1_000_000, 2.0, 10_000_000, 0.1), not_on)
    assert (ship.timeout, ship.recovery, ship.once, ship.threaded) == (10_000_000, RecoverySpec(2, "undo"), False, False)
    assert ship.input is not None
    assert (ship.input.name, ship.input.optional) == ("int", True)
    assert undo.recovery == RecoverySpec()


def test_the_documents_workflow_is_declared_as_it_says() -> None:
    spec = definition_of(CheckoutWorkflow).spec()
    assert [(handler.name, handler.read_only, handler.reply.name) for handler in spec.handlers] == [
        ("start", False, "Done"),
        ("status", True, "Checkout"),
    ]
    assert spec.handlers[0].input is not None
    assert (spec.handlers[0].input.name, spec.handlers[0].input.primitive, spec.handlers[0].input.optional) == ("str", "str", False)
    assert [(one.name, one.timeout, one.threaded) for one in spec.steps] == [
        ("reserve", 10_000_000, False),
        ("wait", 10_000_000, True),
        ("charge", 10_000_000, False),
        ("compensate", 10_000_000, True),
    ]
    assert [one.recovery for one in spec.steps] == [RecoverySpec(), RecoverySpec(), RecoverySpec(1, "compensate"), RecoverySpec()]
    assert spec.manifest == "checkout"
    assert spec.fingerprint


def test_an_entity_is_declared_without_steps() -> None:  # F64: what a process does not declare, it is never sent
    spec = definition_of(CartEntity).spec()
    assert (spec.kind, spec.steps, spec.snapshot_every) == (ComponentKind.EVENT_SOURCED_ENTITY, (), 100)
    assert [handler.name for handler in spec.handlers] == ["add-item", "add-all", "checkout", "remove", "touch", "total-quantity"]
    assert spec.fingerprint != definition_of(CartEntity).state_codec.fingerprint()
