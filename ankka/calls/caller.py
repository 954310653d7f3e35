"""Who calls, with what key and with what time left: turns a call of the client into a frame, and a refusal into `CommandError`.

A command carries an idempotency key if its caller chose one, or if it is called from a step or from a command that has
one itself; in those it is derived (`call_keys`). What changes nothing has no key, and neither have the engine's handlers.
"""

import asyncio
import time
from collections.abc import Coroutine, Mapping
from datetime import timedelta
from enum import Enum
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from ankka.calls.call_keys import CallKeys, StartedCall
from ankka.command_error import CommandError
from ankka.definition.settings import check_duration
from ankka.metadata import Metadata
from ankka.protocol import keys
from ankka.protocol.attempt import Token
from ankka.protocol.errors import ErrorCode
from ankka.protocol.frames import Call
from ankka.protocol.ids import InvalidId, check_instance_id
from ankka.protocol.payload import Payload
from ankka.protocol.spec import ComponentKind

T = TypeVar("T")

DEFAULT_TIMEOUT = 30.0
"""Seconds a call made outside any handler may take."""
ENGINE: Final = "ankka:"
"""What the names of the engine's own handlers begin with."""


class Keying(Enum):
    """What key a call has that was given none."""

    DERIVED = "derived"
    """One derived from its input, if it is called from a step or from a command with a key."""
    NONE = "none"
    """None at all."""


Key = Keying | bytes | str
"""What was said about a call's key: nothing, that it has none, the key itself, or a name to derive it from."""


class CallLink(Protocol):
    """The one connection all clients of a process share."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop it runs on; the sync twins hand their calls over to it."""
        ...

    async def ask(self, call: Call, *, repeatable: bool = False) -> Payload:
        """Make a call; `CommandError` if it is refused."""
        ...


class Origin(msgspec.Struct, frozen=True):
    """What calls: nothing of ours, a command (`chain`: the commands above and itself), or a step's `attempt`.

    `deadline` is monotonic, in seconds: no call outlives what made it. `keys` are those of its calls: an attempt always
    has them, a command with an idempotency key is given them.
    """

    chain: tuple[str, ...] = ()
    attempt: Token | None = None
    deadline: float | None = None
    trace: str | None = None
    keys: CallKeys | None = None

    def __post_init__(self) -> None:
        if self.attempt is not None and self.keys is None:
            msgspec.structs.force_setattr(self, "keys", CallKeys.of_attempt(self.attempt))


