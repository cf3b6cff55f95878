"""Measure runs of a grid: all scores of both held-out parts, with signatures; probes in training, and its speed.

results.json              scores of dev and test, the corpus (the paper's Table 1), the machine
counts.json               counts of each test document, from which scores and their significance follow
held-out/dev/             translations of the development part, and their counts; of trials, likelihoods too
assessment/               translations of the test part, contrastive accuracy, routing (as for any run)

The model was chosen on the development part, in training; the test part is translated once.
"""

import os
import platform
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from docaps.batches.prefetch import StepData, load_steps
from docaps.batches.sampling import make_sampler
from docaps.batches.stage_signals import read_signals
from docaps.config import DecodingSettings, Recipe, SystemSettings
from docaps.corpus.contrastive import read_items
from docaps.corpus.documents import Document, all_sentences, count_sentences
from docaps.corpus.store import Store
from docaps.errors import RunError
from docaps.evaluation import EvaluationOptions
from docaps.evaluation.compare import choose_metrics
from docaps.evaluation.contrastive import accuracy
from docaps.evaluation.intervals import Table
from docaps.evaluation.significance import score_of
from docaps.evaluation.translation_metrics import Metric, bleu
from docaps.experiments.assess import Labels, assess, translate_part
from docaps.files import replacing_directory, write_json
from docaps.model.builders import build_model, dropout_rates
from docaps.model.interface import TranslationModel
from docaps.model.mixed_precision import choose_device, choose_precision
from docaps.runs.directory import HELD_OUT_FILES, Run
from docaps.runs.measured_results import read_measured
from docaps.runs.results import read_scores, read_translations
from docaps.training.distributed import SINGLE_PROCESS, ProcessGroup
from docaps.training.learner import Learner
from docaps.training.objective import Device, Probe
from docaps.translation.scoring import score_contrastive
from docaps.translation.trained_model import TrainedModel, load_trained
from docaps.translation.translator import Translator

METRICS = ("bleu", "dbleu", "chrf", "meteor")
VERSION = 1
PROBED_ITEMS = 7
"""Every seventh contrastive item is scored in training: the kinds come in rounds of 6, 24 and 30 items, and a divisor
of those would select the same few kinds again and again."""
LEARNT = 0.9
ROUNDS, STEPS = 5, 4
"""Measurements of training speed, and steps of each."""


def measure(
    run: Run,
    store: Store,
    *,
    labels: Labels | None = None,
    command: str = "",
    trial: bool = False,
    dev: bool = True,
) -> None:
    """Measure a finished run (a trial: on the development part only) once; `results.json` is written last."""
    if run.results.exists():
        return
    parts = {}
    if not trial:
        assess(run, store, labels=labels)
        parts["test"] = run.assessment
    if trial or (dev and store.has("dev") and store.has("test")):
        parts["dev"] = run.held_out_dev
        if not (run.held_out_dev / "translations.jsonl").exists():
            with replacing_directory(run.held_out_dev, own=HELD_OUT_FILES, error=RunError) as directory:
                translate_part(run, load_trained(run.path), store, "dev", directory, {})
    _write_results(run, store, parts, command)


def measure_test_part(run: Run, store: Store) -> None:
    """Measure a run outside grids: the test part only, once for each corpus."""
    assess(run, store)
    if measured_hash(run) != store.hash:
        _write_results(run, store, {"test": run.assessment}, str(run.read().get("command") or ""))


def measured_hash(run: Run) -> str | None:
    """Return the hash of the corpus that a run was measured on; None if it was not measured."""
    found = read_measured(run)
    return str(found["data"]["hash"]) if found else None


def _write_results(run: Run, store: Store, parts: Mapping[str, Path], command: str) -> None:
    """Score the translations in folders, and write the scores with all that they depend on."""
    metrics, found = metrics_of(str(store.manifest["settings"]["target_language"])), {}
    for part, folder in parts.items():
        counts = count_translations(folder / "translations.jsonl", metrics)
        write_json(run.counts(part), {key: table.tolist() for key, table in counts.items()})
        scores = {
            one.key: {"name": one.name, "score": score_of(counts[one.key], one.score), "signature": one.signature}
            for one in metrics
        }
        known = read_scores(folder / "scores.json")
        found[part] = {**known, "scores": scores}
    description = run.read()
    results = {
        "version": VERSION,
        **{key: description.get(key) for key in ("name", "system", "seed", "parameters", "steps", "seconds")},
        "command": command,
        "parts": found,
        "data": describe_data(store),
        "machine": describe_machine(),
    }
    write_json(run.results, results)


