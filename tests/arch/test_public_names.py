"""The public names are there, each from its module and from `ankka`, and nowhere a name that is promised for later.

`LATER` lists what is documented but not built. It can only shrink: a name in it that exists fails this test.
"""

import importlib
import importlib.util

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
    "ankka.effects.common": ["Error", "ErrorCode", "ExpireAfter"],
    "ankka.client": ["ComponentClient", "Calls", "CommandError", "WorkflowLifecycle", "Heartbeat", "Ended", "Failed", "TimedOut"],
    "ankka.service": ["Ankka", "ServiceBuilder"],
    "ankka.testkit": ["WorkflowTestKit", "EventSourcedTestKit", "KeyValueTestKit", "IntegrationTestKit"],
    "ankka.fastapi": ["lifespan", "Client", "component_client", "install_error_handlers"],
}
ONLY_FROM_THERE = {"ankka.fastapi"}
LATER = {
    "ankka.client": ["Heartbeat", "Ended", "Failed", "TimedOut"],
    "ankka.testkit": ["IntegrationTestKit"],
}
ALL = [(module, name) for module, names in NAMES.items() for name in names]
NOW = [(module, name) for module, name in ALL if name not in LATER.get(module, [])]
NOT_YET = [(module, name) for module, names in LATER.items() for name in names]


@pytest.mark.parametrize(("module", "name"), NOW)
def test_the_name_is_in_its_module_and_in_ankka(module: str, name: str) -> None:
    value = getattr(importlib.import_module(module), name, None)
    assert value is not None, f"{module} has no {name}"
    if module not in ONLY_FROM_THERE:
        assert getattr(importlib.import_module("ankka"), name, None) is value, f"`from ankka import {name}` must give {module}.{name}"


@pytest.mark.parametrize(("module", "name"), NOW)
def test_a_name_defined_elsewhere_is_exported_by_its_module(module: str, name: str) -> None:
    imported = importlib.import_module(module)
    if getattr(getattr(imported, name), "__module__", module) != module:
        assert name in getattr(imported, "__all__", ()), f"{module}.__all__ lacks {name}: type checkers take a re-export without it for private"


@pytest.mark.parametrize(("module", "name"), NOT_YET)
def test_a_later_name_is_not_there_yet(module: str, name: str) -> None:
    if importlib.util.find_spec(module) is not None:
        assert not hasattr(importlib.import_module(module), name), f"{module}.{name} is built: remove it from LATER"


def test_later_lists_documented_names_only() -> None:
    assert set(NOT_YET) <= set(ALL)
