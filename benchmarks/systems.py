"""Training speed of the rivals as a share of the plain Transformer's, and the most that their arithmetic allows.

Hierarchical attention and selective attention at the encoder, and context attention with gates, train on consecutive
sentences of a document at the sizes of a recipe, in turn with the plain Transformer. The ceiling is the plain model's
floating-point operations as a share of the system's, counted in one step. The last line is JSON: `NAME_keeps` and
`NAME_ceiling` for each number format.
"""

import argparse
import json
from collections.abc import Mapping
from functools import partial

import torch
from torch.utils.flop_counter import FlopCounterMode

from docaps.batches.batch import Batch
from docaps.config import SystemName, bundled_recipes, load_recipe
from docaps.memory import limit_kernel_caches
from docaps.model.builders import build_model, dropout_rates
from docaps.training.learner import Learner
from docaps.training.objective import Device, count_tokens
from measuring import Work, time_rounds
from step import make_document

PLAIN: SystemName = "transformer"
SYSTEMS: Mapping[str, tuple[SystemName, tuple[str, ...]]] = {
    "han": ("han", ("han.side=encoder",)),
    "san": ("san", ("san.side=encoder", "san.mode=online")),
    "zhang": ("zhang", ()),
    "qcn": ("qcn", ()),
    "qcn+reg": ("qcn+reg", ()),
}
"""Systems by their names in the output, and their settings."""
VOCABULARIES = {"paper": 30_000, "minidocs": 4_000}


def make_step(recipe: str, system: SystemName, changes: tuple[str, ...], precision: torch.dtype, batch: Batch) -> Work:
    """Return a training step of a system on a batch."""
    loaded = load_recipe(bundled_recipes()[recipe], list(changes))
    stage = loaded.stage["document"]
    chosen = loaded.system("document").model_copy(update={"name": system})
    model = build_model(chosen, vocabulary=VOCABULARIES[recipe], dropout=dropout_rates(stage), seed=1)
    learner = Learner(model, settings=stage, regulariser_weight=1.0, device=Device(torch.device("cpu"), precision))
    return partial(learner.step, 1, batch)


def operations_of(step: Work) -> int:
    """Count the floating-point operations of the products in a step."""
    step()
    with FlopCounterMode(display=False) as counter:
        step()
    return int(counter.get_total_flops())


def compare(arguments: argparse.Namespace, precision: torch.dtype) -> dict[str, float]:
    """Train each system in turn with the plain one; print and return speeds and ceilings as shares of its."""
    batch = make_document(arguments.tokens, vocabulary=VOCABULARIES[arguments.recipe])
    usual = make_step(arguments.recipe, PLAIN, (), precision, batch)
    operations = operations_of(usual)
    name, ratios = str(precision).removeprefix("torch."), dict[str, float]()
    print(f"{name}, {count_tokens(batch)} target tokens of consecutive sentences", flush=True)
    for key in arguments.systems:
        step = make_step(arguments.recipe, *SYSTEMS[key], precision, batch)
        ceiling = operations / operations_of(step)
        found = time_rounds({PLAIN: usual, key: step}, arguments.repeats)
        print(f"  {found.describe(key, PLAIN)}; its operations allow {ceiling:.3f}", flush=True)
        ratios |= {f"{key}_{name}_keeps": found.speed(key, PLAIN), f"{key}_{name}_ceiling": ceiling}
    return ratios


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7, help="interleaved repeats, at least 5")
    parser.add_argument("--recipe", choices=VOCABULARIES, default="minidocs", help="whose sizes the models have")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), help="what is measured")
    parser.add_argument("--tokens", type=int, default=2000, help="source and target tokens of a batch")
    parser.add_argument("--threads", type=int, default=2, help="threads of torch")
    parser.add_argument("--data", help="accepted for uniformity; this benchmark needs no text")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    limit_kernel_caches()
    ratios: dict[str, float] = {}
    for precision in (torch.float32, torch.bfloat16):
        ratios |= compare(arguments, precision)
    print(json.dumps({name: round(ratio, 3) for name, ratio in ratios.items()}))


if __name__ == "__main__":
    main()
