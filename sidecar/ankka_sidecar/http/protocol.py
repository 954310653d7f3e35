"""What is no HTTP request that an application could see: answered with a problem too, and kept small.

And one that would lose its body: clients such as Java's offer `Upgrade: h2c` with every request. httptools takes what
follows such a head for another protocol's. We speak no other than WebSocket, so the offer is taken out of the head,
as a server may (RFC 9110, 7.8), and the request is read again.
"""

from __future__ import annotations

from http import HTTPStatus

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ankka.protocol.errors import Error, ErrorCode
from ankka_sidecar.http.problems import PROBLEM, problem_body

MAX_TARGET = 16 * 1024
MAX_HEADERS = 64 * 1024
OFFERS = (b"upgrade", b"http2-settings")


class TooLong(Exception):
    """The head of a request is longer than is taken; raised through the parser, which ends the connection."""


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol with limits on the head of a request, and problems where it would answer in plain text."""

    _refusal: Error | None = None
    _refused_with = 400
    _header_bytes = 0

    # --- the limits ------------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._header_bytes = 0

    def on_url(self, url: bytes) -> None:
        """A part of the request target has come."""
        super().on_url(url)
        if len(self.url) > MAX_TARGET:
            self._refuse(414, f"the request target has more than {MAX_TARGET:,} bytes")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header has come."""
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > MAX_HEADERS:
            self._refuse(431, f"the headers have more than {MAX_HEADERS:,} bytes")
        super().on_header(name, value)

    def _refuse(self, status: int, message: str) -> None:
        self._refused_with = status
        self._refusal = Error(ErrorCode.BAD_REQUEST, message)
        raise TooLong(message)

    def send_400_response(self, msg: str) -> None:
        """The parser gave up: say so as a problem, and close."""
        error = self._refusal or Error(ErrorCode.BAD_REQUEST, f"{msg} This is not an HTTP/1.1 request that can be read.")
        body = problem_body(error, self._refused_with)
        phrase = HTTPStatus(self._refused_with).phrase.encode()
        head = b"HTTP/1.1 %d %s\r\ncontent-type: %s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(head % (self._refused_with, phrase, PROBLEM, len(body)) + body)
        self.transport.close()

    # --- offers of another protocol ----------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        self._unset_keepalive_if_required()
        while data:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                if self._should_upgrade():
                    self.handle_websocket_upgrade()
                    return
                if self.parser.get_method() == b"CONNECT":
                    self._refused_with = 405
                    self._refusal = Error(ErrorCode.BAD_REQUEST, "CONNECT is for proxies, and this is none")
                    self.send_400_response("")
                    return
                data = self._head_without_offer() + data[upgrade.args[0] :]
                self.parser = httptools.HttpRequestParser(self)
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
            except httptools.HttpParserError:
                self.logger.warning("Invalid HTTP request received.")
                self.send_400_response("Invalid HTTP request received.")
                return
            else:
                return

    def on_headers_complete(self) -> None:
        """The head is whole."""
        if not self._is_an_offer():
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is whole."""
        if not self._is_an_offer():
            super().on_message_complete()

    def _is_an_offer(self) -> bool:
        return self.parser.should_upgrade() and not self._should_upgrade()

    def _head_without_offer(self) -> bytes:
        """The head that was just read, without the headers that offer another protocol."""
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())]
        for name, value in self.headers:
            if name == b"connection":
                lines += [b"connection: " + token for token in value.split(b",") if token.strip().lower() not in OFFERS]
            elif name not in OFFERS:
                lines.append(name + b": " + value)
        return b"\r\n".join(lines) + b"\r\n\r\n"
