"""The demo: the whole chain on mini-documents, from nothing to a report.

demo.json        the request: seed and recipe settings
corpus/          mini-documents and contrastive items, as text
prepared/        the same as token ids
runs/sentence    the sentence-level Transformer
runs/document    Transformer + QCN + regularisation, started from it
report.html      the page
summary.json     the numbers; written last, so it marks a finished demo
"""

import json
import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from docaps import progress
from docaps.config import Recipe, load_recipe, recipe_path
from docaps.corpus.minidocs import generate_corpus
from docaps.corpus.minidocs.generation import FILES
from docaps.corpus.store import STORE_FILES
from docaps.errors import RunError
from docaps.experiments import DEMO_DIRECTORY, DOCUMENTS
from docaps.experiments.assess import assess
from docaps.experiments.grid import describe_differences, list_differences
from docaps.experiments.minicorpus import ITEMS, labels_of_test, prepare_once, write_once
from docaps.files import foreign_files, read_json, remove_files, remove_leftovers, write_json
from docaps.runs.card import write_card
from docaps.runs.directory import LOCK, RUN_FILES, Run
from docaps.training.stages import train_recipe

STAGES = ("sentence", "document")
FOLDERS = {"corpus": FILES, "prepared": STORE_FILES, **{f"runs/{stage}": (*RUN_FILES, LOCK) for stage in STAGES}}
"""The folders of a demo, and their files as patterns: only these are ever removed."""


class DemoFolder:
    """The paths of a demo directory; the summary exists only when the demo is finished."""

    def __init__(self, path: Path) -> None:
        self.path, self.text = path, path / "corpus"
        self.request, self.summary, self.report = (path / name for name in ("demo.json", "summary.json", "report.html"))
        self.items = self.text / ITEMS

    def run(self, stage: str) -> Run:
        """Return the run of a stage."""
        return Run(self.path / "runs" / stage)

    def state(self) -> dict[str, bool]:
        """Return for each part of the demo whether it exists."""
        return {
            "mini-documents": self.items.exists(),
            "prepared corpus": (self.path / "prepared" / "manifest.json").exists(),
            "sentence model": self.run("sentence").finished,
            "document model": self.run("document").finished,
            "report": self.report.exists(),
            "summary": self.summary.exists(),
        }


def check_folder(folder: DemoFolder, recipe: Recipe, documents: int, *, resume: bool, overwrite: bool) -> bool:
    """Prepare the folder of a demo and return whether this demo is finished; refuse to destroy or mix up demos."""
    if folder.request.exists() and overwrite:
        _clear(folder)
    elif folder.request.exists():
        _check_same(folder, recipe, documents)
        if not folder.summary.exists() and not resume:
            there = ", ".join(name for name, done in folder.state().items() if done) or "nothing finished"
            message = f"an unfinished demo is here ({there}). Go on: --resume; start over: --overwrite"
            raise RunError(message, path=folder.path)
    elif folder.path.is_file() or (folder.path.is_dir() and any(folder.path.iterdir())):
        raise RunError("exists and is not a demo: choose another --dir", path=folder.path)
    if not folder.request.exists():
        write_json(folder.request, {"recipe": recipe.model_dump(), "documents": documents})
    return folder.summary.exists()


def _check_same(folder: DemoFolder, recipe: Recipe, documents: int) -> None:
    """Refuse a folder whose demo has other settings, and say which; those that its version did not know may differ."""
    found = _read_request(folder)
    differences = list_differences(found, recipe.as_begun(found["recipe"]), {"documents": documents})
    if differences:
        state = "a finished" if folder.summary.exists() else "an unfinished"
        advice = "choose another --dir, or start over with --overwrite"
        message = f"{state} demo with another seed or other settings is here ({describe_differences(differences)})"
        raise RunError(f"{message}: {advice}", path=folder.path)


def _read_request(folder: DemoFolder) -> dict[str, Any]:
    """Read the request of a demo; refuse a file that docaps did not write."""
    found = read_json(folder.request, error=RunError)
    if not isinstance(found, dict) or not found.keys() >= {"recipe", "documents"}:
        raise RunError("does not describe a demo of docaps: choose another --dir", path=folder.request)
    return found


