"""Context ablation: score and translate documents under every history condition.

Documents are processed in chunks of some hundred sentences. Memory holds counts per document, a number per sentence and
the few sentences that are shown as examples.
"""

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
from docaps.diagnosis import DiagnosisOptions, TranslationsShown
from docaps.diagnosis.conditions import AGAINST, NONE, SHUFFLED, TRUE, Conditions, Excerpt, Histories, HistoryLookup
from docaps.diagnosis.marks import Marks, Position
from docaps.diagnosis.phenomenon_evidence import MarkedTokens
from docaps.diagnosis.traces import TraceDistributions
from docaps.evaluation.intervals import Table
from docaps.evaluation.translation_metrics import Bleu
from docaps.files import write_json
from docaps.model.interface import Trace
from docaps.runs.directory import Run
from docaps.translation.routing_traces import trace_model
from docaps.translation.scoring import document_windows, score_pairs
from docaps.translation.trained_model import TrainedModel, load_trained
from docaps.translation.translator import Translator

CHUNK = 500
"""Sentences processed together, rounded up to whole documents."""
CACHED_SENTENCES = 20_000
SEED = 1
"""Of the shuffled histories that `score_histories` draws."""
COMPARED = (TRUE, SHUFFLED, NONE)
"""The conditions under which marked tokens are scored."""
Example = tuple[float, Position, dict[str, Any]]
"""A sentence to show: its negative value, by which examples are sorted, its position and its record."""


class DocumentChunk:
    """Some documents of a text by number, none of them empty, and the position of each sentence in the whole text."""

    def __init__(self, documents: Mapping[int, ParallelDocument]) -> None:
        self.documents = documents
        self.positions = [(number, place) for number, one in documents.items() for place in range(len(one.source))]

    def sum_by_document(self, table: Table) -> Table:
        """Add up the rows of each document, from one row per sentence."""
        starts = np.cumsum([0, *(len(document.source) for document in self.documents.values())])[:-1]
        sums: Table = np.add.reduceat(table, starts)
        return sums


def split_documents(documents: Sequence[ParallelDocument]) -> Iterator[DocumentChunk]:
    """Split a text into chunks; a long document is a chunk of its own."""
    chunk: dict[int, ParallelDocument] = {}
    for number, document in enumerate(documents):
        chunk |= {number: document} if document.source else {}
        if count_sentences(list(chunk.values())) >= CHUNK:
            yield DocumentChunk(chunk)
            chunk = {}
    if chunk:
        yield DocumentChunk(chunk)


@dataclass(frozen=True, slots=True)
class ChunkScores:
    """The scores of a chunk under each condition, averaged over its draws."""

    likelihoods: dict[str, Table]
    """Negative log-probability and tokens of each sentence."""
    marked: dict[str, list[list[float]]]
    """The log-probability of each token of some sentences, under the conditions that are compared."""


