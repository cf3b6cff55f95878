"""Context ablation: score and translate documents under every history condition.

Documents are processed in chunks of some hundred sentences. Memory holds counts per document, a number per sentence and
the few sentences that are shown as examples.
"""

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from docaps import progress
from docaps.batches.windows import Tokens, Window, without_end_mark
from docaps.config import DecodingSettings
from docaps.corpus.documents import Document, ParallelDocument, count_sentences
from docaps.corpus.store import Store
from docaps.diagnosis import DiagnosisOptions
from docaps.diagnosis.conditions import AGAINST, NONE, SHUFFLED, TRUE, Histories, HistoryLookup
from docaps.diagnosis.traces import TraceDistributions
from docaps.evaluation.intervals import Table
from docaps.evaluation.translation_metrics import Bleu
from docaps.files import write_json
from docaps.runs.directory import Run
from docaps.translation.loading import TrainedModel, load_trained
from docaps.translation.routing import trace_model
from docaps.translation.scoring import document_windows, score_placed
from docaps.translation.translator import Translator

CHUNK = 500
"""Sentences processed together, rounded up to whole documents."""
CACHED_SENTENCES = 20_000
SEED = 1
"""Of the shuffled histories that `score_histories` draws."""
Position = tuple[int, int]
"""Document number and sentence number."""


@dataclass(frozen=True, slots=True)
class DocumentChunk:
    """Some documents of a text, none of them empty."""

    text: Sequence[ParallelDocument]
    numbers: tuple[int, ...]

    @property
    def documents(self) -> list[ParallelDocument]:
        """The documents of the chunk."""
        return [self.text[number] for number in self.numbers]

    @property
    def positions(self) -> list[Position]:
        """The position of each sentence in the whole text."""
        return [(number, sentence) for number in self.numbers for sentence in range(len(self.text[number].source))]

    def sum_by_document(self, table: Table) -> Table:
        """Add up the rows of each document, from one row per sentence."""
        starts = np.cumsum([0, *(len(document.source) for document in self.documents)])[:-1]
        sums: Table = np.add.reduceat(table, starts)
        return sums


def split_documents(documents: Sequence[ParallelDocument]) -> Iterator[DocumentChunk]:
    """Split a text into chunks; a long document is a chunk of its own."""
    numbers: list[int] = []
    sentences = 0
    for number, document in enumerate(documents):
        numbers += [number] if document.source else []
        sentences += len(document.source)
        if sentences >= CHUNK:
            yield DocumentChunk(documents, tuple(numbers))
            numbers, sentences = [], 0
    if numbers:
        yield DocumentChunk(documents, tuple(numbers))


class AblatedModel:
    """A model that scores, translates and is traced with any history."""

    def __init__(self, trained: TrainedModel, decoding: DecodingSettings | None = None) -> None:
        self._trained = trained
        self._translator = Translator(trained, decoding, warn=lambda message: None)  # noqa: ARG005
        self._encode_cached = lru_cache(maxsize=CACHED_SENTENCES)(self._encode)

    @property
    def history(self) -> int:
        """How many earlier sentences the model looks at."""
        return self._trained.model.history

    def windows(self, chunk: DocumentChunk) -> list[Window]:
        """Encode the sentence pairs of a chunk, without histories."""
        return [
            window
            for number, document in zip(chunk.numbers, chunk.documents, strict=True)
            for window in document_windows(self._trained, document, number + 1, use_context=False)
        ]

    def add_histories(self, chunk: DocumentChunk, windows: Sequence[Window], lookup: HistoryLookup) -> list[Window]:
        """Give each window the history of a condition."""
        return [
            replace(window, history=tuple(self._encode_cached(text) for text in reversed(lookup(*position))))
            for window, position in zip(windows, chunk.positions, strict=True)
        ]

    def _encode(self, sentence: str) -> Tokens:
        """Encode a sentence of a history; of a long one only the end, as in translation."""
        tokens = self._trained.codec.encode_source(sentence)
        return without_end_mark(tokens[-self._trained.decoding.longest_source - 1 :])

    def score(self, windows: Sequence[Window]) -> Table:
        """Return negative log-probability and number of tokens of each window."""
        with progress.silent():
            found = score_placed(self._trained, windows)
        return np.array([(-one.log_probability, one.tokens) for one in found], dtype=np.float64)

    def translate(self, chunk: DocumentChunk, lookup: HistoryLookup) -> list[str]:
        """Translate the sentences of a chunk with the histories of a condition."""
        sentences = [sentence for document in chunk.documents for sentence in document.source]
        with progress.silent():
            found = self._translator.translate_placed(sentences, [lookup(*position) for position in chunk.positions])
        return [sentence.text for sentence in found]

    def trace(self, windows: Sequence[Window], traces: TraceDistributions) -> None:
        """Add what the model reports about its use of the histories."""
        for found in trace_model(self._trained, windows):
            traces.add(found)


