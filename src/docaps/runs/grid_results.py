"""The results of grids of experiments, read from their folder and checked."""

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
    missing += [key for row in (found["rows"] if not missing else ()) for key in _NEEDED_OF_ROWS if key not in row]
    if missing:
        raise RunError(f"not the results of a grid: {', '.join(dict.fromkeys(missing))} missing", path=path)
    return {**found, "folder": str(path.parent)}


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
