"""Tests with the real thing: a sidecar program of the test's own, and the service attached to it from the test's process.

    async with IntegrationTestKit.start(service) as kit:
        await kit.client.for_workflow("checkout", "c1").call("start").invoke("ok")
        await kit.restart()
        assert [entry.type for entry in await kit.journal_of("checkout", "c1")] == ["started", "transitioned", "ended"]

Behind the scenes, in this order: a temporary folder; a sidecar in it, on a free port of 127.0.0.1; the service's lifespan
and its session; a component client and an HTTP client. They are left in the opposite order, whatever the test raises.
"""

import asyncio
import importlib.util
from asyncio import CancelledError
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

import msgspec

from ankka.calls.caller import Origin
from ankka.client import ComponentClient
from ankka.command_error import CommandError
from ankka.definition.component import Component
from ankka.embedded.program import SidecarNotStarted
from ankka.process.client_session import ClientSession
from ankka.process.run import RunningService
from ankka.protocol.errors import Error, ErrorCode
from ankka.protocol.ids import check_instance_id, path_of
from ankka.protocol.journal_entry import JournalEntry
from ankka.service import ServiceBuilder
from ankka.testkit.throwaway_sidecar import ThrowawaySidecar, command_line, journal_address

if TYPE_CHECKING:
    import httpx

__all__ = ["IntegrationTestKit"]

ATTACHED_WITHIN = 30.0
"""Seconds the service has to attach: the sidecar listens by then, and the machine may be busy."""
HTTP_TIMEOUT = 60.0
"""Seconds an HTTP answer may take: longer than a call may run, so that the sidecar's own answer comes first."""
PAGE = 1_000
NO_NOTES = (CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit)

Service = ServiceBuilder | Callable[[], ServiceBuilder]


class _Page(msgspec.Struct, frozen=True):
    items: list[JournalEntry]
    next: str | None = None


class _Problem(msgspec.Struct, frozen=True):
    code: ErrorCode = ErrorCode.INTERNAL
    detail: str = ""


