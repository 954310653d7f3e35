"""Who calls, and with what time left: turns a call of the client into a frame, and a refusal into `CommandError`."""

import asyncio
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Protocol, TypeVar

from ankka.command_error import CommandError
from ankka.protocol.attempt import Token
from ankka.protocol.errors import ErrorCode
from ankka.protocol.frames import Call
from ankka.protocol.ids import InvalidId, check_instance_id
from ankka.protocol.payload import Payload
from ankka.protocol.spec import ComponentKind

T = TypeVar("T")

DEFAULT_TIMEOUT = 30.0
"""Seconds a call made outside any handler may take."""


class CallLink(Protocol):
    """The one connection all clients of a process share."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop it runs on; the sync twins hand their calls over to it."""
        ...

    async def ask(self, call: Call, *, repeatable: bool = False) -> Payload:
        """Make a call; `CommandError` if it is refused."""
        ...


@dataclass(frozen=True, slots=True)
class Origin:
    """What calls: nothing of ours, a command (`chain`: the commands above and itself), or a step's `attempt`.

    `deadline` is monotonic, in seconds: no call outlives what made it.
    """

    chain: tuple[str, ...] = ()
    attempt: Token | None = None
    deadline: float | None = None
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """An instance, by the kind of its component."""

    kind: ComponentKind
    component: str
    instance: str


@dataclass(frozen=True, slots=True)
class Caller:
    """A link, an origin, and what `.with_…` set; copied, never changed."""

    link: CallLink
    origin: Origin = Origin()
    timeout: float | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])

    def with_timeout(self, timeout: timedelta) -> "Caller":
        """A copy whose calls may take at most `timeout`."""
        seconds = timeout.total_seconds()
        if seconds <= 0:
            raise ValueError(f"timeout={timeout} must be longer than zero")
        return replace(self, timeout=seconds)

    def with_metadata(self, metadata: Mapping[str, str]) -> "Caller":
        """A copy whose calls carry `metadata`, added to what was there."""
        return replace(self, metadata={**self.metadata, **metadata})

    async def ask(self, target: Target, handler: str, payload: Payload | None, *, repeatable: bool = False) -> Payload:
        """Call `handler` of `target` and return its encoded reply."""
        try:
            check_instance_id(target.instance)
        except InvalidId as error:
            raise CommandError(str(error), ErrorCode.BAD_REQUEST) from None
        origin = self.origin
        call = Call(
            request=0,
            component=target.component,
            instance=target.instance,
            handler=handler,
            input=payload,
            timeout=self._microseconds(target, handler),
            kind=target.kind.value,
            metadata=dict(self.metadata),
            chain=origin.chain,
            attempt=origin.attempt,
            trace=origin.trace,
        )
        return await self.link.ask(call, repeatable=repeatable)

    def wait_for(self, call: Coroutine[Any, Any, T], instead: str) -> T:
        """Run `call` on the link's loop and wait for it in this thread; refused in a thread that runs a loop itself."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run_coroutine_threadsafe(call, self.link.loop).result()
        call.close()
        raise RuntimeError(f"use await .{instead}(): waiting here would block the event loop of this thread")

    def _microseconds(self, target: Target, handler: str) -> int:
        seconds = self.timeout
        if self.origin.deadline is not None:
            left = self.origin.deadline - time.monotonic()
            if left <= 0:
                message = f"{target.component}/{target.instance}/{handler} was not called: the time of the handler that calls it is over"
                raise CommandError(message, ErrorCode.UNAVAILABLE)
            seconds = left if seconds is None else min(seconds, left)
        return max(1, round((DEFAULT_TIMEOUT if seconds is None else seconds) * 1_000_000))
