"""The learner: a model, its objective and its optimiser; it takes one step at a time."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from docaps.batches.batch import Batch
from docaps.batches.loading import Portion, StepData
from docaps.batches.sampling import Place
from docaps.config import StageSettings
from docaps.corpus.text.vocabulary import PAD
from docaps.errors import ConfigError
from docaps.model.checkpoint import weights_of
from docaps.model.interface import TranslationModel
from docaps.model.mixed_precision import autocast
from docaps.training.distributed import ALONE, Team, full
from docaps.training.objective import Loss, compute_loss
from docaps.training.schedule import rate_share
from docaps.training.state import tensors_of


@dataclass(frozen=True, slots=True)
class Device:
    """Where and in which number format a model runs."""

    place: torch.device
    precision: torch.dtype


class Objective(nn.Module):
    """A model and what it is trained for: batch in, loss out; labels are smoothed in training only."""

    def __init__(
        self, model: TranslationModel, *, label_smoothing: float, regulariser_weight: float, device: Device
    ) -> None:
        super().__init__()
        self.model = model
        self._label_smoothing = label_smoothing
        self._regulariser_weight = regulariser_weight
        self.device = device

    def forward(self, batch: Batch) -> Loss:
        """Predict the batch's translations and compare."""
        with autocast(self.device.place, self.device.precision):
            prediction = self.model(batch)
            loss = compute_loss(
                prediction,
                batch.translations,
                label_smoothing=self._label_smoothing if self.training else 0.0,
                regulariser_weight=self._regulariser_weight,
            )
        if self.training and self.model.idles(batch):
            return Loss(loss.total + self._nothing(), loss.cross_entropy, loss.matched, loss.mismatched)
        return loss

    def _nothing(self) -> Tensor:
        """Return a zero that every weight has a part in: a batch with nothing to look at leaves the context idle.

        Processes average the gradients of all weights, so each must have one; and one process must take the same
        steps as several.
        """
        trained = (weight for weight in self.model.parameters() if weight.requires_grad)
        return torch.stack([weight.view(-1)[0] * 0 for weight in trained]).sum()


class Learner:
    """Takes training steps: gradients from a step's batches first, then the update, which is one action."""

    def __init__(
        self,
        model: TranslationModel,
        *,
        settings: StageSettings,
        regulariser_weight: float,
        device: Device,
        inherited: Collection[str] = (),
        seed: int = 0,
        team: Team = ALONE,
    ) -> None:
        self.model = model.to(device.place)
        self._settings = settings
        self._device = device
        self._seed = seed
        self._team = team
        freeze(model, settings.freeze)
        held_back = {name for name in inherited if not name.startswith(settings.inherited_exempt)}
        if settings.inherited_rate == 0:  # no gradient either: the others would be clipped for its sake
            for name, weight in model.named_parameters():
                weight.requires_grad_(weight.requires_grad and name not in held_back)
        self.objective = Objective(
            model, label_smoothing=settings.label_smoothing, regulariser_weight=regulariser_weight, device=device
        )
        team.shard(self.objective)
        self.optimizer = _optimizer(model, held_back, settings)
        self._module: nn.Module | None = None

    def compute(self, step: int, data: StepData) -> dict[str, float]:
        """Compute the gradients of a step, of all processes together, and return the numbers to log."""
        if self._module is None:
            self._module = self._team.join(self.objective)
        self._module.train()
        self.optimizer.zero_grad(set_to_none=True)
        sums = torch.zeros(len(NUMBERS), 2, dtype=torch.float64)
        for portion in data.portions:
            is_last = portion is data.portions[-1]
            _seed(self._seed, step, portion.number)
            with self._team.exchanging(self._module, is_last):
                loss: Loss = self._module(portion.batch.to(self._device.place))
                # Gradients are averaged over processes, so each process's share is scaled up.
                (loss.total * (portion.tokens / data.tokens * self._team.size)).backward()
            sums += _weighed(loss, portion.tokens)
        return _means(self._team.total(sums))

    def apply(self, step: int) -> float:
        """Change the weights by the gradients and return their norm; if that is no number, change nothing."""
        weights = [weight for group in self.optimizer.param_groups for weight in group["params"]]
        found = nn.utils.get_total_norm([weight.grad for weight in weights if weight.grad is not None])
        norm = float(full(found))
        if norm > self._settings.clip:  # below it nothing needs scaling
            nn.utils.clip_grads_with_norm_(weights, self._settings.clip, found)
        if math.isfinite(norm):
            for group in self.optimizer.param_groups:
                group["lr"] = self.rate(step) * group["share"]
            self.optimizer.step()
        return norm

    def step(self, step: int, batch: Batch) -> dict[str, float]:
        """Take a whole step on one batch."""
        tokens = count_tokens(batch)
        portion = Portion(0, batch, np.arange(len(batch.source)), tokens)
        numbers = self.compute(step, StepData((portion,), tokens, Place()))
        self.apply(step)
        return numbers

    def tensors(self) -> dict[str, Tensor]:
        """Return all that is needed to go on from here; processes that hold parts must all ask."""
        return self._team.whole(tensors_of(self.model, self.optimizer))

    def weights(self) -> dict[str, Tensor]:
        """Return the weights by name; processes that hold parts must all ask."""
        return self._team.whole(weights_of(self.model))

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        return self._settings.learning_rate * rate_share(step, self._settings)


