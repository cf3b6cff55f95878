"""Examining a model: the likelihoods and translations of documents under every history, and what the model tells.

Text goes through in portions of some hundred sentences. What stays in memory are counts of documents, a number for each
sentence, and the few sentences that are shown.
"""

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from docaps import progress
from docaps.batches.windows import Tokens, Window, without_end_mark
from docaps.config import DecodingSettings
from docaps.corpus.documents import Document, ParallelDocument
from docaps.diagnosis.conditions import Histories, View
from docaps.diagnosis.measures import AGAINST, NONE, SHUFFLED, TRUE
from docaps.diagnosis.traces import TraceBook
from docaps.evaluation.significance import Table
from docaps.evaluation.statistics import Bleu
from docaps.translation.routing_traces import trace_model
from docaps.translation.scoring import document_windows, window_likelihoods
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import Translator

PORTION = 500
"""Sentences that are worked on together; whole documents, so a long one is a portion of its own."""
REMEMBERED = 20_000  # encoded sentences


@dataclass(frozen=True, slots=True)
class Wishes:
    """How to examine: how often another history is drawn, whether to translate, and how much to show."""

    shuffles: int = 3
    bleu: bool = True
    examples: int = 5
    draws: int = 1000
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Portion:
    """Some documents in a row, and the places (document, sentence) of all their sentences."""

    documents: Sequence[ParallelDocument]
    places: tuple[tuple[int, int], ...]

    @property
    def numbers(self) -> list[int]:
        """The numbers of the documents."""
        return list(dict.fromkeys(document for document, _ in self.places))

    def source(self, place: tuple[int, int]) -> str:
        """Return a source sentence."""
        return self.documents[place[0]].source[place[1]]

    def by_document(self, table: Table) -> Table:
        """Add up the rows of each document, of a table with a row for each sentence."""
        _, starts = np.unique([document for document, _ in self.places], return_index=True)
        sums: Table = np.add.reduceat(table, starts)
        return sums

    def references(self) -> list[Document]:
        """Return the documents as people translated them."""
        return [Document(self.documents[number].target) for number in self.numbers]

    def as_documents(self, texts: Sequence[str]) -> list[Document]:
        """Put sentences together to documents again."""
        left = iter(texts)
        return [Document(tuple(next(left) for _ in self.documents[number].source)) for number in self.numbers]


def portions(documents: Sequence[ParallelDocument]) -> Iterator[Portion]:
    """Cut text into portions."""
    places: list[tuple[int, int]] = []
    for number, document in enumerate(documents):
        places += [(number, sentence) for sentence in range(len(document.source))]
        if len(places) >= PORTION:
            yield Portion(documents, tuple(places))
            places = []
    if places:
        yield Portion(documents, tuple(places))


class Subject:
    """A model under examination."""

    def __init__(self, trained: TrainedModel, decoding: DecodingSettings | None = None) -> None:
        self._trained = trained
        self._translator = Translator(trained, decoding, warn=lambda message: None)  # noqa: ARG005
        self._remembered = lru_cache(maxsize=REMEMBERED)(self._encode)

    @property
    def history(self) -> int:
        """How many earlier sentences the model looks at."""
        return self._trained.model.history

    def windows(self, portion: Portion) -> list[Window]:
        """Encode the sentences of a portion and their translations, without histories."""
        return [
            window
            for number in portion.numbers
            for window in document_windows(self._trained, portion.documents[number], number + 1, use_context=False)
        ]

    def looking_back(self, portion: Portion, windows: Sequence[Window], view: View) -> list[Window]:
        """Give each sentence the history of a view."""
        return [
            replace(window, history=tuple(self._remembered(text) for text in reversed(view(*place))))
            for window, place in zip(windows, portion.places, strict=True)
        ]

    def _encode(self, sentence: str) -> Tokens:
        """Encode a sentence that is only looked back at; a long one from its end, as in translation."""
        tokens = self._trained.codec.encode_source(sentence)
        return without_end_mark(tokens[-self._trained.decoding.longest_source - 1 :])

    def score(self, windows: Sequence[Window]) -> Table:
        """Return negative log-probability and number of tokens of each window."""
        with progress.silent():
            found = window_likelihoods(self._trained, windows)
        return np.array([(-one.log_probability, one.tokens) for one in found], dtype=np.float64)

    def translate(self, portion: Portion, view: View) -> list[str]:
        """Translate the sentences of a portion with the histories of a view."""
        sentences = [portion.source(place) for place in portion.places]
        with progress.silent():
            found = self._translator.translate_with_histories(sentences, [view(*place) for place in portion.places])
        return [sentence.text for sentence in found]

    def trace(self, windows: Sequence[Window], book: TraceBook) -> None:
        """Note what the model tells about its use of the histories."""
        for traces in trace_model(self._trained, windows):
            book.add(traces)


@dataclass
class Shown:
    """The sentences for which the history mattered most, one way."""

    most: int
    _heap: list[tuple[float, tuple[int, int], dict[str, Any]]] = field(default_factory=list)

    def offer(self, value: float, place: tuple[int, int], record: dict[str, Any]) -> None:
        """Keep a sentence if it is among the most extreme; what does not matter at all is never kept."""
        if value > 0 and self.most:
            # Of equals the earlier one stays, so that the text alone decides.
            (heapq.heappush if len(self._heap) < self.most else heapq.heappushpop)(
                self._heap, (value, (-place[0], -place[1]), record)
            )

    def records(self) -> list[dict[str, Any]]:
        """Return what was kept, the most extreme first."""
        return [record for _, _, record in sorted(self._heap, key=lambda entry: entry[:2], reverse=True)]


