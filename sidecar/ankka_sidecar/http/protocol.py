"""What is no HTTP request that an application could see: answered with a problem too, and kept small."""

from __future__ import annotations

from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ankka.protocol.errors import Error, ErrorCode
from ankka_sidecar.http.problems import PROBLEM, problem_body

MAX_TARGET = 16 * 1024
MAX_HEADERS = 64 * 1024


class TooLong(Exception):
    """The head of a request is longer than is taken; raised through the parser, which ends the connection."""


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol with limits on the head of a request, and problems where it would answer in plain text."""

    _refusal: Error | None = None
    _refused_with = 400
    _header_bytes = 0

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
