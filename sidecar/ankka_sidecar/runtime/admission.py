"""Which calls are taken at all: the id, the sizes, the component, the handler, and who makes the call."""

from __future__ import annotations

from collections.abc import Mapping

from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.ids import RESERVED_PREFIX, InvalidId, check_instance_id
from ankka.protocol.spec import ComponentKind, HandlerSpec
from ankka_sidecar.core.instance import Instance
from ankka_sidecar.core.journalling import Phase
from ankka_sidecar.core.settings import Settings
from ankka_sidecar.core.workflow_instance import WorkflowInstance
from ankka_sidecar.runtime.callers import Request
from ankka_sidecar.runtime.dispatcher import Dispatcher, declared_by, unavailable

LIFECYCLE = "ankka:lifecycle"
AWAIT = "ankka:await"
CANCEL = "ankka:cancel"
OPERATIONS = {"ankka:pause": "hold", "ankka:resume": "release", CANCEL: "cancel", "ankka:delete": "delete"}
"""What an operator may ask (W18), and what the core calls it."""
ENGINES_OWN = frozenset({LIFECYCLE, AWAIT, *OPERATIONS})


class Admission:
    """Answers for one request: an error, its handler, or that a process must come first."""

    def __init__(
        self, dispatcher: Dispatcher, kinds: Mapping[str, ComponentKind], machines: Mapping[tuple[str, str], Instance], settings: Settings
    ) -> None:
        self._dispatcher = dispatcher
        self._kinds = kinds
        self._machines = machines
        self._settings = settings

    def refusal(self, request: Request) -> Error | None:
        """What is wrong with the request itself, whoever is attached."""
        try:
            check_instance_id(request.instance)
        except InvalidId as error:
            return Error(ErrorCode.BAD_REQUEST, str(error))
        limit = self._settings.max_payload
        if request.input is not None and len(request.input.data) > limit:
            text = f"the input has {len(request.input.data):,} bytes; at most {limit:,} are taken (max-payload)"
            return Error(ErrorCode.TOO_LARGE, text, {"limit": limit})
        if request.handler in ENGINES_OWN:
            return self._of_other_kind(request) if request.component in self._kinds else self._unknown(request.component)
        if request.handler.startswith(RESERVED_PREFIX):
            return Error(ErrorCode.NOT_FOUND, f"there is no '{request.handler}': names beginning with {RESERVED_PREFIX} are the engine's own")
        return self._caller_refusal(request)

    def must_wait(self, request: Request) -> bool:
        """A step that reconnected calls while its instance is still being read: whether it may is known in a moment.

        A cancel waits for a process: without one nobody knows whether the workflow names a step to go to (W17, W18).
        """
        if request.handler == CANCEL:
            is_workflow = self._kinds[request.component] is ComponentKind.WORKFLOW
            return is_workflow and self._dispatcher.spec_of(request.component) is None
        attempt = request.attempt
        if attempt is None:
            return False
        caller = self._machines.get((attempt.component, attempt.instance))
        return caller is not None and caller.phase is Phase.LOADING

    def handler(self, request: Request) -> HandlerSpec | Error | None:
        """The handler to call; `None` while a process that may declare it has to come first (W13)."""
        component = request.component
        known, handler = self._dispatcher.handler(component, request.handler)
        if not known:
            # One that is declared nowhere now, but was, or is in the journal, may be about to come back.
            return self._unknown(component) if self._dispatcher.attached and component not in self._kinds else None
        if (refusal := self._of_other_kind(request)) is not None:
            return refusal
        if handler is None:
            text = f"'{component}' has no handler '{request.handler}'; it has: {', '.join(self._handlers_of(component)) or 'none'}"
            return Error(ErrorCode.NOT_FOUND, text)
        if request.read_only and not handler.read_only:
            return Error(ErrorCode.BAD_REQUEST, f"'{request.handler}' is a command, and a query was asked for")
        key = f"{component}/{request.instance}"
        if not handler.read_only and key in request.chain:
            ring = " -> ".join((*request.chain[request.chain.index(key) :], key))
            return Error(ErrorCode.CONFLICT, f"the call would wait for itself ({ring}): a command may not call an instance whose command called it")
        return handler

    def _of_other_kind(self, request: Request) -> Error | None:
        """A client says which kind it takes the component for; over HTTP nobody does."""
        kind = self._kinds[request.component]
        if request.kind is None or request.kind == kind:
            return None
        text = f"'{request.component}' is of the kind {kind}, not {request.kind}; use the client's for_{kind.replace('-', '_')}"
        return Error(ErrorCode.BAD_REQUEST, text)

    def _caller_refusal(self, request: Request) -> Error | None:
        """I12: calls of an attempt that was replaced, or has answered, are refused."""
        attempt = request.attempt
        if attempt is None:
            return None
        caller = self._machines.get((attempt.component, attempt.instance))
        if caller is not None and caller.phase is Phase.LOADING:
            return None  # see `must_wait`
        if isinstance(caller, WorkflowInstance) and caller.may_call(attempt):
            return None
        return Error(ErrorCode.CONFLICT, f"the attempt that makes this call is over ({attempt}); nothing was done")

    def _unknown(self, component: str) -> Error:
        attached = self._dispatcher.attached
        if not attached:
            return unavailable(component)
        return Error(ErrorCode.NOT_FOUND, f"there is no component '{component}'; attached are: {', '.join(declared_by(attached)) or 'none'}")

    def _handlers_of(self, component: str) -> list[str]:
        return sorted({name for process in self._dispatcher.attached for declared, name in process.handlers if declared == component})
