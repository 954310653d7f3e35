"""A request of the sidecar, to what answers it; and who the calls come from that its handler or step makes."""

from typing import Any

import msgspec

from ankka.calls.call_keys import CallKeys
from ankka.calls.caller import Origin
from ankka.client import ComponentClient
from ankka.definition.definitions import ComponentDefinition
from ankka.process.dispatch import fold, run_command, run_query
from ankka.process.dispatch_fingerprint import fingerprint
from ankka.process.dispatch_merge import merge
from ankka.process.dispatch_step import StepAnswer
from ankka.process.dispatch_values import Create
from ankka.process.session import HandlerRequest
from ankka.protocol.frames import Fingerprint, Fold, Merge, RunCommand, RunQuery, RunStep, StepDone

CALLS_TOLD = 1_000
"""Calls of an attempt that its answer lists at most: 35 bytes each, of the 64 KiB that a frame has beside its payload."""


def origin_of(frame: RunCommand | RunQuery | RunStep, deadline: float) -> Origin:
    """Who those calls come from; `deadline` is monotonic, in seconds."""
    if isinstance(frame, RunStep):
        return Origin(attempt=frame.token, deadline=deadline, trace=frame.trace)
    where = f"{frame.component}/{frame.instance}"
    if isinstance(frame, RunQuery):
        # No command that waits, so one of its own instance may follow; but part of the ring that a command waits for.
        return Origin(chain=(*frame.chain, f"query {where}"), deadline=deadline, trace=frame.trace)
    keys = None if frame.key is None else CallKeys.of_command(frame.component, frame.instance, frame.key)
    return Origin(chain=(*frame.chain, where), deadline=deadline, trace=frame.trace, keys=keys)


def answer_to(frame: HandlerRequest, definition: ComponentDefinition, create: Create | None, client: ComponentClient | None, resources: Any) -> Any:
    """The answer, or a coroutine of it where the handler is async; a client is for commands and queries."""
    match frame:
        case RunCommand():
            return run_command(definition, frame, client, resources, create)
        case RunQuery():
            return run_query(definition, frame, client, resources, create)
        case Fold():
            return fold(definition, frame, create)
        case Merge():
            return merge(definition, frame, create)
        case Fingerprint():
            return fingerprint(definition, frame)


def with_calls(answer: StepAnswer, origin: Origin) -> StepAnswer:
    """A step's answer; from the second attempt on it lists the calls that were done (W16)."""
    keys = origin.keys
    if keys is None or not keys.repeated or len(keys.done) > CALLS_TOLD or not isinstance(answer, StepDone):
        return answer
    return msgspec.structs.replace(answer, calls=tuple(keys.done))
