"""How fast a system trains: seconds a step, or a share of the sentence model's speed, both taking steps in turn."""

import time
from collections.abc import Iterator

import torch

from docaps.batches.prefetch import StepData, load_steps
from docaps.batches.sampling import make_sampler
from docaps.config import Recipe, SystemSettings
from docaps.corpus.store import Store
from docaps.model.precision import choose_device, choose_precision
from docaps.model.variants import build_model
from docaps.training.learner import Learner
from docaps.training.objective import Device

ROUNDS, STEPS = 5, 4


class _Pace:
    """A fresh model that takes steps, and how long it took for how many target tokens."""

    def __init__(self, recipe: Recipe, system: SystemSettings, stage: str, store: Store) -> None:
        place = choose_device()
        settings = recipe.stage[stage]
        model = build_model(system, vocabulary=len(store.codec.vocabulary), dropout=settings.dropout)
        device = Device(place, choose_precision(recipe.precision, place))
        weight = recipe.regulariser.weight
        self._learner = Learner(model, settings=settings, regulariser_weight=weight, device=device)
        data = store.split("train")
        sampler = make_sampler(
            settings.sampling or model.sampling, data, budget=settings.batch_tokens, seed=recipe.seed
        )
        self._steps: Iterator[StepData] = load_steps(data, sampler, history=model.view)
        self._taken = 0

    def measure(self) -> float:
        """Take some steps and return their target tokens a second."""
        steps = [next(self._steps) for _ in range(STEPS)]
        start = time.perf_counter()
        for step in steps:
            self._taken += 1
            self._learner.compute(self._taken, step)
            self._learner.apply(self._taken)
        return sum(step.tokens for step in steps) / (time.perf_counter() - start)


def relative_speed(recipe: Recipe, stage: str, store: Store) -> float:
    """Return the median share of the sentence model's target tokens a second, each system with batches of its own."""
    system = recipe.system(stage)
    with torch.random.fork_rng():
        plain = _Pace(recipe, system.model_copy(update={"name": "transformer"}), stage, store)
        other = _Pace(recipe, system, stage, store)
        shares = []
        for number in range(ROUNDS + 1):
            share = 1 / plain.measure() * other.measure()
            shares += [share] if number else []  # the first steps warm up
    return sorted(shares)[ROUNDS // 2]


def seconds_per_step(recipe: Recipe, stage: str, store: Store) -> float:
    """Return how long a step of a stage takes here; a first few steps warm up."""
    with torch.random.fork_rng():
        pace = _Pace(recipe, recipe.system(stage), stage, store)
        pace.measure()
        start = time.perf_counter()
        pace.measure()
        return (time.perf_counter() - start) / STEPS * recipe.stage[stage].accumulate
