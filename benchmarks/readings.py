"""What each reading of the regulariser costs: a training step of `qcn+reg` at the paper's sizes.

Speed: tokens per second with a reading / those with the printed one, on the same batch and weights, in turn. `none` is
a step without the regulariser. The last line is JSON with the ratios.
"""

import argparse
import json
from functools import partial
from typing import cast

import torch

from docaps.batches.batch import Batch
from docaps.config import bundled_recipes, load_recipe
from docaps.model.regulariser import AS_PRINTED, Regulariser, RegulariserOptions
from docaps.model.transformer import Transformer
from docaps.training.learner import Learner
from measuring import time_rounds
from step import FULL, HISTORY_LENGTH, make_batch, make_learner

PRINTED = "printed"
READINGS: dict[str, RegulariserOptions | None] = {
    PRINTED: AS_PRINTED,
    "unmarked": RegulariserOptions(marks=False),
    "centred": RegulariserOptions(centred=True),
    "difference": RegulariserOptions(negatives="batch"),
    "infonce": RegulariserOptions(negatives="infonce"),
    "none": None,
}


def step(learner: Learner, network: Regulariser, options: RegulariserOptions | None, batch: Batch) -> None:
    """Take a step with another reading of the same regulariser, or without it."""
    cast(Transformer, learner.model).regulariser = None if options is None else network
    network.options = options or AS_PRINTED
    learner.step(1, batch)


def compare(tokens: int, precision: torch.dtype, repeats: int) -> dict[str, float]:
    """Return tokens per second with each reading, as a share of those with the printed one."""
    batch = make_batch(tokens, HISTORY_LENGTH)
    learner = make_learner(FULL, load_recipe(bundled_recipes()["paper"]).stage["document"], precision)
    network = learner.model.regulariser
    assert isinstance(network, Regulariser)
    works = {name: partial(step, learner, network, options, batch) for name, options in READINGS.items()}
    found = time_rounds(works, repeats)
    for name in works:
        milliseconds, share = 1000 * found.median(name), found.speed(name, PRINTED)
        print(f"{precision!s:<15} {name:<11} {milliseconds:6.0f} ms a step   {share:.3f}")
    return {name: found.speed(name, PRINTED) for name in works if name != PRINTED}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9, help="interleaved repeats, at least 5")
    parser.add_argument("--tokens", type=int, default=1500, help="source and target tokens of a batch")
    parser.add_argument("--data", help="ignored; this benchmark needs no text")
    arguments = parser.parse_args()
    ratios: dict[str, float] = {}
    for precision in (torch.float32, torch.bfloat16):
        found = compare(arguments.tokens, precision, arguments.repeats)
        word = str(precision).removeprefix("torch.")
        ratios |= {f"{name}_{word}": round(ratio, 3) for name, ratio in found.items()}
    print(json.dumps(ratios))


if __name__ == "__main__":
    main()
