"""The server process: listening socket, connection limits, and draining on shutdown."""

import asyncio
import errno
import gc
import logging
import socket
from http import HTTPStatus
from types import FrameType

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from docaps.errors import DocapsError
from docaps.web.http_errors import HttpError
from docaps.web.middleware import SECURITY_HEADERS
from docaps.web.service import Service

MAX_HEAD_BYTES = 2**16
"""Size limit of a request head (request line and headers)."""
HEAD_TIMEOUT = 20.0
"""Seconds for a request head to arrive, from the opening of the connection or its first byte."""


class LimitedConnection(HttpToolsProtocol):
    """A connection with limits on the request head, which uvicorn does not have; errors are JSON as everywhere.

    The application sees a request only once its head is complete, so middleware cannot enforce these limits.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for the first request."""
        super().connection_made(transport)
        self._received = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._start_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._finish_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the data; refuse a head that is too large."""
        between_requests = self.cycle is None or not self.cycle.more_body
        if between_requests and self._head_timer is None:
            self._start_head()
        super().data_received(data)
        if self._head_timer is not None:
            self._received += len(data)
            if self._received > MAX_HEAD_BYTES:
                self._refuse(431, f"the head of the request is too large: at most {MAX_HEAD_BYTES} bytes")

    def on_headers_complete(self) -> None:
        """Stop the timer: from here on, the middleware enforces the limits."""
        self._finish_head()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse data that is not HTTP."""
        self._refuse(400, msg)

    def _start_head(self) -> None:
        self._received = 0
        message = "the head of the request did not arrive in time"
        self._head_timer = self.loop.call_later(HEAD_TIMEOUT, self._refuse, 408, message)

    def _finish_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse(self, status: int, message: str) -> None:
        """Send an error response, unless another response is under way; then close the connection."""
        self._finish_head()
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            response = HttpError(status, message, headers={"Connection": "close", **SECURITY_HEADERS}).response()
            lines = [f"{name}: {value}" for name, value in response.headers.items()]
            head = "\r\n".join([f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *lines, "", ""])
            self.transport.write(head.encode("latin-1") + bytes(response.body))
        self.transport.close()


class DrainingServer(uvicorn.Server):
    """A server that, after the first signal, finishes accepted requests and refuses new ones with 503.

    It logs warnings only and does not name itself in headers.
    """

    def __init__(self, app: FastAPI, service: Service) -> None:
        config = uvicorn.Config(
            app,
            http=LimitedConnection,
            log_level="warning",
            access_log=False,
            server_header=False,
            limit_concurrency=service.limits.connections,
            timeout_graceful_shutdown=5,
            timeout_keep_alive=30,
            ws="none",
        )
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Start draining on SIGINT or SIGTERM; a second signal stops the server at once."""
        if self._service.draining:
            self.force_exit = self.should_exit = True
        self._service.draining = True

    async def on_tick(self, counter: int) -> bool:
        """Return, ten times a second, whether to stop."""
        return await super().on_tick(counter) or (self._service.draining and not self._service.active)


PORT_ERRORS = {errno.EADDRINUSE, errno.EACCES}
"""Errors of binding that another port avoids."""


def bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address; port 0 means any free port."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        reason, option = error.strerror or error, "--port" if error.errno in PORT_ERRORS else "--host"
        raise DocapsError(f"cannot listen on {host} port {port}: {reason}. Choose another {option}") from None
    return bound


def url_of(listening: socket.socket) -> str:
    """Return the URL of the service on a socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run_server(app: FastAPI, service: Service, listening: socket.socket) -> bool:
    """Serve until a signal arrives; return whether all accepted requests were answered."""
    logging.getLogger("docaps.web").addHandler(logging.StreamHandler())
    gc.collect()
    gc.freeze()  # loaded models stay: collections during requests need not scan them
    server = DrainingServer(app, service)
    server.run(sockets=[listening])
    return not server.force_exit and not service.active
