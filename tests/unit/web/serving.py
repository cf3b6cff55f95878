"""A service in this process, behind a real socket on a free port of this machine."""

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from docaps.web.app import build_app
from docaps.web.guard import LOCAL_NAMES, Access
from docaps.web.limits import Limits
from docaps.web.opening import open_service
from docaps.web.server import Address, address_of, make_server
from docaps.web.service import Service


@dataclass(frozen=True)
class Served:
    """A running service and how to reach it."""

    service: Service
    url: str

    def client(self, **options: object) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=60, trust_env=False, **options)  # type: ignore[arg-type]

    def post(self, body: object, path: str = "/v1/translate", **options: object) -> httpx.Response:
        with self.client() as client:
            return client.post(path, json=body, **options)  # type: ignore[arg-type]

    def get(self, path: str, **options: object) -> httpx.Response:
        with self.client() as client:
            return client.get(path, **options)  # type: ignore[arg-type]


def models(demo: Path) -> list[Path]:
    """The runs of a demo, the document model first."""
    return [demo / "runs" / "demo" / "runs" / name for name in ("document", "sentence")]


@contextlib.contextmanager
def serving(
    runs: Sequence[Path], limits: Limits | None = None, *, token: str | None = None, origins: Sequence[str] = ()
) -> Iterator[Served]:
    """Serve runs while the block lasts."""
    service = open_service(runs, limits or Limits())
    with Address("127.0.0.1", 0).take() as listening:
        app = build_app(service, Access(token, LOCAL_NAMES), origins=origins)
        server = make_server(app, service)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            wait_until(lambda: server.started)
            yield Served(service, address_of(listening))
        finally:
            server.should_exit = True
            thread.join()


def wait_until(condition: object, seconds: float = 30) -> None:
    """Wait for something to come true."""
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.01)
