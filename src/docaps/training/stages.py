"""Stages: each stage of a recipe trains one system and leaves one run directory."""

import math
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import torch

from docaps import progress
from docaps.batches.batch import Batch, collate
from docaps.batches.sampling import Indices, LengthSampler
from docaps.batches.windows import window_of
from docaps.config import Recipe
from docaps.corpus.store import Split, Store
from docaps.corpus.vocabulary import PAD
from docaps.errors import ConfigError, CorpusError, RunError
from docaps.model.checkpoint import save_weights, take_over
from docaps.model.interface import TranslationModel
from docaps.model.precision import autocast, choose_device, choose_precision
from docaps.model.variants import build_model, count_parameters
from docaps.runs import FINISHED, INTERRUPTED, TRAINING, MetricsLog, Run, now, open_run, versions
from docaps.training.objective import compute_loss
from docaps.training.trainer import Device, Trainer

Probe = Callable[[TranslationModel, Device], Mapping[str, float]]
"""Something else to measure whenever the model is validated; its numbers join the log."""


def train_recipe(
    recipe: Recipe,
    store: Store,
    out: Path,
    *,
    stages: Sequence[str] | None = None,
    overwrite: bool = False,
    probe: Probe | None = None,
) -> list[Run]:
    """Train the stages of a recipe in order; stages that are finished with the same settings are kept."""
    chosen = list(recipe.stage) if stages is None else [name for name in recipe.stage if name in stages]
    unknown = [name for name in stages or () if name not in recipe.stage]
    if unknown or not chosen:
        raise ConfigError(f"no stage {', '.join(unknown)!r} in the recipe: it has {', '.join(recipe.stage) or 'none'}")
    return [_train_or_keep(recipe, name, store, out, overwrite, probe) for name in chosen]


def _train_or_keep(recipe: Recipe, name: str, store: Store, out: Path, overwrite: bool, probe: Probe | None) -> Run:
    """Train a stage unless the very same one is finished."""
    run = Run(out / name)
    if run.finished and not overwrite:
        _check_same(run, recipe, name, store)
        progress.say(f"{run.path}: finished already, kept")
        return run
    if run.path.exists() and not run.description.exists() and any(run.path.iterdir()):
        raise RunError("exists and is not a run directory: choose another --out", path=run.path)
    shutil.rmtree(run.path, ignore_errors=True)
    return train_stage(recipe, name, store, run, probe)


def _check_same(run: Run, recipe: Recipe, name: str, store: Store) -> None:
    """Refuse to take a finished run for another one."""
    found = run.read()
    wanted = {"settings": _settings(recipe, name), "seed": recipe.seed}
    different = [key for key, value in wanted.items() if found.get(key) != value]
    if found.get("corpus", {}).get("hash") != store.hash:
        different.append("corpus")
    if different:
        raise RunError(
            f"a finished run with other {' and '.join(different)} is here: choose another --out or give --overwrite",
            path=run.path,
        )


def train_stage(recipe: Recipe, name: str, store: Store, run: Run, probe: Probe | None = None) -> Run:
    """Train one stage of a recipe and leave it in a run directory."""
    model, inherited = _initialised_model(recipe, name, store, run.path.parent)
    device = Device(choose_device(), choose_precision(recipe.precision, choose_device()))
    description = _describe(recipe, name, store, model, device)
    run.write({**description, "status": TRAINING})
    store.codec.save(run.text)
    start = time.monotonic()
    try:
        _train(recipe, name, store, model, device, run, inherited, probe)
    except BaseException:
        run.write({**description, "status": INTERRUPTED})
        raise
    save_weights(model, run.weights)
    run.write({**description, "status": FINISHED, "seconds": round(time.monotonic() - start, 1)})
    return run


def _initialised_model(recipe: Recipe, name: str, store: Store, out: Path) -> tuple[TranslationModel, tuple[str, ...]]:
    """Build the stage's model, with the weights of the stage it starts from; return their names as well."""
    stage = recipe.stage[name]
    vocabulary = len(store.codec.vocabulary)
    model = build_model(recipe.system(name), vocabulary=vocabulary, dropout=stage.dropout, seed=recipe.seed)
    if stage.init_from is None:
        return model, ()
    report = take_over(model, open_run(out / stage.init_from).weights)
    progress.say(f"{name} starts from {stage.init_from}: {report}")
    return model, report.taken


def _describe(recipe: Recipe, name: str, store: Store, model: TranslationModel, device: Device) -> dict[str, object]:
    """Write down all that makes the run what it is."""
    stage = recipe.stage[name]
    return {
        "name": name,
        "system": stage.system,
        "seed": recipe.seed,
        "steps": stage.steps,
        "parameters": count_parameters(model),
        "precision": str(device.precision).removeprefix("torch."),
        "device": str(device.place),
        "created": now(),
        "init_from": stage.init_from,
        "settings": _settings(recipe, name),
        "versions": versions(),
        "corpus": {"path": str(store.path.resolve()), "hash": store.hash},
    }


def _settings(recipe: Recipe, name: str) -> dict[str, object]:
    """Return the resolved settings of a stage."""
    return {
        "recipe": recipe.name,
        "system": recipe.system(name).model_dump(),
        "stage": recipe.stage[name].model_dump(),
        "decoding": recipe.decoding.model_dump(),
    }


def _train(
    recipe: Recipe,
    name: str,
    store: Store,
    model: TranslationModel,
    device: Device,
    run: Run,
    inherited: Collection[str],
    probe: Probe | None,
) -> None:
    """Run the trainer over the corpus."""
    stage = recipe.stage[name]
    data = store.split("train", extra=stage.extra)
    sampler = LengthSampler(data, budget=stage.batch_tokens, seed=recipe.seed)
    if not len(sampler):
        raise CorpusError("the training part has no pair with words on both sides", path=store.path)
    log = MetricsLog(run.metrics)

    def measure() -> Mapping[str, float]:
        numbers = validate(model, store.split("dev"), device, budget=stage.batch_tokens)
        with progress.silent():
            return numbers if probe is None else {**numbers, **probe(model, device)}

    trainer = Trainer(
        model,
        settings=stage,
        regulariser_weight=recipe.regulariser.weight,
        device=device,
        validate=measure,
        log=log.append,
        inherited=inherited,
    )
    try:
        with torch.random.fork_rng():
            torch.manual_seed(recipe.seed)
            trainer.train(_batches(data, sampler.forever(), model.history), f"train {name}")
    finally:
        log.close()


def _batches(data: Split, batches: Iterator[Indices], history: int) -> Iterator[Batch]:
    """Cut the windows of each batch out of the corpus."""
    for indices in batches:
        yield collate([window_of(data, int(index), history) for index in indices], history)


def validate(model: TranslationModel, data: Split, device: Device, *, budget: int) -> Mapping[str, float]:
    """Return loss and perplexity on the development part, per token, without label smoothing."""
    sampler = LengthSampler(data, budget=budget, seed=0)
    total = tokens = 0.0
    model.eval()
    for batch in _batches(data, iter(sampler.in_order()), model.history):
        with torch.inference_mode(), autocast(device.place, device.precision):
            moved = batch.to(device.place)
            target = moved.translations
            loss = compute_loss(model(moved), target, label_smoothing=0.0, regulariser_weight=0.0)
        count = float((target != PAD).sum())
        total, tokens = total + float(loss.cross_entropy) * count, tokens + count
    mean = total / max(tokens, 1.0)
    return {"dev_loss": mean, "dev_perplexity": math.exp(min(mean, 700))}
