"""Scoring: log-probabilities of given translations; contrastive evaluation is built on it."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from docaps import progress
from docaps.batches.batch import Batch, collate
from docaps.batches.windows import Tokens, View, Window, exchange_histories, windows_of_document
from docaps.corpus.contrastive import ContrastiveItem
from docaps.corpus.contrastive.contrastive_set import with_other_histories
from docaps.corpus.documents import Document, ParallelDocument
from docaps.corpus.text.vocabulary import PAD
from docaps.errors import CorpusError
from docaps.model.interface import Prediction, TranslationModel
from docaps.model.mixed_precision import autocast
from docaps.translation.search import batch_by_length, length_penalty
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import Translator

BATCH_TOKENS = 4000
LONGEST_PAIR = 2000  # tokens: attention grows with the square of the length
WINDOW = 4000


@dataclass(frozen=True, slots=True)
class Likelihood:
    """The log-probability of one or more translations, and their number of tokens, end marks included."""

    log_probability: float = 0.0
    tokens: int = 0

    @property
    def perplexity(self) -> float | None:
        """Return the perplexity per token; None without any token."""
        # Beyond e to the 700th it would be infinite, which JSON cannot hold.
        return math.exp(min(-self.log_probability / self.tokens, 700.0)) if self.tokens else None

    def __add__(self, other: "Likelihood") -> "Likelihood":
        return Likelihood(self.log_probability + other.log_probability, self.tokens + other.tokens)

    def score(self, alpha: float) -> float:
        """Return the score that search gives such a translation: with the length penalty."""
        return self.log_probability / length_penalty(self.tokens, alpha)


def log_probabilities(model: TranslationModel, batch: Batch) -> Float[Tensor, " B"]:
    """Return the log-probability of each given translation, end mark included."""
    return token_log_probabilities(model, batch).sum(dim=1)


def token_log_probabilities(model: TranslationModel, batch: Batch) -> Float[Tensor, "B T"]:
    """Return the log-probability of each token of the given translations, end mark included; 0 at padding."""
    prediction: Prediction = model(batch)
    return prediction.log_probabilities(batch.translations) * (batch.translations != PAD)


@torch.inference_mode()
def score_windows(trained: TrainedModel, windows: Sequence[Window], task: progress.Task | None = None) -> list[float]:
    """Return the log-probability of each window's translation, computed in batches of like length."""
    scores = [0.0] * len(windows)
    with progress.start("score", len(windows)) if task is None else nullcontext(task) as shown:
        for numbers in batch_by_length(windows, BATCH_TOKENS):
            batch = collate([windows[number] for number in numbers], trained.model.view).to(trained.device)
            with autocast(trained.device, trained.precision):
                found = log_probabilities(trained.model, batch).tolist()
            for number, score in zip(numbers, found, strict=True):
                scores[number] = score
            shown.advance(len(numbers))
    return scores


@torch.inference_mode()
def score_tokens(trained: TrainedModel, windows: Sequence[Window]) -> list[list[float]]:
    """Return the log-probability of each token of each window's translation, end mark included."""
    scores: list[list[float]] = [[] for _ in windows]
    for numbers in batch_by_length(windows, BATCH_TOKENS):
        batch = collate([windows[number] for number in numbers], trained.model.view).to(trained.device)
        with autocast(trained.device, trained.precision):
            found = token_log_probabilities(trained.model, batch).tolist()
        for number, values in zip(numbers, found, strict=True):
            target = windows[number].target
            scores[number] = values[: 0 if target is None else len(target)]
    return scores


def score_documents(
    trained: TrainedModel, documents: Iterable[ParallelDocument], *, use_context: bool = True
) -> Iterator[tuple[ParallelDocument, tuple[Likelihood, ...]]]:
    """Score the translations of documents as they come.

    A model that looks at translations of other sentences sees the given ones. A pair that is empty on both sides has
    no tokens, as an empty sentence has no translation.
    """
    waiting: list[tuple[ParallelDocument, list[Window]]] = []
    with progress.start("score") as task:
        for number, document in enumerate(documents, start=1):
            waiting.append((document, document_windows(trained, document, number, use_context)))
            if sum(len(windows) for _, windows in waiting) >= WINDOW:
                yield from _score_waiting(trained, waiting, task)
                waiting = []
        yield from _score_waiting(trained, waiting, task)


