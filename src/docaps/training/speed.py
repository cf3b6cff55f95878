"""How fast training is, and how fast it could be: operations of a step as a share of what the machine can multiply."""

import time

import torch
from torch.utils.flop_counter import FlopCounterMode

from docaps.batches.batch import Batch
from docaps.training.learner import Device, Learner, count_tokens


def measure_peak(device: Device, *, size: int | None = None, repeats: int = 5) -> float:
    """Return the operations a second of the best of some large matrix products."""
    size = size or (4096 if device.place.type == "cuda" else 1024)
    matrix = torch.ones(size, size, dtype=device.precision, device=device.place)
    return max(2 * size**3 / _time_product(matrix) for _ in range(repeats + 1))


def _time_product(matrix: torch.Tensor) -> float:
    """Time one product, to its very end."""
    start = time.perf_counter()
    matrix @ matrix
    if matrix.is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def rehearse(learner: Learner, batch: Batch) -> tuple[float, tuple[str, ...]]:
    """Run one batch without learning from it; return the operations for each target token, and which weights idle."""
    learner.objective.train()
    with FlopCounterMode(display=False) as counter, torch.random.fork_rng():
        learner.objective(batch).total.backward()
    weights = [(name, weight) for name, weight in learner.model.named_parameters() if weight.requires_grad]
    idle = tuple(name for name, weight in weights if weight.grad is None)
    learner.optimizer.zero_grad(set_to_none=True)
    return counter.get_total_flops() / max(count_tokens(batch), 1), idle
