"""What is easily done wrong with a kit, and what is said then."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from ankka import EventSourcedTestKit, WorkflowTestKit
from tests.unit.client.shop import CartEntity, OrderWorkflow


@pytest.mark.parametrize(
    ("handler", "says"),
    [
        ("quantitty", r"'cart' has no handler 'quantitty'; did you mean 'quantity'\?"),
        (OrderWorkflow.slow, r"'cart' has no handler 'slow'; declared are add, quantity"),
        (CartEntity.empty_state, r"is no handler; give its wire name or the method"),
    ],
)
def test_an_answer_for_a_handler_that_the_class_does_not_have(handler: str | Callable[..., Any], says: str) -> None:
    kit = WorkflowTestKit.of(OrderWorkflow)
    with pytest.raises(ValueError, match=says):
        kit.when(CartEntity, handler)
    kit.when("cart", "quantitty").reply(1)  # by names nothing is known of it
    kit.when(OrderWorkflow, "ankka:await").hang()  # every workflow has the engine's own


@pytest.mark.parametrize(("entity_id", "says"), [("", "must not be empty"), ("..", "cannot be an instance id"), (3, "is a text, not int 3")])
def test_what_no_instance_can_have_as_its_id(entity_id: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        WorkflowTestKit.of(OrderWorkflow, entity_id)
    with pytest.raises(ValueError, match=says):
        EventSourcedTestKit.of(CartEntity, entity_id)


def test_metadata_is_text() -> None:
    number: Any = {"retries": 1}
    with pytest.raises(ValueError, match="metadata is text by name; 1 is no text"):
        WorkflowTestKit.of(OrderWorkflow).call("start", 1, metadata=number)


def test_a_number_is_no_duration() -> None:
    kit = WorkflowTestKit.of(OrderWorkflow)
    with pytest.raises(TypeError, match=r"advance\(5\): no duration; write timedelta\(seconds=…\)"):
        kit.advance(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"patience=5 is no duration; write timedelta\(seconds=…\)"):
        kit.patience = 5  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    assert kit.patience == timedelta(seconds=10)
