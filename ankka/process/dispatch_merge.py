"""One merge of a step's state with what commands have changed meanwhile, and the result back as a frame (rule W14).

A merge that raises becomes a fault of the step, so the refusal says what was raised, as a fault does.
"""

import inspect
import logging
from typing import Any

from ankka.definition.component import Component
from ankka.definition.definitions import ComponentDefinition
from ankka.process.dispatch_step import describe
from ankka.process.dispatch_values import Create, Unusable, decode_state, encode, new_object, scope_of
from ankka.process.fault_log import log_failure
from ankka.process.merging import MergedState, merge_fields
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Merge, Merged, Refused
from ankka.workflow import Workflow


def merge(definition: ComponentDefinition, frame: Merge, create: Create | None = None) -> Merged | Refused:
    """Merge by the workflow's `merge_state`, on a fresh object whose `state` is the current one.

    `both` is filled in by the default only: an override has decided what stands.
    """
    where = f"step {frame.step!r} of {definition.component_id}/{frame.instance}"
    try:
        component = new_object(definition, frame.instance, create)
        base, current, mine = (decode_state(definition, component, payload) for payload in (frame.base, frame.current, frame.mine))
        scope = scope_of(component)
        scope.state = current
        try:
            state, both = _merged(component, base, current, mine)
        finally:
            scope.close()
        return Merged(frame.request, encode(definition.state_codec, state, f"the state that merge_state made after {where}"), both)
    except BaseException as error:
        text = describe(error)
        message = text if isinstance(error, Unusable) else f"merge_state of {definition.component_id!r} failed: {text}"
        log_failure(logging.WARNING, f"{where}: the state it set and the present one could not be merged: {message}", error)
        return Refused(frame.request, Error(ErrorCode.INTERNAL, message))


def _merged(component: Component[Any], base: Any, current: Any, mine: Any) -> MergedState[Any]:
    name = component.component_id
    if not isinstance(component, Workflow):
        raise Unusable(f"{name!r} is no workflow, so there is no step whose state could be merged")
    workflow: type[Any] = Workflow
    if type(component).merge_state is workflow.merge_state:
        return merge_fields(base, current, mine)
    state = component.merge_state(base, current, mine)
    if inspect.iscoroutine(state):
        state.close()
        raise Unusable(f"merge_state of {name!r} returned a coroutine, expected the state; it must not be async")
    if state is None and not any(known is None for known in (base, current, mine)):
        raise Unusable(f"merge_state of {name!r} returned None, expected the state that holds both changes")
    return MergedState(state, ())
