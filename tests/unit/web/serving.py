"""A service in this process, behind a real socket on a free local port."""

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
from tests.invariants import tiny
from tests.unit.training import long_sentences

from docaps.training.stages import train_recipe
from docaps.web import model_worker
from docaps.web.access import LOCAL_HOSTS, Access
from docaps.web.app import build_app
from docaps.web.schemas import Limits
from docaps.web.server import DrainingServer, bind, url_of
from docaps.web.service import Service, load_service

TOKEN = "open sesame"
"""The token of the fixture `strict`."""
ROUTING_NUMBERS = 8
"""Of each history word: in both tables, 2 rounds and 2 capsules."""
POISON = "poison"
"""A sentence on which the models of the fixture `gate` fail."""


@dataclass(frozen=True)
class Served:
    """A running service and its URL."""

    service: Service
    url: str
    server: DrainingServer

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.url.removeprefix("http://").split(":")
        return host, int(port)

    def client(self, **options: object) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=60, trust_env=False, **options)  # type: ignore[arg-type]

    def post(self, body: object, path: str = "/v1/translate", **options: object) -> httpx.Response:
        with self.client() as client:
            return client.post(path, json=body, **options)  # type: ignore[arg-type]

    def get(self, path: str, **options: object) -> httpx.Response:
        with self.client() as client:
            return client.get(path, **options)  # type: ignore[arg-type]


def models(demo: Path) -> list[Path]:
    """Return the runs of a demo, the document model first."""
    return [demo / "runs" / "demo" / "runs" / name for name in ("document", "sentence")]


def model_with_tags(directory: Path) -> Path:
    """Train a model for a step that learns the tags of both forms of address; return its run."""
    torch.set_num_threads(1)
    store, marks = long_sentences.prepared(directory), directory / "marks.jsonl"
    long_sentences.annotate(marks, store)
    signal = {"formality": str(marks), "formality_share": 0.5, "steps": 1}
    recipe = tiny.recipe(**{f"stage__sentence__{name}": value for name, value in signal.items()})
    (run,) = train_recipe(recipe, store, directory / "runs", stages=["sentence"])
    return run.path


@contextlib.contextmanager
def serving(
    runs: Sequence[Path], limits: Limits | None = None, *, token: str | None = None, origins: Sequence[str] = ()
) -> Iterator[Served]:
    """Serve runs while the block lasts."""
    service = load_service(runs, limits or Limits())
    with bind("127.0.0.1", 0) as listening:
        app = build_app(service, Access(token, LOCAL_HOSTS, origins))
        server = DrainingServer(app, service)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            wait_until(lambda: server.started)
            yield Served(service, url_of(listening), server)
        finally:
            server.should_exit = True
            thread.join()


@contextlib.contextmanager
def gated(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Let models wait until the event is set, and fail on the sentence POISON."""
    opened = threading.Event()
    translate = model_worker.translate_encoded

    def wait(translator: Any, documents: Any, *others: Any) -> Any:
        opened.wait(60)
        poison = translator.segment(POISON)
        if any(poison in document.sentences for document in documents):
            raise RuntimeError("secret of the machine room")
        return translate(translator, documents, *others)

    monkeypatch.setattr(model_worker, "translate_encoded", wait)
    yield opened
    opened.set()


def ask(served: Served, body: Any, **options: Any) -> httpx.Response:
    """Send a translation request with the token."""
    return served.post(body, headers={"Authorization": f"Bearer {TOKEN}"}, **options)


def wait_until(condition: object, seconds: float = 30) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "the condition did not become true in time"
        time.sleep(0.01)
