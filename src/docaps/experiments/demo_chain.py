"""The demo: the whole chain on mini-documents, from nothing to a report.

demo.json        what was asked for: seed and recipe settings
corpus/          mini-documents and contrastive items, as text
prepared/        the same as token ids
runs/sentence    the sentence-level Transformer
runs/document    Transformer + QCN + regularisation, started from it
report.html      the page
summary.json     the numbers; written last, so it marks a finished demo
"""

import shlex
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docaps import progress
from docaps.config import Recipe
from docaps.corpus.minidocs import generate_corpus
from docaps.errors import RunError
from docaps.experiments.assess import assess
from docaps.experiments.minicorpus import items_path, labels_of_test, prepare_once, write_once
from docaps.experiments.requests import changed_settings, is_same_request
from docaps.files import read_json, write_json
from docaps.report.page import write_report
from docaps.runs.card import write_card
from docaps.runs.directory import Run
from docaps.runs.results import read_results
from docaps.training.stages import train_recipe

STAGES = ("sentence", "document")
DIRECTORY = Path("runs/demo")
DOCUMENTS = 8000
"""Where a demo goes, and how many documents it learns from, if nothing is said."""


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """The places of a demo directory."""

    path: Path

    @property
    def request(self) -> Path:
        """What the demo was asked for."""
        return self.path / "demo.json"

    @property
    def summary(self) -> Path:
        """The numbers; there only when the demo is finished."""
        return self.path / "summary.json"

    @property
    def report(self) -> Path:
        """The page."""
        return self.path / "report.html"

    @property
    def text(self) -> Path:
        """The mini-documents as text."""
        return self.path / "corpus"

    @property
    def items(self) -> Path:
        """The contrastive items."""
        return items_path(self.text)

    def run(self, stage: str) -> Run:
        """The run of one stage."""
        return Run(self.path / "runs" / stage)

    def state(self) -> dict[str, bool]:
        """Say for each part of the demo whether it is there."""
        return {
            "mini-documents": self.items.exists(),
            "prepared corpus": (self.path / "prepared" / "manifest.json").exists(),
            "sentence model": self.run("sentence").finished,
            "document model": self.run("document").finished,
            "report": self.report.exists(),
            "summary": self.summary.exists(),
        }


def check_folder(folder: DemoFolder, recipe: Recipe, documents: int, *, resume: bool, overwrite: bool) -> None:
    """Make room for a demo, or refuse if that would destroy or mix up what is there."""
    request = {"recipe": recipe.model_dump(), "documents": documents}
    if overwrite and folder.request.exists():
        shutil.rmtree(folder.path)
    if not folder.path.exists() or not any(folder.path.iterdir()):
        write_json(folder.request, request)
        return
    if not folder.request.exists():
        raise RunError("exists and is not a demo: choose another --dir", path=folder.path)
    if not resume:
        there = ", ".join(name for name, done in folder.state().items() if done) or "nothing finished"
        raise RunError(
            f"an unfinished demo is here ({there}). Go on: --resume; start over: --overwrite", path=folder.path
        )
    if not is_same_request(read_json(folder.request, error=RunError), recipe, {"documents": documents}):
        raise RunError(
            "the demo here has another seed or other settings: start over with --overwrite", path=folder.path
        )


def run_demo(folder: DemoFolder, recipe: Recipe, documents: int, *, docaps: str) -> dict[str, Any]:
    """Run whatever of the chain is not there yet; return the summary."""
    clock = Clock()
    corpus = generate_corpus(documents=documents, seed=recipe.seed)
    write_once(folder.text, corpus)
    clock.lap("corpus")
    store = prepare_once(folder.text, recipe.preparation, folder.path / "prepared")
    clock.lap("prepare")
    for stage in STAGES:
        train_recipe(recipe, store, folder.path / "runs", stages=[stage])
        clock.set(f"train_{stage}", float(folder.run(stage).read()["seconds"]))
    clock.lap("train")
    for stage in STAGES:
        progress.say(f"assess the {stage} model")
        assess(folder.run(stage), store, labels=labels_of_test(corpus))
        write_card(folder.run(stage), command=command_for(folder, recipe, documents))
    clock.lap("assess")
    _write_page(folder, recipe, documents, docaps)
    clock.lap("report")
    summary = {**summarise(folder), "seed": recipe.seed, "seconds": clock.seconds()}
    write_json(folder.summary, summary)
    return summary


def command_for(folder: DemoFolder, recipe: Recipe, documents: int, docaps: str = "docaps") -> str:
    """Return the command that makes a demo."""
    words = ["demo", "--seed", str(recipe.seed)]
    words += [] if folder.path == DIRECTORY else ["--dir", str(folder.path)]
    words += [] if documents == DOCUMENTS else ["--documents", str(documents)]
    return f"{docaps} {shlex.join([*words, *changed_settings(recipe)])}"


class Clock:
    """Seconds spent on each part of the chain."""

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()
        self._laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """Note the time since the last lap."""
        now = time.monotonic()
        self._laps[name], self._last = now - self._last, now

    def set(self, name: str, seconds: float) -> None:
        """Note a time measured elsewhere."""
        self._laps[name] = seconds

    def seconds(self) -> dict[str, float]:
        """Return all laps and the total."""
        laps = {**self._laps, "total": time.monotonic() - self._start}
        return {name: round(value, 1) for name, value in laps.items()}


def _write_page(folder: DemoFolder, recipe: Recipe, documents: int, docaps: str) -> None:
    """Write the report on both models."""
    results = [read_results(folder.run(stage).path) for stage in STAGES]
    model, items = (shlex.quote(str(path)) for path in (folder.run("document").path, folder.items))
    commands = [
        ("Make all of this again", f"{command_for(folder, recipe, documents, docaps)} --overwrite"),
        ("Translate a document of your own", f"{docaps} translate {model} < document.txt"),
        ("Measure context-dependent choices", f"{docaps} contrast {model} {items}"),
    ]
    write_report(
        folder.report,
        results,
        title="Does the model use context?",
        subtitle=f"docaps demo on mini-documents, seed {recipe.seed}",
        commands=commands,
    )


def summarise(folder: DemoFolder) -> dict[str, Any]:
    """Gather the numbers of both models and the level of chance."""
    models = {stage: _numbers(folder.run(stage)) for stage in STAGES}
    contrastive = read_json(folder.run("document").assessment / "contrastive.json", error=RunError)
    return {**models, "chance": contrastive["chance"]}


def _numbers(run: Run) -> Mapping[str, Any]:
    """Return BLEU and contrastive accuracy of one run."""
    scores = read_json(run.assessment / "scores.json", error=RunError)
    contrastive = read_json(run.assessment / "contrastive.json", error=RunError)
    return {
        "bleu": scores["bleu"]["score"],
        "bleu_signature": scores["bleu"]["signature"],
        "contrastive": contrastive["accuracy"],
    }
