"""A command, and then the end of the run that it started or redirected: `.call(…).then_await_end(timeout).invoke(…)`.

Which run that is says the command's idempotency key: the sidecar finds the command's effect by it, however long ago that was
and whatever has begun since. A command that has no key is given one, so that it too is sent again when the connection is lost.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

import msgspec

from ankka.calls.caller import Caller, Keying, Target
from ankka.calls.ending import EndWait
from ankka.codec import default_codec_for
from ankka.definition.settings import check_duration
from ankka.protocol import keys
from ankka.protocol.awaited import AwaitedRun
from ankka.protocol.payload import Payload
from ankka.protocol.spec import ComponentKind

if TYPE_CHECKING:
    from typing_extensions import TypeForm

T = TypeVar("T")
P = ParamSpec("P")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class CommandToEnd:
    """A command of a workflow, and how long its run's end is awaited once it has replied."""

    caller: Caller
    target: Target
    handler: str
    timeout: timedelta

    def __post_init__(self) -> None:
        if self.target.kind is not ComponentKind.WORKFLOW:
            raise TypeError(f"{self.target.component!r} is an entity: only a workflow's run has an end to await")
        check_duration(self.timeout, "timeout")

    async def end(self, payload: Payload | None) -> Payload:
        """Call it, and wait for the end state."""
        caller = self.caller
        if caller.key is Keying.DERIVED and caller.origin.keys is None:
            caller = msgspec.structs.replace(caller, key=keys.CALLER + os.urandom(16))  # the key names the run
        _, key = await caller.command(self.target, self.handler, payload)
        awaited = None if key is None else AwaitedRun(key=key)
        return await EndWait(self.caller, self.target, self.timeout, awaited).end()


@dataclass(frozen=True, slots=True)
class EndInvocation:
    """A command by its wire name, and then its run's end; the end state's type is named with `reply=`."""

    _command: CommandToEnd
    _encode: Callable[[object], Payload | None]

    @overload
    async def invoke(self, input: object = None) -> None: ...
    @overload
    async def invoke(self, input: object = None, *, reply: "TypeForm[T]") -> T: ...
    async def invoke(self, input: object = None, *, reply: Any = None) -> Any:
        """Call the command with `input`, wait for the end of the run it started or redirected, return the state as a `reply`.

        `CommandError` if the command refuses (then nothing is awaited), with `WORKFLOW_FAILED` if the run failed, with `TIMEOUT`
        if it has not ended in time: it goes on. A command that only updates, or replies, belongs to the present run: of one
        that has ended the state is returned at once, and if none has begun the first one is awaited.
        """
        payload = await self._command.end(self._encode(input))
        return None if reply is None else default_codec_for(reply).decode_payload(payload)

    @overload
    def invoke_sync(self, input: object = None) -> None: ...
    @overload
    def invoke_sync(self, input: object = None, *, reply: "TypeForm[T]") -> T: ...
    def invoke_sync(self, input: object = None, *, reply: Any = None) -> Any:
        """`invoke` for sync steps and other threads; `RuntimeError` in a thread that runs an event loop."""
        return self._command.caller.wait_for(self.invoke(input, reply=reply), "invoke")


@dataclass(frozen=True, slots=True)
class TypedEndInvocation(Generic[P, S]):
    """A command by its method, and then its run's end: input and end state are known to type checkers."""

    _command: CommandToEnd
    _encode: Callable[[tuple[Any, ...], dict[str, Any]], Payload | None]
    _decode: Callable[[Payload], S]

    async def invoke(self, *args: P.args, **kwargs: P.kwargs) -> S:
        """Call the command, wait for the end of the run it started or redirected, return the workflow's state.

        The errors are those of `EndInvocation.invoke`.
        """
        return self._decode(await self._command.end(self._encode(args, kwargs)))

    def invoke_sync(self, *args: P.args, **kwargs: P.kwargs) -> S:
        """`invoke` for sync steps and other threads; `RuntimeError` in a thread that runs an event loop."""
        return self._command.caller.wait_for(self.invoke(*args, **kwargs), "invoke")
