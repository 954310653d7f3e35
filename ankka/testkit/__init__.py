"""Test kits: run handlers and steps by hand, with the code that runs them in production, without a sidecar.

kit = WorkflowTestKit.of(CheckoutWorkflow)
kit.when("shopping-cart", "total-quantity").reply(3)
assert kit.call("start", "ok").reply == DONE
assert kit.run_step().next == TransitionTo("charge")
"""

from ankka.testkit.event_sourced_kit import EventSourcedTestKit
from ankka.testkit.key_value_kit import KeyValueTestKit
from ankka.testkit.workflow_kit import WorkflowTestKit

__all__ = ["EventSourcedTestKit", "KeyValueTestKit", "WorkflowTestKit"]