class Target(msgspec.Struct, frozen=True):
    """An instance, by the kind of its component."""

    kind: ComponentKind
    component: str
    instance: str

    def __post_init__(self) -> None:
        if not isinstance(self.instance, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # users without a type checker
            raise TypeError(f"an instance id is a text, not {type(self.instance).__name__} {self.instance!r}")


class Caller(msgspec.Struct, frozen=True):
    """A link, an origin, and what `.with_…` set; copied, never changed."""

    link: CallLink
    origin: Origin = Origin()
    timeout: float | None = None
    metadata: Mapping[str, str] = {}
    key: Key = Keying.DERIVED

    def with_timeout(self, timeout: timedelta) -> "Caller":
        """A copy whose calls may take at most `timeout`."""
        return replace(self, timeout=check_duration(timeout, "timeout").total_seconds())

    def with_metadata(self, metadata: Mapping[str, str]) -> "Caller":
        """A copy whose calls carry `metadata`, added to what was there; `ValueError` for what is no text."""
        return replace(self, metadata=Metadata({**self.metadata, **metadata}))

    def with_idempotency_key(self, target: Target, key: object) -> "Caller":
        """A copy whose calls to `target` carry `key`, or none; `ValueError` for a text that cannot be one."""
        if key is None:
            return replace(self, key=Keying.NONE)
        if not isinstance(key, str):
            raise TypeError(f"an idempotency key is a text or None, not {type(key).__name__} {key!r}")
        if key == "":
            raise keys.InvalidKey("an idempotency key has at least one character; give None to call without a key")
        return replace(self, key=keys.of_caller(target.component, target.instance, key))

    def named(self, name: object) -> "Caller":
        """A copy whose calls are told apart by `name` instead of by their input."""
        if not isinstance(name, str):
            raise TypeError(f"the name of a call is a text, not {type(name).__name__} {name!r}")
        if self.origin.keys is None:
            here = f"only in a step, and in a command that came with an idempotency key; use .with_idempotency_key({name!r})"
            raise RuntimeError(f".named({name!r}) is there {here} here")
        if not name:
            raise ValueError("the name of a call has at least one character; leave .named(…) out to tell calls apart by their input")
        return replace(self, key=name)

    async def ask(self, target: Target, handler: str, payload: Payload | None, *, repeatable: bool = False) -> Payload:
        """Call `handler` of `target` and return its encoded reply; `repeatable` says that it changes nothing."""
        if repeatable or handler.startswith(ENGINE):
            return await self.link.ask(self._call(target, handler, payload, self._time_for(target, handler)), repeatable=repeatable)
        reply, _ = await self.command(target, handler, payload)
        return reply

    async def command(self, target: Target, handler: str, payload: Payload | None) -> tuple[Payload, bytes | None]:
        """Call a command: its encoded reply, and the key it was called with, if it had one."""
        timeout = self._time_for(target, handler)  # a call that cannot be sent at all takes no number
        if isinstance(self.key, bytes):
            return await self.link.ask(self._call(target, handler, payload, timeout, self.key)), self.key
        started = self._started(target, handler, payload)
        if started is None:
            return await self.link.ask(self._call(target, handler, payload, timeout)), None
        try:
            reply = await self.link.ask(self._call(target, handler, payload, timeout, started.key, started.fresh))
        except BaseException:  # also a cancellation: whether it was done is not known
            started.give_back()
            raise
        started.done()
        return reply, started.key

    def _started(self, target: Target, handler: str, payload: Payload | None) -> StartedCall | None:
        if self.origin.keys is None or self.key is Keying.NONE:
            return None
        if isinstance(self.key, str):
            return self.origin.keys.start_named(target.component, target.instance, handler, self.key)
        return self.origin.keys.start(target.component, target.instance, handler, payload)

    def _call(self, target: Target, handler: str, payload: Payload | None, timeout: int, key: bytes | None = None, fresh: bool = False) -> Call:
        origin = self.origin
        return Call(
            request=0,
            component=target.component,
            instance=target.instance,
            handler=handler,
            input=payload,
            timeout=timeout,
            kind=target.kind.value,
            metadata=dict(self.metadata),
            chain=origin.chain,
            attempt=origin.attempt,
            key=key,
            trace=origin.trace,
            fresh=fresh,
        )

    def wait_for(self, call: Coroutine[Any, Any, T], instead: str) -> T:
        """Run `call` on the link's loop and wait for it in this thread; refused in a thread that runs a loop itself."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run_coroutine_threadsafe(call, self.link.loop).result()
        call.close()
        raise RuntimeError(f"use await .{instead}(): waiting here would block the event loop of this thread")

    def _time_for(self, target: Target, handler: str) -> int:
        """The µs that a call may take; `CommandError` for one that cannot be sent."""
        try:
            check_instance_id(target.instance)
        except InvalidId as error:
            raise CommandError(str(error), ErrorCode.BAD_REQUEST) from None
        seconds = self.timeout
        if self.origin.deadline is not None:
            left = self.origin.deadline - time.monotonic()
            if left <= 0:
                message = f"{target.component}/{target.instance}/{handler} was not called: the time of the handler that calls it is over"
                raise CommandError(message, ErrorCode.UNAVAILABLE)
            seconds = left if seconds is None else min(seconds, left)
        return max(1, round((DEFAULT_TIMEOUT if seconds is None else seconds) * 1_000_000))