@dataclass
class TopExamples:
    """The sentences with the largest values."""

    most: int
    _heap: list[tuple[float, Position, dict[str, Any]]] = field(default_factory=list)

    def offer(self, value: float, position: Position, record: dict[str, Any]) -> None:
        """Keep a sentence if it is among the largest; values of 0 and below are never kept."""
        if value > 0 and self.most:
            # Ties go to the earlier position, so that only the text decides.
            (heapq.heappush if len(self._heap) < self.most else heapq.heappushpop)(
                self._heap, (value, (-position[0], -position[1]), record)
            )

    def records(self) -> list[dict[str, Any]]:
        """Return the kept sentences, the largest first."""
        return [record for _, _, record in sorted(self._heap, key=lambda entry: entry[:2], reverse=True)]


@dataclass
class AblationResults:
    """Likelihoods, BLEU counts, CXMI, examples and traces, collected chunk by chunk."""

    examples: int
    likelihoods: dict[str, list[Table]] = field(default_factory=dict)
    bleu: dict[str, list[Table]] = field(default_factory=dict)
    cxmi: list[float] = field(default_factory=list)
    tokens: Counter[int] = field(default_factory=Counter)
    traces: TraceDistributions = field(default_factory=TraceDistributions)

    def __post_init__(self) -> None:
        self.better, self.worse = TopExamples(self.examples), TopExamples(self.examples)
        self.metric = Bleu("bleu", "BLEU")


def ablate(
    model: AblatedModel, other: AblatedModel | None, documents: Sequence[ParallelDocument], options: DiagnosisOptions
) -> AblationResults:
    """Run a model, and the one it is compared with, over documents under every condition."""
    histories = Histories(documents, model.history, seed=options.seed)
    conditions = histories.conditions(options.shuffles)
    translated = dict(reversed(conditions)) if options.bleu else {}  # of several draws, the first
    passes = len(conditions) + len(translated) + (1 + options.bleu if other else 0)
    found = AblationResults(options.examples)
    with progress.start("diagnose", passes * count_sentences(documents)) as task:
        for chunk in split_documents(documents):
            run = _ChunkRun(chunk, found, task)
            scores = run.score(model, conditions)
            texts = {condition: run.translate(model, condition, lookup) for condition, lookup in translated.items()}
            run.collect_examples(histories, scores, texts)
            if other:
                own = Histories(documents, other.history, seed=options.seed).true
                run.score_other(other, own, scores)
                if options.bleu:
                    run.translate(other, AGAINST, own)
    return found


