"""Serves the console's files, and nothing else."""

from __future__ import annotations

from importlib import resources

from ankka.protocol.errors import Error, ErrorCode
from ankka_sidecar.http.problems import Problem, Receive, Scope, Send, not_allowed, respond

_FILES = {
    "/console/": ("page.html", b"text/html; charset=utf-8"),
    "/console/page.js": ("page.js", b"text/javascript; charset=utf-8"),
}
_HEADERS = (
    # Only this page's own script runs, and nobody may frame it: what users wrote can do nothing here.
    (b"content-security-policy", b"default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-cache"),
)


async def console(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request below `/console`, or `/`, which leads there."""
    path = scope["path"]
    if scope["method"] not in ("GET", "HEAD"):
        raise not_allowed(f"{path} is read with GET", "GET")
    if path in ("/", "/console"):
        await respond(send, 307, headers=((b"location", b"/console/"),))
        return
    found = _FILES.get(path)
    if found is None:
        raise Problem(Error(ErrorCode.NOT_FOUND, f"there is no {path[:80]}; the console is at /console/"))
    name, content_type = found
    body = resources.files(__package__ or "").joinpath(name).read_bytes()
    await respond(send, 200, body, content_type, _HEADERS)
