"""Beam search over the model interface: all sentences of a batch at once, finished ones leave it.

A hypothesis' score is its log-probability, end mark included, divided by GNMT's length penalty. A finished hypothesis
keeps its place in the beam, so a beam of 1 is greedy search. A sentence is done only when no live hypothesis can come
among its best ones any more, of which there are `nbest`.

Dimensions: B sentences, W beam (1 before the first word), C continuations of a hypothesis, L words written so far.
"""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from docaps.batches.batch import Batch
from docaps.config import DecodingSettings
from docaps.corpus.text.vocabulary import BOS, EOS
from docaps.model.hypotheses import IMPOSSIBLE, Hypotheses, NextWords
from docaps.model.interface import TranslationModel

MOST_DONE = 8
"""Sentences that are done leave the batch when they are one in so many: to copy what is left has its price too."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A finished translation: its tokens without marks, its score and its log-probability."""

    tokens: tuple[int, ...]
    score: float
    log_probability: float


def length_penalty(length: int, alpha: float) -> float:
    """Return what a log-probability is divided by (Wu et al. 2016); length counts the end mark."""
    return float(((5 + length) / 6) ** alpha)


@dataclass
class Beams:
    """Live hypotheses of the sentences that are still in the batch."""

    sentences: list[int]  # their numbers in the batch
    tokens: Int[Tensor, "B W L"]
    log_probabilities: Float[Tensor, "B W"]  # -inf for a place without a live hypothesis
    open_places: Int[Tensor, " B"]  # beam width less the finished hypotheses
    limits: Int[Tensor, " B"]  # longest translation, end mark included
    penalties: Float[Tensor, " B"]  # of a translation of that length
    to_beat: Float[Tensor, " B"]  # the score of the last of the best finished hypotheses, as many as are wanted
    decoder: Hypotheses

    def keep(self, rows: Int[Tensor, " R"]) -> None:
        """Shrink the batch to some of its sentences."""
        self.sentences = [self.sentences[row] for row in rows.tolist()]
        for name in ("tokens", "log_probabilities", "open_places", "limits", "penalties", "to_beat"):
            setattr(self, name, getattr(self, name)[rows])
        self.decoder.keep(rows)


@torch.inference_mode()
def search(
    model: TranslationModel, batch: Batch, settings: DecodingSettings, *, scored: bool = True
) -> list[list[Hypothesis]]:
    """Return for each sentence its finished hypotheses, best first.

    If nobody wants scores, greedy search does without them (they are not numbers then): the words are the same.
    """
    normalise = scored or settings.beam > 1
    beams = _begin(model, batch, settings)
    finished: list[list[Hypothesis]] = [[] for _ in beams.sentences]
    first_limit, length = min(beams.limits.tolist(), default=0), 0
    while beams.sentences:
        length += 1
        following = beams.decoder.extend(beams.tokens[:, :, -1], settings.beam, normalise)
        choices = _force_end(beams, following, length) if length >= first_limit else following
        _advance(beams, choices, settings.beam)
        _collect(beams, finished, length, settings)
        if any(finished) or length >= first_limit:
            _drop_done(beams)
    if not normalise:
        return [[replace(one, score=math.nan, log_probability=math.nan) for one in found] for found in finished]
    return [sorted(found, key=lambda one: -one.score) for found in finished]


def _begin(model: TranslationModel, batch: Batch, settings: DecodingSettings) -> Beams:
    """Start each sentence with one live, empty hypothesis."""
    count, device = len(batch.source), batch.source.device
    limits = (batch.source_mask.sum(dim=1) * settings.length_factor + settings.length_margin).long()
    penalties = [length_penalty(limit, settings.length_penalty) for limit in limits.tolist()]
    return Beams(
        sentences=list(range(count)),
        tokens=torch.full((count, 1, 1), BOS, device=device),
        log_probabilities=torch.zeros(count, 1, device=device),
        open_places=torch.full((count,), settings.beam, device=device),
        limits=limits,
        penalties=torch.tensor(penalties, dtype=torch.float64, device=device),
        to_beat=torch.full((count,), IMPOSSIBLE, dtype=torch.float64, device=device),
        decoder=model.hypothesise(model.encode(batch), settings.beam),
    )


