"""The numbers of grids, read from their folder and checked; the rest of the report draws what it is handed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docaps.errors import RunError
from docaps.files import read_json
from docaps.runs.results import RunResults

GRIDS = ("table2", "history", "capsules", "rounds", "trials", "routing", "rivals")
_NEEDED = ("experiment", "title", "rows", "seeds", "recipe", "steps", "corpus", "baseline", "draws")
_NEEDED_OF_ROWS = ("row", "title", "system", "runs", "means")
Grid = Mapping[str, Any]


def is_grid(path: Path) -> bool:
    """Say whether a directory is the folder of a grid."""
    return (path / "grid.json").is_file()


def read_grids(directory: Path) -> list[Grid]:
    """Read the numbers of all experiments in a grid's folder."""
    found = [_read(path) for name in GRIDS if (path := directory / f"{name}.json").is_file()]
    if not found:
        raise RunError("the grid has no numbers yet: run its `docaps experiment` command first", path=directory)
    return found


def _read(path: Path) -> Grid:
    found = read_json(path, error=RunError)
    missing = [key for key in _NEEDED if not isinstance(found, dict) or key not in found]
    missing += [key for row in (found["rows"] if not missing else ()) for key in _NEEDED_OF_ROWS if key not in row]
    if missing:
        raise RunError(f"does not hold the numbers of a grid: {', '.join(dict.fromkeys(missing))} missing", path=path)
    return {**found, "folder": str(path.parent)}


def own_runs(grid: Grid, results: Sequence[RunResults]) -> list[RunResults]:
    """Return the runs that a grid's numbers come from; all, if it does not say where it lies."""
    if "folder" not in grid:
        return list(results)
    paths = {Path(grid["folder"]) / run["path"] for row in grid["rows"] for run in row["runs"]}
    return [run for run in results if run.path in paths]


def runs_of(directory: Path, grids: Sequence[Grid]) -> list[Path]:
    """Return the run directories that the grids are about, in the order of their rows, seed by seed, once each."""
    runs = [(run["seed"], directory / run["path"]) for grid in grids for row in grid["rows"] for run in row["runs"]]
    return list(dict.fromkeys(path for _, path in sorted(runs, key=lambda run: run[0])))


def beginnings_of(directory: Path, grids: Sequence[Grid]) -> list[Path]:
    """Return the directories of the sentence models that the rows start from, as far as grids name them, once each."""
    models = [model for grid in grids for model in grid.get("sentence_models") or [] if "path" in model]
    return list(dict.fromkeys(directory / model["path"] for model in models))


MOST = 4
"""As many runs are shown in every detail; of more, a few."""
_FIRST = ("transformer", "qcn+reg", "qcn")
CHARTED = 12
"""As many lines a chart can label."""


def arrange(results: Sequence[RunResults]) -> tuple[list[RunResults], int, int]:
    """Put the runs that are shown in detail first; return all, how many these are, and how many charts can show."""
    if len(results) <= MOST:
        return list(results), len(results), len(results)
    first = [next((run for run in results if run.system == system), None) for system in _FIRST]
    chosen = [run for run in first if run is not None][:MOST] or list(results[:2])
    rest = [run for run in results if all(run is not one for one in chosen)]
    seed = chosen[0].description.get("seed")
    rest.sort(key=lambda run: run.description.get("seed") != seed)
    same = len(chosen) + sum(run.description.get("seed") == seed for run in rest)
    return [*chosen, *rest], len(chosen), min(same, CHARTED)
