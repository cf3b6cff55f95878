"""Collect the results that a report shows, measuring what is missing first."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docaps.corpus.store import open_store
from docaps.errors import RunError
from docaps.experiments.aggregate import aggregate_folder
from docaps.experiments.assess import trace_chosen
from docaps.experiments.measure import measure_test_part, measured_hash
from docaps.experiments.rows import SENTENCE
from docaps.runs.card import write_card
from docaps.runs.contrastive_results import HISTORIES
from docaps.runs.directory import Run, open_run, own_corpus
from docaps.runs.grid_results import Grid, is_grid, read_grids, runs_of, sentence_models_of
from docaps.runs.results import RunResults, read_results

Places = Sequence[tuple[int, int]]
"""Documents and sentences of the test part, counted from 1."""


@dataclass(frozen=True, slots=True)
class ReportData:
    """The runs and grids of a report, the commands that reproduce them, and the models that rows start from."""

    results: list[RunResults] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)
    commands: list[tuple[str, str]] = field(default_factory=list)
    sentence_models: list[RunResults] = field(default_factory=list)


def collect(paths: Sequence[Path], *, corpus: Path | None, docaps: str, places: Places = ()) -> ReportData:
    """Read runs and grids, measuring runs that have not been measured; trace routing for the sentences at `places`."""
    found = ReportData()
    for path in paths:
        if is_grid(path):
            _add_grid(found, path, corpus, places, docaps)
        else:
            _add_run(found, open_run(path), corpus, places, docaps)
    found.commands[:0] = preparing_commands(found.results, docaps)
    found.commands.extend(pair for result in found.results for pair in _measuring_commands(result, docaps))
    return found


def _add_grid(found: ReportData, folder: Path, corpus: Path | None, places: Places, docaps: str) -> None:
    """Read the results of a grid, its runs, and the sentence models that they start from."""
    aggregate_folder(folder)  # an unfinished grid has results to show too
    grids = read_grids(folder)
    runs = [open_run(path) for path in runs_of(folder, grids)]
    for run in runs:
        check_measured(run, folder, corpus)
        write_card(run)
        _trace_routing(run, corpus, places)
    found.grids.extend(grids)
    found.results.extend(read_results(run.path) for run in runs)
    found.sentence_models.extend(read_results(path) for path in sentence_models_of(folder, grids))
    found.commands.extend(_grid_commands(grids, docaps))


def _add_run(found: ReportData, run: Run, corpus: Path | None, places: Places, docaps: str) -> None:
    """Read a run, measuring it first unless it is a row of a grid, which keeps its results."""
    if folder := grid_of(run):
        check_measured(run, folder, corpus)
    else:
        measure_test_part(run, open_store(corpus or own_corpus(run)))
    _trace_routing(run, corpus, places)
    write_card(run)
    found.results.append(read_results(run.path))
    found.commands.extend(_run_commands(found.results[-1], docaps))


def grid_of(run: Run) -> Path | None:
    """Return the folder of the grid that a run is a row of; None for other runs and for sentence models."""
    path = run.path.resolve()
    folder = path.parent.parent
    return folder if path.name != SENTENCE and is_grid(folder) else None


def check_measured(run: Run, folder: Path, corpus: Path | None) -> None:
    """Refuse a row that its grid has not measured, or measured on another corpus: only the grid measures its rows."""
    if not run.results.exists():
        raise RunError(
            f"a row of the grid {folder} that has not been measured yet: run its `docaps experiment` command first",
            path=run.path,
        )
    if corpus is not None and measured_hash(run) != open_store(corpus).hash:
        raise RunError(
            f"a row of the grid {folder}, measured on another corpus than {corpus}. The grid's numbers are kept: leave "
            "out --corpus, or copy the run out of the grid and report the copy",
            path=run.path,
        )


def _trace_routing(run: Run, corpus: Path | None, places: Places) -> None:
    """Trace the routing of chosen sentences of the corpus that the run was measured on."""
    if not places:
        return
    store = open_store(corpus or own_corpus(run))
    if measured_hash(run) != store.hash:
        raise RunError(
            "not the corpus that the run was measured on, so --sentence cannot show it: give that one with --corpus",
            path=store.path,
        )
    trace_chosen(run, store, places)


def preparing_commands(results: Sequence[RunResults], docaps: str) -> list[tuple[str, str]]:
    """Return the commands that prepared the corpora of the runs, where known."""
    known: dict[str, str] = {}
    for run in results:
        for data in ((run.measured or {}).get("data", {}), _training_manifest(run)):
            if data.get("command"):
                known.setdefault(str(data.get("hash")), str(data["command"]))
    return [("Prepare the corpus", _called(command, docaps)) for command in known.values()]


def _training_manifest(run: RunResults) -> Mapping[str, Any]:
    """Return the manifest of a run's training corpus, if it is still in place and unchanged."""
    path = Path(str(run.corpus.get("path")))
    found = open_store(path).manifest if (path / "manifest.json").is_file() else {}
    return found if found.get("hash") == run.corpus.get("hash") else {}


def _run_commands(run: RunResults, docaps: str) -> list[tuple[str, str]]:
    """Return the commands that train a run, where known, and translate with it."""
    name, made = run.path.name, str(run.description.get("command") or "")
    translate = (f"Translate with {name}", f"{docaps} translate {shlex.quote(str(run.path))} < document.txt")
    return [(f"Train {name}", _called(made, docaps)), translate] if made else [translate]


def _measuring_commands(run: RunResults, docaps: str) -> list[tuple[str, str]]:
    """Return the commands of the contrastive tests and the diagnosis of a run."""
    found = [
        (f"Choices of {run.path.name}: {test.name}, {HISTORIES[test.history]}", test.command)
        for test in run.contrastive_sets
    ]
    found += [(f"Diagnosis of {run.path.name}", run.diagnosis.command)] if run.diagnosis else []
    return [(purpose, _called(command, docaps)) for purpose, command in found if command]


def _called(command: str, docaps: str) -> str:
    """Replace `docaps` by the way docaps was called."""
    return command.replace("docaps", docaps, 1) if command.startswith("docaps ") else command


def _grid_commands(grids: Sequence[Grid], docaps: str) -> list[tuple[str, str]]:
    """Return the command of each run of the grids, once if grids share it."""
    found: dict[str, tuple[str, str]] = {}
    for title, row in ((grid["title"], row) for grid in grids for row in grid["rows"]):
        for run in row["runs"]:
            purpose = f"{title}: {row['title']}, seed {run['seed']}"
            found.setdefault(run["path"], (purpose, _called(run["command"], docaps)))
    return list(found.values())
