"""Ankka: durable workflows and entities in plain Python.

Every public name is here and in the module named beside it; a module is loaded when one of its names is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ankka import version

__version__ = version.VERSION

if TYPE_CHECKING:
    from ankka.client import (
        Calls,
        CommandError,
        ComponentClient,
        Ended,
        EventSourcedCalls,
        Failed,
        Heartbeat,
        KeyValueCalls,
        TimedOut,
        WorkflowCalls,
        WorkflowLifecycle,
    )
    from ankka.codec import DONE, Codec, Done, EncodingError, default_codec_for, json_codec
    from ankka.context import CommandContext, Metadata
    from ankka.effects.common import Error, ErrorCode, ExpireAfter
    from ankka.effects.event_sourced import EventSourcedEffect, ReadOnlyEffect
    from ankka.effects.key_value import KeyValueEffect, KeyValueReadOnlyEffect
    from ankka.effects.workflow import End, Pause, StepFail, StepRef, TransitionTo, WorkflowEffect, WorkflowReadOnlyEffect, WorkflowStepEffect
    from ankka.event_sourced_entity import EventSourcedEntity, RegistrationError, command, query
    from ankka.key_value_entity import KeyValueEntity
    from ankka.logs import CurrentWork, WorkFilter, current_work
    from ankka.service import Ankka, ServiceBuilder
    from ankka.testkit import EventSourcedTestKit, IntegrationTestKit, KeyValueTestKit, WorkflowTestKit
    from ankka.workflow import Backoff, Recovery, StepSettings, Workflow, WorkflowSettings, step

__all__ = [
    "DONE",
    "Ankka",
    "Backoff",
    "Calls",
    "Codec",
    "CommandContext",
    "CommandError",
    "ComponentClient",
    "CurrentWork",
    "Done",
    "EncodingError",
    "End",
    "Ended",
    "Error",
    "ErrorCode",
    "EventSourcedCalls",
    "EventSourcedEffect",
    "EventSourcedEntity",
    "EventSourcedTestKit",
    "ExpireAfter",
    "Failed",
    "Heartbeat",
    "IntegrationTestKit",
    "KeyValueCalls",
    "KeyValueEffect",
    "KeyValueEntity",
    "KeyValueReadOnlyEffect",
    "KeyValueTestKit",
    "Metadata",
    "Pause",
    "ReadOnlyEffect",
    "Recovery",
    "RegistrationError",
    "ServiceBuilder",
    "StepFail",
    "StepRef",
    "StepSettings",
    "TimedOut",
    "TransitionTo",
    "WorkFilter",
    "Workflow",
    "WorkflowCalls",
    "WorkflowEffect",
    "WorkflowLifecycle",
    "WorkflowReadOnlyEffect",
    "WorkflowSettings",
    "WorkflowStepEffect",
    "WorkflowTestKit",
    "__version__",
    "command",
    "current_work",
    "default_codec_for",
    "json_codec",
    "query",
    "step",
]

_MODULES = {
    "ankka.client": (
        "Calls",
        "CommandError",
        "ComponentClient",
        "Ended",
        "EventSourcedCalls",
        "Failed",
        "Heartbeat",
        "KeyValueCalls",
        "TimedOut",
        "WorkflowCalls",
        "WorkflowLifecycle",
    ),
    "ankka.codec": ("DONE", "Codec", "Done", "EncodingError", "default_codec_for", "json_codec"),
    "ankka.context": ("CommandContext", "Metadata"),
    "ankka.effects.common": ("Error", "ErrorCode", "ExpireAfter"),
    "ankka.effects.event_sourced": ("EventSourcedEffect", "ReadOnlyEffect"),
    "ankka.effects.key_value": ("KeyValueEffect", "KeyValueReadOnlyEffect"),
    "ankka.effects.workflow": (
        "End",
        "Pause",
        "StepFail",
        "StepRef",
        "TransitionTo",
        "WorkflowEffect",
        "WorkflowReadOnlyEffect",
        "WorkflowStepEffect",
    ),
    "ankka.event_sourced_entity": ("EventSourcedEntity", "RegistrationError", "command", "query"),
    "ankka.key_value_entity": ("KeyValueEntity",),
    "ankka.logs": ("CurrentWork", "WorkFilter", "current_work"),
    "ankka.service": ("Ankka", "ServiceBuilder"),
    "ankka.testkit": ("EventSourcedTestKit", "IntegrationTestKit", "KeyValueTestKit", "WorkflowTestKit"),
    "ankka.workflow": ("Backoff", "Recovery", "StepSettings", "Workflow", "WorkflowSettings", "step"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'ankka' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
