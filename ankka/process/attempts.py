"""Step attempts this process runs or has answered, until the sidecar says what became of the answer (W4, W11).

    sent ──► running ──answer──► answered ──StepAck──► forgotten
                └── replaced (W5): may still answer, but call nothing any more

The table outlives connections: a hello lists all of it, and every answer without an acknowledgement is sent again on
the next session. An answer is made once; the attempt's clock stops with it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ankka.protocol.attempt import RunningAttempt, Token
from ankka.protocol.frames import StepDone, StepFaulted, StepStopped

StepAnswer = StepDone | StepFaulted | StepStopped

REPLACED = "the attempt that makes this call was replaced: it was cancelled, or its time was over"
ENDED = "the attempt that makes this call has ended: its answer was given"


@dataclass(slots=True)
class _Attempt:
    started: float
    step: str
    answer: StepAnswer | None = None
    elapsed: float = 0.0
    replaced: bool = False


class AttemptTable:
    """The attempts of one process; `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._attempts: dict[Token, _Attempt] = {}
        self._answered = 0

    def __contains__(self, token: Token) -> bool:
        return token in self._attempts

    def __len__(self) -> int:
        return len(self._attempts)

    def start(self, token: Token, step: str) -> None:
        """`token` runs `step` from now on."""
        self._attempts[token] = _Attempt(self._clock(), step)

    def answer(self, answer: StepAnswer) -> bool:
        """Note the answer of a running attempt; false if it had one already (the first stands)."""
        attempt = self._attempts.get(answer.token)
        if attempt is None or attempt.answer is not None:
            return False
        attempt.answer = answer
        self._answered += 1
        attempt.elapsed = self._clock() - attempt.started
        return True

    def replace(self, token: Token) -> None:
        """Another attempt takes the place of `token`, or nothing does: what it still does is of no use."""
        attempt = self._attempts.get(token)
        if attempt is not None:
            attempt.replaced = True

    def why_no_calls(self, token: Token) -> str | None:
        """Why `token` must not call anything (I12); `None` while it may."""
        attempt = self._attempts.get(token)
        if attempt is not None and attempt.replaced:
            return REPLACED
        return ENDED if attempt is None or attempt.answer is not None else None

    def answer_of(self, token: Token) -> StepAnswer | None:
        """The answer of `token` that is not acknowledged yet, if there is one."""
        attempt = self._attempts.get(token)
        return attempt.answer if attempt is not None else None

    def acknowledge(self, token: Token) -> None:
        """The sidecar has dealt with the answer of `token`."""
        attempt = self._attempts.get(token)
        if attempt is not None and attempt.answer is not None:
            del self._attempts[token]
            self._answered -= 1

    @property
    def has_unacknowledged(self) -> bool:
        """Whether an answer waits for its acknowledgement."""
        return self._answered > 0

    def listed(self) -> tuple[RunningAttempt, ...]:
        """All attempts for a hello, each with how long it has run."""
        now = self._clock()
        return tuple(
            RunningAttempt(token, round((attempt.elapsed if attempt.answer is not None else now - attempt.started) * 1_000_000), attempt.step)
            for token, attempt in self._attempts.items()
        )

    def unacknowledged(self) -> list[StepAnswer]:
        """The answers to send again, oldest first."""
        return [attempt.answer for attempt in self._attempts.values() if attempt.answer is not None]

    def running(self) -> Iterator[Token]:
        """The tokens without an answer."""
        return iter([token for token, attempt in self._attempts.items() if attempt.answer is None])
