"""Scoring: log-probabilities of given translations; contrastive evaluation is built on it."""

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

import torch

from docaps import progress
from docaps.batches.batch import collate
from docaps.batches.candidates import collate_candidates, count_words
from docaps.batches.windows import Tokens, View, Window, exchange_histories, windows_of_document
from docaps.corpus.contrastive import ContrastiveItem
from docaps.corpus.contrastive.contrastive_set import with_other_histories
from docaps.corpus.documents import Document, ParallelDocument
from docaps.errors import CorpusError
from docaps.translation.hypothesis import length_penalty
from docaps.translation.search import batch_in_order, map_in_threads, padded_history
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import Translator

BATCH_TOKENS = 1500
STEP = 4
"""Lengths of translations that differ by less than this count as the same when sentences are sorted."""
MOST_WORDS = 512
"""Words of a row with several translations."""
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


def score_windows(trained: TrainedModel, windows: Sequence[Window], task: progress.Task | None = None) -> list[float]:
    """Return the log-probability of each window's translation."""
    return [math.fsum(tokens) for tokens in score_tokens(trained, windows, task)]


def score_tokens(
    trained: TrainedModel, windows: Sequence[Window], task: progress.Task | None = None
) -> list[list[float]]:
    """Return the log-probability of each token of each window's translation, end mark included.

    A sentence with the same history is read once for all its translations, and the same translation scored once.
    """
    scores: list[list[float]] = [[] for _ in windows]
    sentences = gather_sentences(windows, trained.model.view)
    shown_task = progress.start("score", len(windows)) if task is None else nullcontext(task)
    with shown_task as shown, trained.fastest.remembering():
        batches = [[sentences[number] for number in numbers] for numbers in _batch_sentences(sentences)]
        threads = None if trained.device.type == "cpu" else 1
        for batch, found in zip(batches, map_in_threads(partial(_score, trained), batches, threads), strict=True):
            asked = [numbers for sentence in batch for numbers in sentence.windows]
            for numbers, values in zip(asked, found, strict=True):
                for number in numbers:
                    scores[number] = values
            shown.advance(sum(map(len, asked)))
    return scores


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence with its history, the different translations to score, and the windows that ask for each."""

    window: Window
    targets: list[Tokens]
    windows: list[list[int]]

    def parts(self) -> "Iterator[ScoredSentence]":
        """Split long lists of translations: each word is compared with all of its row."""
        count = max(1, MOST_WORDS // max(map(len, self.targets)))
        for start in range(0, len(self.targets), count):
            part = slice(start, start + count)
            yield ScoredSentence(self.window, self.targets[part], self.windows[part])


def gather_sentences(windows: Sequence[Window], view: View) -> list[ScoredSentence]:
    """Gather the windows of the same sentence with the same history."""
    found: dict[Hashable, ScoredSentence] = {}
    places: dict[Hashable, int] = {}
    for number, window in enumerate(windows):
        seen = _as_read(window, view)
        key = tuple(seen.source), _as_key(seen.history), _as_key(seen.target_history)
        sentence = found.setdefault(key, ScoredSentence(seen, [], []))
        if window.target is None:
            raise ValueError(f"window {number} has no translation to score")
        place = places.setdefault((key, tuple(window.target)), len(sentence.targets))
        if place == len(sentence.targets):
            sentence.targets.append(window.target)
            sentence.windows.append([])
        sentence.windows[place].append(number)
    return [part for sentence in found.values() for part in sentence.parts()]


def _as_read(window: Window, view: View) -> Window:
    """Return what a model reads of a window: no translation, no sentence out of its view."""
    count = view.history + view.future
    written = window.target_history[:count] if view.translations else ()
    return replace(window, history=window.history[:count], target=None, target_history=written)


def _as_key(sentences: Sequence[Tokens]) -> Hashable:
    return tuple(tuple(sentence) for sentence in sentences)


def _batch_sentences(sentences: Sequence[ScoredSentence]) -> list[list[int]]:
    """Batch sentences whose translations, and then whose sources, are about as long; the longest first."""
    words = [count_words(sentence.targets) for sentence in sentences]
    sources = [len(sentence.window.source) for sentence in sentences]
    sizes = [
        (max(pair), padded_history(sentence.window)) for *pair, sentence in zip(words, sources, sentences, strict=True)
    ]
    order = sorted(range(len(sentences)), key=lambda number: (words[number] // STEP, sources[number]))
    return list(batch_in_order(order, sizes, BATCH_TOKENS))[::-1]


@torch.inference_mode()
def _score(trained: TrainedModel, sentences: Sequence[ScoredSentence]) -> list[list[float]]:
    """Return the log-probabilities of the words of each translation of one batch."""
    batch = collate([sentence.window for sentence in sentences], trained.model.view).to(trained.device)
    candidates = collate_candidates([sentence.targets for sentence in sentences]).to(trained.device)
    with trained.autocast():
        found = trained.fastest.score_candidates(batch, candidates)
    lengths = (candidates.places > 0).sum(dim=1).tolist()
    return [values[:length] for values, length in zip(found.tolist(), lengths, strict=True)]


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
    return [Likelihood(math.fsum(tokens), len(tokens)) for tokens in score_pairs(trained, windows, task)]


def score_pairs(
    trained: TrainedModel, windows: Sequence[Window], task: progress.Task | None = None
) -> list[list[float]]:
    """Return the log-probability of each token of each window; a pair that is empty on both sides has no tokens."""
    worded = [window for window in windows if not _is_empty(window)]
    scores = iter(score_tokens(trained, worded, task))
    if task is not None:
        task.advance(len(windows) - len(worded))
    return [[] if _is_empty(window) else next(scores) for window in windows]


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