def _clear(folder: DemoFolder) -> None:
    """Remove the files of a demo, by name; refuse before that if one of its folders holds something else."""
    _read_request(folder)
    for name, own in FOLDERS.items():
        part = folder.path / name
        if part.is_dir() and not part.is_symlink() and (other := next(foreign_files(part, own), None)):
            message = f"holds something that is not of the demo ({other}): move it away or choose another --dir"
            raise RunError(message, path=part)
    for name in FOLDERS:
        remove_leftovers(folder.path / name)
    inside = [f"{name}/{file}" for name, own in FOLDERS.items() for file in own]
    remove_files(folder.path, [*inside, folder.summary.name, folder.report.name])
    remove_files(folder.path, [folder.request.name])  # last: without it the rest would not count as a demo


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Record how long the block takes."""
    start = time.monotonic()
    yield
    seconds[name] = time.monotonic() - start


def train_and_assess(folder: DemoFolder, recipe: Recipe, documents: int) -> dict[str, float]:
    """Run the parts of the chain that do not exist yet, up to both assessed models; return the seconds of each."""
    seconds: dict[str, float] = {}
    with timed(seconds, "corpus"):
        corpus = generate_corpus(documents=documents, seed=recipe.seed)
        write_once(folder.text, corpus)
    with timed(seconds, "prepare"):
        store = prepare_once(folder.text, recipe.preparation, folder.path / "prepared")
    with timed(seconds, "train"):
        for stage in STAGES:
            train_recipe(recipe, store, folder.path / "runs", stages=[stage])
            seconds[f"train_{stage}"] = float(folder.run(stage).read()["seconds"])
    with timed(seconds, "assess"):
        for stage in STAGES:
            progress.say(f"assess the {stage} model")
            assess(folder.run(stage), store, labels=labels_of_test(corpus))
            write_card(folder.run(stage), command=command_for(folder, recipe, documents))
    return seconds


def write_summary(folder: DemoFolder, recipe: Recipe, seconds: Mapping[str, float]) -> dict[str, Any]:
    """Write and return the numbers of both models, the level of chance and the times taken."""
    summary: dict[str, Any] = {}
    for stage in STAGES:
        files = (folder.run(stage).assessment / name for name in ("scores.json", "contrastive.json"))
        scores, contrastive = (read_json(path, error=RunError) for path in files)
        bleu = {"bleu": scores["bleu"]["score"], "bleu_signature": scores["bleu"]["signature"]}
        summary[stage] = {**bleu, "contrastive": contrastive["accuracy"]}
    total = sum(value for name, value in seconds.items() if not name.startswith("train_"))  # these are part of train
    rounded = {name: round(value, 1) for name, value in {**seconds, "total": total}.items()}
    summary |= {"chance": contrastive["chance"], "seed": recipe.seed, "seconds": rounded}
    write_json(folder.summary, summary)
    return summary


def command_for(folder: DemoFolder, recipe: Recipe, documents: int, docaps: str = "docaps") -> str:
    """Return the command that repeats a demo."""
    words = ["demo", "--seed", str(recipe.seed)]
    words += [] if folder.path == DEMO_DIRECTORY else ["--dir", str(folder.path)]
    words += [] if documents == DOCUMENTS else ["--documents", str(documents)]
    return f"{docaps} {shlex.join([*words, *changed_settings(recipe)])}"


def changed_settings(recipe: Recipe) -> list[str]:
    """Return, as options, the settings in which a recipe differs from `minidocs`, except for the seed."""
    usual = load_recipe(recipe_path("minidocs"), [f"seed={recipe.seed}"])
    changes = _differences(recipe.model_dump(mode="json"), usual.model_dump(mode="json"))
    return [word for change in changes for word in ("--set", change)]


def _differences(values: Mapping[str, Any], usual: Mapping[str, Any], table: str = "") -> Iterator[str]:
    """Iterate over the settings that differ, as `table.key=value`; None cannot be set."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _differences(value, usual.get(key, {}), f"{table}{key}.")
        elif value is not None and value != usual.get(key):
            yield f"{table}{key}={json.dumps(value, ensure_ascii=False)}"
