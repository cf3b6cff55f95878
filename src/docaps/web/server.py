"""The server process: listening socket, and draining on shutdown."""

import asyncio
import contextlib
import ctypes
import errno
import gc
import logging
import signal
import socket
import struct
import sys
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from docaps.errors import DocapsError
from docaps.interruption import SIGNALS
from docaps.web.connection import LimitedConnection
from docaps.web.service import Service

SO_ATTACH_FILTER = 26
RETURN_NOTHING = (6, 0, 0, 0)
"""A filter of packets (classic BPF) with one instruction: keep no byte."""


class DrainingServer(uvicorn.Server):
    """A server that, after the first signal, finishes accepted requests and refuses new ones with 503.

    Connections get a response, not a reset, until it stops. It logs warnings only and does not name itself in headers.
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
        """Check all connections, ten times a second; return whether to stop."""
        for connection in self._connections:
            connection.check_reading()
            if self._service.draining:
                connection.drain()
        return await super().on_tick(counter) or (self._service.draining and not self._service.active)

    @property
    def _connections(self) -> list[LimitedConnection]:
        return [one for one in self.server_state.connections if isinstance(one, LimitedConnection)]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, accept the connections that wait in the sockets' queues, and answer all that are open.

        The system would reset those that nobody accepts.
        """
        queues = [one.dup() for one in sockets or ()]  # a copy keeps the queue when the server closes its socket
        for queue in queues:
            _ignore_newcomers(queue)
        for server in self.servers:
            server.close()
        for connection in [one for queue in queues for one in _accept_all(queue)]:
            await asyncio.get_running_loop().connect_accepted_socket(self._make_connection, connection)
        await super().shutdown(sockets)

    def _make_connection(self) -> LimitedConnection:
        return LimitedConnection(self.config, self.server_state, self.lifespan.state)


def _ignore_newcomers(queue: socket.socket) -> None:
    """Let nobody join a socket's queue: the system drops what they send, and refuses them once the socket is closed.

    Without it, one that joins between the last look at the queue and its end would be reset. Linux only.
    """
    if not sys.platform.startswith("linux"):
        return
    instruction = ctypes.create_string_buffer(struct.pack("HBBI", *RETURN_NOTHING))
    program = struct.pack("HL", 1, ctypes.addressof(instruction))
    with contextlib.suppress(OSError):  # the kernel may have no filters
        queue.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


def _accept_all(queue: socket.socket) -> list[socket.socket]:
    """Accept all waiting connections and close the queue."""
    queue.setblocking(False)
    accepted = []
    with queue, contextlib.suppress(OSError):  # there are no more
        while True:
            accepted.append(queue.accept()[0])
    return accepted


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


def run_server(app: FastAPI, service: Service, listening: socket.socket, announce: Callable[[], None]) -> bool:
    """Listen, announce it, and serve until a signal arrives; return whether all accepted requests were answered."""
    logging.getLogger("docaps.web").addHandler(logging.StreamHandler())
    gc.collect()
    gc.freeze()  # loaded models stay: collections during requests need not scan them
    server = DrainingServer(app, service)
    for number in SIGNALS:  # uvicorn catches them once it has started; connections may wait before that
        signal.signal(number, server.handle_exit)
    listening.listen()
    announce()
    server.run(sockets=[listening])
    return not server.force_exit and not service.active
