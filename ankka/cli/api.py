"""The sidecar's HTTP API as the commands use it: an answer, or the failure that says what to do."""

import ssl
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from ankka.cli.failure import CommandFailed, Refused, Unreachable
from ankka.cli.finding import HOW_TO_START, Found
from ankka.embedded.health import Health
from ankka.version import VERSION

if TYPE_CHECKING:
    import httpx

CONNECT_TIMEOUT = 5.0
ANSWER_TIMEOUT = 45.0
"""Seconds; longer than the 30 s in which the sidecar itself gives up on a call."""


class Body(NamedTuple):
    """What is sent with a request."""

    data: bytes
    content_type: str


class Answer(NamedTuple):
    """A successful answer; 204 has no data."""

    status: int
    data: bytes


class Api:
    """One sidecar, for the time of one command; a context manager. `key` is the idempotency key of what it posts."""

    def __init__(self, found: Found, key: str | None = None) -> None:
        import httpx

        self.found = found
        self._key = key
        unix = found.address.unix_path
        tls = found.address.url.startswith("https")
        # No proxies of the environment: a sidecar is on this machine or in this network. Certificates only where they are used.
        verify = ssl.create_default_context() if tls else False
        self._client = httpx.Client(
            base_url="http://localhost" if unix else found.address.url,
            transport=httpx.HTTPTransport(verify=verify, uds=unix, trust_env=False),
            timeout=httpx.Timeout(ANSWER_TIMEOUT, connect=CONNECT_TIMEOUT),
            headers={"Accept": "application/json", "User-Agent": f"ankka-cli/{VERSION}"},
            trust_env=False,
        )

    def __enter__(self) -> Self:
        try:
            self._check_incarnation()
        except BaseException:
            self._client.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._client.close()

    def get(self, path: str, query: dict[str, str] | None = None, timeout: float | None = None) -> Answer:
        """Read something; `timeout` in seconds."""
        return self._request("GET", path, query=query, timeout=timeout)

    def post(self, path: str, body: Body | None) -> Answer:
        """Have something done."""
        return self._request("POST", path, body=body)

    def delete(self, path: str, body: Body | None) -> Answer:
        """Have something removed."""
        return self._request("DELETE", path, body=body)

    def _request(
        self, method: str, path: str, *, query: dict[str, str] | None = None, body: Body | None = None, timeout: float | None = None
    ) -> Answer:
        import httpx

        headers = {"Content-Type": body.content_type} if body is not None else {}
        if self._key is not None and method == "POST":
            headers["Idempotency-Key"] = self._key
        request = self._client.build_request(
            method,
            path,
            params=query,
            content=body.data if body is not None else None,
            headers=httpx.Headers(headers, encoding="utf-8"),
            timeout=httpx.USE_CLIENT_DEFAULT if timeout is None else httpx.Timeout(timeout, connect=CONNECT_TIMEOUT),
        )
        try:
            answer = self._client.send(request)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise self._unreachable(str(error) or type(error).__name__) from None
        except httpx.TransportError as error:
            raise self._lost(method, error) from None
        if answer.is_success:
            return Answer(answer.status_code, answer.content)
        raise Refused.of(answer.status_code, answer.content) or self._no_sidecar(answer)

    def _check_incarnation(self) -> None:
        """Another program, or another folder's sidecar, may have got the port of this folder's that is gone."""
        if self.found.incarnation is None:
            return
        import msgspec

        answer = self.get("/healthz")
        try:
            answering = msgspec.json.decode(answer.data, type=Health).incarnation
        except msgspec.MsgspecError:
            answering = ""
        if answering != self.found.incarnation:
            raise Unreachable(f"ankka: this folder's sidecar is gone; what answers at {self.found} is another one;\n{HOW_TO_START}")

    def _unreachable(self, reason: str) -> Unreachable:
        gone = f"; its process {self.found.pid} is gone" if self.found.is_gone else ""
        return Unreachable(f"ankka: no sidecar answers at {self.found}: {reason}{gone};\n{HOW_TO_START}")

    def _lost(self, method: str, error: "httpx.TransportError") -> Unreachable:
        reason = str(error) or type(error).__name__
        unknown = ""
        if method == "POST" and self._key is not None:
            unknown = "; call again with the same --idempotency-key, it is then done once"
        elif method != "GET":
            unknown = "; the command may have been done, ask for the state before you call again"
        return Unreachable(f"ankka: the sidecar at {self.found} did not answer to the end: {reason}{unknown}")

    def _no_sidecar(self, answer: "httpx.Response") -> CommandFailed:
        kind = answer.headers.get("content-type", "no content type")
        return CommandFailed(f"ankka: what answers at {self.found} is no sidecar: {answer.status_code} {kind} for {answer.request.url.path}")
