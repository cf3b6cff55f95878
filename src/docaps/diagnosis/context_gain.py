"""Context gain: how much the history raises the log-probability of each target token under a run.

The gain of a token is its pointwise conditional cross-mutual information (P-CXMI), log p(token | sentence, history) -
log p(token | sentence), in nats. Its largest value in a sentence tells whether the sentence needs context: it needs no
rules for the language pair, but finds only what this run has learnt to see.

Reference: Fernandes et al. (2023), on when translation requires context.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from docaps import progress
from docaps.batches.windows import Window, window_of
from docaps.corpus.annotations import Annotation
from docaps.corpus.store import Split, Store
from docaps.errors import RunError
from docaps.translation.scoring import score_tokens
from docaps.translation.trained_model import TrainedModel

GAIN = "gain"
"""The phenomenon of such annotations."""
GROUP = 2000
"""Sentences that are scored together."""


@dataclass(frozen=True, slots=True)
class SentenceGains:
    """The gain of each token of a sentence, the end mark included."""

    sentence: int
    gains: tuple[float, ...]

    def annotate(self, least: float) -> Annotation | None:
        """Return the annotation of a sentence with a token of at least this gain: the tokens, and the largest gain."""
        tokens = tuple(place for place, gain in enumerate(self.gains) if gain >= least)
        if not tokens:
            return None
        return Annotation(
            sentence=self.sentence + 1, phenomenon=GAIN, score=round(max(self.gains), 4), tokens=tokens
        )  # fmt: skip


def check_run(trained: TrainedModel, store: Store) -> None:
    """Refuse a run without history, or one with other token ids than the prepared corpus."""
    if trained.model.history == 0:
        raise RunError("this run sees no earlier sentence, so context gains nothing under it: give a document model")
    if trained.codec.vocabulary.pieces != store.codec.vocabulary.pieces:
        message = "the run has another vocabulary than the prepared corpus, so its tokens are others"
        raise RunError(f"{message}: give a run that was trained on it", path=store.path)


def measure_gains(trained: TrainedModel, split: Split, numbers: Sequence[int]) -> Iterator[SentenceGains]:
    """Yield the gains of some sentences of a part of a corpus, which see the reference translations before them."""
    view, rest = trained.model.view, iter(numbers)
    with progress.start("measure context gains", len(numbers)) as task:
        while group := list(islice(rest, GROUP)):
            windows = [window_of(split, number, view) for number in group]
            for number, gains in zip(group, token_gains(trained, windows), strict=True):
                yield SentenceGains(number, tuple(gains))
            task.advance(len(group))


def token_gains(trained: TrainedModel, windows: Sequence[Window]) -> Iterable[list[float]]:
    """Return for each window how much the history raises the log-probability of each token."""
    with_history = score_tokens(trained, windows)
    without = score_tokens(trained, [replace(window, history=(), target_history=()) for window in windows])
    return [
        [seen - hidden for seen, hidden in zip(one, other, strict=True)]
        for one, other in zip(with_history, without, strict=True)
    ]


def sentences_with_history(split: Split) -> list[int]:
    """List the sentences that have one before them in their document, and are trained on."""
    usable = split.usable
    starts = {int(start) for start in split.documents[:-1]}
    return [number for number in range(len(split)) if number not in starts and (usable is None or usable[number])]
