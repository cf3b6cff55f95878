"""Training speed with dropout everywhere, as a share of the speed without that of attention weights and feed-forward.

Two sentence models, which both drop embeddings and sub-layers, train on the same batches in turn: one also drops
attention weights and numbers inside feed-forward networks, the other does not. Sizes: the paper's (4+4 layers of
512/2048, 30,000 words) and those of `europarl-small` (3+3 layers of 256/1024, 8,000 words).
A ratio is the median over rounds of neighbouring steps; its quartiles show how much other load on the machine mattered.
The last line is JSON with the ratios. `--profile` prints where the time of a step goes instead.
"""

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import torch

from docaps.batches.batch import Batch
from docaps.config import bundled_recipes, load_recipe
from docaps.memory import keep_pages, limit_kernel_caches
from docaps.model.builders import build_model
from docaps.model.layers import DropoutRates
from docaps.training.learner import Learner
from docaps.training.objective import Device
from measuring import Work, time_rounds
from sentences import make_batches

RATE = 0.1
EVERYWHERE = DropoutRates.everywhere(RATE)
OUTSIDE = replace(EVERYWHERE, attention=0.0, feed_forward=0.0)
RECIPES: Mapping[str, tuple[str, int]] = {"paper": ("paper", 30_000), "small": ("europarl-small", 8_000)}
"""Recipes with the sizes, and the words of the vocabulary."""
PRECISIONS = {"bfloat16": torch.bfloat16, "float32": torch.float32}


def make_learner(size: str, rates: DropoutRates, precision: torch.dtype) -> Learner:
    """Build a sentence model of some size with these dropout rates, and its learner."""
    name, vocabulary = RECIPES[size]
    recipe = load_recipe(bundled_recipes()[name])
    model = build_model(recipe.system("sentence"), vocabulary=vocabulary, dropout=rates, seed=1)
    device = Device(torch.device("cpu"), precision)
    return Learner(model, settings=recipe.stage["sentence"], regulariser_weight=0.0, device=device)


def compare(size: str, name: str, batches: list[Batch], pairs: int) -> float:
    """Print the times of both forms; return the speed with all dropouts as a share of the other's."""
    forms = {"with": EVERYWHERE, "without": OUTSIDE}
    works = {form: _steps(make_learner(size, rates, PRECISIONS[name]), batches) for form, rates in forms.items()}
    found = time_rounds(works, pairs)
    print(f"{size:<6} {name:<9} {found.describe('with', 'without')}", flush=True)
    return found.speed("with", "without")


def _steps(learner: Learner, batches: list[Batch]) -> Work:
    """Return a function that takes a step on the next batch; steps on all of them come first, as a warm-up."""
    for batch in batches:
        learner.step(1, batch)
    coming = cycle(batches)
    return lambda: learner.step(2, next(coming))


def profile(size: str, name: str, batches: list[Batch]) -> None:
    """Print the operations that take the most time, of both forms."""
    for title, rates in (("everywhere", EVERYWHERE), ("without the two", OUTSIDE)):
        learner = make_learner(size, rates, PRECISIONS[name])
        learner.step(1, batches[0])
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as found:
            for batch in batches:
                learner.step(2, batch)
        table = found.key_averages().table(sort_by="self_cpu_time_total", row_limit=25, max_name_column_width=40)
        print(f"{size}, {name}, dropout {title}\n{table}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="passes over the batches, at least 5")
    parser.add_argument("--batches", type=int, default=6, help="number of distinct batches")
    parser.add_argument("--tokens", type=int, default=1500, help="target tokens of a batch")
    parser.add_argument("--sizes", choices=RECIPES, nargs="+", default=list(RECIPES), help="sizes to measure")
    parser.add_argument("--dtypes", choices=PRECISIONS, nargs="+", default=list(PRECISIONS), help="number formats")
    parser.add_argument("--threads", type=int, default=2, help="threads of torch")
    parser.add_argument("--profile", action="store_true", help="profile a step instead")
    parser.add_argument("--data", type=Path, help="a prepared corpus to take sentences from")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    limit_kernel_caches()
    keep_pages()
    ratios = {}
    for size in arguments.sizes:
        batches, _ = make_batches(arguments.data, arguments.tokens, arguments.batches, RECIPES[size][1])
        for name in arguments.dtypes:
            if arguments.profile:
                profile(size, name, batches)
            else:
                pairs = max(5, arguments.repeats) * len(batches)
                ratios[f"{size}_{name}"] = round(compare(size, name, batches, pairs), 3)
    if ratios:
        print(json.dumps(ratios))


if __name__ == "__main__":
    main()
