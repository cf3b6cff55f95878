"""Training signals: what makes a model look at its context, in the data of a stage.

- Source dropout: words of the current source are hidden as <unk>, so that the history has to help. Reference: Fernandes
  et al. (2021), "CoWord dropout". The history and the end mark stay.
- History sampling: each example has a random number of the sentences in view, as in the same paper.
- Halves: pairs are cut in two (see `halves`).
- Selection: sentences that need context are a given share of each batch.
- Emphasis: target tokens that context decides weigh more in the loss.
- Formality: a tag in front of the source says how the translation addresses people. Reference: Sennrich et al. (2016).

Whatever is drawn depends on the seed, on the epoch and on the batch's number in it alone, so training can resume
anywhere, and any number of processes sees the same examples.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from docaps.batches.halves import FIRST, SECOND, WHOLE_PAIR, Halves
from docaps.batches.windows import Indices, Tokens, View, Window, count_neighbours, window_of, without_end_mark
from docaps.corpus.store import Split
from docaps.corpus.text.vocabulary import EOS, UNK

_STREAM = 1
"""Keeps these draws apart from those of the sampler and of dropout, which have the same seed."""


@dataclass(frozen=True, eq=False)
class Selection:
    """Sentences that are a share of each batch, drawn by their scores."""

    share: float
    sentences: Indices
    scores: NDArray[np.float64]

    def count(self, others: int) -> int:
        """Return how many an epoch draws in which each of the other sentences occurs once; each once if there are none.

        With a share of 1 the others do not occur.
        """
        if self.share == 1 or not others:
            return len(self.sentences)
        return round(self.share / (1 - self.share) * others)

    def draw(self, count: int, generator: np.random.Generator) -> Indices:
        """Draw sentences, each as often as its share of all scores says, rounded down or up at random."""
        order = generator.permutation(len(self.sentences))
        ends = np.cumsum(self.scores[order])
        until = np.floor(ends / ends[-1] * count + generator.random()).astype(np.int64)
        return np.repeat(self.sentences[order], np.diff(until, prepend=0))


@dataclass(frozen=True, eq=False)
class Emphasis:
    """Target tokens that weigh more than others in the loss."""

    weight: float
    tokens: Mapping[int, Indices]
    """Their positions, by sentence."""


@dataclass(frozen=True, eq=False)
class Tags:
    """Tags in front of the source of some sentences."""

    share: float
    """How often a sentence that has a tag is trained with it."""
    tags: Mapping[int, int]
    """The token id of each sentence's tag."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Signals:
    """The signals of a stage; by default there are none."""

    seed: int = 0
    source_dropout: float = 0.0
    history_sampling: bool = False
    halves: Halves | None = None
    selection: Selection | None = None
    emphasis: Emphasis | None = None
    formality: Tags | None = None

    def windows(self, split: Split, examples: Indices, view: View, *, epoch: int, batch: int) -> list[Window]:
        """Return the windows of the examples of one batch."""
        generator = np.random.default_rng((self.seed, epoch, batch, _STREAM))
        return [self._window(split, example, view, generator) for example in examples.tolist()]

    def sentences(self, examples: Indices) -> Indices:
        """Return the sentence that each example is, or is a half of."""
        return examples if self.halves is None else self.halves.sentences(examples)

    def added_weight(self, examples: Indices) -> float:
        """Return how much more (or less) the target tokens of some examples weigh than their number."""
        if self.emphasis is None:
            return 0.0
        marked = sum(len(self._emphasised(*self._locate(example))) for example in examples.tolist())
        return (self.emphasis.weight - 1) * marked

    def _locate(self, example: int) -> tuple[int, int]:
        """Return the part of an example, and its sentence."""
        return (WHOLE_PAIR, example) if self.halves is None else self.halves.locate(example)

    def _window(self, split: Split, example: int, view: View, generator: np.random.Generator) -> Window:
        part, sentence = self._locate(example)
        if self.history_sampling:
            view = _sample(split, part, sentence, view, generator)
        if self.halves is None or part == WHOLE_PAIR:
            window = window_of(split, sentence, view)
        else:
            window = _half(split, self.halves, part, sentence, view)
        if self.source_dropout:
            window = replace(window, source=_hide_words(window.source, self.source_dropout, generator))
        if self.formality is not None:
            window = _add_tag(window, self.formality, sentence, generator)
        if self.emphasis is not None and len(marked := self._emphasised(part, sentence)):
            window = replace(window, weights=_weigh(window, marked, self.emphasis.weight))
        return window

    def _emphasised(self, part: int, sentence: int) -> Indices:
        """Return the positions of the emphasised target tokens of a pair or of a half."""
        found = _NONE if self.emphasis is None else self.emphasis.tokens.get(sentence, _NONE)
        if self.halves is None or part == WHOLE_PAIR:
            return found
        cut = int(self.halves.target[sentence])
        return found[found < cut] if part == FIRST else found[found >= cut] - cut


NO_SIGNALS = Signals()
_NONE = np.zeros(0, np.int64)


def _sample(split: Split, part: int, sentence: int, view: View, generator: np.random.Generator) -> View:
    """Draw how many sentences before and after an example are in view: from none to all there are."""
    before, after = count_neighbours(split, sentence, view)
    before, after = min(view.history, before + (part == SECOND)), min(view.future, after + (part == FIRST))
    history, future = (int(generator.integers(0, most, endpoint=True)) for most in (before, after))
    return replace(view, history=history, future=future)


def _half(split: Split, halves: Halves, part: int, sentence: int, view: View) -> Window:
    """Return the window of half a pair: the other half is the nearest sentence before or after it.

    Not so for the control with sentences of other documents, which the other half must not help.
    """
    own, other = halves.pair(split, sentence, part), halves.pair(split, sentence, FIRST + SECOND - part)
    before = int(part == SECOND and view.history > 0 and not view.shuffled)
    after = int(part == FIRST and view.future > 0 and not view.shuffled)
    earlier = window_of(split, sentence, replace(view, history=view.history - before, future=0))
    later = window_of(split, sentence, replace(view, history=0, future=view.future - after))
    seen, written = (without_end_mark(side) for side in other)
    translations = (*[written] * before, *earlier.target_history, *[written] * after, *later.target_history)
    return Window(
        own[0],
        (*[seen] * before, *earlier.history, *[seen] * after, *later.history),
        own[1],
        translations if view.translations else (),
    )


def _hide_words(source: Tokens, share: float, generator: np.random.Generator) -> Tokens:
    """Replace words by the unknown word at random; the end mark stays."""
    hidden = generator.random(len(source)) < share
    return np.where(hidden & (np.asarray(source) != EOS), np.int32(UNK), source)


def _add_tag(window: Window, tags: Tags, sentence: int, generator: np.random.Generator) -> Window:
    """Put a sentence's tag in front of its source, at random."""
    tag = tags.tags.get(sentence)
    if tag is None or generator.random() >= tags.share:
        return window
    return replace(window, source=np.concatenate((np.array([tag], np.int32), window.source)))


def _weigh(window: Window, marked: Indices, weight: float) -> NDArray[np.float32]:
    """Return the weights of the target tokens."""
    weights = np.ones(0 if window.target is None else len(window.target), np.float32)
    weights[marked] = weight
    return weights
