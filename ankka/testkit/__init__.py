"""Test kits: run a component with the code and the rules that run it in production, without a sidecar; or with one.

kit = WorkflowTestKit.of(CheckoutWorkflow)
kit.when("shopping-cart", "total-quantity").reply(3)
assert kit.call("start", "ok").reply == DONE
assert kit.run().status == "Completed"
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ankka.protocol.journal_entry import JournalEntry
    from ankka.testkit.event_sourced_kit import EventSourcedTestKit
    from ankka.testkit.integration_kit import IntegrationTestKit
    from ankka.testkit.key_value_kit import KeyValueTestKit
    from ankka.testkit.workflow_kit import WorkflowTestKit

__all__ = ["EventSourcedTestKit", "IntegrationTestKit", "JournalEntry", "KeyValueTestKit", "WorkflowTestKit"]

# Loaded when first used: the pytest plugin lies in this package, and every pytest run of an environment loads that.
_MODULES = {
    "EventSourcedTestKit": "ankka.testkit.event_sourced_kit",
    "IntegrationTestKit": "ankka.testkit.integration_kit",
    "JournalEntry": "ankka.protocol.journal_entry",
    "KeyValueTestKit": "ankka.testkit.key_value_kit",
    "WorkflowTestKit": "ankka.testkit.workflow_kit",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'ankka.testkit' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
