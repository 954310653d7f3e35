"""Who may talk to an open loopback port: no web page of somebody else's.

A browser sends the name it was given as `Host` and the page's origin as `Origin`. A name that is not ours means DNS
rebinding, an origin that is not ours a foreign page; both are refused, on the session too. An image or script of a
foreign page is fetched without an `Origin`: there `Sec-Fetch-Site` tells. Following a link to us is allowed.
"""

from __future__ import annotations

import ipaddress

from ankka.protocol.errors import Error, ErrorCode
from ankka_sidecar.http.problems import Problem, Scope, bad_request


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only mean this machine.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("::1"), is_loopback("example.org")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check(scope: Scope) -> None:
    """Let a request pass, or raise its `Problem` (403)."""
    host = origin = site = mode = None
    for name, value in scope["headers"]:
        if name == b"host":
            if host is not None:
                raise bad_request("there are two Host headers; send one")
            host = value
        elif name == b"origin":
            origin = value
        elif name == b"sec-fetch-site":
            site = value
        elif name == b"sec-fetch-mode":
            mode = value
    if host is None or not is_loopback(_name(host.decode("latin-1"))):
        shown = host.decode("latin-1") if host is not None else None
        raise _forbidden(f"the Host header names {shown!r}, and this sidecar listens on loopback only; call it as 127.0.0.1 or localhost")
    if origin is not None and origin.decode("latin-1").partition("://")[2] != host.decode("latin-1"):
        raise _forbidden(f"requests from pages of {origin.decode('latin-1')!r} are refused; only this sidecar's own pages may call it")
    if site in (b"cross-site", b"same-site") and (mode != b"navigate" or scope.get("method") != "GET"):
        raise _forbidden("requests that a page of somebody else's makes are refused; only this sidecar's own pages may call it")


def _name(host: str) -> str:
    """`Host` without its port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def _forbidden(message: str) -> Problem:
    return Problem(Error(ErrorCode.FORBIDDEN, message))