@dataclass
class Findings:
    """What an examination has found so far."""

    examples: int
    likelihoods: dict[str, list[Table]] = field(default_factory=dict)
    bleu: dict[str, list[Table]] = field(default_factory=dict)
    cxmi: list[float] = field(default_factory=list)
    tokens: Counter[int] = field(default_factory=Counter)
    book: TraceBook = field(default_factory=TraceBook)

    def __post_init__(self) -> None:
        self.better, self.worse = Shown(self.examples), Shown(self.examples)
        self.metric = Bleu("bleu", "BLEU")


def examine(subject: Subject, other: Subject | None, documents: Sequence[ParallelDocument], wishes: Wishes) -> Findings:
    """Put a model, and the one it is compared with, through some documents."""
    histories = Histories(documents, subject.history, seed=wishes.seed)
    views = histories.views(wishes.shuffles)
    shown = dict(reversed(views)) if wishes.bleu else {}  # of several draws, the first
    passes = len(views) + len(shown) + (1 + wishes.bleu if other else 0)
    found = Findings(wishes.examples)
    with progress.start("diagnose", passes * sum(len(document.source) for document in documents)) as task:
        for portion in portions(documents):
            examiner = _Examiner(subject, portion, found, task)
            scores = examiner.score(views)
            texts = examiner.translate(shown)
            examiner.note(histories, scores, texts)
            if other:
                examiner.compare(other, documents, scores, wishes)
    return found


@dataclass
class _Examiner:
    """The work on one portion."""

    subject: Subject
    portion: Portion
    found: Findings
    task: progress.Task

    def score(self, views: Sequence[tuple[str, View]]) -> dict[str, Table]:
        """Score all sentences with all histories; of several draws of a condition the mean counts."""
        windows = self.subject.windows(self.portion)
        drawn: dict[str, list[Table]] = {}
        for condition, view in views:
            looking = self.subject.looking_back(self.portion, windows, view)
            drawn.setdefault(condition, []).append(self.subject.score(looking))
            self.task.advance(len(windows), condition)
            if condition == TRUE:
                self.subject.trace(looking, self.found.book)
        for window in windows:
            self.found.tokens.update(int(token) for token in (window.target if window.target is not None else ()))
        scores = {condition: np.mean(tables, axis=0) for condition, tables in drawn.items()}
        for condition, table in scores.items():
            self.found.likelihoods.setdefault(condition, []).append(self.portion.by_document(table))
        return scores

    def translate(self, views: dict[str, View]) -> dict[str, list[str]]:
        """Translate all sentences, once under each condition, and count BLEU's n-grams."""
        texts = {}
        for condition, view in views.items():
            texts[condition] = self._translate(self.subject, condition, view)
        return texts

    def _translate(self, subject: Subject, condition: str, view: View) -> list[str]:
        texts = subject.translate(self.portion, view)
        counts = self.found.metric.count(self.portion.as_documents(texts), self.portion.references())
        self.found.bleu.setdefault(condition, []).append(counts)
        self.task.advance(len(texts), f"translate, {condition}")
        return texts

    def note(self, histories: Histories, scores: dict[str, Table], texts: dict[str, list[str]]) -> None:
        """Note the CXMI of each sentence that has a history, and keep the most extreme ones to show."""
        bits = {other: (scores[other][:, 0] - scores[TRUE][:, 0]) / math.log(2) for other in (NONE, SHUFFLED)}
        for number, place in enumerate(self.portion.places):
            history = histories.own(*place)
            if not history or not scores[TRUE][number, 1]:
                continue
            value = float(bits[NONE][number])
            record = self._record(place, history) | {"cxmi": value, "against_shuffled": float(bits[SHUFFLED][number])}
            record |= {f"translation_{key}": texts[key][number] for key in (TRUE, NONE) if texts}
            self.found.cxmi.append(value)
            self.found.better.offer(value, place, record)
            self.found.worse.offer(-value, place, record)

    def _record(self, place: tuple[int, int], history: Sequence[str]) -> dict[str, Any]:
        """Write down a sentence for people who want to look at it."""
        document = self.portion.documents[place[0]]
        return {
            "document": document.id or str(place[0] + 1),
            "sentence": place[1] + 1,
            "history": list(history),
            "source": document.source[place[1]],
            "reference": document.target[place[1]],
        }

    def compare(
        self, other: Subject, documents: Sequence[ParallelDocument], scores: dict[str, Table], wishes: Wishes
    ) -> None:
        """Put the other model through the portion, with the history it looks at; its tokens count as the first's."""
        view = Histories(documents, other.history, seed=wishes.seed).own
        table = other.score(other.looking_back(self.portion, other.windows(self.portion), view))
        # Another vocabulary cuts words into other tokens: per token of the same model, perplexities can be compared.
        table[:, 1] = scores[TRUE][:, 1]
        self.found.likelihoods.setdefault(AGAINST, []).append(self.portion.by_document(table))
        self.task.advance(len(table), "the other model")
        if wishes.bleu:
            self._translate(other, AGAINST, view)
