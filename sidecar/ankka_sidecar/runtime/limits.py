"""The limits on what processes answer: a part above its limit becomes a refusal, or a fault of the step. F66

Inputs are checked where calls come in. Nothing that is above a limit is journalled, and it is not tried again: the
same code would answer the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import (
    EntityCommandDone,
    Fingerprinted,
    Folded,
    Merged,
    Refused,
    Replied,
    StepDone,
    StepFaulted,
    StepStopped,
    WorkflowCommandDone,
)
from ankka.protocol.outcome import GoTo, PauseFor
from ankka.protocol.payload import Payload, StepTarget
from ankka_sidecar.core.settings import Settings

Answer = WorkflowCommandDone | EntityCommandDone | Replied | Refused | Folded | Merged | Fingerprinted
StepAnswer = StepDone | StepFaulted | StepStopped


def answer_within(answer: Answer, settings: Settings) -> Answer:
    """A handler's answer, or the refusal it becomes."""
    if isinstance(answer, (Refused, Folded, Fingerprinted)):
        return answer
    error = _first_above(_parts(answer), settings)
    return answer if error is None else Refused(answer.request, error)


def step_within(answer: StepAnswer, settings: Settings) -> StepAnswer:
    """A step's answer, or the fault it becomes."""
    if not isinstance(answer, StepDone):
        return answer
    error = _first_above(_step_parts(answer), settings)
    return answer if error is None else StepFaulted(answer.token, ("TooLarge",), error.message, retryable=False)


def _parts(answer: WorkflowCommandDone | EntityCommandDone | Replied | Merged) -> Iterator[tuple[str, Payload | None]]:
    match answer:
        case Replied():
            yield "reply", answer.reply
        case Merged():
            yield "merged state", answer.state
        case WorkflowCommandDone():
            yield "reply", answer.reply
            yield "state", answer.state
            yield "step's input", _input(answer.transition)
        case EntityCommandDone():
            yield "reply", answer.reply
            yield "state", answer.state
            for event in answer.events:
                yield "event", event


def _step_parts(answer: StepDone) -> Iterator[tuple[str, Payload | None]]:
    yield "state", answer.state
    if isinstance(answer.outcome, GoTo):
        yield "next step's input", _input(answer.outcome.target)
    elif isinstance(answer.outcome, PauseFor):
        yield "input of the step after the pause", _input(answer.outcome.on_timeout)


def _input(target: StepTarget | None) -> Payload | None:
    return target.input if target is not None else None


def _first_above(parts: Iterator[tuple[str, Payload | None]], settings: Settings) -> Error | None:
    for name, payload in parts:
        limit, option = (settings.max_state, "max-state") if name.endswith("state") else (settings.max_payload, "max-payload")
        if payload is not None and len(payload.data) > limit:
            text = f"the {name} has {len(payload.data):,} bytes; at most {limit:,} are taken ({option})"
            return Error(ErrorCode.TOO_LARGE, text, {"limit": limit})
    return None
