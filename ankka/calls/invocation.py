"""One call to one handler, ready to be made: by name, or typed by the handler's own method."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar, cast, overload

from ankka.calls.caller import Caller, Target
from ankka.calls.then_ending import CommandToEnd, EndInvocation, TypedEndInvocation
from ankka.codec import DONE, Done, EncodingError, default_codec_for
from ankka.codecs.by_value import payload_of
from ankka.protocol.payload import BYTES, NOTHING, TEXT, Payload

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from ankka.definition.definitions import HandlerDefinition

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class _Call:
    """A handler of an instance, and who calls it."""

    _caller: Caller
    _target: Target
    _handler: str

    def with_timeout(self, timeout: timedelta) -> Self:
        """A copy that waits at most `timeout` for the reply (default 30 s; inside a handler, what is left of its time)."""
        return replace(self, _caller=self._caller.with_timeout(timeout))

    def with_metadata(self, metadata: Mapping[str, str]) -> Self:
        """A copy that sends `metadata` along; the handler reads it as `self.context.metadata`."""
        return replace(self, _caller=self._caller.with_metadata(metadata))

    def with_idempotency_key(self, key: str | None) -> Self:
        """A copy that is done once for `key`, however often it is sent, within the sidecar's `--idempotency-retention`.

        The same key and input again get the stored reply, another input or handler `CONFLICT`. A refusal is not stored:
        it may be tried again with the same key. A key is the instance's own, printable text of 1 to 255 bytes, else
        `ValueError`. Outside a step, calls have no key unless you give one::

            await client.for_workflow("checkout", "c1").call("start").with_idempotency_key("order-7").invoke("ok")

        In a step, and in a command that came with a key, a key is derived for each call, so that a retry of the step
        does not repeat it; `None` opts out: such a call is made again in each attempt.
        """
        return replace(self, _caller=self._caller.with_idempotency_key(self._target, key))

    def named(self, name: str) -> Self:
        """A copy that is told from the step's other calls by `name` instead of by its input.

        For an input that differs from attempt to attempt: the call is done once all the same, and another input than
        the one it was done with is refused with `CONFLICT`. The same name again, to the same handler of the same
        instance, is the same call and gets the same reply. Only in a step, and in a command that came with a key;
        `RuntimeError` elsewhere::

            await self.context.client.for_event_sourced_entity("wallet", "w1").call("charge").named("fee").invoke(fee)
        """
        return replace(self, _caller=self._caller.named(name))


@dataclass(frozen=True, slots=True)
class Invocation(_Call):
    """A call by the handler's wire name; the reply's type is named with `reply=`::

    total = await client.for_event_sourced_entity("shopping-cart", "k1").call("total-quantity").invoke(reply=int)
    """

    @overload
    async def invoke(self, input: object = None) -> Done: ...
    @overload
    async def invoke(self, input: object = None, *, reply: "TypeForm[T]") -> T: ...
    async def invoke(self, input: object = None, *, reply: Any = Done) -> Any:
        """Call the handler with `input` (nothing: leave it out) and wait for its reply.

        `CommandError` if it refuses or fails; `TypeError` if it answers something else than `reply`, which without
        `reply=` is `Done`. The call is then done nevertheless.
        """
        payload = await self._caller.ask(self._target, self._handler, encoded(input))
        return decoded(payload, reply, self._target, self._handler)

    @overload
    def invoke_sync(self, input: object = None) -> Done: ...
    @overload
    def invoke_sync(self, input: object = None, *, reply: "TypeForm[T]") -> T: ...
    def invoke_sync(self, input: object = None, *, reply: Any = Done) -> Any:
        """`invoke` for sync steps and other threads; `RuntimeError` in a thread that runs an event loop."""
        return self._caller.wait_for(self.invoke(input, reply=reply), "invoke")

    def then_await_end(self, timeout: timedelta) -> EndInvocation:
        """The call, and then the end of the workflow's run that it starts or redirects, awaited for at most `timeout`::

        calls = client.for_workflow("checkout", "c1")
        end = await calls.call("start").then_await_end(timedelta(seconds=30)).invoke("ok", reply=Checkout)
        """
        return EndInvocation(CommandToEnd(self._caller, self._target, self._handler, timeout), encoded)


@dataclass(frozen=True, slots=True)
class TypedInvocation(_Call, Generic[P, R]):
    """A call by the handler's method: input and reply are known to type checkers, and encoded as the class says::

    await client.for_workflow(CheckoutWorkflow, "c1").call(CheckoutWorkflow.start).invoke("ok")
    """

    _definition: "HandlerDefinition"

    async def invoke(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the handler and wait for its reply; `CommandError` if it refuses or fails."""
        definition = self._definition
        payload = await self._caller.ask(self._target, self._handler, self._encoded(args, kwargs), repeatable=definition.read_only)
        try:
            return cast("R", definition.reply_codec.decode_payload(payload))
        except EncodingError as error:
            raise _of("reply", self._target, self._handler, error) from error.__cause__

    def invoke_sync(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """`invoke` for sync steps and other threads; `RuntimeError` in a thread that runs an event loop."""
        return self._caller.wait_for(self.invoke(*args, **kwargs), "invoke")

    def _encoded(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Payload | None:
        takes = self._definition.input
        values = [*args, *kwargs.values()]
        unknown = [name for name in kwargs if takes is None or name != takes.name]
        if unknown or len(values) > (0 if takes is None else 1):
            expected = "no input" if takes is None else f"one input, {takes.name!r}"
            raise TypeError(f"{self._target.component}/{self._handler} takes {expected}; it was given {len(values)} ({', '.join(map(repr, values))})")
        if takes is None:
            return None
        if not values:
            if takes.optional:
                return None
            raise TypeError(f"{self._target.component}/{self._handler} takes one input, {takes.name!r}; it was given none")
        try:
            return takes.codec.encode_payload(values[0])
        except EncodingError as error:
            raise _of("input", self._target, self._handler, error) from error.__cause__


@dataclass(frozen=True, slots=True)
class WorkflowInvocation(TypedInvocation[P, R], Generic[P, R, S]):
    """A typed call of a workflow, whose state's type is known too."""

    _decode: Callable[[Payload], S]

    def then_await_end(self, timeout: timedelta) -> TypedEndInvocation[P, S]:
        """The call, and then the end of the run that it starts or redirects, awaited for at most `timeout`::

        calls = client.for_workflow(CheckoutWorkflow, "c1")
        end = await calls.call(CheckoutWorkflow.start).then_await_end(timedelta(seconds=30)).invoke("ok")
        """
        return TypedEndInvocation(CommandToEnd(self._caller, self._target, self._handler, timeout), self._encoded, self._decode)


def encoded(value: object) -> Payload | None:
    """A value as a handler's input, by its own type; `None` is no input."""
    return None if value is None else payload_of(value)


def decoded(payload: Payload, reply: Any, target: Target, handler: str) -> Any:
    """The reply as a value of the type `reply`; `TypeError` if it cannot be one."""
    if reply is Done:
        if payload.content_type != NOTHING:
            kind = _type_of(payload)
            raise TypeError(f"{target.component}/{handler} answers {kind}, not Done; name the type of its reply: .invoke(…, reply={kind})")
        return DONE
    try:
        return default_codec_for(reply).decode_payload(payload)
    except EncodingError as error:
        raise _of("reply", target, handler, error) from error.__cause__


def _of(what: str, target: Target, handler: str, error: EncodingError) -> EncodingError:
    """The same error, naming the call whose input or reply it is."""
    return EncodingError(f"the {what} of {handler!r} of {target.component}/{target.instance}", error.path, error.reason)


def _type_of(payload: Payload) -> str:
    """The type of a reply, as far as its bytes tell."""
    if payload.manifest:
        return payload.manifest
    if payload.content_type == BYTES:
        return "bytes"
    if payload.content_type != TEXT:
        return "dict" if payload.data[:1] == b"{" else "list" if payload.data[:1] == b"[" else "object"
    if payload.data in (b"true", b"false"):
        return "bool"
    for kind in (int, float):
        try:
            kind(payload.data.decode())
        except ValueError:
            continue
        return kind.__name__
    return "str"
