"""Readings of the method compared on mini-documents: which learn what only an earlier sentence decides, and how fast.

request.json               what was asked for; another request needs another directory
seed-S/corpus, prepared    the mini-documents
seed-S/runs/sentence       the sentence model that all readings start from
seed-S/runs/READING        one document model for each reading
results.json, results.md   the numbers, and the same as a table
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docaps import progress
from docaps.config import DecodingSettings, Recipe
from docaps.corpus.contrastive import read_items
from docaps.corpus.minidocs import generate_corpus
from docaps.corpus.minidocs.phenomena import Phenomenon
from docaps.corpus.store import Store
from docaps.errors import RunError
from docaps.evaluation.contrastive import accuracy
from docaps.experiments.assess import Labels, assess
from docaps.experiments.minicorpus import labels_of_test, prepare_once, write_once
from docaps.experiments.readings import Reading, apply
from docaps.experiments.requests import changed_settings, is_same_request
from docaps.experiments.speed import relative_speed
from docaps.files import read_json, write_json, write_text_atomically
from docaps.model.interface import TranslationModel
from docaps.report.readings import as_markdown
from docaps.runs.card import write_card
from docaps.runs.directory import Run
from docaps.runs.training_log import read_metrics
from docaps.training.objective import Device, Probe
from docaps.training.stages import train_recipe
from docaps.translation.loading import TrainedModel
from docaps.translation.scoring import score_contrastive

CHECK_EVERY = 100
CHECKED_ITEMS = 7
"""In training every seventh contrastive item is scored: the kinds come in rounds of 6, 24 and 30 items, and a divisor
of those would meet the same few kinds again and again."""
LEARNT = 0.9
SPEED = "speed.json"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared: readings of one recipe, on mini-documents of some seeds with some phenomena."""

    directory: Path
    recipe: Recipe
    readings: Sequence[Reading]
    seeds: Sequence[int]
    documents: int
    phenomena: tuple[Phenomenon, ...]
    timed: bool = False
    """Whether the speed of training is measured as well."""

    @property
    def experiment(self) -> str:
        """The name of the experiment that has these rows; speed is measured of the rivals alone."""
        return "rivals" if self.timed else "routing"

    @property
    def request(self) -> Path:
        """What was asked for, but for readings and seeds, which may be added."""
        return self.directory / "request.json"

    @property
    def results(self) -> Path:
        """The file of all numbers."""
        return self.directory / "results.json"

    @property
    def table(self) -> Path:
        """The same as a Markdown table."""
        return self.directory / "results.md"

    def run(self, seed: int, name: str) -> Run:
        """The run directory of one reading (or the sentence model) with one seed."""
        return Run(self.directory / f"seed-{seed}" / "runs" / name)

    def cells(self) -> Iterator[tuple[int, Reading]]:
        """Go through all readings with all seeds."""
        return ((seed, reading) for seed in self.seeds for reading in self.readings)


def check_request(comparison: Comparison) -> dict[str, Any]:
    """Refuse to mix up comparisons of different kinds in one directory; return what tells the kinds apart."""
    recipe = comparison.recipe.model_copy(update={"seed": 0})
    names = [phenomenon.name for phenomenon in comparison.phenomena]
    others = {"documents": comparison.documents, "phenomena": names}
    there = comparison.directory
    if comparison.request.exists():
        if not is_same_request(read_json(comparison.request, error=RunError), recipe, others):
            raise RunError("a comparison with other settings is here: choose another --dir", path=there)
    elif there.exists() and (not there.is_dir() or any(there.iterdir())):
        raise RunError("exists and is not a comparison: choose another --dir", path=there)
    return {"recipe": recipe.model_dump(), **others}


def compare(comparison: Comparison) -> dict[str, Any]:
    """Train what is not trained yet, measure it, and return the numbers of all readings."""
    write_json(comparison.request, check_request(comparison))
    for seed in comparison.seeds:
        _compare_with_seed(comparison, seed)
    results = gather(comparison)
    write_json(comparison.results, results)
    write_text_atomically(comparison.table, as_markdown(results))
    return results


def _compare_with_seed(comparison: Comparison, seed: int) -> None:
    """Train and assess all readings on the mini-documents of one seed."""
    home = comparison.directory / f"seed-{seed}"
    recipe = comparison.recipe.model_copy(update={"seed": seed})
    corpus = generate_corpus(documents=comparison.documents, seed=seed, phenomena=comparison.phenomena)
    write_once(home / "corpus", corpus)
    store = prepare_once(home / "corpus", recipe.preparation, home / "prepared")
    (sentence,) = train_recipe(recipe, store, home / "runs", stages=["sentence"])
    write_card(sentence, command=command_for(comparison, seed, comparison.readings[0]))
    for number, reading in enumerate(comparison.readings, start=1):
        progress.say(f"seed {seed}, reading {number} of {len(comparison.readings)}: {reading.name}, {reading.title}")
        _train_and_assess(comparison, recipe, reading, store, labels_of_test(corpus))