def freeze(model: nn.Module, names: Sequence[str]) -> None:
    """Take weights out of training: those whose names begin with one of the given ones."""
    weights = dict(model.named_parameters())
    for beginning in names:
        chosen = [weight for name, weight in weights.items() if name.startswith(beginning)]
        if not chosen:
            groups = sorted({".".join(name.split(".")[:2]) for name in weights})
            raise ConfigError(f"freeze: no weight's name begins with {beginning!r}; there are {', '.join(groups)}")
        for weight in chosen:
            weight.requires_grad_(False)


def _optimizer(model: TranslationModel, held_back: Collection[str], settings: StageSettings) -> torch.optim.Optimizer:
    """Make the optimiser; weights that are held back learn at a rate of their own."""
    weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    if not weights:
        raise ConfigError("freeze, inherited_rate: no weight is left to train")
    groups = [
        {"params": [weight for name, weight in weights.items() if (name in held_back) == slow], "share": share}
        for slow, share in ((False, 1.0), (True, settings.inherited_rate))
    ]
    options: dict[str, Any] = {"lr": 0.0, "betas": (0.9, settings.beta2), "fused": True}
    if settings.optimizer == "adamw":
        return torch.optim.AdamW(_without_decay_of_vectors(groups, settings.weight_decay), **options)
    return torch.optim.Adam(groups, **options)


def _without_decay_of_vectors(groups: list[dict[str, Any]], decay: float) -> list[dict[str, Any]]:
    """Split groups so that matrices decay, but biases and norms, which are vectors, do not."""
    return [
        {
            "params": [weight for weight in group["params"] if (weight.dim() > 1) == is_matrix],
            "share": group["share"],
            "weight_decay": decay if is_matrix else 0.0,
        }
        for group in groups
        for is_matrix in (True, False)
    ]


def _seed(seed: int, step: int, batch: int) -> None:
    """Let what is drawn next depend on these numbers alone: training goes on alike after a stop, and in any team."""
    drawn = np.random.SeedSequence((seed, step, batch)).generate_state(1, np.uint64)[0]
    torch.manual_seed(int(drawn >> np.uint64(1)))


NUMBERS = ("loss", "cross_entropy", "pcc", "pcc_mismatched")


def _weighed(loss: Loss, tokens: int) -> Tensor:
    """Return each number times its tokens, and the tokens; a number that a batch does not have counts nothing."""
    values = (loss.total, loss.cross_entropy, loss.matched, loss.mismatched)
    nothing = loss.total.new_zeros(())
    found = torch.stack([nothing if value is None else value.detach().to(nothing.dtype) for value in values])
    weights = torch.tensor([0.0 if value is None else float(tokens) for value in values], dtype=torch.float64)
    return torch.stack((found.double().cpu() * weights, weights), dim=1)  # one transfer, not one for each number


def _means(sums: Tensor) -> dict[str, float]:
    """Divide sums by their tokens."""
    return {name: total / tokens for name, (total, tokens) in zip(NUMBERS, sums.tolist(), strict=True) if tokens > 0}


def count_tokens(batch: Batch) -> int:
    """Count the real target tokens of a batch."""
    return int((batch.translations != PAD).sum())


def describe_numbers(numbers: Mapping[str, float]) -> str:
    """Say in a few words how training goes."""
    parts = [f"loss {numbers['loss']:.3f}"]
    if "pcc" in numbers:
        parts.append(f"PCC {numbers['pcc']:.2f}")
    return ", ".join(parts)
