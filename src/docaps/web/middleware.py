"""ASGI middleware: access rules, content type, size and time limits (`schemas.Limits`), security headers, metrics.

It is plain ASGI because a translation must notice that its client has disconnected. Starlette's TrustedHostMiddleware
does not serve here: it answers 400 in plain text, where this API answers 421 in JSON.
"""

import contextlib
import logging
import time
import uuid
from asyncio import timeout
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docaps.web.access import Access
from docaps.web.dialects import (
    FILE_PATHS,
    FILES_PATH,
    FORM_TYPES,
    JSON_TYPE,
    MULTIPART_TYPE,
    TRANSLATING,
    dialect_of,
)
from docaps.web.forms import FILE_NEEDED, MAX_FRAME_BYTES
from docaps.web.http_errors import HttpError, stopping_error
from docaps.web.service import Service

LOG = logging.getLogger("docaps.web")
DISCARD_SECONDS = 0.1
"""How long to read on when a request is already refused."""
SEND_TIMEOUT = 20.0
"""Seconds after which a client that does not read its response is disconnected."""
START_TIME = "docaps.start_time"
"""Key in the ASGI scope: when the request started."""
SECURITY_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


WRITING = ("POST", "PUT", "PATCH")


class StalledClientError(Exception):
    """The client does not read its response."""


@dataclass
class _Exchange:
    """One request and its response, with the limits on both."""

    service: Service
    scope: Scope
    receive: Receive
    send: Send
    start: float = field(default_factory=time.monotonic)
    size: int = 0
    status: int = 0
    complete: bool = False
    """Whether the whole request has been read."""

    async def receive_limited(self) -> Message:
        """Receive a part of the request; refuse it if it is too large (413) or too slow (408)."""
        if self.complete:
            return await self.receive()
        limits = self.service.limits
        try:
            async with timeout(max(0.0, self.start + limits.seconds - time.monotonic())):
                message = await self._receive_counted()
        except TimeoutError:
            raise HttpError(408, "the request did not arrive in time") from None
        self.check_size(self.size)
        return message

    async def _receive_counted(self) -> Message:
        message = await self.receive()
        self.size += len(message.get("body", b""))
        self.complete = not message.get("more_body", False)
        return message

    def check_size(self, size: int) -> None:
        """Refuse a body that is too large."""
        if size > self._largest:
            raise HttpError(413, f"the request is too large: at most {self._largest} bytes")

    @property
    def _largest(self) -> int:
        """The most bytes of a body: files go to disk, all else is kept in memory."""
        limits = self.service.limits
        return limits.file + MAX_FRAME_BYTES if self.scope["path"] in FILE_PATHS else limits.body

    async def send_limited(self, message: Message) -> None:
        """Send a part of the response, with the security headers; give up if the client does not read it."""
        if message["type"] == "http.response.start":
            await self._discard_request()
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in {**SECURITY_HEADERS, "Cache-Control": "no-store"}.items():
                headers.setdefault(name, value)
            if self.service.draining or not self.complete:
                headers["Connection"] = "close"
        try:
            async with timeout(SEND_TIMEOUT):
                await self.send(message)
        except TimeoutError:
            raise StalledClientError from None

    async def _discard_request(self) -> None:
        """Read the rest of a refused request if it is small and has nearly arrived: the connection can be kept open.

        Nothing is read if the client waits for `100 Continue`.
        """
        if "expect" in Headers(scope=self.scope):
            return
        with contextlib.suppress(TimeoutError):
            async with timeout(DISCARD_SECONDS):
                while not self.complete and self.size <= self.service.limits.body:
                    await self._receive_counted()

    async def refuse(self, error: HttpError) -> None:
        """Send an error response."""
        response = error.response(dialect_of(self.scope["path"]))
        await response(self.scope, self.receive, self.send_limited)


def check_content_type(path: str, given: list[str]) -> None:
    """Refuse a body that is not declared as what a path takes.

    A foreign page may send forms and plain text without asking; where forms are taken, `Access` refuses its origin.
    """
    found = [value.partition(";")[0].strip().lower() for value in given]
    if dialect_of(path).forms:
        if len(found) != 1 or found[0] not in FORM_TYPES:
            raise HttpError(415, f"the header Content-Type must be one of {', '.join(FORM_TYPES)}")
    elif path == FILES_PATH:
        if found != [MULTIPART_TYPE]:
            raise HttpError(415, FILE_NEEDED)
    elif found != [JSON_TYPE]:
        raise HttpError(415, f"the body must be JSON: send it with the header Content-Type: {JSON_TYPE}")


class ServiceMiddleware:
    """Check requests before they reach the routes; limit and count their responses."""

    def __init__(self, app: ASGIApp, *, service: Service, access: Access) -> None:
        self._app, self._service, self._access = app, service, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        exchange = _Exchange(self._service, scope, receive, send)
        scope[START_TIME] = exchange.start
        translating = scope["path"] in TRANSLATING and scope["method"] == "POST"
        # Refused requests do not keep a draining server from stopping.
        accepted = translating and not self._service.draining
        self._service.active += accepted
        try:
            await self._handle(exchange, stopping=translating and not accepted)
        except StalledClientError:
            LOG.warning("a client did not read its answer")
        finally:
            self._service.active -= accepted
            # Paths without a route share one label: clients must not be able to create time series.
            path = str(getattr(scope.get("route"), "path", "other"))
            self._service.metrics.count_request(path, exchange.status, time.monotonic() - exchange.start)

    async def _handle(self, exchange: _Exchange, *, stopping: bool) -> None:
        try:
            self._check(exchange)
            if stopping:
                raise stopping_error()
            await self._app(exchange.scope, exchange.receive_limited, exchange.send_limited)
        except HttpError as error:
            await exchange.refuse(error)
        except StalledClientError:
            raise
        except Exception:
            number = uuid.uuid4().hex[:8]
            LOG.exception("request %s failed", number)
            if not exchange.status:
                await exchange.refuse(HttpError(500, f"the server failed; see its log for request {number}"))

    def _check(self, exchange: _Exchange) -> None:
        """Check the head of a request."""
        headers, method = Headers(scope=exchange.scope), exchange.scope["method"]
        length = headers.get("content-length", "0")
        # A request without a body is already complete: its connection can be kept open.
        exchange.complete = length == "0" and "transfer-encoding" not in headers
        self._access.check(method, exchange.scope["path"], headers)
        if method in WRITING and not exchange.complete:
            check_content_type(exchange.scope["path"], headers.getlist("content-type"))
        if length.isascii() and length.isdigit():
            exchange.check_size(int(length))