def _train_and_assess(comparison: Comparison, recipe: Recipe, reading: Reading, store: Store, labels: Labels) -> None:
    """Train one reading, watching its choices, and assess it."""
    run, changed = _train(comparison, recipe, reading, store)
    assess(run, store, labels=labels)
    write_card(run)
    speed = run.assessment / SPEED
    if comparison.timed and not speed.exists():
        write_json(speed, {"share": relative_speed(changed, reading.name, store)})


def _train(comparison: Comparison, recipe: Recipe, reading: Reading, store: Store) -> tuple[Run, Recipe]:
    """Train one reading, and before it the one it starts from, each with its card; return its run and its recipe."""
    first = _train(comparison, recipe, reading.after, store)[0].path if reading.after else None
    changed = apply(reading, recipe, check_every=CHECK_EVERY)
    runs = comparison.run(recipe.seed, reading.name).path.parent
    probe = watch_choices(store, recipe.decoding)
    (run,) = train_recipe(changed, store, runs, stages=[reading.name], init_from=first, probe=probe)
    write_card(run, command=command_for(comparison, recipe.seed, reading))
    return run, changed


def command_for(comparison: Comparison, seed: int, reading: Reading) -> str:
    """Return the command that makes a run, and those it starts from."""
    names = ",".join(phenomenon.name for phenomenon in comparison.phenomena)
    words = ["experiment", comparison.experiment, "--seeds", str(seed), "--only", reading.name]
    words += ["--dir", str(comparison.directory), "--documents", str(comparison.documents), "--phenomena", names]
    return f"docaps {shlex.join([*words, *changed_settings(comparison.recipe)])}"


def watch_choices(store: Store, decoding: DecodingSettings) -> Probe:
    """Return a probe that logs the share of right choices on some of the corpus's contrastive items."""
    if store.contrastive is None:
        raise RunError("the corpus has no contrastive items", path=store.path)
    items = read_items(store.contrastive)[::CHECKED_ITEMS]

    def probe(model: TranslationModel, device: Device) -> Mapping[str, float]:
        trained = TrainedModel(model.eval(), store.codec, decoding, device.place, device.precision)
        return {"choices": accuracy(items, score_contrastive(trained, items)).all}

    return probe


def gather(comparison: Comparison) -> dict[str, Any]:
    """Read the numbers of all finished cells."""
    rows = [_row(comparison.run(seed, reading.name), seed, reading) for seed, reading in comparison.cells()]
    first = comparison.run(comparison.seeds[0], comparison.readings[0].name)
    contrastive = read_json(first.assessment / "contrastive.json", error=RunError)
    return {
        "recipe": comparison.recipe.name,
        "documents": comparison.documents,
        "phenomena": [phenomenon.name for phenomenon in comparison.phenomena],
        "steps": first.read()["steps"],
        "seeds": list(comparison.seeds),
        "check_every": CHECK_EVERY,
        "checked_items": CHECKED_ITEMS,
        "learnt": LEARNT,
        "versions": first.read()["versions"],
        "chance": contrastive["chance"],
        "items": contrastive["items"],
        "rows": rows,
    }


def _row(run: Run, seed: int, reading: Reading) -> dict[str, Any]:
    """Read the numbers of one cell."""
    description, speed = run.read(), run.assessment / SPEED
    curve = [(row["step"], row["choices"]) for row in read_metrics(run.metrics) if "choices" in row]
    return {
        "reading": reading.name,
        "title": reading.title,
        "seed": seed,
        "parameters": description["parameters"],
        "seconds": description["seconds"],
        "speed": read_json(speed, error=RunError)["share"] if speed.exists() else None,
        "bleu": read_json(run.assessment / "scores.json", error=RunError)["bleu"],
        "accuracy": read_json(run.assessment / "contrastive.json", error=RunError)["accuracy"],
        "steps_to_learn": steps_to_learn(curve),
        "curve": curve,
    }


def steps_to_learn(curve: Sequence[tuple[int, float]], learnt: float = LEARNT) -> int | None:
    """Return the first step at which the share of right choices was at least `learnt`; None if there is none."""
    return next((step for step, share in curve if share >= learnt), None)
