"""The pytest plugin's fixtures for unit kits, and what it costs a run that uses none of them."""

import subprocess
import sys

from ankka.testkit.fixtures import EventSourcedKits, KeyValueKits, WorkflowKits
from tests.integration.entities.shelf import Note, NoteEntity
from tests.unit.seed_checkout import CheckoutWorkflow
from tests.unit.shopping_cart import CartEntity, Item


def test_the_fixtures_make_kits(workflow_kit: WorkflowKits, event_sourced_kit: EventSourcedKits, key_value_kit: KeyValueKits) -> None:
    workflow = workflow_kit(CheckoutWorkflow, "c1")
    assert workflow.call("start", "ok").new_state == workflow.state
    assert workflow.state.status == "reserving"
    cart = event_sourced_kit(CartEntity, "k1")
    assert cart.call("add-item", Item("book", 2)).persisted
    assert cart.sequence == 1
    note = key_value_kit(NoteEntity)
    assert note.call("write", "hello").new_state == Note("test", "hello", 1)


def test_loading_it_loads_nothing_else_of_ours_and_nothing_heavy() -> None:
    code = "import pytest, sys; before = set(sys.modules); import ankka.testkit.pytest_plugin; print(*sorted(set(sys.modules) - before))"
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["ankka", "ankka.testkit", "ankka.testkit.pytest_plugin", "ankka.version"]
