"""No page of somebody else's reaches an open loopback sidecar (DESIGN §8); another address is refused at start. F94"""

from __future__ import annotations

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from ankka.protocol.frames import SESSION_PATH
from tests.integration.http.conftest import is_problem, journal_of
from tests.integration.http.wire import exchange
from tests.integration.support.programs import Programs

FOREIGN_HOSTS = [
    "example.org",
    "example.org:9000",
    "127.0.0.1.example.org",
    "localhost.example.org",
    "10.0.0.1",
    "[fe80::1]",
    "0.0.0.0",
    "x@localhost:1",
]
FOREIGN_ORIGINS = ["http://example.org", "https://example.org:9000", "null", "http://localhost:1", "http://127.0.0.1", ""]


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_foreign_host_is_403_on_every_route(http: httpx.Client, one: str, host: str) -> None:
    for line in (f"POST {one}/add", f"GET {one}/ankka:lifecycle", "GET /v1/instances", "GET /healthz", "GET /openapi.json", "GET /nothing"):
        is_problem(exchange(http, line, b"1" if line.startswith("POST") else b"", host=host), 403, "FORBIDDEN", host, "127.0.0.1")
    assert journal_of(http, one) == []


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_a_foreign_origin_is_403_on_every_route(http: httpx.Client, one: str, origin: str) -> None:
    for method, path in (("POST", f"{one}/add"), ("OPTIONS", f"{one}/add"), ("GET", "/v1/instances"), ("GET", "/healthz")):
        is_problem(http.request(method, path, headers={"origin": origin}), 403, "FORBIDDEN", repr(origin))
    assert journal_of(http, one) == []


def test_its_own_pages_and_every_name_of_loopback_may_call(http: httpx.Client, one: str) -> None:
    port = http.base_url.port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}", "127.0.0.7"):
        assert exchange(http, f"GET {one}/total", headers=f"Origin: http://{host}\r\n", host=host).status_code == 200
        assert exchange(http, f"GET {one}/total", host=host).status_code == 200


def test_what_a_foreign_page_fetches_without_an_origin_is_403(http: httpx.Client, one: str) -> None:
    for site in ("cross-site", "same-site"):  # another port of this machine is the same site
        for mode in ("no-cors", "cors"):
            is_problem(http.get(f"{one}/total", headers={"sec-fetch-site": site, "sec-fetch-mode": mode}), 403, "FORBIDDEN", "page")
        assert http.get("/docs", headers={"sec-fetch-site": site, "sec-fetch-mode": "navigate"}).status_code == 200
        is_problem(http.post(f"{one}/add", json=1, headers={"sec-fetch-site": site, "sec-fetch-mode": "navigate"}), 403, "FORBIDDEN")
    for site in ("same-origin", "none"):
        assert http.get(f"{one}/total", headers={"sec-fetch-site": site, "sec-fetch-mode": "cors"}).json() == 0
    assert journal_of(http, one) == []


def test_a_missing_or_second_host_is_refused(http: httpx.Client, one: str) -> None:
    is_problem(exchange(http, f"GET {one}/total", host=""), 403, "FORBIDDEN", "Host")
    is_problem(exchange(http, f"GET {one}/total", headers="Host: example.org\r\n"), 400, "BAD_REQUEST", "two Host")


@pytest.mark.parametrize(
    "headers", [{"host": "example.org"}, {"origin": "http://example.org"}, {"origin": "null"}], ids=["foreign host", "foreign origin", "no origin"]
)
def test_a_foreign_page_gets_no_session(http: httpx.Client, headers: dict[str, str]) -> None:
    address = str(http.base_url).replace("http", "ws").rstrip("/") + SESSION_PATH
    with pytest.raises(InvalidStatus) as refused, connect(address, additional_headers=headers, compression=None):
        pass
    assert refused.value.response.status_code == 403


def test_there_is_no_session_at_another_path(http: httpx.Client) -> None:
    address = str(http.base_url).replace("http", "ws").rstrip("/")
    for path in ("/", "/v1/everything/x/total", "/healthz"):
        with pytest.raises(InvalidStatus) as refused, connect(address + path, compression=None):
            pass
        assert refused.value.response.status_code == 403


@pytest.mark.parametrize("address", ["0.0.0.0:9000", "192.0.2.1:9000", "[::]:9000", "example.org:9000"])
def test_another_address_than_loopback_is_refused_at_start(programs: Programs, address: str) -> None:
    journal = programs.folder / "never.db"
    refused = programs.run("-m", "ankka_sidecar", "--journal", f"sqlite:///{journal}", "--http", address)
    assert refused.ended() == 2
    assert not journal.exists()
    assert f"--http {address}" in refused.output
    assert "loopback" in refused.output
    assert "127.0.0.1:9000" in refused.output
    assert "Traceback" not in refused.output
