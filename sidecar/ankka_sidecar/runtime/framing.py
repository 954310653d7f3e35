"""Work as frames: what a machine asks for, as a process is told it."""

from __future__ import annotations

from ankka.protocol import frames
from ankka.protocol.spec import StepSpec
from ankka_sidecar.core.actions import AskFingerprint, AskFold, AskHandler, AskMerge, RunStep
from ankka_sidecar.core.instance import Instance

Asked = AskHandler | AskFold | AskMerge | AskFingerprint


def kind_of(action: Asked | RunStep) -> str:
    """What kind of work it is, as its fault point is named."""
    if isinstance(action, RunStep):
        return "step"
    if isinstance(action, AskFold):
        return "fold"
    if isinstance(action, AskMerge):
        return "merge"
    if isinstance(action, AskFingerprint):
        return "fingerprint"
    return "query" if action.call.read_only else "command"


def request_frame(machine: Instance, action: Asked, request: int, now: int, handler_timeout: int) -> frames.Frame:
    """A command, query, fold, merge or fingerprint."""
    component, instance = machine.component, machine.instance
    if isinstance(action, AskFold):
        return frames.Fold(request, component, instance, action.state, action.events, action.sequences)
    if isinstance(action, AskMerge):
        return frames.Merge(request, component, instance, action.step, action.base, action.current, action.mine, handler_timeout)
    call = action.call
    if isinstance(action, AskFingerprint):
        return frames.Fingerprint(request, component, instance, call.handler, call.input, handler_timeout)
    timeout = min(handler_timeout, max(0, call.deadline - now))
    if call.read_only:
        return frames.RunQuery(
            request, component, instance, call.handler, call.input, action.state, action.sequence, timeout, call.metadata, call.chain, call.trace
        )
    return frames.RunCommand(
        request,
        component,
        instance,
        call.handler,
        call.input,
        action.state,
        action.sequence,
        timeout,
        call.metadata,
        call.chain,
        call.key,
        call.trace,
    )


def step_frame(action: RunStep, step: StepSpec) -> frames.RunStep:
    """A step attempt, under the name the process gives the step."""
    return frames.RunStep(action.token, step.name, action.input, action.state, action.base, action.sequence, step.timeout, action.trace, action.since)
