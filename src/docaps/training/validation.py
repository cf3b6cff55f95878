"""Validation: how unlikely the development part is to a model, shared out among the processes of a team."""

import math
from collections.abc import Callable, Mapping

import torch

from docaps.batches.loading import collate_sentences
from docaps.batches.sampling import LengthSampler
from docaps.corpus.store import Split
from docaps.model.interface import TranslationModel
from docaps.model.precision import autocast
from docaps.training.learner import Device, count_tokens
from docaps.training.objective import compute_loss
from docaps.training.team import ALONE, Team

Probe = Callable[[TranslationModel, Device], Mapping[str, float]]
"""Something else to measure whenever the model is validated; its numbers join the log."""


def validate(
    model: TranslationModel, data: Split, device: Device, *, budget: int, team: Team = ALONE
) -> Mapping[str, float]:
    """Return loss and perplexity on the development part, per token, without label smoothing."""
    sampler = LengthSampler(data, budget=budget, seed=0)
    sums = torch.zeros(2, dtype=torch.float64)
    model.eval()
    for sentences in sampler.in_order()[team.rank :: team.size]:
        # Weights that are put together just in time (FSDP) cannot be in inference mode.
        with torch.no_grad() if team.sharded else torch.inference_mode(), autocast(device.place, device.precision):
            batch = collate_sentences(data, sentences, model.history).to(device.place)
            loss = compute_loss(model(batch), batch.translations, label_smoothing=0.0, regulariser_weight=0.0)
        tokens = count_tokens(batch)
        sums += torch.tensor([float(loss.cross_entropy) * tokens, tokens], dtype=torch.float64)
    total, tokens = team.total(sums).tolist()
    mean = total / max(tokens, 1.0)
    return {"dev_loss": mean, "dev_perplexity": math.exp(min(mean, 700))}
