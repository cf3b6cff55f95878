"""Measure a run of a grid: all scores of both held-out parts, with signatures, and training speed.

results.json              scores of dev and test, the corpus (the paper's Table 1), the machine
counts.json               counts of each test document, from which scores and their significance follow
held-out/dev/             translations of the development part, and their counts; of trials, likelihoods too
assessment/               translations of the test part, contrastive accuracy, routing (as for any run)

The model was chosen on the development part, in training; the test part is translated once.
"""

import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from docaps.batches.prefetch import StepData, load_steps
from docaps.batches.sampling import make_sampler
from docaps.config import Recipe, SystemSettings
from docaps.corpus.documents import Document, count_sentences
from docaps.corpus.store import Store
from docaps.errors import RunError
from docaps.evaluation import EvaluationOptions
from docaps.evaluation.compare import choose_metrics
from docaps.evaluation.intervals import Table
from docaps.evaluation.translation_metrics import Metric
from docaps.experiments.assess import Labels, assess, translate_part, translating_model
from docaps.files import read_json, replacing_directory, write_json
from docaps.model.builders import build_model
from docaps.model.mixed_precision import choose_device, choose_precision
from docaps.runs.directory import Run
from docaps.runs.results import read_translations
from docaps.training.learner import Learner
from docaps.training.objective import Device
from docaps.translation.trained_model import load_trained

METRICS = ("bleu", "dbleu", "chrf", "meteor")
VERSION = 1
ROUNDS, STEPS = 5, 4
"""Measurements of training speed, and steps of each."""


def measure(run: Run, store: Store, *, labels: Labels | None = None, command: str = "", trial: bool = False) -> None:
    """Measure a finished run once, from its translations to `results.json`, which is written last.

    A trial is measured on the development part only.
    """
    if run.results.exists():
        return
    parts = {}
    if not trial:
        assess(run, store, labels=labels)
        parts["test"] = run.assessment
    if trial or (store.has("dev") and store.has("test")):
        parts["dev"] = _translate_dev(run, store)
    _write_results(run, store, parts, command)


def measure_test_part(run: Run, store: Store) -> None:
    """Measure a run outside grids: the test part only, once for each corpus."""
    assess(run, store)
    if measured_hash(run) != store.hash:
        _write_results(run, store, {"test": run.assessment}, str(run.read().get("command") or ""))


def measured_hash(run: Run) -> str | None:
    """Return the hash of the corpus that a run was measured on; None if it was not measured."""
    found = read_json(run.results, error=RunError) if run.results.exists() else {}
    return str(found["data"]["hash"]) if found.get("data", {}).get("hash") else None


def _write_results(run: Run, store: Store, parts: Mapping[str, Path], command: str) -> None:
    """Score the translations in folders, and write the scores with all that they depend on."""
    metrics, found = _metrics(store), {}
    for part, folder in parts.items():
        found[part], counts = _score(metrics, folder)
        write_json(run.counts(part), {key: table.tolist() for key, table in counts.items()})
    description = run.read()
    write_json(
        run.results,
        {
            "version": VERSION,
            **{key: description.get(key) for key in ("name", "system", "seed", "parameters", "steps", "seconds")},
            "command": command,
            "parts": found,
            "data": describe_data(store),
            "machine": describe_machine(),
        },
    )


def _translate_dev(run: Run, store: Store) -> Path:
    """Translate the development part, once."""
    folder = run.held_out_dev
    if not (folder / "translations.jsonl").exists():
        trained = load_trained(run.path)
        with replacing_directory(folder) as directory:
            model = translating_model(run, trained, trained.decoding)
            translate_part(model, trained.decoding, "dev", store.raw("dev"), directory, {})
    return folder


def _metrics(store: Store) -> list[Metric]:
    """Choose the metrics that support the corpus's language."""
    language = str(store.manifest["settings"]["target_language"])
    known = {metric.key for metric in choose_metrics(EvaluationOptions(language=language))}
    return choose_metrics(EvaluationOptions(tuple(key for key in METRICS if key in known), language))


def _score(metrics: Sequence[Metric], folder: Path) -> tuple[dict[str, Any], dict[str, Table]]:
    """Score the translations in a folder; return scores and counts."""
    documents = read_translations(folder / "translations.jsonl")
    hypotheses = [Document(document.hypothesis) for document in documents]
    references = [Document(document.reference) for document in documents]
    counts = {metric.key: metric.count(hypotheses, references) for metric in metrics}
    stored = read_json(folder / "scores.json", error=RunError)
    scores = {
        metric.key: {
            "name": metric.name,
            "score": float(metric.score(counts[metric.key].sum(axis=0, keepdims=True))[0]),
            "signature": metric.signature,
        }
        for metric in metrics
    }
    known = {key: stored[key] for key in ("set", "documents", "sentences", "seconds", "search")}
    return {**known, "scores": scores}, counts


def describe_data(store: Store) -> dict[str, Any]:
    """Return the sizes of the corpus, as in the paper's Table 1, and how it was prepared."""
    counts: Mapping[str, Mapping[str, int]] = store.manifest["counts"]
    parts = {
        name: {**count, "average": count["sentences"] / max(count["documents"], 1)}
        for name, count in counts.items()
        if name != "extra"
    }
    settings = store.manifest["settings"]
    return {
        **{key: settings[key] for key in ("source_language", "target_language")},
        "hash": store.hash,
        "vocabulary": len(store.codec.vocabulary),
        "parts": parts,
        "preparation": settings,
        "command": store.manifest.get("command"),
    }


def describe_machine() -> dict[str, Any]:
    """Return what the numbers were measured on."""
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def count_held_out(store: Store) -> dict[str, int]:
    """Count the sentences of each part that runs are measured on."""
    return {part: count_sentences(store.raw(part)) for part in ("dev", "test") if store.has(part)}


class _Pace:
    """A fresh model in training, to measure its speed."""

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
        """Train for some steps and return their target tokens a second."""
        steps = [next(self._steps) for _ in range(STEPS)]
        start = time.perf_counter()
        for step in steps:
            self._taken += 1
            self._learner.compute(self._taken, step)
            self._learner.apply(self._taken)
        return sum(step.tokens for step in steps) / (time.perf_counter() - start)


def relative_speed(recipe: Recipe, stage: str, store: Store) -> float:
    """Return a system's training speed as a share of the sentence model's: the median of paired measurements.

    Both are measured in turn, in target tokens a second, each with batches of its own.
    """
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
    """Return how long a step of a stage takes on this machine; a first few steps warm up."""
    with torch.random.fork_rng():
        pace = _Pace(recipe, recipe.system(stage), stage, store)
        pace.measure()
        start = time.perf_counter()
        pace.measure()
        return (time.perf_counter() - start) / STEPS * recipe.stage[stage].accumulate