@dataclass
class _ChunkRun:
    """The ablation of one chunk."""

    chunk: DocumentChunk
    found: AblationResults
    task: progress.Task

    def score(self, model: AblatedModel, conditions: Sequence[tuple[str, HistoryLookup]]) -> dict[str, Table]:
        """Score all sentences under all conditions, averaging over the draws of a condition."""
        windows = model.windows(self.chunk)
        drawn: dict[str, list[Table]] = {}
        for condition, lookup in conditions:
            with_history = model.add_histories(self.chunk, windows, lookup)
            drawn.setdefault(condition, []).append(model.score(with_history))
            self.task.advance(len(windows), condition)
            if condition == TRUE:
                model.trace(with_history, self.found.traces)
        for window in windows:
            self.found.tokens.update(int(token) for token in (window.target if window.target is not None else ()))
        scores = {condition: np.mean(tables, axis=0) for condition, tables in drawn.items()}
        for condition, table in scores.items():
            self._add_likelihoods(condition, table)
        return scores

    def _add_likelihoods(self, condition: str, table: Table) -> None:
        self.found.likelihoods.setdefault(condition, []).append(self.chunk.sum_by_document(table))

    def score_other(self, other: AblatedModel, own: HistoryLookup, scores: Mapping[str, Table]) -> None:
        """Score all sentences with the other model, with the history it looks at."""
        table = other.score(other.add_histories(self.chunk, other.windows(self.chunk), own))
        # Another vocabulary splits words into other tokens: counted in the first model's tokens, perplexities compare.
        table[:, 1] = scores[TRUE][:, 1]
        self._add_likelihoods(AGAINST, table)
        self.task.advance(len(table), "the other model")

    def translate(self, model: AblatedModel, condition: str, lookup: HistoryLookup) -> list[str]:
        """Translate all sentences under a condition, and count BLEU's n-grams."""
        texts = model.translate(self.chunk, lookup)
        left = iter(texts)
        hypotheses = [Document(tuple(next(left) for _ in document.source)) for document in self.chunk.documents]
        references = [Document(document.target) for document in self.chunk.documents]
        self.found.bleu.setdefault(condition, []).append(self.found.metric.count(hypotheses, references))
        self.task.advance(len(texts), f"translate, {condition}")
        return texts

    def collect_examples(
        self, histories: Histories, scores: Mapping[str, Table], texts: Mapping[str, Sequence[str]]
    ) -> None:
        """Collect the CXMI of each sentence that has a history, and the sentences with the most extreme values."""
        bits = {other: (scores[other][:, 0] - scores[TRUE][:, 0]) / math.log(2) for other in (NONE, SHUFFLED)}
        for row, position in enumerate(self.chunk.positions):
            history = histories.true(*position)
            if not history or not scores[TRUE][row, 1]:
                continue
            value = float(bits[NONE][row])
            record = self._describe(position, history)
            record |= {"cxmi": value, "against_shuffled": float(bits[SHUFFLED][row])}
            record |= {f"translation_{key}": texts[key][row] for key in (TRUE, NONE) if texts}
            self.found.cxmi.append(value)
            self.found.better.offer(value, position, record)
            self.found.worse.offer(-value, position, record)

    def _describe(self, position: Position, history: Sequence[str]) -> dict[str, Any]:
        """Return a sentence with its history and reference as plain JSON values."""
        document = self.chunk.text[position[0]]
        return {
            "document": document.id or str(position[0] + 1),
            "sentence": position[1] + 1,
            "history": list(history),
            "source": document.source[position[1]],
            "reference": document.target[position[1]],
        }


def measure_likelihoods(run: Run, store: Store) -> None:
    """Score the development part with each history and store the likelihoods in the run, once."""
    if not run.likelihoods.exists():
        found = score_histories(load_trained(run.path), store.raw("dev"))
        write_json(run.likelihoods, {history: table.tolist() for history, table in found.items()})


def score_histories(trained: TrainedModel, documents: Sequence[ParallelDocument]) -> dict[str, Table]:
    """Score documents with the true history, another document's and none.

    A model that looks at no history has the first alone; with a single document there is no other's.
    """
    model = AblatedModel(trained)
    histories = Histories(documents, model.history, seed=SEED)
    lookups: dict[str, HistoryLookup] = {TRUE: histories.true}
    if model.history:
        lookups |= {SHUFFLED: histories.shuffled(0)} if len(documents) > 1 else {}
        lookups[NONE] = histories.none
    tables: dict[str, list[Table]] = {history: [] for history in lookups}
    with progress.start("score the development part", len(lookups) * count_sentences(documents)) as task:
        for chunk in split_documents(documents):
            windows = model.windows(chunk)
            for history, lookup in lookups.items():
                scores = model.score(model.add_histories(chunk, windows, lookup))
                tables[history].append(chunk.sum_by_document(scores))
                task.advance(len(windows), history)
    return {history: np.concatenate(found) for history, found in tables.items()}
