"""Constrained search: beam search for the best translation that has all required phrases.

Hypotheses compete only with those that have met or begun as many constraints (grid beam search: Hokamp and Liu, 2017;
with several phrases for a constraint: Hu et al., 2019): otherwise one that pays early for a rare word would lose to all
that put it off. Each level has as many places as a beam; if there are more levels than MOST_HYPOTHESES allows, each has
fewer. A hypothesis may end when all constraints are met, and one whose remaining length is just enough for the missing
phrases may write nothing else; so every translation has them.

Scores are those of the model: required words get no bonus.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from docaps.batches.batch import Batch
from docaps.batches.windows import Phrases
from docaps.config import DecodingSettings
from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.hypotheses import IMPOSSIBLE, NextWords
from docaps.model.interface import TranslationModel
from docaps.translation.constraints import Constraints, Progress, WordBorders
from docaps.translation.hypothesis import Hypothesis, length_penalty

MOST_HYPOTHESES = 24
"""Hypotheses of a sentence at a time, unless the beam itself is wider."""
MOST_DONE = 8
"""Finished sentences leave the batch once they are one in so many."""


class _Written(NamedTuple):
    """A hypothesis: its last token, and what came before."""

    token: int
    before: "_Written | None"
    progress: Progress
    log_probability: float
    forced: bool = False
    parent: int = 0
    """The place of what came before among the hypotheses of its sentence."""

    @property
    def tokens(self) -> tuple[int, ...]:
        """All tokens, without marks."""
        tokens, one = [], self
        while one.before is not None:
            tokens.append(one.token)
            one = one.before
        return tuple(reversed(tokens))


@dataclass
class _Sentence:
    """A sentence in search: its constraints, its live and its finished hypotheses."""

    number: int
    constraints: Constraints
    limit: int
    settings: DecodingSettings
    live: list[_Written]
    finished: list[Hypothesis] = field(default_factory=list)

    @property
    def width(self) -> int:
        """The most hypotheses it has at a time."""
        beam = self.settings.beam
        return max(beam, min(MOST_HYPOTHESES, beam * (self.constraints.total + 1)))

    def spare(self, progress: Progress, length: int) -> int:
        """Return how many tokens a hypothesis of this length may still write besides missing phrases and end mark."""
        return self.limit - length - progress.needed - 1

    def wanted(self, length: int) -> list[list[int]]:
        """Return the tokens that each live hypothesis needs to know the probability of."""
        states = [one.progress for one in self.live]
        return [self.constraints.wanted(state, urgent=self.spare(state, length) <= 1) for state in states]

    def advance(self, choices: Sequence[Sequence[tuple[int, float]]], length: int) -> None:
        """Replace the live hypotheses by the best continuations, given those of each; the ended ones are finished."""
        found = [one for place, own in enumerate(choices) for one in self._continuations(place, own, length)]
        chosen = self._choose(found)
        penalty = length_penalty(length, self.settings.length_penalty)
        for one in chosen:
            if one.token == EOS and one.before is not None:
                score = one.log_probability / penalty
                self.finished.append(Hypothesis(one.before.tokens, score, one.log_probability, one.forced))
        self.live = [one for one in chosen if one.token != EOS]
        self._stop_if_done()

    def _continuations(self, place: int, choices: Sequence[tuple[int, float]], length: int) -> Iterator[_Written]:
        """Yield the allowed continuations of a hypothesis."""
        before = self.live[place]
        state = before.progress
        # The end mark needs no room: it is what the length limit leaves a place for.
        forced = before.forced or (not state.is_met and self.spare(state, length - 1) <= 0)
        for token, added in dict(choices).items():
            total = before.log_probability + added
            if not total > IMPOSSIBLE:
                continue
            if token == EOS:
                if state.is_met:
                    yield _Written(token, before, state, total, before.forced, place)
                continue
            after = self.constraints.step(state, token)
            if self.spare(after, length) >= 0:
                yield _Written(token, before, after, total, forced, place)

    def _choose(self, found: list[_Written]) -> list[_Written]:
        """Return the best hypotheses of each level: first the best of all levels, from the highest, then the second."""
        found.sort(key=lambda one: -one.log_probability)
        ranks: dict[int, int] = {}
        ranked = []
        for one in found:
            level = one.progress.level
            ranks[level] = rank = ranks.get(level, -1) + 1
            if rank < self.settings.beam:
                ranked.append((rank, -level, one))
        ranked.sort(key=lambda one: one[:2])
        return [one for _, _, one in ranked[: self.width]]

    def _stop_if_done(self) -> None:
        """Drop the live hypotheses if none can become one of the best."""
        nbest = self.settings.nbest
        if len(self.finished) >= nbest and self.live:
            to_beat = sorted((one.score for one in self.finished), reverse=True)[nbest - 1]
            best = max(one.log_probability for one in self.live)
            # A log-probability only falls and the penalty only grows: this is the best that can ever be reached.
            if not best / length_penalty(self.limit, self.settings.length_penalty) > to_beat:
                self.live = []


@torch.inference_mode()
def search_constrained(
    model: TranslationModel,
    batch: Batch,
    required: Sequence[Sequence[Phrases]],
    borders: WordBorders,
    settings: DecodingSettings,
) -> list[list[Hypothesis]]:
    """Return for each sentence its finished hypotheses with all required phrases, best first."""
    lengths = batch.source_mask.sum(dim=1).tolist()
    sentences = []
    for number, (length, own) in enumerate(zip(lengths, required, strict=True)):
        constraints = Constraints(own, borders)
        limit = int(length * settings.length_factor + settings.length_margin) + constraints.longest
        begin = _Written(BOS, None, constraints.start, 0.0)
        sentences.append(_Sentence(number, constraints, limit, settings, [begin]))
    decoder = model.hypothesise(model.encode(batch), max((one.width for one in sentences), default=1))
    active, length, device = list(sentences), 0, batch.source.device
    while active:
        length += 1
        width = max(len(one.live) for one in active)
        words = _table([[each.token for each in one.live] for one in active], width)
        wanted = [row for one in active for row in (*one.wanted(length - 1), *[[]] * (width - len(one.live)))]
        asked = _table(wanted, max(map(len, wanted)))
        following = decoder.extend(words.to(device), settings.beam + 1, wanted=asked.to(device))
        choices = _list_choices(following, wanted)
        for place, sentence in enumerate(active):
            sentence.advance(choices[place * width :][: len(sentence.live)], length)
        width = max(1, *(len(one.live) for one in active))
        decoder.follow(_table([[each.parent for each in one.live] for one in active], width).to(device))
        left = [place for place, one in enumerate(active) if one.live]
        if (len(active) - len(left)) * MOST_DONE >= len(active):
            active = [active[place] for place in left]
            decoder.keep(torch.tensor(left, dtype=torch.long, device=device))
    return [sorted(one.finished, key=lambda each: -each.score) for one in sentences]


def _table(rows: Sequence[Sequence[int]], width: int) -> Int[Tensor, "X Y"]:
    """Return rows as a table; missing numbers are PAD, which is also the first place."""
    return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows]).view(len(rows), width).long()


def _list_choices(following: NextWords, wanted: Sequence[Sequence[int]]) -> list[list[tuple[int, float]]]:
    """Return for each hypothesis the words that may follow, with their log-probabilities: best, wanted, the end."""
    assert following.wanted is not None
    columns = (following.words, following.log_probabilities, following.wanted, following.ending)
    rows = zip(wanted, *(column.tolist() for column in columns), strict=True)
    return [
        [*zip(words, best, strict=True), *zip(own, asked, strict=False), (EOS, end)]
        for own, words, best, asked, end in rows
    ]
