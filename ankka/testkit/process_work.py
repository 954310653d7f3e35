"""What a process does when the engine asks it for a handler, as `ankka.process.work` does it for a session."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ankka_sidecar.core.actions import AskFingerprint, AskFold, AskHandler, AskMerge
from ankka_sidecar.core.inputs import CallMade
from ankka_sidecar.core.limits import Limits

from ankka.calls.call_keys import CallKeys
from ankka.calls.caller import Origin
from ankka.client import ComponentClient
from ankka.definition.definitions import ComponentDefinition
from ankka.process.dispatch import CommandAnswer, fold, run_command, run_query
from ankka.process.dispatch_fingerprint import fingerprint
from ankka.process.dispatch_merge import merge
from ankka.process.running import REQUEST
from ankka.protocol.frames import Fingerprint, Fingerprinted, Fold, Folded, Merge, Merged, Refused, RunCommand, RunQuery
from ankka.testkit.scripted_calls import Script

UNBOUNDED = float(1 << 40)
"""Seconds: real time bounds no call of a handler; its link bounds it in simulated time."""
NEVER = 1 << 60
"""µs: a duration that does not pass."""
LIMITS = Limits(passivate_after=NEVER)
"""A sidecar's defaults; only that an instance never leaves memory, which would change nothing but who has to be asked."""


@dataclass(frozen=True, slots=True)
class Hosted:
    """What is simulated: the component, what makes its objects, what its handlers are given."""

    definition: ComponentDefinition
    create: Callable[[], Any] | None
    resources: Any
    script: Script


def origin_of(call: CallMade, where: str, component: str, instance: str) -> Origin:
    """Who the calls of a command's or query's handler come from."""
    keys = None if call.key is None else CallKeys.of_command(component, instance, call.key)
    return Origin(chain=(*call.chain, f"query {where}" if call.read_only else where), deadline=UNBOUNDED, trace=call.trace, keys=keys)


def frame_of(action: AskHandler, component: str, instance: str, timeout: int) -> RunCommand | RunQuery:
    """A command or a query, as a process is told it."""
    ask, call, state, sequence = action.ask, action.call, action.state, action.sequence
    if call.read_only:
        return RunQuery(ask, component, instance, call.handler, call.input, state, sequence, timeout, call.metadata, call.chain, call.trace)
    return RunCommand(ask, component, instance, call.handler, call.input, state, sequence, timeout, call.metadata, call.chain, call.key, call.trace)


async def handled(hosted: Hosted, frame: RunCommand | RunQuery, client: ComponentClient) -> CommandAnswer:
    """Run a command or a query."""
    REQUEST.set(frame)
    answer: Any
    if isinstance(frame, RunQuery):
        answer = run_query(hosted.definition, frame, client, hosted.resources, hosted.create)
    else:
        answer = run_command(hosted.definition, frame, client, hosted.resources, hosted.create)
    ended: CommandAnswer = await answer if asyncio.iscoroutine(answer) else answer
    return ended


def answered_at_once(hosted: Hosted, action: AskFold | AskMerge | AskFingerprint, instance: str) -> Folded | Merged | Fingerprinted | Refused:
    """Fold events, merge states, or tell an input by its fingerprint."""
    definition, ask, component = hosted.definition, action.ask, hosted.definition.component_id
    match action:
        case AskFold():
            return fold(definition, Fold(ask, component, instance, action.state, action.events, action.sequences), hosted.create)
        case AskMerge():
            frame = Merge(ask, component, instance, action.step, action.base, action.current, action.mine, LIMITS.handler_timeout)
            return merge(definition, frame, hosted.create)
        case AskFingerprint():
            asked = Fingerprint(ask, component, instance, action.call.handler, action.call.input, LIMITS.handler_timeout)
            return fingerprint(definition, asked)
