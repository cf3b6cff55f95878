"""Validation: how unlikely the development part is to a model, shared out among the processes of a team."""

import math
from collections.abc import Callable, Mapping

import torch

from docaps.batches.loading import collate_sentences
from docaps.batches.sampling import LengthSampler
from docaps.corpus.store import Split
from docaps.model.interface import TranslationModel
from docaps.training.distributed import ALONE, Team
from docaps.training.learner import Device, Objective, count_tokens
from docaps.training.objective import Loss

Probe = Callable[[TranslationModel, Device], Mapping[str, float]]
"""Something else to measure whenever the model is validated; its numbers join the log."""


def validate(objective: Objective, data: Split, *, budget: int, team: Team = ALONE) -> Mapping[str, float]:
    """Return loss and perplexity on the development part, per token, without label smoothing."""
    batches = LengthSampler(data, budget=budget, seed=0).in_order()
    own = batches[team.rank :: team.size]
    idle = -(-len(batches) // team.size) - len(own)  # processes that hold parts of weights must all run equally often
    sums = torch.zeros(2, dtype=torch.float64)
    objective.eval()
    for sentences in [*own, *batches[:idle]] if team.sharded else own:
        # Weights that are put together just in time cannot be in inference mode.
        with torch.no_grad() if team.sharded else torch.inference_mode():
            batch = collate_sentences(data, sentences, objective.model.view).to(objective.device.place)
            loss: Loss = objective(batch)
        tokens = count_tokens(batch)
        sums += torch.tensor([float(loss.cross_entropy) * tokens, tokens], dtype=torch.float64)
    team.part(objective)
    total, tokens = team.total(sums).tolist()
    mean = total / max(tokens, 1.0)
    return {"dev_loss": mean, "dev_perplexity": math.exp(min(mean, 700))}