class AblatedModel:
    """A model that scores, translates and is traced with any history.

    A model that reads translations is shown those that a history comes with.
    """

    def __init__(self, trained: TrainedModel, decoding: DecodingSettings | None = None) -> None:
        self._trained, self.history = trained, trained.model.history
        self._translator = Translator(trained, decoding, warn=lambda message: None)  # noqa: ARG005
        self._encode_cached = lru_cache(maxsize=CACHED_SENTENCES)(self._encode)
        self._encode_translation = lru_cache(maxsize=CACHED_SENTENCES)(
            lambda sentence: without_end_mark(trained.codec.encode_target(sentence))
        )

    def show_translations(
        self, documents: Sequence[ParallelDocument], shown: TranslationsShown
    ) -> Sequence[ParallelDocument]:
        """Return documents with the translations that histories come with: the references, or the model's own."""
        if shown == "reference" or not self._trained.model.view.translations:
            return documents
        made = self._translator.translate([Document(document.source) for document in documents])
        return [
            replace(document, target=tuple(sentence.text for sentence in sentences))
            for document, sentences in zip(documents, made, strict=True)
        ]

    def windows(self, chunk: DocumentChunk) -> list[Window]:
        """Encode the sentence pairs of a chunk, without histories."""
        return [
            window
            for number, document in chunk.documents.items()
            for window in document_windows(self._trained, document, number + 1, use_context=False)
        ]

    def _add_histories(self, chunk: DocumentChunk, windows: Sequence[Window], lookup: HistoryLookup) -> list[Window]:
        """Give each window the history of a condition."""
        pairs = zip(windows, chunk.positions, strict=True)
        return [self._add_history(window, lookup(*position)) for window, position in pairs]

    def _add_history(self, window: Window, given: Excerpt) -> Window:
        """Give a window a history, nearest sentence first, and its translations if the model reads them."""
        read = given.target if self._trained.model.view.translations else ()
        return replace(
            window,
            history=tuple(self._encode_cached(text) for text in reversed(given.source)),
            target_history=tuple(self._encode_translation(text) for text in reversed(read)),
        )

    def _encode(self, sentence: str) -> Tokens:
        """Encode a sentence of a history; of a long one only the end, as in translation."""
        tokens = self._trained.codec.encode_source(sentence)
        return without_end_mark(tokens[-self._trained.decoding.longest_source - 1 :])

    def score(
        self,
        chunk: DocumentChunk,
        windows: Sequence[Window],
        conditions: Conditions,
        task: progress.Task,
        marked: Sequence[int] = (),
    ) -> "ChunkScores":
        """Score sentences under all conditions at once: what several conditions show alike is read once.

        Also return the tokens of the sentences in the `marked` rows.
        """
        shown = [one for _, lookup in conditions for one in self._add_histories(chunk, windows, lookup)]
        with progress.silent():
            found = score_pairs(self._trained, shown, task)
        scores = ChunkScores({}, {})
        drawn: dict[str, list[list[list[float]]]] = {}
        for number, (condition, _) in enumerate(conditions):
            start = number * len(windows)
            drawn.setdefault(condition, []).append(found[start : start + len(windows)])
        for condition, draws in drawn.items():
            tables = [[(-math.fsum(tokens), len(tokens)) for tokens in draw] for draw in draws]
            scores.likelihoods[condition] = np.mean(np.array(tables, dtype=np.float64), axis=0)
            if condition in COMPARED:
                scores.marked[condition] = [np.mean([draw[row] for draw in draws], axis=0).tolist() for row in marked]
        return scores

    def translate(self, chunk: DocumentChunk, conditions: Conditions, task: progress.Task) -> dict[str, list[str]]:
        """Translate the sentences of a chunk under some conditions."""
        sentences = [sentence for document in chunk.documents.values() for sentence in document.source]
        texts = {}
        for condition, lookup in conditions:
            given = [lookup(*position) for position in chunk.positions]
            histories, translations = ([getattr(one, side) for one in given] for side in ("source", "target"))
            with progress.silent():
                found = self._translator.translate_with_histories(sentences, histories, translations)
            texts[condition] = [sentence.text for sentence in found]
            task.advance(len(sentences), f"translate, {condition}")
        return texts

    def trace(
        self, chunk: DocumentChunk, windows: Sequence[Window], lookup: HistoryLookup
    ) -> Iterator[Sequence[Trace]]:
        """Yield what the model reports about its use of the histories."""
        return trace_model(self._trained, self._add_histories(chunk, windows, lookup))


def keep_largest(kept: list[Example], value: float, position: Position, record: dict[str, Any], most: int) -> None:
    """Keep a sentence if its value is positive and among the largest; ties go to the earlier position."""
    if value > 0:
        kept.append((-value, position, record))
        kept.sort(key=lambda entry: entry[:2])
        del kept[most:]


@dataclass
class AblationResults:
    """Likelihoods, BLEU counts, CXMI, examples and traces, collected chunk by chunk."""

    examples: int
    likelihoods: dict[str, list[Table]] = field(default_factory=dict)
    bleu: dict[str, list[Table]] = field(default_factory=dict)
    cxmi: list[float] = field(default_factory=list)
    tokens: Counter[int] = field(default_factory=Counter)
    traces: TraceDistributions = field(default_factory=TraceDistributions)
    better: list[Example] = field(default_factory=list)
    worse: list[Example] = field(default_factory=list)
    marked: MarkedTokens = field(default_factory=MarkedTokens)
    metric: Bleu = field(default_factory=lambda: Bleu("bleu", "BLEU"))

    def add(self, chunk: DocumentChunk, scores: Mapping[str, Table], texts: Mapping[str, Sequence[str]]) -> None:
        """Add the scores and translations of a chunk under each condition."""
        for condition, table in scores.items():
            self.likelihoods.setdefault(condition, []).append(chunk.sum_by_document(table))
        references = [Document(document.target) for document in chunk.documents.values()]
        for condition, sentences in texts.items():
            left = iter(sentences)
            hypotheses = [Document(tuple(next(left) for _ in document.source)) for document in chunk.documents.values()]
            self.bleu.setdefault(condition, []).append(self.metric.count(hypotheses, references))

    def add_examples(
        self,
        chunk: DocumentChunk,
        histories: Histories,
        scores: Mapping[str, Table],
        texts: Mapping[str, Sequence[str]],
    ) -> None:
        """Add the CXMI of each sentence that has a history, and keep the sentences with the most extreme values."""
        bits = {other: (scores[other][:, 0] - scores[TRUE][:, 0]) / math.log(2) for other in (NONE, SHUFFLED)}
        for row, position in enumerate(chunk.positions):
            document, sentence = chunk.documents[position[0]], position[1]
            history = histories.true(*position).source
            if not history or not scores[TRUE][row, 1]:
                continue
            value = float(bits[NONE][row])
            record = {
                "document": document.id or str(position[0] + 1),
                "sentence": sentence + 1,
                "history": list(history),
                "source": document.source[sentence],
                "reference": document.target[sentence],
                "cxmi": value,
                "against_shuffled": float(bits[SHUFFLED][row]),
                **{f"translation_{key}": texts[key][row] for key in (TRUE, NONE) if texts},
            }
            self.cxmi.append(value)
            keep_largest(self.better, value, position, record, self.examples)
            keep_largest(self.worse, -value, position, record, self.examples)