class IntegrationTestKit:
    """A service with a real sidecar, for one test; made by `start`, used within `async with`. Runs on asyncio.

    `client` and `http` stay usable across `restart` and `kill_sidecar`, and the port stays the same. A test that fails
    shows the end of the sidecar's log below its traceback.
    """

    def __init__(self, service: Service, journal: str | None, options: list[str], drain: timedelta) -> None:
        self._service = service
        self._journal = journal
        self._options = options
        self._drain = drain
        self._open: AsyncExitStack | None = None
        self._sidecar: ThrowawaySidecar | None = None
        self._running: RunningService | None = None
        self._attached = 0
        self._session: ClientSession | None = None
        self._client: ComponentClient | None = None
        self._http: httpx.AsyncClient | None = None

    @classmethod
    def start(
        cls,
        service: Service,
        journal: str = "sqlite",
        *,
        settings: Mapping[str, str | int | timedelta] | None = None,
        drain: timedelta = timedelta(0),
    ) -> "IntegrationTestKit":
        """A kit for `service`, which starts when it is entered: `async with IntegrationTestKit.start(service) as kit:`.

        `service` is what `Ankka.service().register(…)` gives, or a function that makes one: that is called once per attach,
        so that what it makes is new after a restart. The service's lifespan is entered once per attach too.

        `journal` is "sqlite", a file that goes with the kit, or "sqlite:///PATH", a file of yours that stays; relative paths
        start at the working directory. PostgreSQL is not there in this version; it and anything else is a `ValueError`.

        `settings` are the sidecar's, as on its command line: `{"attach-wait": "500ms"}`, durations also as `timedelta`; the
        tests' own `ANKKA_…` variables do not reach it. `drain` is how long running steps get at a restart and at the end.

        `RegistrationError` says at once what is wrong with the service. Entering raises `SidecarNotStarted` if the sidecar
        does not start (the runtime is missing, a setting is wrong, the journal cannot be opened) and `SessionRejected` if it
        refuses the service, both with the end of its log.

        >>> from ankka.service import Ankka
        >>> IntegrationTestKit.start(lambda: Ankka.service(), journal="postgres")
        Traceback (most recent call last):
        ValueError: journal='postgres': PostgreSQL journals are not available in this version; supported are ...
        """
        if isinstance(service, ServiceBuilder):
            service.validate()
        elif isinstance(given := cast("object", service), type) and issubclass(given, Component):
            name = given.__name__
            raise TypeError(f"{name} is a component, not a service; give Ankka.service().register({name})")
        elif not callable(service):
            raise TypeError(f"service={service!r} is no service; expected Ankka.service().register(…), or a function that makes one")
        return cls(service, journal_address(journal), command_line(settings or {}), drain)

    # --- open and close ----------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if self._open is not None:
            raise RuntimeError("this kit is or was open; start another one: IntegrationTestKit.start(service)")
        _check_surroundings()
        import httpx

        service = self._made().validate()
        self._open = AsyncExitStack()
        try:
            self._sidecar = sidecar = ThrowawaySidecar(self._journal, self._options)
            self._open.callback(sidecar.discard)
            self._open.push_async_callback(sidecar.stop)
            await sidecar.start()
            self._open.push_async_callback(self._detach)
            await self._attach(service)
            self._session = ClientSession(sidecar.url, None)
            await self._session.open()
            self._open.push_async_callback(self._session.close)
            self._client = ComponentClient.inside(self._session, Origin())
            self._http = await self._open.enter_async_context(httpx.AsyncClient(base_url=sidecar.url, timeout=HTTP_TIMEOUT, trust_env=False))
        except BaseException as error:
            self._say_log(error)
            await self._close(self._open)
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._open is not None
        failure = self._running.failure if self._running is not None else None
        if error is not None:
            self._say_log(error)
            if failure not in (None, error) and not isinstance(error, NO_NOTES):
                error.add_note(f"the service's session had ended: {failure}")
        await self._close(self._open)
        if error is None and failure is not None:
            raise failure

    async def _close(self, opened: AsyncExitStack) -> None:
        try:
            await opened.aclose()
        finally:
            self._sidecar = None

    def discard(self) -> None:
        """End the sidecar at once and remove its folder, from outside the loop; for a kit that can no longer be left."""
        if self._sidecar is not None:
            self._sidecar.discard()
            self._sidecar = None

    # --- what a test uses --------------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether it was entered and not left yet."""
        return self._sidecar is not None

    @property
    def client(self) -> ComponentClient:
        """A component client, with a session of its own: it is outside the service, as a caller is."""
        self._running_sidecar()
        assert self._client is not None
        return self._client

    @property
    def http(self) -> "httpx.AsyncClient":
        """An HTTP client whose base URL is the sidecar's: `await kit.http.get("/v1/checkout/c1/status")`."""
        self._running_sidecar()
        assert self._http is not None
        return self._http

    @property
    def url(self) -> str:
        """Where the sidecar listens."""
        return self._running_sidecar().url

    @property
    def sidecar_pid(self) -> int:
        """The process id of the sidecar, another one after each start."""
        return self._running_sidecar().pid

    @property
    def sidecar_log(self) -> str:
        """The end of what the sidecar has logged so far."""
        return self._running_sidecar().log

    async def restart(self) -> None:
        """Stop everything and start it again on the same journal and port, as a deployment does; what was in memory is gone.

        The service leaves (steps that run longer than the kit's `drain` are cancelled, which is an interruption and no
        fault), its lifespan is left, the sidecar ends. Then there is a new sidecar program, the lifespan is entered again and
        the service attaches as a new process. Module variables of your code stay: the test's process is the same.
        """
        sidecar = self._running_sidecar()
        await self._detach()
        await sidecar.stop()
        await sidecar.start()
        self._hurry()
        await self._attach(self._made())

    async def kill_sidecar(self, *, start_again: bool = True) -> None:
        """kill -9 the sidecar, start it again, and wait until the service is attached once more.

        The service stays as it is: its steps run on meanwhile and bring their results to the new sidecar. With
        `start_again=False` there is no sidecar until `start_sidecar` or `restart`; running steps are cancelled if that takes
        longer than the sidecar's `cancel-grace`.
        """
        self._running_sidecar().kill()
        if start_again:
            await self.start_sidecar()

    async def start_sidecar(self) -> None:
        """Start the sidecar that `kill_sidecar(start_again=False)` killed, and wait until the service is attached again."""
        sidecar = self._running_sidecar()
        if self._running is None:
            raise RuntimeError("no service is attached, as a restart failed; `await kit.restart()` starts everything anew")
        if sidecar.is_running:
            raise RuntimeError(f"the sidecar (pid {sidecar.pid}) runs; `await kit.restart()` starts everything anew")
        await sidecar.start()
        self._hurry()
        await self._until_attached()

    async def journal_of(self, component: str | type[Component[Any]], id: str) -> list[JournalEntry]:
        """The whole timeline of an instance, oldest first, by component id or class; empty if nothing was journalled.

        `CommandError` with `NOT_FOUND` if the service has no such component; `InvalidId` if no instance can have that id.
        """
        name = component if isinstance(component, str) else component.component_id
        path = path_of(name, check_instance_id(id), "ankka:journal")
        entries: list[JournalEntry] = []
        after: str | None = ""
        while after is not None:
            answer = await self.http.get(path, params={"limit": PAGE, "after": after})
            if answer.status_code != HTTPStatus.OK:
                problem = msgspec.json.decode(answer.content, type=_Problem)
                raise CommandError(Error(problem.code, problem.detail))
            page = msgspec.json.decode(answer.content, type=_Page)
            entries += page.items
            after = page.next
        return entries

    # --- the service -------------------------------------------------------------------------------------------------

    def _made(self) -> ServiceBuilder:
        made = self._service if isinstance(self._service, ServiceBuilder) else self._service()
        if not isinstance(made, ServiceBuilder):  # pyright: ignore[reportUnnecessaryIsInstance]  # users without a type checker
            raise TypeError(f"{self._service!r} made {made!r}; expected what Ankka.service().register(…) gives")
        return made

    async def _attach(self, service: ServiceBuilder) -> None:
        running = service.running(drain=self._drain, sidecar=self._running_sidecar().url)
        self._attached += 1
        try:
            await running.open()
        except Exception as error:
            if self._attached > 1:
                error.add_note("The service was attached again. If its lifespan is a context manager, give the function that makes it instead:")
                error.add_note("one that was left cannot be entered again. Ankka.service(lifespan=pool), not lifespan=pool()")
            raise
        self._running = running
        await self._until_attached()

    async def _until_attached(self) -> None:
        assert self._running is not None
        try:
            async with asyncio.timeout(ATTACHED_WITHIN):
                await self._running.attached()
        except Exception as error:
            await self._detach()  # what went wrong is told here, not once more when the kit ends
            if isinstance(error, TimeoutError):
                raise TimeoutError(f"the service was not attached to {self.url} within {ATTACHED_WITHIN:g} s") from None
            raise

    def _hurry(self) -> None:
        if self._running is not None:
            self._running.hurry()
        if self._session is not None:
            self._session.hurry()

    async def _detach(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.close()

    def _running_sidecar(self) -> ThrowawaySidecar:
        if self._sidecar is None:
            was = "is closed" if self._open is not None else "is not open"
            raise RuntimeError(f"the kit {was}; write `async with IntegrationTestKit.start(service) as kit:` and use it within")
        return self._sidecar

    def _say_log(self, error: BaseException) -> None:
        """Put the end of the sidecar's log below the error."""
        if self._sidecar is None or isinstance(error, (*NO_NOTES, SidecarNotStarted)):
            return  # SidecarNotStarted shows it already
        log = self._sidecar.log
        said = "".join(f"\n  | {line}" for line in log.splitlines()) if log else " (it printed nothing)"
        error.add_note(f"The end of the sidecar's log:{said}")


def _check_surroundings() -> None:
    """What a kit needs beyond a service: asyncio, and httpx."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "IntegrationTestKit runs on asyncio, and no asyncio loop runs here; "
            "with anyio's pytest plugin let the fixture anyio_backend return 'asyncio'"
        ) from None
    if importlib.util.find_spec("httpx") is None:
        raise ModuleNotFoundError("IntegrationTestKit needs httpx: pip install 'ankka-engine[test]'", name="httpx")
