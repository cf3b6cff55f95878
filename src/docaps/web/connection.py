"""One client's connection: limits on all that it sends besides bodies, one request at a time, and no lost response.

What uvicorn and its parser leave open, and no application sees: they limit neither heads nor chunk extensions nor
trailers, keep trailers as headers, and parse pipelined requests while an earlier one is answered. On invalid data they
close the connection; a client that is still sending then gets a reset instead of the response.
"""

import asyncio
import re
from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from http import HTTPStatus

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from docaps.web.http_errors import HttpError, stopping_error
from docaps.web.middleware import SECURITY_HEADERS, SEND_TIMEOUT

MAX_HEAD_BYTES = 2**16
"""Size limit of a request head (request line and headers)."""
MAX_HEADERS = 100
MAX_FRAMING_BYTES = 2**16
"""How much more may arrive of chunk sizes, chunk extensions and trailers than FRAMING_PER_BYTE times the body."""
FRAMING_PER_BYTE = 8
"""More than chunks of a single byte need."""
FRAMING_PIECE = 2**12
"""How many bytes of a chunked request are parsed before they are counted."""
MAX_WAITING_BYTES = 2**16
"""How much is read of the next request before this one is answered."""
HEAD_TIMEOUT = 20.0
"""Seconds for a request head to arrive, from the opening of the connection or its first byte."""
DRAIN_TIMEOUT = 3.0
"""Seconds for a head, and then for a body, to arrive while the server stops."""
IDLE_TIMEOUT = 0.5
"""Seconds for a request to arrive that may be on its way when the server has finished all others."""
LINGER_SECONDS, LINGER_BYTES = 1.0, 2**23
"""How long and how much to read and discard after the last response."""
EMPTY_LINE = re.compile(rb"\n\r?\n")
"""Every head and every chunked body ends with it."""
EMPTY_LINE_COST = 64
"""What an empty line in a chunked body counts as, in bytes: it may be the end, and is parsed by itself."""


class Phase(Enum):
    """What of a request has arrived."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    COMPLETE = auto()


class LingeringTransport(asyncio.Transport):
    """What uvicorn's request cycle uses of a transport, with another way to close it."""

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        super().__init__()
        self.write, self.is_closing, self.close = transport.write, transport.is_closing, close  # type: ignore[method-assign]


