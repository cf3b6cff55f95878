"""The learner: a model, its objective and its optimiser; it takes one step at a time."""

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from docaps.batches.batch import Batch
from docaps.batches.prefetch import StepBatch, StepData
from docaps.batches.sampling import StreamPosition
from docaps.config import StageSettings
from docaps.errors import ConfigError
from docaps.model.checkpoint import weights_of
from docaps.model.interface import TranslationModel
from docaps.training.distributed import SINGLE_PROCESS, ProcessGroup, full_tensor
from docaps.training.objective import Device, Loss, Objective, count_tokens
from docaps.training.schedule import rate_factor
from docaps.training.state import tensors_of

METRICS = ("loss", "cross_entropy", "pcc", "pcc_mismatched")


class Learner:
    """Takes training steps: first the gradients of a step's batches, then the update, as two separate actions."""

    def __init__(
        self,
        model: TranslationModel,
        *,
        settings: StageSettings,
        regulariser_weight: float,
        device: Device,
        inherited: Collection[str] = (),
        seed: int = 0,
        group: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        self.model = model.to(device.place)
        self._settings, self._device, self._seed, self._group = settings, device, seed, group
        freeze(model, settings.freeze)
        slow = {name for name in inherited if not name.startswith(settings.inherited_exempt)}
        if settings.inherited_rate == 0:  # no gradients either: they would count in the clipped norm
            for name, weight in model.named_parameters():
                weight.requires_grad_(weight.requires_grad and name not in slow)
        self.objective = Objective(
            model, label_smoothing=settings.label_smoothing, regulariser_weight=regulariser_weight, device=device
        )
        group.shard(self.objective)
        self._late = _late_weights(model, slow) if settings.freeze_inherited_steps else []
        self.optimizer = _make_optimizer(model, slow, settings)
        self._module: nn.Module | None = None

    def compute(self, step: int, data: StepData) -> dict[str, float]:
        """Compute the gradients of a step over all processes, and return the metrics to log."""
        if self._module is None:
            self._module = self._group.wrap(self.objective)
        self._module.train()
        self.optimizer.zero_grad(set_to_none=True)
        sums = torch.zeros(len(METRICS), 2, dtype=torch.float64)
        for part in data.batches:
            is_last = part is data.batches[-1]
            _seed_dropout(self._seed, step, part.number)
            with self._group.gradient_sync(self._module, is_last):
                loss: Loss = self._module(part.batch.to(self._device.place))
                # Gradients are averaged over processes, so each process's part is scaled up.
                (loss.total * (part.weight / data.weight * self._group.size)).backward()
            sums += _weighted_metrics(loss, part.weight)
        rows = zip(METRICS, self._group.sum(sums).tolist(), strict=True)
        return {name: total / weight for name, (total, weight) in rows if weight > 0}

    def apply(self, step: int) -> float:
        """Update the weights and return the gradient's norm; a non-finite gradient changes nothing."""
        if step <= self._settings.freeze_inherited_steps:  # no gradient, so that it does not count in the norm either
            for weight in self._late:
                weight.grad = None
        weights = [weight for group in self.optimizer.param_groups for weight in group["params"]]
        found = nn.utils.get_total_norm([weight.grad for weight in weights if weight.grad is not None])
        norm = float(full_tensor(found))
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
        part = StepBatch(0, batch, np.arange(len(batch.source)), tokens)
        metrics = self.compute(step, StepData((part,), tokens, StreamPosition()))
        self.apply(step)
        return metrics

    def profile(self, batch: Batch) -> tuple[float, tuple[str, ...]]:
        """Return the operations per target token, and the names of weights without a gradient; learn nothing."""
        self.objective.train()
        with FlopCounterMode(display=False) as counter, torch.random.fork_rng():
            self.objective(batch).total.backward()
        weights = [(name, weight) for name, weight in self.model.named_parameters() if weight.requires_grad]
        idle = tuple(name for name, weight in weights if weight.grad is None)
        self.optimizer.zero_grad(set_to_none=True)
        return counter.get_total_flops() / max(count_tokens(batch), 1), idle

    def tensors(self) -> dict[str, Tensor]:
        """Return weights and optimiser state by name; with sharded weights all processes must call this."""
        return self._group.gather_tensors(tensors_of(self.model, self.optimizer))

    def weights(self) -> dict[str, Tensor]:
        """Return the weights by name; with sharded weights all processes must call this."""
        return self._group.gather_tensors(weights_of(self.model))

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        return self._settings.learning_rate * rate_factor(step, self._settings)


def freeze(model: nn.Module, prefixes: Sequence[str]) -> None:
    """Exclude weights from training whose names start with one of the prefixes."""
    weights = dict(model.named_parameters())
    for prefix in prefixes:
        chosen = [weight for name, weight in weights.items() if name.startswith(prefix)]
        if not chosen:
            groups = sorted({".".join(name.split(".")[:2]) for name in weights})
            raise ConfigError(f"freeze: no weight's name starts with {prefix!r}; there are {', '.join(groups)}")
        for weight in chosen:
            weight.requires_grad_(False)


def _late_weights(model: nn.Module, inherited: Collection[str]) -> list[nn.Parameter]:
    """Return the inherited weights, which are frozen at first; refuse if there are none, or nothing else to train."""
    trained = [(name, weight) for name, weight in model.named_parameters() if weight.requires_grad]
    late = [weight for name, weight in trained if name in inherited]
    if not late:
        raise ConfigError("freeze_inherited_steps: no weight that is trained is inherited from another stage")
    if len(late) == len(trained):
        raise ConfigError("freeze_inherited_steps: all weights are inherited, so none is left to train at first")
    return late


def _make_optimizer(model: TranslationModel, slow: Collection[str], settings: StageSettings) -> torch.optim.Optimizer:
    """Make the optimiser; `slow` weights have a learning rate of their own."""
    weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    if not weights:
        raise ConfigError("freeze, inherited_rate: no weight is left to train")
    groups: list[dict[str, Any]] = [
        {"params": [weight for name, weight in weights.items() if (name in slow) == is_slow], "share": share}
        for is_slow, share in ((False, 1.0), (True, settings.inherited_rate))
    ]
    options: dict[str, Any] = {"lr": 0.0, "betas": (0.9, settings.beta2), "fused": True}
    if settings.optimizer != "adamw":
        return torch.optim.Adam(groups, **options)
    split = []
    for group in groups:
        for is_matrix in (True, False):  # matrices decay, vectors (biases and norms) do not
            own = [weight for weight in group["params"] if (weight.dim() > 1) == is_matrix]
            split.append({**group, "params": own, "weight_decay": settings.weight_decay if is_matrix else 0.0})
    return torch.optim.AdamW(split, **options)


def _seed_dropout(seed: int, step: int, batch: int) -> None:
    """Seed torch from these numbers alone, so that a resumed or distributed training draws the same dropout."""
    drawn = np.random.SeedSequence((seed, step, batch)).generate_state(1, np.uint64)[0]
    torch.manual_seed(int(drawn >> np.uint64(1)))


def _weighted_metrics(loss: Loss, weight: float) -> Tensor:
    """Return each metric times its weight, and the weight; a metric that a batch does not have weighs nothing."""
    values = (loss.total, loss.cross_entropy, loss.matched, loss.mismatched)
    zero = loss.total.new_zeros(())
    found = torch.stack([zero if value is None else value.detach().to(zero.dtype) for value in values])
    weights = torch.tensor([0.0 if value is None else float(weight) for value in values], dtype=torch.float64)
    return torch.stack((found.double().cpu() * weights, weights), dim=1)  # one transfer, not one for each metric
