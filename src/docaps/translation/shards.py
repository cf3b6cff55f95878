"""Shards: windows of documents that workers translate apart, each with the history before it.

A shard depends on the input and the settings alone, and a worker has one thread: the translations are the same, to the
last digit, whichever worker makes them. They come back in order, so that the same code writes them as without workers.
"""

import socket
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from docaps import progress
from docaps.cluster import check_shared
from docaps.config import TranslationPrecision
from docaps.corpus.documents import Document, TextLayout
from docaps.corpus.processes import TaskPool
from docaps.errors import DocapsError, RunError
from docaps.files import sha256
from docaps.memory import limit_kernel_caches
from docaps.runs.directory import Run
from docaps.translation.input_files import InputDocument
from docaps.translation.position import Position
from docaps.translation.trained_model import TrainedModel, load_trained
from docaps.translation.translator import (
    InputWarnings,
    Read,
    Session,
    TranslatedSentence,
    TranslationOptions,
    Translator,
    skipped,
)

Sentences = tuple[TranslatedSentence, ...]


@dataclass(frozen=True, slots=True)
class TextShard:
    """Consecutive documents, or parts of one, and what came before them."""

    name: str
    """Where its text is, for messages."""
    documents: tuple[Document, ...]
    history: tuple[str, ...]
    """The sentences in view before the first document, which continue in it."""
    start: Position


@dataclass(frozen=True, slots=True)
class TranslatedShard:
    """The translations of a shard's documents, a message for each split sentence, and one for each missing term."""

    documents: list[Sentences]
    splits: list[str]
    terms: list[str]


@dataclass(frozen=True, slots=True)
class ShardTranslation:
    """Translates shards in whatever process it is called: the first call there loads the model."""

    run: Path
    weights: str
    """The hash of the weights: another machine may have another run of this name."""
    asked: TranslationPrecision
    """The precision that was asked for; `auto` is what suits the machine."""
    precision: str
    """The precision of the process that sees all shards: all workers must have the same."""
    settings: Mapping[str, Any]
    """The arguments of the translator."""
    options: TranslationOptions

    def __call__(self, shard: TextShard) -> TranslatedShard:
        """Translate a shard."""
        trained = _load(self.run, self.weights, self.asked)
        if (found := str(trained.writes_in)) != self.precision:
            names = [name.removeprefix("torch.") for name in (found, self.precision)]
            what = f"the machine {socket.gethostname()} would compute in {names[0]}, the command's in {names[1]}"
            raise RunError(f"{what}: name one for all with --precision", path=self.run)
        try:
            return self._translate(shard, trained)
        except DocapsError as fault:
            raise DocapsError(f"{shard.name}: {fault}") from None
        except Exception as fault:
            fault.add_note(f"in {shard.name}")
            raise

    def _translate(self, shard: TextShard, trained: TrainedModel) -> TranslatedShard:
        notes = _Notes()
        translator = Translator(trained, **self.settings)
        options = replace(self.options, history=shard.history)
        session = Session(translator, options, progress.Task("translate"), notes, shard.start)
        return TranslatedShard(session.translate(shard.documents), notes.splits, notes.terms)


class _Notes(InputWarnings):
    """Collects what is said of sentences, for the process that sees all shards."""

    def __init__(self) -> None:
        self.splits: list[str] = []
        self.terms: list[str] = []
        super().__init__(self.splits.append)

    def note_split(self, message: str) -> None:
        self.splits.append(message)

    def note_term(self, message: str) -> None:
        self.terms.append(message)

    def judge(self, translated: Sequence[Sequence[TranslatedSentence]]) -> None:
        """Leave it to the process that sees all shards."""


@lru_cache(maxsize=1)
def _load(run: Path, weights: str, precision: TranslationPrecision) -> TrainedModel:
    """Load the model of this process, which computes with one thread."""
    limit_kernel_caches()
    torch.set_num_threads(1)
    check_shared(run, "run")
    if sha256(Run(run).weights) != weights:
        raise RunError(f"the machine {socket.gethostname()} has another run here: all must share one storage", path=run)
    return load_trained(run, precision)


class ShardedTranslator(Translator):
    """A translator of a run, whose sessions leave the work to the workers of a pool."""

    def __init__(
        self, trained: TrainedModel, run: Path, pool: TaskPool, *, asked: TranslationPrecision, **settings: Any
    ) -> None:
        super().__init__(trained, **settings)
        run, precision = run.resolve(), str(trained.writes_in)
        self.pool = pool
        self.work = ShardTranslation(run, sha256(Run(run).weights), asked, precision, settings, TranslationOptions())

    def open(self, options: TranslationOptions, task: progress.Task, warnings: InputWarnings) -> "ShardedSession":
        """Return a session that gives its windows to the workers."""
        return ShardedSession(self, options, task, warnings)


class ShardedSession(Session):
    """Cuts the windows of one stream of documents into shards, and gives these to workers."""

    def __init__(
        self, translator: ShardedTranslator, options: TranslationOptions, task: progress.Task, warnings: InputWarnings
    ) -> None:
        super().__init__(translator, replace(options, history=()), task, warnings)
        self._pool, self._work = translator.pool, replace(translator.work, options=options)
        self._before = tuple(options.history)

    def stream(
        self, windows: Iterable[Sequence[Read]], skip: int = 0
    ) -> Iterator[tuple[Sequence[Read], list[Sentences]]]:
        """Yield each window with its translations; the first `skip` were translated before, and are only read."""
        rest = iter(windows)
        for window in islice(rest, skip):
            self._cut(window)
            yield window, skipped(window)
        held: deque[Sequence[Read]] = deque()  # `tee` would keep dozens of windows that are done
        start = time.monotonic()
        for found in self._pool.map(self._work, self._cut_all(rest, held)):
            window = held.popleft()
            for message in found.splits:
                self._warnings.note_split(message)
            for message in found.terms:
                self._warnings.note_term(message)
            self._warnings.judge(found.documents)
            self._task.advance_timed(sum(map(len, found.documents)), time.monotonic() - start, "sentences")
            yield window, found.documents
            start = time.monotonic()

    def _cut_all(self, windows: Iterable[Sequence[Read]], held: deque[Sequence[Read]]) -> Iterator[TextShard]:
        """Make shards of windows, which are held until their translations come."""
        for window in windows:
            held.append(window)
            yield self._cut(window)

    def _cut(self, window: Sequence[Read]) -> TextShard:
        """Make a shard of a window, and go on to the next."""
        start, first = self._position, window[0]
        before = self._before if first.continues or not start.documents else ()
        parts = [replace(one, layout=TextLayout("", continues=one.continues)) for one in window]
        for document in parts:
            if self._enter(document):
                self._before = ()
            self._position = self._position.after(len(document.sentences))
            self._before = (*self._before, *document.sentences)[-self._view.history :] if self._view.history else ()
        path = f"{first.path}, " if isinstance(first, InputDocument) else ""
        return TextShard(f"{path}{start.enter(first).after(1)}", tuple(parts), before, start)
