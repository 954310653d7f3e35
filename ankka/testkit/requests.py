"""What a simulated sidecar sends to the process, and how a handler runs that it has asked for."""

import asyncio

from ankka_sidecar.core.actions import AskFingerprint, AskFold, AskHandler, AskMerge

from ankka.client import ComponentClient
from ankka.process.dispatch import CommandAnswer
from ankka.process.requests import answer_to
from ankka.process.running import REQUEST
from ankka.process.session import HandlerRequest
from ankka.protocol.frames import Fingerprint, Fold, Merge, RunCommand, RunQuery
from ankka.testkit.limits import LIMITS
from ankka.testkit.tested import Tested


def command_or_query(action: AskHandler, component: str, instance: str, timeout: int) -> RunCommand | RunQuery:
    """A call, as a process is told it."""
    ask, call, state, sequence = action.ask, action.call, action.state, action.sequence
    if call.read_only:
        return RunQuery(ask, component, instance, call.handler, call.input, state, sequence, timeout, call.metadata, call.chain, call.trace)
    return RunCommand(ask, component, instance, call.handler, call.input, state, sequence, timeout, call.metadata, call.chain, call.key, call.trace)


def question(action: AskFold | AskMerge | AskFingerprint, component: str, instance: str) -> HandlerRequest:
    """What else the engine asks of a process: to fold events, to merge states, to tell an input by its fingerprint."""
    match action:
        case AskFold(ask=ask):
            return Fold(ask, component, instance, action.state, action.events, action.sequences)
        case AskMerge(ask=ask):
            return Merge(ask, component, instance, action.step, action.base, action.current, action.mine, LIMITS.handler_timeout)
        case AskFingerprint(ask=ask, call=call):
            return Fingerprint(ask, component, instance, call.handler, call.input, LIMITS.handler_timeout)


async def handled(tested: Tested, frame: RunCommand | RunQuery, client: ComponentClient) -> CommandAnswer:
    """Run a command or a query."""
    REQUEST.set(frame)
    answer = answer_to(frame, tested.definition, tested.create, client, tested.resources)
    ended: CommandAnswer = await answer if asyncio.iscoroutine(answer) else answer
    return ended
