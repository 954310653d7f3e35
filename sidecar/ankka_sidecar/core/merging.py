"""A workflow machine's merges (W14): a step's answer that was made from a state which commands have changed since.

    answer ──the state it began with is known──► AskMerge ──Merged──► the answer with both changes
       └──ReadState──► StateRead ──┘                └─Refused─► a fault of the step

While the merge is out no command starts; one that changed the state before its append leads to another merge, onto that.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.frames import Merged, Refused, StepDone, StepFaulted
from ankka.protocol.payload import Payload
from ankka_sidecar.core import workflow as rules
from ankka_sidecar.core.actions import AskMerge, ReadState
from ankka_sidecar.core.attempting import Attempting
from ankka_sidecar.core.inputs import StateRead, StepAnswered
from ankka_sidecar.core.journalling import RETRY_JOURNAL
from ankka_sidecar.core.keyed import Asking
from ankka_sidecar.core.limits import Limits


class Merging(Attempting):
    """See the module; `workflow_instance.WorkflowInstance` decides when."""

    __slots__ = ("_base", "_both", "_onto", "_reading")

    def __init__(self, component: str, instance: str, limits: Limits, salt: int) -> None:
        super().__init__(component, instance, limits, salt)
        self._base: tuple[int, Payload | None] | None = None
        """The state an adopted attempt was sent with, read from the journal: its sequence and itself."""
        self._both: tuple[str, ...] = ()
        """The fields that both sides had changed, where the waiting answer was merged."""
        self._onto: tuple[int, Payload | None] | None = None
        """The state it was merged with, once it was: commands may change that again before its append is durable."""
        self._reading = False

    def _needs_merge(self, answer: StepDone) -> bool:
        seen = answer.base if self._onto is None else self._onto[0]
        return answer.state is not None and bool(rules.unseen(self.record, seen))

    def _merge(self, answer: StepDone, now: int) -> bool:
        base = self._onto if self._onto is not None else self._base_of(answer.base)
        if base is None:
            if not self._reading:
                self._reading = True
                self._out.append(ReadState(self.record.generation, answer.base))
            return False
        pending = self.record.pending
        assert pending is not None
        assert self.state is not None, "a command has changed the state, so there is one"
        assert answer.state is not None
        self._ask += 1
        self._asking = Asking(self._ask, None, now + self._limits.handler_timeout)
        self._out.append(AskMerge(self._ask, pending.target.step, base[1], self.state, answer.state))
        return True

    def _base_of(self, sequence: int) -> tuple[int, Payload | None] | None:
        """The state an attempt was sent with; `None` while it has to be read."""
        attempt = self._attempt
        if sequence == 0:
            return (0, None)
        if attempt is not None and attempt.base == sequence:
            return (sequence, attempt.base_state)
        return self._base if self._base is not None and self._base[0] == sequence else None

    def _on_state_read(self, read: StateRead, now: int) -> None:
        self._reading = False
        self._base = (read.sequence, read.state)

    def _on_folded(self, answer: Any, now: int) -> None:
        """The answer to a merge. One that raises is a fault of the step."""
        given = self._answer
        if given is None or not isinstance(given.answer, StepDone):
            return  # the run was ended or redirected by an operator meanwhile
        if isinstance(answer, Merged):
            self._both = tuple(sorted({*self._both, *answer.both}))
            self._onto = (self.record.state_sequence, self.state)
            self._answer = StepAnswered(msgspec.structs.replace(given.answer, state=answer.state), given.spec)
        elif isinstance(answer, Refused):
            self._merge_failed(answer.error.message)
        else:
            self._merge_failed(f"a merge answered {type(answer).__name__}")

    def _merge_failed(self, message: str) -> None:
        given = self._answer
        if given is not None:
            fault = StepFaulted(given.answer.token, ("MergeFailed",), f"its state cannot be merged with the commands': {message}")
            self._answer = StepAnswered(fault, given.spec)

    def _fold_lost(self, error: Error, now: int) -> None:
        """The process that merged is gone: another merges, the step is not run again; what cannot be merged is a fault."""
        if error.code is ErrorCode.UNAVAILABLE:
            self._held_until = max(self._held_until, now + RETRY_JOURNAL)
        else:
            self._merge_failed(error.message)

    def _forget_merge(self) -> None:
        """The answer that was to be merged is taken, or replaced."""
        self._both = ()
        self._onto = None
        self._base = None
