"""The public names are there, each from its module and from `ankka`."""

import importlib

import pytest

NAMES = {
    "ankka.workflow": ["Workflow", "step", "WorkflowSettings", "StepSettings", "Recovery", "Backoff"],
    "ankka.effects.workflow": [
        "StepRef",
        "TransitionTo",
        "Pause",
        "End",
        "StepFail",
        "WorkflowEffect",
        "WorkflowReadOnlyEffect",
        "WorkflowStepEffect",
    ],
    "ankka.event_sourced_entity": ["EventSourcedEntity", "RegistrationError", "command", "query"],
    "ankka.effects.event_sourced": ["EventSourcedEffect", "ReadOnlyEffect"],
    "ankka.key_value_entity": ["KeyValueEntity"],
    "ankka.effects.key_value": ["KeyValueEffect", "KeyValueReadOnlyEffect"],
    "ankka.codec": ["Codec", "json_codec", "default_codec_for", "Done", "DONE", "EncodingError"],
    "ankka.context": ["CommandContext", "Metadata"],
    "ankka.logs": ["CurrentWork", "WorkFilter", "current_work"],
    "ankka.effects.common": ["Error", "ErrorCode", "ExpireAfter"],
    "ankka.client": [
        "ComponentClient",
        "Calls",
        "WorkflowCalls",
        "EventSourcedCalls",
        "KeyValueCalls",
        "CommandError",
        "WorkflowLifecycle",
        "Heartbeat",
        "Ended",
        "Failed",
        "TimedOut",
    ],
    "ankka.service": ["Ankka", "ServiceBuilder"],
    "ankka.testkit": ["WorkflowTestKit", "EventSourcedTestKit", "KeyValueTestKit", "IntegrationTestKit"],
    "ankka.fastapi": ["lifespan", "Client", "component_client", "install_error_handlers"],
}
ONLY_FROM_THERE = {"ankka.fastapi"}
ALL = [(module, name) for module, names in NAMES.items() for name in names]


@pytest.mark.parametrize(("module", "name"), ALL)
def test_the_name_is_in_its_module_and_in_ankka(module: str, name: str) -> None:
    value = getattr(importlib.import_module(module), name, None)
    assert value is not None, f"{module} has no {name}"
    if module not in ONLY_FROM_THERE:
        assert getattr(importlib.import_module("ankka"), name, None) is value, f"`from ankka import {name}` must give {module}.{name}"


@pytest.mark.parametrize(("module", "name"), ALL)
def test_a_name_defined_elsewhere_is_exported_by_its_module(module: str, name: str) -> None:
    imported = importlib.import_module(module)
    if getattr(getattr(imported, name), "__module__", module) != module:
        assert name in getattr(imported, "__all__", ()), f"{module}.__all__ lacks {name}: type checkers take a re-export without it for private"
