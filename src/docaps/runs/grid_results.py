"""The results of grids of experiments, read from their folder and checked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from docaps.errors import RunError
from docaps.files import read_json
from docaps.runs.endpoint_results import read_endpoints
from docaps.runs.results import RunResults
from docaps.runs.stored_forms import Natural, Seconds, StoredForm, check_form

GRIDS = ("table2", "history", "capsules", "rounds", "trials", "routing", "rivals", "series")
_NEEDED = ("experiment", "title", "rows", "seeds", "recipe", "steps", "corpus", "baseline", "draws")
_NEEDED_OF_ROWS = ("row", "title", "system", "runs", "means")
Grid = Mapping[str, Any]


class _Mean(StoredForm):
    mean: float
    low: float | None
    high: float | None


class _Difference(StoredForm):
    difference: float
    p_bootstrap: float
    p_randomisation: float
    low: float | None = None
    high: float | None = None


class _Interval(StoredForm):
    low: float
    high: float


class _History(StoredForm):
    perplexity: float
    against: _Difference | None = None


class _Choices(StoredForm):
    all: float
    by_phenomenon_and_distance: dict[str, dict[str, float]] = Field(default_factory=dict)


class _GridRun(StoredForm):
    seed: Natural
    path: str
    command: str
    test: dict[str, float] = Field(default_factory=dict)
    dev: dict[str, float] = Field(default_factory=dict)
    speed: float | None = None
    accuracy: _Choices | None = None
    steps_to_learn: Natural | None = None
    parameters: Natural | None = None


class _Row(StoredForm):
    row: str
    title: str
    system: str
    runs: list[_GridRun]
    means: dict[str, _Mean]
    value: float | str | bool | None = None
    baseline: str | None = None
    choices: _Mean | None = None
    documents: dict[str, _Interval | None] | None = None
    against: dict[str, _Difference] | None = None
    histories: dict[str, _History] | None = None


class _SentenceModel(StoredForm):
    path: str | None = None
    seed: Natural
    steps: Natural
    seconds: Seconds
    perplexity: float | None
    settings: dict[str, Any] = Field(default_factory=dict)


class _Corpus(StoredForm):
    documents: Natural | None = None
    phenomena: str | None = None
    path: str | None = None
    hash: str | None = None


class _Results(StoredForm):
    """The form of EXPERIMENT.json."""

    experiment: str
    title: str
    recipe: str
    rows: list[_Row]
    seeds: list[Natural]
    steps: dict[str, Natural]
    corpus: _Corpus
    baseline: str | None
    draws: Natural
    axis: str | None = None
    part: str | None = None
    taken: dict[str, list[Natural]] | None = None
    signatures: dict[str, str] | None = None
    unfinished: list[str] | None = None
    sentence_models: list[_SentenceModel] | None = None
    items: Natural = 0
    chance: _Choices | None = None
    check_every: Natural | None = None
    probed_items: Natural | None = None
    learnt: float | None = None


def is_grid(path: Path) -> bool:
    """Return whether a directory is the folder of a grid."""
    return (path / "grid.json").is_file()


def read_grids(directory: Path) -> list[Grid]:
    """Read the results of all experiments in the folder of a grid."""
    found = [_read_grid(path) for name in GRIDS if (path := directory / f"{name}.json").is_file()]
    if not found:
        raise RunError("the grid has no results yet: run its `docaps experiment` command first", path=directory)
    return found


def _read_grid(path: Path) -> Grid:
    found = read_json(path, error=RunError)
    missing = [key for key in _NEEDED if not isinstance(found, dict) or key not in found]
    rows = found["rows"] if not missing and isinstance(found["rows"], list) else ()
    missing += [key for row in rows if isinstance(row, dict) for key in _NEEDED_OF_ROWS if key not in row]
    if missing:
        raise RunError(f"not the results of a grid: {', '.join(dict.fromkeys(missing))} missing", path=path)
    grid = {**check_form(found, _Results, path, error=RunError), "folder": str(path.parent)}
    endpoints = read_endpoints(path.parent)
    if endpoints is not None and endpoints["experiment"] == grid["experiment"]:
        grid["endpoints"] = endpoints
    return grid


def own_runs(grid: Grid, results: Sequence[RunResults]) -> list[RunResults]:
    """Return the runs of a grid; all runs if its folder is unknown."""
    if "folder" not in grid:
        return list(results)
    paths = {Path(grid["folder"]) / run["path"] for row in grid["rows"] for run in row["runs"]}
    return [run for run in results if run.path in paths]


def runs_of(directory: Path, grids: Sequence[Grid]) -> list[Path]:
    """Return the run directories of grids, seed by seed in row order, once each."""
    runs = [(run["seed"], directory / run["path"]) for grid in grids for row in grid["rows"] for run in row["runs"]]
    return list(dict.fromkeys(path for _, path in sorted(runs, key=lambda run: run[0])))


def sentence_models_of(directory: Path, grids: Sequence[Grid]) -> list[Path]:
    """Return the directories of the sentence models that rows start from, where known, once each."""
    models = [model for grid in grids for model in grid.get("sentence_models") or [] if "path" in model]
    return list(dict.fromkeys(directory / model["path"] for model in models))


DETAILED = 4
"""Up to this many runs are all shown in detail; of more, only a few are."""
_PREFERRED = ("transformer", "qcn+reg", "qcn")
CHARTED = 12
"""The number of lines that a chart can label."""


def arrange(results: Sequence[RunResults]) -> tuple[list[RunResults], int, int]:
    """Put the runs to show in detail first; return all runs, the number of those, and the number to show in charts."""
    if len(results) <= DETAILED:
        return list(results), len(results), len(results)
    first = {run.system: run for run in reversed(results)}
    chosen = [first[system] for system in _PREFERRED if system in first] or list(results[:2])
    seed = chosen[0].description.get("seed")
    others = (run for run in results if all(run is not one for one in chosen))
    rest = sorted(others, key=lambda run: run.description.get("seed") != seed)
    same = len(chosen) + sum(run.description.get("seed") == seed for run in rest)
    return [*chosen, *rest], len(chosen), min(same, CHARTED)
