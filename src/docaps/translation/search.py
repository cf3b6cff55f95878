"""Beam search over the model interface: all sentences of a batch at once, finished ones leave it.

A hypothesis' score is its log-probability, end mark included, divided by GNMT's length penalty. A finished hypothesis
keeps its place in the beam, so a beam of 1 is greedy search. A sentence is done only when no live hypothesis can win.

Dimensions: B sentences, W beam, V vocabulary, L words written so far.
"""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from docaps.batches.batch import Batch
from docaps.config import DecodingSettings
from docaps.corpus.vocabulary import BOS, EOS, PAD
from docaps.model.interface import DecoderState, TranslationModel

IMPOSSIBLE = float("-inf")


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
    """Live hypotheses of the sentences that are not done yet."""

    sentences: list[int]  # their numbers in the batch
    tokens: Int[Tensor, "B W L"]
    log_probabilities: Float[Tensor, "B W"]  # -inf for a place without a live hypothesis
    open_places: Int[Tensor, " B"]  # beam width less the finished hypotheses
    limits: Int[Tensor, " B"]  # longest translation, end mark included
    state: DecoderState


@dataclass
class Finished:
    """Finished hypotheses of every sentence of the batch."""

    hypotheses: list[list[Hypothesis]] = field(default_factory=list)

    def best_score(self, sentence: int) -> float:
        """Return the score to beat."""
        return max((hypothesis.score for hypothesis in self.hypotheses[sentence]), default=IMPOSSIBLE)


@torch.inference_mode()
def search(model: TranslationModel, batch: Batch, settings: DecodingSettings) -> list[list[Hypothesis]]:
    """Return for each sentence its finished hypotheses, best first."""
    beams = _begin(model, batch, settings)
    finished = Finished([[] for _ in beams.sentences])
    length = 0
    while beams.sentences:
        length += 1
        candidates = _extend(model, beams, length)
        _advance(beams, *candidates)
        _collect(beams, finished, length, settings.length_penalty)
        _drop_done(beams, finished, settings.length_penalty)
    return [sorted(found, key=lambda one: -one.score) for found in finished.hypotheses]


def _begin(model: TranslationModel, batch: Batch, settings: DecodingSettings) -> Beams:
    """Start each sentence with one live, empty hypothesis."""
    count, width, device = len(batch.source), settings.beam, batch.source.device
    state = model.start(model.encode(batch))
    log_probabilities = torch.full((count, width), IMPOSSIBLE, device=device)
    log_probabilities[:, 0] = 0.0
    return Beams(
        sentences=list(range(count)),
        tokens=torch.full((count, width, 1), BOS, device=device),
        log_probabilities=log_probabilities,
        open_places=torch.full((count,), width, device=device),
        limits=(batch.source_mask.sum(dim=1) * settings.length_factor + 20).long(),
        state=state.select(torch.arange(count, device=device).repeat_interleave(width)),
    )


def _extend(
    model: TranslationModel, beams: Beams, length: int
) -> tuple[Float[Tensor, "B W"], Int[Tensor, "B W"], Int[Tensor, "B W"]]:
    """Score every next word of every hypothesis; return the best continuations: score, parent and word."""
    logits, beams.state = model.decode_step(beams.tokens[:, :, -1].flatten(), beams.state)
    step = torch.log_softmax(logits.float(), dim=-1).view(*beams.log_probabilities.shape, -1)  # (B, W, V)
    step[:, :, [PAD, BOS]] = IMPOSSIBLE
    at_limit = beams.limits <= length
    if at_limit.any():  # only the end mark may follow
        ending = step[:, :, EOS].clone()
        step[at_limit] = IMPOSSIBLE
        step[:, :, EOS] = ending
    total = beams.log_probabilities.unsqueeze(-1) + step
    width, vocabulary = total.shape[1:]
    best, places = total.flatten(1).topk(width, dim=-1)  # (B, W)
    rank = torch.arange(width, device=best.device)
    best = best.masked_fill(rank >= beams.open_places.unsqueeze(1), IMPOSSIBLE)
    return best, places // vocabulary, places % vocabulary


def _advance(beams: Beams, best: Float[Tensor, "B W"], parents: Int[Tensor, "B W"], words: Int[Tensor, "B W"]) -> None:
    """Let the best continuations be the new hypotheses."""
    kept = beams.tokens.gather(1, parents.unsqueeze(-1).expand(-1, -1, beams.tokens.shape[-1]))
    beams.tokens = torch.cat((kept, words.unsqueeze(-1)), dim=-1)
    beams.log_probabilities = best
    first = torch.arange(len(parents), device=parents.device).unsqueeze(1) * parents.shape[1]
    beams.state = beams.state.select((first + parents).flatten())


def _collect(beams: Beams, finished: Finished, length: int, alpha: float) -> None:
    """Move hypotheses that ended to the finished ones; their places stay empty."""
    ended = (beams.tokens[:, :, -1] == EOS) & beams.log_probabilities.isfinite()
    for row, place in ended.nonzero().tolist():
        log_probability = float(beams.log_probabilities[row, place])
        tokens = tuple(beams.tokens[row, place, 1:-1].tolist())
        hypothesis = Hypothesis(tokens, log_probability / length_penalty(length, alpha), log_probability)
        finished.hypotheses[beams.sentences[row]].append(hypothesis)
    beams.log_probabilities = beams.log_probabilities.masked_fill(ended, IMPOSSIBLE)
    beams.open_places = beams.open_places - ended.sum(dim=1)


def _drop_done(beams: Beams, finished: Finished, alpha: float) -> None:
    """Let go of sentences whose live hypotheses cannot beat the best finished one any more."""
    live = beams.log_probabilities.amax(dim=1).tolist()
    # A log-probability only falls and the penalty only grows: this is the best a live hypothesis can ever reach.
    reach = [value / length_penalty(limit, alpha) for value, limit in zip(live, beams.limits.tolist(), strict=True)]
    keep = [
        row
        for row, sentence in enumerate(beams.sentences)
        if reach[row] > IMPOSSIBLE and reach[row] > finished.best_score(sentence)
    ]
    if len(keep) < len(beams.sentences):
        _keep_rows(beams, keep)


def _keep_rows(beams: Beams, keep: list[int]) -> None:
    """Shrink the batch to some of its sentences."""
    width = beams.tokens.shape[1]
    rows = torch.tensor(keep, dtype=torch.long, device=beams.tokens.device)
    beams.sentences = [beams.sentences[row] for row in keep]
    beams.tokens, beams.log_probabilities = beams.tokens[rows], beams.log_probabilities[rows]
    beams.open_places, beams.limits = beams.open_places[rows], beams.limits[rows]
    places = torch.arange(width, device=rows.device)
    beams.state = beams.state.select((rows.unsqueeze(1) * width + places).flatten())
