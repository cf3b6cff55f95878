"""The process: it listens, and when it is told to stop it first answers whom it has let in."""

import asyncio
import contextlib
import gc
import importlib.util
import logging
import signal
import socket
import threading
from collections.abc import Generator
from dataclasses import dataclass
from types import FrameType
from typing import Literal

import uvicorn
from fastapi import FastAPI

from docaps.errors import DocapsError
from docaps.interruption import SIGNALS
from docaps.web.service import Service


@dataclass(frozen=True, slots=True)
class Address:
    """Where the service listens; port 0 is any free one."""

    host: str
    port: int

    def take(self) -> socket.socket:
        """Take the address, or say who has it."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        taken = socket.socket(family, socket.SOCK_STREAM)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((self.host, self.port))
        except OSError as fault:
            taken.close()
            where = f"{self.host} port {self.port}"
            raise DocapsError(f"cannot listen on {where}: {fault.strerror or fault}. Choose another --port") from None
        return taken


def address_of(listening: socket.socket) -> str:
    """Write where a page can be opened."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server(uvicorn.Server):
    """A server that drains: after the first signal it answers what it has accepted, and tells others 503."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Listen to signals while the server runs; only a main thread can."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Begin to drain; a second signal ends the server at once."""
        if self._service.draining:
            self.force_exit = self.should_exit = True
        self._service.draining = True

    async def on_tick(self, counter: int) -> bool:
        """Say, ten times a second, whether it is time to go."""
        return await super().on_tick(counter) or (self._service.draining and not self._service.active)


def make_server(app: FastAPI, service: Service) -> Server:
    """Make a server that says little of itself."""
    config = uvicorn.Config(
        app,
        http=_protocol(),
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=service.limits.connections,
        timeout_graceful_shutdown=5,
        timeout_keep_alive=30,
        ws="none",
    )
    return Server(config, service)


def _protocol() -> "type[asyncio.Protocol] | Literal['auto']":
    """Choose what reads requests: ours, if the parser is there that it needs."""
    if importlib.util.find_spec("httptools") is None:
        return "auto"
    from docaps.web.connections import Connection

    return Connection


def serve(app: FastAPI, service: Service, listening: socket.socket) -> bool:
    """Answer requests until a signal comes; say whether all that were accepted were answered."""
    logging.getLogger("docaps.web").addHandler(logging.StreamHandler())
    gc.collect()
    gc.freeze()  # what is loaded stays: no need to look through it again and again while clients wait
    server = make_server(app, service)
    server.run(sockets=[listening])
    return not server.force_exit and not service.active
