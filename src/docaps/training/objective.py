"""The training objective: likelihood of the translation and agreement of source and target capsules (Eq. 11).

Reference: Yang et al. (2019). Dimensions: B batch, T target length, V vocabulary, P real target tokens.
Departure from the paper: Eq. 11 is maximised, this loss is minimised, so its sign is flipped; it is averaged per token.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.batches.batch import Batch
from docaps.batches.prefetch import collate_sentences
from docaps.batches.sampling import LengthSampler
from docaps.corpus.store import Split
from docaps.corpus.text.vocabulary import PAD
from docaps.model.fast.cross_entropy import linear_cross_entropy
from docaps.model.interface import DiscountedWords, Prediction, TranslationModel
from docaps.model.mixed_precision import autocast
from docaps.training.distributed import SINGLE_PROCESS, ProcessGroup


@dataclass(frozen=True, slots=True)
class Device:
    """Where a model runs, and in which number format."""

    place: torch.device
    precision: torch.dtype


Probe = Callable[[TranslationModel, Device], Mapping[str, float]]
"""An extra measurement at each validation; its numbers are logged with the others."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss to minimise and its parts, each averaged per target token (by weight, where tokens have weights)."""

    total: Float[Tensor, ""]
    cross_entropy: Float[Tensor, ""]
    matched: Float[Tensor, ""] | None = None
    """PCC of source and target capsules."""
    mismatched: Float[Tensor, ""] | None = None
    """PCC of source capsules and the target capsules of another pair, as a control."""


def compute_loss(
    prediction: Prediction,
    target: Int[Tensor, "B T"],
    *,
    label_smoothing: float,
    regulariser_weight: float,
    weights: Float[Tensor, "B T"] | None = None,
) -> Loss:
    """Return the cross-entropy of the translation minus the weighted reward of the regulariser (Eq. 11).

    With `weights` of the target tokens, averages are sums of weighted values divided by the sum of weights. Earlier
    translations that are predicted as well add their discounted cross-entropy.
    """
    cross_entropy = _cross_entropy(prediction, target, label_smoothing, weights)
    if prediction.earlier is not None:
        own = (target != PAD).sum() if weights is None else weights.sum()
        earlier = _discounted_cross_entropy(prediction, prediction.earlier, label_smoothing) / own
        return Loss(cross_entropy + earlier, cross_entropy)
    if prediction.correlations is None:
        return Loss(cross_entropy, cross_entropy)
    found = prediction.correlations
    matched = average_by_tokens(found.matched, target, weights)
    mismatched = None if found.mismatched is None else average_by_tokens(found.mismatched, target, weights)
    reward = matched if found.reward is None else average_by_tokens(found.reward, target, weights)
    return Loss(cross_entropy - regulariser_weight * reward, cross_entropy, matched, mismatched)


def _cross_entropy(
    prediction: Prediction, target: Int[Tensor, "B T"], smoothing: float, weights: Float[Tensor, "B T"] | None
) -> Float[Tensor, ""]:
    """Average over real target tokens, never in half precision."""
    real = (target != PAD).flatten().nonzero().squeeze(1)  # (P)
    states, words = prediction.states.flatten(0, 1).index_select(0, real), target.flatten()[real]
    own = None if weights is None else weights.flatten()[real]
    shares = None if own is None else own / own.sum()  # (P)
    return _mean_cross_entropy(prediction, states, words, smoothing, shares)


def _discounted_cross_entropy(prediction: Prediction, earlier: DiscountedWords, smoothing: float) -> Float[Tensor, ""]:
    """Add up over the words of earlier translations, each by the discount."""
    mean = _mean_cross_entropy(prediction, earlier.states, earlier.words, smoothing)
    return earlier.weight * len(earlier.words) * mean


