"""The door of the service: who may come in, how much may be carried in, and what every answer must say.

Plain ASGI, because it must see a client that goes away while a translation is made.
"""

import contextlib
import hmac
import ipaddress
import logging
import time
import uuid
from asyncio import timeout
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from fastapi.exceptions import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docaps.web.faults import RefusalError
from docaps.web.service import Service

LOG = logging.getLogger("docaps.web")
PATIENCE, DISCARDED = 1.0, 8 * 2**20
"""For how many seconds, and how many bytes, a request is read that is refused already."""
STALLED = 20.0
"""Seconds after which a client that does not read its answer is given up."""
BEGUN = "docaps.begun"
"""Where the scope of a request says when it began."""
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
HEADERS: Mapping[str, str] = {
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


class StalledError(Exception):
    """The client does not read what it is sent."""


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask: whoever knows the token, if there is one; by which names, if only some are answered for."""

    token: str | None = None
    hosts: Collection[str] | None = None

    def check(self, method: str, path: str, headers: Headers) -> None:
        """Refuse a stranger."""
        # A page of another site may reach a local server under a name of its own; it cannot choose this header.
        if self.hosts is not None and _host_name(headers.get("host", "")) not in self.hosts:
            raise RefusalError(421, "this service does not answer for that host")
        # A browser asks beforehand, without the token, whether a page may ask (CORS).
        guarded = method != "OPTIONS" and (path.startswith("/v1/") or path == "/metrics")
        if self.token is not None and guarded and not self._knows_token(headers.get("authorization", "")):
            raise RefusalError(401, "a bearer token is needed", headers={"WWW-Authenticate": "Bearer"})

    def _knows_token(self, given: str) -> bool:
        scheme, _, token = given.partition(" ")
        # The time of the comparison tells nothing about how much was right.
        right = hmac.compare_digest(token.strip().encode("utf-8"), (self.token or "").encode("utf-8"))
        return scheme.lower() == "bearer" and right


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host_name(header: str) -> str:
    """Take the port off a host; an address of IPv6 stands in brackets."""
    name = header.rpartition("]")[0] + "]" if header.startswith("[") else header.partition(":")[0]
    return name.lower()


@dataclass
class _Exchange:
    """One request and its answer, as they go by."""

    service: Service
    scope: Scope
    receive: Receive
    send: Send
    start: float = field(default_factory=time.monotonic)
    size: int = 0
    status: int = 0
    complete: bool = False

    async def take(self) -> Message:
        """Hand on a part of the request, unless it is too much or too slow."""
        if self.complete:
            return await self.receive()
        limits = self.service.limits
        try:
            async with timeout(max(0.0, self.start + limits.seconds - time.monotonic())):
                message = await self.receive()
        except TimeoutError:
            raise HTTPException(408, "the request did not arrive in time") from None
        self.size += len(message.get("body", b""))
        self.complete = not message.get("more_body", False)
        if self.size > limits.body:
            raise HTTPException(413, f"the request is too large: at most {limits.body} bytes")
        return message

    async def give(self, message: Message) -> None:
        """Hand on a part of the answer, its head with what every answer says."""
        if message["type"] == "http.response.start":
            await self._discard()
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
            if self.service.draining or not self.complete:
                headers["Connection"] = "close"
        try:
            async with timeout(STALLED):
                await self.send(message)
        except TimeoutError:
            raise StalledError from None

    async def _discard(self) -> None:
        """Read the rest of a request that is refused: who is cut off while writing may never see the answer.

        Not without end, and not if the client waits for leave to send it.
        """
        read = 0
        with contextlib.suppress(TimeoutError):
            async with timeout(PATIENCE):
                while not self.complete and read < DISCARDED and "expect" not in Headers(scope=self.scope):
                    message = await self.receive()
                    read += len(message.get("body", b""))
                    self.complete = not message.get("more_body", False)

    async def refuse(self, refusal: RefusalError) -> None:
        """Answer that there is no answer."""
        body = refusal.body.encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **refusal.headers}
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await self.give({"type": "http.response.start", "status": refusal.status, "headers": raw})
        await self.give({"type": "http.response.body", "body": body})


class Guard:
    """Check requests before they reach the routes, and finish answers."""

    def __init__(self, app: ASGIApp, *, service: Service, access: Access) -> None:
        self._app = app
        self._service = service
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        exchange = _Exchange(self._service, scope, receive, send)
        scope[BEGUN] = exchange.start
        translating = scope["path"].startswith("/v1/translate")
        self._service.active += translating
        try:
            await self._handle(exchange, translating)
        finally:
            self._service.active -= translating
            seconds = time.monotonic() - exchange.start
            self._service.metrics.count_request(_route(scope), exchange.status, seconds)

    async def _handle(self, exchange: _Exchange, translating: bool) -> None:
        headers = Headers(scope=exchange.scope)
        # A request without a body is complete from the start: its connection may be kept.
        exchange.complete = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        try:
            self._access.check(exchange.scope["method"], exchange.scope["path"], headers)
            self._check_size(headers)
            if translating and self._service.draining:
                raise RefusalError(503, "the server is about to stop", retry=5)
            await self._app(exchange.scope, exchange.take, exchange.give)
        except RefusalError as refusal:
            await exchange.refuse(refusal)
        except StalledError:
            LOG.warning("a client did not read its answer")
        except Exception:
            number = uuid.uuid4().hex[:8]
            LOG.exception("request %s failed", number)
            if not exchange.status:
                await exchange.refuse(RefusalError(500, f"the server failed; its log tells more under {number}"))

    def _check_size(self, headers: Headers) -> None:
        length = headers.get("content-length", "0")
        if length.isascii() and length.isdigit() and int(length) > self._service.limits.body:
            raise RefusalError(413, f"the request is too large: at most {self._service.limits.body} bytes")


def _route(scope: Scope) -> str:
    """Name the route for the counters; whatever strangers invent is one name."""
    route = scope.get("route")
    return str(getattr(route, "path", "other"))