def _score_waiting(
    trained: TrainedModel, waiting: Sequence[tuple[ParallelDocument, list[Window]]], task: progress.Task
) -> Iterator[tuple[ParallelDocument, tuple[Likelihood, ...]]]:
    """Score the documents of one window of sentences."""
    seen = [windows for _, windows in waiting]
    if trained.model.view.shuffled:
        seen = exchange_histories(seen)
    found = iter(window_likelihoods(trained, [window for windows in seen for window in windows], task))
    for document, windows in waiting:
        yield document, tuple(next(found) for _ in windows)


def window_likelihoods(
    trained: TrainedModel, windows: Sequence[Window], task: progress.Task | None = None
) -> list[Likelihood]:
    """Return the likelihood of each window's translation; a pair that is empty on both sides has no tokens."""
    scores = iter(score_windows(trained, [window for window in windows if not _is_empty(window)], task))
    return [
        Likelihood() if _is_empty(window) else Likelihood(next(scores), len(window.target or ())) for window in windows
    ]


def _is_empty(window: Window) -> bool:
    return len(window.source) == len(window.target or ()) == 1


def document_windows(
    trained: TrainedModel, document: ParallelDocument, number: int, use_context: bool = True
) -> list[Window]:
    """Return a window for each sentence pair of a document."""
    codec, view = trained.codec, trained.model.view if use_context else View()
    sources = [codec.encode_source(sentence) for sentence in document.source]
    targets = [codec.encode_target(sentence) for sentence in document.target]
    for position, pair in enumerate(zip(sources, targets, strict=True), start=1):
        if (longest := max(map(len, pair))) > LONGEST_PAIR:
            name = "" if document.id is None else f" ('{document.id}')"
            what = f"{longest:,} tokens, expected at most {LONGEST_PAIR:,}: split or remove the pair"
            raise CorpusError(f"document {number}{name}, sentence {position}: {what}")
    # As in translation, other sentences see only the end of a long one.
    seen: list[Tokens] = [tokens[-trained.decoding.longest_source - 1 :] for tokens in sources]
    windows = windows_of_document(seen, view, translations=targets)
    triples = zip(windows, sources, targets, strict=True)
    return [replace(window, source=source, target=target) for window, source, target in triples]


def score_contrastive(trained: TrainedModel, items: Sequence[ContrastiveItem]) -> list[list[float]]:
    """Return the scores of each item's right translation and then of its wrong ones, given the item's history.

    A model that looks at earlier translations sees those of the item, or its own if the item has none.
    """
    view = trained.model.view
    if view.shuffled:
        items = [item for item in with_other_histories(items) if isinstance(item, ContrastiveItem)]
    if view.translations:
        items = _with_translations(trained, items)
    windows = [window for item in items for window in _item_windows(trained, item)]
    scores = iter(score_windows(trained, windows))
    return [[next(scores) for _ in range(1 + len(item.wrong))] for item in items]


def _item_windows(trained: TrainedModel, item: ContrastiveItem) -> list[Window]:
    """Return a window for each translation of an item."""
    codec, view = trained.codec, trained.model.view
    seen = slice(-view.history, None) if view.history else slice(0)
    given = [codec.encode_source(sentence) for sentence in item.history[seen]]
    written = [codec.encode_target(sentence) for sentence in item.target_history[seen]]
    (window,) = windows_of_document([codec.encode_source(item.source)], view, given, translations=written)
    return [replace(window, target=codec.encode_target(text)) for text in (item.right, *item.wrong)]


def _with_translations(trained: TrainedModel, items: Sequence[ContrastiveItem]) -> list[ContrastiveItem]:
    """Translate the histories of items that come without translations of them."""
    found = list(items)
    lacking = [number for number, item in enumerate(items) if item.history and not item.target_history]
    made = Translator(trained).translate([Document(items[number].history) for number in lacking]) if lacking else ()
    for number, sentences in zip(lacking, made, strict=True):
        found[number] = replace(items[number], target_history=tuple(sentence.text for sentence in sentences))
    return found