def ablate(
    model: AblatedModel,
    other: AblatedModel | None,
    documents: Sequence[ParallelDocument],
    options: DiagnosisOptions,
    marks: Marks | None = None,
) -> AblationResults:
    """Run a model, and the one it is compared with, over documents under every condition."""
    histories = Histories(model.show_translations(documents, options.translations), model.history, seed=options.seed)
    conditions = histories.conditions(options.shuffles)
    translated = list(dict(reversed(conditions)).items()) if options.bleu else []  # of several draws, the first
    against = _condition_against(other, documents, options)
    marks = marks or {}
    passes = len(conditions) + len(translated) + len(against) * (1 + options.bleu)
    found = AblationResults(options.examples)
    with progress.start("diagnose", passes * count_sentences(documents)) as task:
        for chunk in split_documents(documents):
            windows = model.windows(chunk)
            rows = [row for row, position in enumerate(chunk.positions) if position in marks]
            marked = [(position, marks[position]) for position in chunk.positions if position in marks]
            measured = model.score(chunk, windows, conditions, task, rows)
            found.marked.add(marked, measured.marked)
            scores = measured.likelihoods
            texts = model.translate(chunk, translated, task)
            for traces in model.trace(chunk, windows, histories.true):
                found.traces.add(traces)
            targets = (window.target for window in windows if window.target is not None)
            found.tokens.update(int(token) for target in targets for token in target)
            found.add_examples(chunk, histories, scores, texts)
            if other:
                scores |= other.score(chunk, other.windows(chunk), against, task).likelihoods
                # Another vocabulary has other tokens: perplexities compare only per token of the same model.
                scores[AGAINST][:, 1] = scores[TRUE][:, 1]
                texts |= other.translate(chunk, against if options.bleu else [], task)
            found.add(chunk, scores, texts)
    return found


def _condition_against(
    other: AblatedModel | None, documents: Sequence[ParallelDocument], options: DiagnosisOptions
) -> list[tuple[str, HistoryLookup]]:
    """Return the true histories of the model that another is compared with, if there is one."""
    if other is None:
        return []
    shown = other.show_translations(documents, options.translations)
    return [(AGAINST, Histories(shown, other.history, seed=options.seed).true)]


def measure_likelihoods(run: Run, store: Store) -> None:
    """Score the development part with each history and store the likelihoods in the run, once."""
    if not run.likelihoods.exists():
        found = score_histories(load_trained(run.path), store.raw("dev"))
        write_json(run.likelihoods, {history: table.tolist() for history, table in found.items()})


def score_histories(trained: TrainedModel, documents: Sequence[ParallelDocument]) -> dict[str, Table]:
    """Score documents with the true history, another document's (if there is one) and, if the model has any, none.

    A model that reads translations of the history is shown the references.
    """
    model = AblatedModel(trained)
    histories = Histories(documents, model.history, seed=SEED)
    conditions: list[tuple[str, HistoryLookup]] = [(TRUE, histories.true)]
    if model.history:
        conditions += [(SHUFFLED, histories.shuffled(0))] if len(documents) > 1 else []
        conditions.append((NONE, histories.none))
    found = AblationResults(examples=0)
    with progress.start("score the development part", len(conditions) * count_sentences(documents)) as task:
        for chunk in split_documents(documents):
            found.add(chunk, model.score(chunk, model.windows(chunk), conditions, task).likelihoods, {})
    return pool(found.likelihoods)


def pool(chunks: Mapping[str, Sequence[Table]]) -> dict[str, Table]:
    """Join the counts of all chunks, for each condition."""
    return {condition: np.concatenate(tables) for condition, tables in chunks.items()}