def metrics_of(language: str) -> list[Metric]:
    """Return the metrics of experiments that exist for a target language."""
    supported = choose_metrics(EvaluationOptions(language=language))
    return [metric for metric in supported if metric.key in METRICS]


def count_translations(path: Path, metrics: Sequence[Metric]) -> dict[str, Table]:
    """Return the counts of each translated document in a file, by metric."""
    documents = read_translations(path)
    sides = [Document(one.hypothesis) for one in documents], [Document(one.reference) for one in documents]
    return {metric.key: metric.count(*sides) for metric in metrics}


def describe_data(store: Store) -> dict[str, Any]:
    """Return the sizes of the corpus, as in the paper's Table 1, and how it was prepared."""
    settings, counts = store.manifest["settings"], store.manifest["counts"]
    parts = {
        name: {**count, "average": count["sentences"] / max(count["documents"], 1)}
        for name, count in counts.items()
        if name != "extra"
    }
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
    information = Path("/proc/cpuinfo")
    text = information.read_text(encoding="utf-8") if information.exists() else ""
    processor = re.search(r"^model name[^:\n]*:(.*)", text, re.MULTILINE)
    return {
        "system": platform.platform(),
        "processor": processor[1].strip() if processor else platform.processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def count_held_out(store: Store) -> dict[str, int]:
    """Count the sentences of each part that runs are measured on."""
    return {part: count_sentences(store.raw(part)) for part in ("dev", "test") if store.has(part)}


def watch_bleu(recipe: Recipe, store: Store, team: ProcessGroup = SINGLE_PROCESS) -> Probe | None:
    """Return a probe that measures BLEU on the development part; None if no stage of the recipe selects by it."""
    if all(stage.best_by != "dev_bleu" for stage in recipe.stage.values()):
        return None
    decoding, documents = recipe.decoding.model_copy(update={"beam": 1}), store.raw("dev")
    references = [sentence for document in documents for sentence in document.target]

    def probe(model: TranslationModel, device: Device) -> Mapping[str, float]:
        trained = TrainedModel(model.eval(), store.codec, decoding, device.place, device.precision)
        own = documents[team.rank :: team.size]
        translated = Translator(trained).translate([Document(document.source) for document in own])
        shares = team.gather([Document(tuple(sentence.text for sentence in found)) for found in translated])
        hypotheses = [shares[number % team.size][number // team.size] for number in range(len(documents))]
        return {"dev_bleu": bleu(list(all_sentences(hypotheses)), references).score}

    return probe


def watch_choices(store: Store, decoding: DecodingSettings) -> Probe:
    """Return a probe that measures the share of right choices on some of the corpus's contrastive items."""
    if store.contrastive is None:
        raise RunError("the corpus has no contrastive items", path=store.path)
    items = read_items(store.contrastive)[::PROBED_ITEMS]

    def probe(model: TranslationModel, device: Device) -> Mapping[str, float]:
        trained = TrainedModel(model.eval(), store.codec, decoding, device.place, device.precision)
        return {"choices": accuracy(items, score_contrastive(trained, items)).all}

    return probe


def steps_to_learn(curve: Sequence[tuple[int, float]], learnt: float = LEARNT) -> int | None:
    """Return the first step at which the share of right choices was at least `learnt`; None if there is none."""
    return next((step for step, share in curve if share >= learnt), None)


class _Pace:
    """A fresh model in training, to measure its speed."""

    def __init__(self, recipe: Recipe, system: SystemSettings, stage: str, store: Store) -> None:
        place, settings = choose_device(), recipe.stage[stage]
        model = build_model(system, vocabulary=len(store.codec.vocabulary), dropout=dropout_rates(settings))
        model.start_training()
        device = Device(place, choose_precision(recipe.precision, place))
        weight, kind = system.regulariser.weight, settings.sampling_of(model.sampling)
        trained = settings.model_copy(update={"freeze_inherited_steps": 0})  # a fresh model inherits nothing
        self._learner = Learner(model, settings=trained, regulariser_weight=weight, device=device)
        data = store.split("train")
        signals = read_signals(settings, store, data, seed=recipe.seed)
        sampler = make_sampler(kind, data, budget=settings.batch_tokens, seed=recipe.seed, signals=signals)
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
    """Return a system's training speed as a share of the sentence model's: the median of paired measurements."""
    # Both are measured in turn, in target tokens a second, each with batches of its own.
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
