"""Pages about runs: measure what is missing, then hand the files to the report."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from docaps.corpus.store import open_store
from docaps.errors import CorpusError
from docaps.experiments.assess import trace_chosen
from docaps.experiments.cards import write_card
from docaps.experiments.gathering import gather_all
from docaps.experiments.measuring import measure_test_part
from docaps.report.gridfiles import Grid, is_grid, read_grids, runs_of
from docaps.report.kept import HISTORIES
from docaps.report.page import write_report
from docaps.report.results import RunResults, read_results
from docaps.runs import Run, open_run


@dataclass(frozen=True, slots=True)
class Found:
    """What a report is about: runs, the grids they belong to, and the commands that make it all again."""

    results: list[RunResults]
    grids: list[Grid]
    commands: list[tuple[str, str]]


def collect(
    paths: Sequence[Path], *, corpus: Path | None, docaps: str, places: Sequence[tuple[int, int]] = ()
) -> Found:
    """Read runs and grids; runs that have not been measured are measured first.

    The routing is shown for the sentences at `places`: (document, sentence) of the test part, counted from 1.
    """
    results: list[RunResults] = []
    grids: list[Grid] = []
    commands: list[tuple[str, str]] = []
    for path in paths:
        if is_grid(path):
            gather_all(path)  # a grid that is not through has something to show too
            found = read_grids(path)
            grids += found
            for run_path in runs_of(path, found):
                write_card(open_run(run_path))
                _show_routing(open_run(run_path), corpus, places)
                results.append(read_results(run_path))
            commands += _grid_commands(found, docaps)
        else:
            run = open_run(path)
            measure_test_part(run, open_store(corpus or own_corpus(run)))
            _show_routing(run, corpus, places)
            write_card(run)
            results.append(read_results(path))
            commands += _run_commands(results[-1], docaps)
    commands += [pair for result in results for pair in _measuring_commands(result, docaps)]
    return Found(results, grids, commands)


def _show_routing(run: Run, corpus: Path | None, places: Sequence[tuple[int, int]]) -> None:
    if places:
        trace_chosen(run, open_store(corpus or own_corpus(run)), places)


def _run_commands(run: RunResults, docaps: str) -> list[tuple[str, str]]:
    """Return how a run was made, where it says so, and how to use it."""
    made = str(run.description.get("command") or "")
    found = [(f"Train {run.path.name}", _called(made, docaps))] if made else []
    return [
        *found,
        (f"Translate with {run.path.name}", f"{docaps} translate {shlex.quote(str(run.path))} < document.txt"),
    ]


def _measuring_commands(run: RunResults, docaps: str) -> list[tuple[str, str]]:
    """Return how the numbers beside the scores were measured."""
    found = [(f"Choices of {run.path.name}: {kept.name}, {HISTORIES[kept.history]}", kept.command) for kept in run.kept]
    found += [(f"Diagnosis of {run.path.name}", run.diagnosis.command)] if run.diagnosis else []
    return [(purpose, _called(command, docaps)) for purpose, command in found if command]


def _called(command: str, docaps: str) -> str:
    """Write a command as docaps is called here."""
    return command.replace("docaps", docaps, 1) if command.startswith("docaps ") else command


def _grid_commands(grids: Sequence[Grid], docaps: str) -> list[tuple[str, str]]:
    """Return, for each row, the commands whose runs its numbers come from; of what grids share, the first's."""
    found: dict[str, tuple[str, str]] = {}
    for grid in grids:
        for row in grid["rows"]:
            for run in row["runs"]:
                purpose = f"{grid['title']}: {row['title']}, seed {run['seed']}"
                found.setdefault(run["path"], (purpose, _called(run["command"], docaps)))
    return list(found.values())


def report_runs(found: Found, paths: Sequence[Path], out: Path, *, docaps: str) -> None:
    """Write the page about what was found."""
    names = shlex.join(map(str, paths))
    commands = [*found.commands, ("Write this page", f"{docaps} report {names} --out {shlex.quote(str(out))}")]
    titles = [str(grid["title"]) for grid in found.grids]
    write_report(
        out,
        found.results,
        title="docaps report",
        subtitle="; ".join(titles) if titles else ", ".join(path.name for path in paths),
        commands=commands,
        grids=found.grids,
    )


def own_corpus(run: Run) -> Path:
    """Return the prepared corpus a run was trained on."""
    path = Path(run.read()["corpus"]["path"])
    if not path.exists():
        raise CorpusError(f"the corpus of {run.path} has moved: say where it is with --corpus", path=path)
    return path
