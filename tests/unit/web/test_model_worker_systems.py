"""Every system translates in the service as elsewhere, also those that see earlier translations or whole documents."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from tests.invariants import tiny

from docaps.corpus.documents import Document
from docaps.corpus.store import Store
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import TranslatedSentence, TranslationOptions, Translator
from docaps.web.metrics import Metrics
from docaps.web.model_worker import Engine, ModelWorker
from docaps.web.request_queue import PartialResult, QueuedRequest, RequestSettings, granularity_of

STORIES = (
    ("the cat sat here", "it was old", "", "it slept", "the dog came", "it ran", "a dog ran"),
    ("a dog ran", "it was old"),
    ("it came",),
)
CONTEXT_ONLY = (frozenset[int](), frozenset({0}), frozenset[int]())
"""Sentences of each story that are only read."""
HISTORY = ("the dog sat", "a cat ran", "it slept here")
GRANULARITIES = {
    "transformer": "sentence",
    "qcn+reg": "sentence",
    "zhang": "sentence",
    "concat": "sentence",
    "concat-2-to-2": "sequential",
    "concat-n-to-n": "sequential",
    "concat-shift": "sentence",
    "han": "sequential",
    "san-decoder": "sentence",
    "san-decoder-given": "sequential",
    "san-offline": "document",
    "san-decoder-offline": "document",
    "san-decoder-offline-given": "document",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


class Client:
    """A client that waits for a translation."""

    def __init__(
        self, story: Document, history: Sequence[str], request_settings: RequestSettings, *, promptly: bool
    ) -> None:
        self.found: list[TranslatedSentence] = []
        self._count = len(story.sentences)
        self._done = threading.Event()
        self.queued = QueuedRequest(
            story.sentences,
            tuple(history),
            request_settings,
            self._take,
            promptly,
            context_only=story.context_only,
        )

    def _take(self, delivery: PartialResult) -> None:
        assert not isinstance(delivery, Exception), delivery
        self.found += delivery
        if len(self.found) >= self._count:
            self._done.set()

    def wait(self) -> list[TranslatedSentence]:
        assert self._done.wait(60)
        return self.found


@contextmanager
def working(trained: TrainedModel, threads: int) -> Iterator[ModelWorker]:
    engine = Engine(threads)
    with engine.pool:
        worker = ModelWorker("tiny", trained, Metrics(), engine)
        worker.start()
        yield worker
        worker.stop()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("name", "context"), [*((name, True) for name in GRANULARITIES), ("han", False), ("san-offline", False)]
)
def test_clients_get_the_same_as_each_would_alone(store: Store, name: str, context: bool, threads: int) -> None:
    trained = tiny.trained(store, name, batch_tokens=30)
    assert granularity_of(trained.model.view) == GRANULARITIES[name]
    request_settings = RequestSettings(trained.decoding, TranslationOptions(context))
    histories = ((), HISTORY, HISTORY[:1])
    stories = [Document(story, context_only=own) for story, own in zip(STORIES, CONTEXT_ONLY, strict=True)]
    with working(trained, threads) as worker:
        clients = [
            Client(story, history, request_settings, promptly=number == 1)
            for number, (story, history) in enumerate(zip(stories, histories, strict=True))
        ]
        assert all(worker.queue.put(client.queued, 1000) for client in clients)
        found = [client.wait() for client in clients]
    for story, history, own in zip(stories, histories, found, strict=True):
        ((_, wanted),) = Translator(trained).stream([story], TranslationOptions(context, history))
        assert [one.text for one in own] == [one.text for one in wanted]
        assert [one.score for one in own] == pytest.approx([one.score for one in wanted], abs=1e-9)