class LimitedConnection(HttpToolsProtocol):
    """A connection that bounds what it reads; its own errors are JSON as everywhere.

    Received bytes are parsed in pieces that never reach beyond the end of a request.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for the first request."""
        super().connection_made(transport)
        self._received = bytearray()
        self._phase = Phase.IDLE
        self._draining = self._lingering = False
        self._unsent, self._unsent_since = 0, self.loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._limit_head_time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._set_timer(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the data, or discard it if the connection is about to be closed."""
        if not self._lingering:
            self._received += data
            self._parse()
            return
        self._discarded += len(data)
        if self._discarded > LINGER_BYTES:
            self.transport.abort()

    def _parse(self) -> None:
        """Parse what has arrived; the next request waits until this one is answered."""
        while self._received and not self._ending:
            if self._phase is Phase.COMPLETE:
                if len(self._received) > MAX_WAITING_BYTES:
                    self.flow.pause_reading()
                return
            if self._phase is Phase.IDLE:
                self._start_request()
            self._feed(self._cut())

    def _start_request(self) -> None:
        self._phase = Phase.HEAD
        self._head_bytes = self._body_bytes = 0
        self._body_left: int | None = None
        self._framing_left = MAX_FRAMING_BYTES
        self._last = b""
        self._limit_head_time()

    def _cut(self) -> bytes:
        """Take the next piece off the received bytes: part of one request, and within the limits."""
        if self._body_left is not None:
            size = self._body_left
        else:
            size = self._find_end(MAX_HEAD_BYTES - self._head_bytes if self._phase is Phase.HEAD else FRAMING_PIECE)
        piece = bytes(self._received[:size])
        del self._received[:size]
        return piece

    def _find_end(self, most: int) -> int:
        """Return the number of bytes up to the next empty line, which may begin in the last piece, or `most`."""
        before, self._last = self._last, b""
        if across := EMPTY_LINE.search(before + self._received[:2]):
            return across.end() - len(before)
        if found := EMPTY_LINE.search(self._received, 0, most):
            return found.end()
        self._last = bytes(before + self._received[:most])[-2:]
        return most

    def _feed(self, piece: bytes) -> None:
        """Parse a piece and count it."""
        self._unset_keepalive_if_required()
        phase, body = self._phase, self._body_bytes
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            pass  # there is no other protocol: the request is answered as if it had not asked for one
        except httptools.HttpParserError as error:
            own = error.__context__  # of a callback
            self.refuse(own if isinstance(own, HttpError) else HttpError(400, f"not a valid HTTP request: {error}"))
            return
        if phase is Phase.HEAD:
            self._count_head(len(piece))
        elif self._body_left is None:
            self._count_framing(len(piece), self._body_bytes - body)

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._phase is Phase.HEAD and self._head_bytes >= MAX_HEAD_BYTES:
            self.refuse(HttpError(431, f"the head of the request is too large: at most {MAX_HEAD_BYTES} bytes"))

    def _count_framing(self, size: int, body: int) -> None:
        """Charge what is not body, and the work of parsing many small pieces; every byte of body pays for some."""
        cost = size - body + (0 if self._last else EMPTY_LINE_COST)
        left = self._framing_left + FRAMING_PER_BYTE * body - cost
        self._framing_left = min(left, MAX_FRAMING_BYTES)
        if left < 0:
            what = f"at most {MAX_FRAMING_BYTES} bytes of chunk extensions and trailers"
            self.refuse(HttpError(413, f"the request is too large: {what}"))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; what comes after the head is a trailer, which this API does not use."""
        if self._phase is not Phase.HEAD:
            return
        if len(self.headers) >= MAX_HEADERS:
            raise HttpError(431, f"the request has too many headers: at most {MAX_HEADERS}")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Start the application; from here on, the middleware enforces the limits of size and time."""
        fields = dict(self.headers)
        chunked, length = b"transfer-encoding" in fields, int(fields.get(b"content-length", b"0"))
        if self.parser.should_upgrade() and (chunked or length):  # the parser would skip the body
            raise HttpError(400, "a request with a body cannot change the protocol: leave the header Upgrade out")
        super().on_headers_complete()
        self.cycle.transport = LingeringTransport(self.transport, self._linger)
        self._phase, self._body_left = Phase.BODY, None if chunked else length
        self._set_timer(None)
        if self._draining:
            self._limit_drain_time()

    def on_body(self, body: bytes) -> None:
        """Count a part of the body and hand it to the application."""
        self._body_bytes += len(body)
        if self._body_left is not None:
            self._body_left -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note the end of the request."""
        self._phase = Phase.COMPLETE
        self._set_timer(None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on to the next request, if the whole of this one was read."""
        if self._phase is not Phase.COMPLETE:
            self._linger()
        if not self._ending:
            super().on_response_complete()
            self._phase = Phase.IDLE
            self._parse()

    def refuse(self, error: HttpError) -> None:
        """Send an error response, unless another one is under way, and close the connection."""
        if self._ending:
            return
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected, cycle.waiting_for_100_continue = True, False
            cycle.message_event.set()  # the application stops waiting for the rest
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(_as_bytes(error))
        self._linger()

    def _linger(self) -> None:
        """Send nothing more; discard, within limits, what the client still sends; then close the connection.

        If it were closed at once, the next bytes to arrive would reset it, and the client might lose the response.
        """
        if self._ending:
            return
        self._lingering, self._discarded = True, len(self._received)
        self._received.clear()
        self._unset_keepalive_if_required()
        self.flow.resume_reading()
        self.transport.write_eof()
        self._set_timer(LINGER_SECONDS, self._end)

    def _end(self) -> None:
        """Close the connection for good, once the response is sent."""
        if self.transport.get_write_buffer_size():
            self._set_timer(LINGER_SECONDS, self._end)  # `check_reading` ends the wait
        else:
            self.transport.abort()

    def drain(self) -> None:
        """Shorten the time of a request that is still arriving: the server stops."""
        if not self._draining:
            self._draining = True
            if self._phase in (Phase.HEAD, Phase.BODY) and not self._ending:
                self._limit_drain_time()

    def shutdown(self) -> None:
        """Close the connection once what is under way, or may be on its way, is answered."""
        self.drain()
        if self._phase is Phase.COMPLETE:
            self.cycle.keep_alive = False
        elif self._phase is Phase.IDLE and not self._ending:
            unused = self.cycle is None
            self._set_timer(IDLE_TIMEOUT, partial(self.refuse, stopping_error()) if unused else self._linger)

    def check_reading(self) -> None:
        """Disconnect a client that has read nothing of its response for a while."""
        size, now = self.transport.get_write_buffer_size(), self.loop.time()
        if not size or size != self._unsent:
            self._unsent, self._unsent_since = size, now
        elif now - self._unsent_since > SEND_TIMEOUT:
            self.transport.abort()

    @property
    def _ending(self) -> bool:
        return self._lingering or self.transport.is_closing()

    def _limit_head_time(self) -> None:
        if self._draining:
            self._limit_drain_time()
        else:
            error = HttpError(408, "the head of the request did not arrive in time")
            self._set_timer(HEAD_TIMEOUT, partial(self.refuse, error))

    def _limit_drain_time(self) -> None:
        self._set_timer(DRAIN_TIMEOUT, partial(self.refuse, stopping_error()))

    def _set_timer(self, seconds: float | None, call: Callable[[], object] = lambda: None) -> None:
        """Replace the timer, or stop it: a connection waits for one thing at a time."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, call)


def _as_bytes(error: HttpError) -> bytes:
    """Format an error response that is the last of its connection."""
    response = error.response()
    headers = {"Connection": "close", **SECURITY_HEADERS, **response.headers}
    lines = [f"{name}: {value}" for name, value in headers.items()]
    status = f"HTTP/1.1 {error.status_code} {HTTPStatus(error.status_code).phrase}"
    return "\r\n".join([status, *lines, "", ""]).encode("latin-1") + bytes(response.body)
