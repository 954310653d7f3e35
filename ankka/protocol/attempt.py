"""The name of one step attempt (rule W4), and one that still runs."""

import msgspec


class Token(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Names one attempt of one visit to a step; only the pending token's result counts.

    `generation` is the instance's (it changes with deletion), `run` counts starts within it, `visit` is the sequence
    of the transition that led to the step, `attempt` counts from 1 within the visit.
    """

    component: str
    instance: str
    generation: int
    run: int
    visit: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.component}/{self.instance} run {self.run} visit {self.visit} attempt {self.attempt}"


class RunningAttempt(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An attempt that a reconnecting process still runs (or whose answer was not acknowledged), for how long (µs)."""

    token: Token
    elapsed: int
    step: str = ""