def _force_end(beams: Beams, following: NextWords, length: int) -> NextWords:
    """Let only the end mark follow where a translation may not become longer."""
    count, width = beams.log_probabilities.shape
    at_limit = (beams.limits <= length).repeat_interleave(width).unsqueeze(1)  # (B x W, 1)
    choices = following.words.shape[1]
    only = torch.full_like(following.log_probabilities, IMPOSSIBLE)
    only[:, 0] = following.ending
    return NextWords(
        torch.where(at_limit, only, following.log_probabilities),
        torch.where(at_limit, torch.full_like(following.words, EOS), following.words).view(count * width, choices),
        following.ending,
    )


def _advance(beams: Beams, following: NextWords, beam: int) -> None:
    """Let the best continuations of all hypotheses of a sentence be its new hypotheses."""
    count, width = beams.log_probabilities.shape
    choices = following.words.shape[1]
    total = following.log_probabilities.view(count, width, choices) + beams.log_probabilities.unsqueeze(-1)
    best, places = total.flatten(1).topk(min(beam, width * choices), dim=1)  # (B, W)
    words = following.words.view(count, width * choices).gather(1, places)
    if width > 1 or best.shape[1] > 1:
        parents = places.div(choices, rounding_mode="floor")
        beams.decoder.follow(parents)
        beams.tokens = beams.tokens.gather(1, parents.unsqueeze(-1).expand(-1, -1, beams.tokens.shape[-1]))
        rank = torch.arange(best.shape[1], device=best.device)
        best = best.masked_fill(rank >= beams.open_places.unsqueeze(1), IMPOSSIBLE)
    beams.tokens = torch.cat((beams.tokens, words.unsqueeze(-1)), dim=-1)
    beams.log_probabilities = best


def _collect(beams: Beams, finished: list[list[Hypothesis]], length: int, settings: DecodingSettings) -> None:
    """Move hypotheses that ended to the finished ones; their places stay empty."""
    ended = (beams.tokens[:, :, -1] == EOS) & (beams.log_probabilities > IMPOSSIBLE)
    if not bool(ended.any()):
        return
    penalty = length_penalty(length, settings.length_penalty)
    places = ended.nonzero().tolist()
    reached = beams.log_probabilities[ended].tolist()
    written = beams.tokens[ended][:, 1:-1].tolist()
    for (row, _), log_probability, tokens in zip(places, reached, written, strict=True):
        found = finished[beams.sentences[row]]
        found.append(Hypothesis(tuple(tokens), log_probability / penalty, log_probability))
        if len(found) >= settings.nbest:
            beams.to_beat[row] = sorted((one.score for one in found), reverse=True)[settings.nbest - 1]
    beams.log_probabilities = beams.log_probabilities.masked_fill(ended, IMPOSSIBLE)
    beams.open_places = beams.open_places - ended.sum(dim=1)


def _drop_done(beams: Beams) -> None:
    """Let go of sentences whose live hypotheses cannot come among the best any more, a number of them at a time."""
    done = _are_done(beams)
    count = int(done.sum())
    if count * MOST_DONE >= len(beams.sentences) and count:
        beams.keep((~done).nonzero().squeeze(1))
    elif count:
        beams.log_probabilities = beams.log_probabilities.masked_fill(done.unsqueeze(1), IMPOSSIBLE)


def _are_done(beams: Beams) -> Bool[Tensor, " B"]:
    """Say which sentences are done; those without a live hypothesis are."""
    # A log-probability only falls and the penalty only grows: this is the best a live hypothesis can ever reach.
    reach = beams.log_probabilities.amax(dim=1) / beams.penalties
    return ~(reach > beams.to_beat)  # what is not a number beats nothing
