"""Connections: what uvicorn leaves open, namely how long and how large the head of a request may be.

Nothing of a request reaches the application before its head is complete, so no limit there can help.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from docaps.web.faults import RefusalError
from docaps.web.guard import HEADERS

LARGEST_HEAD = 2**16
"""Bytes of a head that may come before it is complete."""
SLOWEST_HEAD = 20.0
"""Seconds that a client may take for it, from opening the connection or from its first byte."""
PHRASES = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large"}


class Connection(HttpToolsProtocol):
    """A connection whose heads are bounded; what cannot be read at all is refused like all else, in JSON."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._received = 0
        self._waiting: asyncio.TimerHandle | None = None
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._have_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; if the head is still not complete, it may have become too large."""
        between = self.cycle is None or not self.cycle.more_body
        if between and self._waiting is None:
            self._await_head()
        super().data_received(data)
        if self._waiting is not None:
            self._received += len(data)
            if self._received > LARGEST_HEAD:
                self._refuse(431, f"the head of the request is too large: at most {LARGEST_HEAD} bytes")

    def on_headers_complete(self) -> None:
        """Go on with the request: from here on, the application looks after it."""
        self._have_head()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Say that this is no request."""
        self._refuse(400, msg)

    def _await_head(self) -> None:
        self._received = 0
        self._waiting = self.loop.call_later(
            SLOWEST_HEAD, self._refuse, 408, "the head of the request did not arrive in time"
        )

    def _have_head(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _refuse(self, status: int, message: str) -> None:
        """Answer without asking the application, unless it is answering already; then hang up."""
        self._have_head()
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            body = RefusalError(status, message).body.encode()
            named = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"}
            lines = [f"{name}: {value}" for name, value in {**named, **HEADERS}.items()]
            head = "\r\n".join([f"HTTP/1.1 {status} {PHRASES[status]}", *lines, "", ""])
            self.transport.write(head.encode("latin-1") + body)
        self.transport.close()
