"""A grid at toy size, for tests."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.cli.calling import TINY

from docaps.config import load_recipe, recipe_path
from docaps.experiments.grid import CorpusSource, Grid, shape
from docaps.experiments.minicorpus import provide_corpora
from docaps.experiments.rows import LAYOUTS
from docaps.experiments.scheduling import ThisProcess, run_cells

ROWS = ("transformer", "qcn+reg", "san")


def toy(directory: Path, **changes: Any) -> Grid:
    """Return a grid that trains in a moment."""
    recipe = shape(load_recipe(recipe_path("minidocs"), [*TINY, "decoding.length_factor=1"]), 2)
    grid = Grid(directory, LAYOUTS["table2"], recipe, CorpusSource(None, 30), (1, 2), ROWS)
    return replace(grid, **changes)


def work(grid: Grid) -> None:
    """Run all cells in this process."""
    provide_corpora(grid)
    run_cells(grid, ThisProcess())


def read(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def dates(folder: Path) -> dict[str, int]:
    """Return when models, results and translations were written."""
    names = ("model.safetensors", "results.json", "translations.jsonl")
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for name in names for path in folder.rglob(name)}
