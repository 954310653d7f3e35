"""What a service builder checks, and what it tells the sidecar."""

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from ankka import Ankka, KeyValueEntity, KeyValueReadOnlyEffect, RegistrationError, Workflow, json_codec, query
from ankka.process.settings import drain_time
from tests.unit.client.shop import CartEntity, OrderWorkflow

if TYPE_CHECKING:  # names that are not there when the service is checked
    from tests.unit.client.shop import Order as Unknown
    from tests.unit.client.shop import Order as UnknownToo


class OtherOrder(CartEntity):
    component_id = "order"


def test_spec_has_an_entry_per_component_in_order() -> None:
    spec = Ankka.service().register(CartEntity).register(OrderWorkflow).spec()
    assert [component.component for component in spec] == ["cart", "order"]


def test_all_problems_of_all_components_are_reported_together() -> None:
    unusable: Any = dict
    unset: Any = Workflow
    service = Ankka.service().register(OrderWorkflow).register(OtherOrder).register(OrderWorkflow).register(unusable).register(unset)
    with pytest.raises(RegistrationError) as raised:
        service.validate()
    told = str(raised.value)
    assert len(raised.value.problems) == 4
    assert "OtherOrder: component_id 'order' is the id of OrderWorkflow too" in told
    assert "OrderWorkflow: component_id 'order' is registered twice" in told
    assert "dict cannot be registered" in told
    assert "Workflow cannot be registered" in told


class Waiting(KeyValueEntity[int]):
    component_id = "waiting"
    state_codec = json_codec(int, "waiting")

    def empty_state(self) -> int:
        return 0

    @query("one")
    def one(self, value: "Unknown") -> KeyValueReadOnlyEffect[int, int]:
        return self.effects.reply(1)

    @query("two")
    def two(self, value: "UnknownToo") -> KeyValueReadOnlyEffect[int, int]:
        return self.effects.reply(2)


def test_each_problem_of_each_component_is_a_line_of_its_own() -> None:
    unusable: Any = dict
    with pytest.raises(RegistrationError) as raised:
        Ankka.service().register(Waiting).register(unusable).validate()
    told = [problem.partition(":")[0] for problem in raised.value.problems]
    assert told == ["Waiting cannot be registered", "Waiting cannot be registered", "dict cannot be registered"]
    assert "'Unknown'" in raised.value.problems[0]
    assert "'UnknownToo'" in raised.value.problems[1]
    assert str(raised.value).count("\n") == 3


class Needy(OrderWorkflow):
    component_id = "needy"

    def __init__(self, bank: str, *more: str, currency: str, retries: int = 3) -> None:
        self.said = (bank, more, currency, retries)


def made(currency: str = "EUR") -> Needy:
    return Needy("bank", currency=currency)


def test_a_class_whose_objects_cannot_be_made_without_arguments_needs_create() -> None:
    assert [component.component for component in Ankka.service().register(Needy, create=made).spec()] == ["needy"]
    with pytest.raises(RegistrationError) as raised:
        Ankka.service().register(Needy).register(OrderWorkflow).validate()
    example = ".register(Needy, create=lambda: Needy(…))"
    assert raised.value.problems == [f"Needy: its __init__ needs bank, currency; give create=, a function that makes an object: {example}"]


def test_a_create_that_needs_arguments_is_refused() -> None:
    def make(bank: str) -> Needy:
        return Needy(bank, currency="EUR")

    wrong: Any = make
    none: Any = 3
    with pytest.raises(RegistrationError) as raised:
        Ankka.service().register(Needy, create=wrong).register(OrderWorkflow, create=none).validate()
    assert raised.value.problems == [
        "Needy: create= must be a function without arguments that makes one object, and this one needs bank",
        "OrderWorkflow: create=3 must be a function without arguments that makes one object",
    ]


def test_an_object_instead_of_its_class_is_refused() -> None:
    wrong: Any = OrderWorkflow()
    with pytest.raises(RegistrationError, match=r"register the class, not an object: \.register\(OrderWorkflow\)"):
        Ankka.service().register(wrong).validate()


def test_a_service_without_components_is_refused() -> None:
    with pytest.raises(RegistrationError, match="no component is registered"):
        Ankka.service().spec()


def test_validate_and_register_return_the_builder() -> None:
    service = Ankka.service()
    assert service.register(OrderWorkflow).limits(steps=10, sync_steps=2).validate() is service


@pytest.mark.parametrize("limits", [{"steps": 0}, {"sync_steps": -1}])
def test_limits_below_one_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Ankka.service().limits(**limits)


async def test_start_in_a_running_loop_names_listen() -> None:
    with pytest.raises(RuntimeError, match=r"await service\.listen\(\)"):
        Ankka.service().register(OrderWorkflow).start()


async def test_start_in_another_thread_names_listen() -> None:
    with pytest.raises(RuntimeError, match=r"asyncio\.run\(service\.listen\(\)\)"):
        await asyncio.to_thread(Ankka.service().register(OrderWorkflow).start)


@pytest.mark.parametrize(("text", "seconds"), [("", 30), ("5", 5), ("500ms", 0.5), ("2 min", 120), ("0", 0)])
def test_the_drain_time_is_read_as_the_sidecar_reads_it(text: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANKKA_DRAIN", text)
    assert drain_time() == seconds


@pytest.mark.parametrize("text", ["soon", "-1", "5 parsecs"])
def test_a_drain_time_that_is_none_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANKKA_DRAIN", text)
    with pytest.raises(ValueError, match="is no duration"):
        drain_time()