def _mean_cross_entropy(
    prediction: Prediction,
    states: Float[Tensor, "P D"],
    words: Int[Tensor, " P"],
    smoothing: float,
    shares: Float[Tensor, " P"] | None = None,
) -> Float[Tensor, ""]:
    """Average over positions, by their shares if there are any; without an output layer, the states are logits."""
    if prediction.output is not None:
        output, bias = prediction.output, prediction.bias
        return linear_cross_entropy(states, output, words, smoothing=smoothing, shares=shares, bias=bias)
    exact = states.to(torch.promote_types(states.dtype, torch.float32))  # (P, V)
    if shares is None:
        return F.cross_entropy(exact, words, label_smoothing=smoothing)
    return (F.cross_entropy(exact, words, label_smoothing=smoothing, reduction="none") * shares).sum()


def average_by_tokens(
    correlation: Float[Tensor, " B"], target: Int[Tensor, "B T"], weights: Float[Tensor, "B T"] | None = None
) -> Float[Tensor, ""]:
    """Average over sentences, weighted by their target tokens: Eq. 11 adds the PCC once for every token."""
    tokens = ((target != PAD) if weights is None else weights).sum(dim=1).to(correlation.dtype)  # (B)
    return (correlation * tokens / tokens.sum()).sum()


def count_tokens(batch: Batch) -> int:
    """Count the real target tokens of a batch."""
    return int((batch.translations != PAD).sum())


class Objective(nn.Module):
    """A model with its training objective: batch in, loss out; labels are smoothed in training only."""

    def __init__(
        self, model: TranslationModel, *, label_smoothing: float, regulariser_weight: float, device: Device
    ) -> None:
        super().__init__()
        self.model = model
        self._label_smoothing = label_smoothing
        self._regulariser_weight = regulariser_weight
        self.device = device

    def forward(self, batch: Batch) -> Loss:
        """Predict the batch's translations and return their loss."""
        with autocast(self.device.place, self.device.precision):
            prediction = self.model(batch)
            loss = compute_loss(
                prediction,
                batch.translations,
                label_smoothing=self._label_smoothing if self.training else 0.0,
                regulariser_weight=self._regulariser_weight,
                weights=batch.weights if self.training else None,
            )
        if self.training and self.model.idles(batch):
            return replace(loss, total=loss.total + self._zero_of_all_weights())
        return loss

    def _zero_of_all_weights(self) -> Tensor:
        """Return a zero that depends on every weight, so that each has a gradient even if the batch has no context.

        Processes average the gradients of all weights, so each must have one, and one process must take the same
        steps as several.
        """
        trained = (weight for weight in self.model.parameters() if weight.requires_grad)
        return torch.stack([weight.view(-1)[0] * 0 for weight in trained]).sum()


def validate(
    objective: Objective, data: Split, *, budget: int, group: ProcessGroup = SINGLE_PROCESS
) -> Mapping[str, float]:
    """Return loss and perplexity per token on the development set, without label smoothing, over all processes."""
    batches = LengthSampler(data, budget=budget, seed=0).in_order()
    own = batches[group.rank :: group.size]
    missing = -(-len(batches) // group.size) - len(own)  # with sharded weights all processes must run equally often
    sums = torch.zeros(2, dtype=torch.float64)
    objective.eval()
    for sentences in [*own, *batches[:missing]] if group.sharded else own:
        # Weights that are gathered just in time cannot be in inference mode.
        with torch.no_grad() if group.sharded else torch.inference_mode():
            batch = collate_sentences(data, sentences, objective.model.view).to(objective.device.place)
            loss: Loss = objective(batch)
        tokens = count_tokens(batch)
        sums += torch.tensor([float(loss.cross_entropy) * tokens, tokens], dtype=torch.float64)
    group.reshard(objective)
    total, tokens = group.sum(sums).tolist()
    mean = total / max(tokens, 1.0)
    return {"dev_loss": mean, "dev_perplexity": perplexity(mean)}


def perplexity(cross_entropy: float) -> float:
    """Return the perplexity of a mean cross-entropy per token, finite even for a hopeless model."""
    return math.exp(min(cross_entropy, 700))
