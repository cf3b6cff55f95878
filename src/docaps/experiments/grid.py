"""A grid of runs in a folder: one sentence model for each seed, and one run for each row and seed.

grid.json                  what was asked for: recipe, corpus, steps; another request needs another folder
corpus/, prepared/         mini-documents, where no prepared corpus was given
seed-S/sentence            the sentence model that all rows of a seed start from
seed-S/ROW                 one run for each row
locks/                     who works on what (several processes and machines may share the folder)
attempts/                  what was begun and did not come to its end, and why
logs/                      what the workers said
EXPERIMENT.json, .md       the numbers of all rows, and the same as a table
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docaps.config import Recipe
from docaps.corpus.minidocs.phenomena import choose_phenomena
from docaps.corpus.store import Store, open_store
from docaps.errors import RunError
from docaps.experiments.claims import Claims
from docaps.experiments.layouts import Layout
from docaps.experiments.readings import Reading, apply
from docaps.experiments.requests import is_same_request
from docaps.files import read_json, write_json
from docaps.runs.directory import Run
from docaps.runs.training_log import read_metrics

SENTENCE = "sentence"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Source:
    """What a grid learns from: a prepared corpus, or mini-documents."""

    corpus: Path | None = None
    documents: int = 8000
    phenomena: str = "pronoun,ambiguity"
    hash: str | None = None
    """The corpus' own, where it is known: the corpus need not be there to be described."""

    def describe(self) -> dict[str, Any]:
        """Return what tells corpora apart."""
        if self.corpus is not None:
            return {"path": str(self.corpus.resolve()), "hash": self.hash or open_store(self.corpus).hash}
        names = [phenomenon.name for phenomenon in choose_phenomena(self.phenomena)]
        return {"documents": self.documents, "phenomena": ",".join(names)}


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One run of a grid: a row, or the sentence model, with a seed."""

    seed: int
    row: Reading | None

    @property
    def name(self) -> str:
        """The name of its run directory."""
        return SENTENCE if self.row is None else self.row.name

    @property
    def key(self) -> str:
        """The name of its claim."""
        return f"seed-{self.seed}.{self.name}"


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of one layout with some seeds, in a folder."""

    directory: Path
    layout: Layout
    recipe: Recipe
    source: Source
    seeds: Sequence[int] = (1,)
    only: Sequence[str] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What else is written down about the request: the time it was given, and the options that make it."""

    @property
    def request(self) -> Path:
        """What was asked for."""
        return self.directory / "grid.json"

    @property
    def results(self) -> Path:
        """The numbers of all rows."""
        return self.directory / f"{self.layout.name}.json"

    @property
    def table(self) -> Path:
        """The same for people: Markdown."""
        return self.results.with_suffix(".md")

    @property
    def claims(self) -> Claims:
        """Who works on what."""
        return Claims(self.directory / "locks")

    @property
    def rows(self) -> list[Reading]:
        """The rows that were asked for; if none was named, all but those that must be."""
        usual = [name for name in self.layout.rows if name not in self.layout.on_demand]
        return [row for name, row in self.layout.rows.items() if name in (usual if self.only is None else self.only)]

    def cells(self) -> Iterator[Cell]:
        """Go through all runs, each after the one it starts from."""
        for seed in self.seeds:
            yield Cell(seed, None)
            yield from (Cell(seed, row) for row in self.rows)

    def in_order(self) -> list[Cell]:
        """List all runs as they should be begun: sentence models first, because rows wait for them, then long rows.

        Begun last, a long one would keep one worker busy and the others idle.
        """
        return sorted(self.cells(), key=lambda cell: (cell.row is not None, -self.steps_of(cell)))

    def run(self, cell: Cell) -> Run:
        """The run directory of a cell."""
        return Run(self.directory / f"seed-{cell.seed}" / cell.name)

    def attempts(self, cell: Cell) -> Path:
        """The file of what was begun for a cell and did not come to its end."""
        return self.directory / "attempts" / f"{cell.key}.json"

    def recipe_of(self, cell: Cell) -> Recipe:
        """Return the recipe whose stage of the cell's name makes its run."""
        recipe = self.recipe.model_copy(update={"seed": cell.seed})
        if cell.row is None:
            return recipe
        return apply(cell.row, recipe, check_every=recipe.stage["document"].validate_every)

    def steps_of(self, cell: Cell) -> int:
        """Return how many steps the training of a cell takes in all."""
        return self.recipe_of(cell).stage[cell.name].steps

    def is_done(self, cell: Cell) -> bool:
        """Say whether nothing is left to do for a cell; trials are compared by likelihoods too."""
        scored = not self.layout.compares_histories or cell.row is None or self.run(cell).likelihoods.exists()
        return scored and self.is_measured(cell)

    def is_measured(self, cell: Cell) -> bool:
        """Say whether a cell is trained, has its card and, but for the sentence model, scores."""
        run = self.run(cell)
        return run.finished and run.card.exists() and (cell.row is None or run.results.exists())

    def steps_taken(self, cell: Cell) -> int:
        """Return how far the training of a cell is, by its log."""
        return max((row.get("step", 0) for row in read_metrics(self.run(cell).metrics)), default=0)

    def store(self) -> Store:
        """Open the corpus that all runs learn from; it must be there, and the one that the grid was begun with."""
        store = open_store(self.source.corpus or self.directory / "prepared")
        if self.source.hash not in (None, store.hash):
            raise RunError("the corpus is not the one that the grid was begun with", path=store.path)
        return store

    def describe(self) -> dict[str, Any]:
        """Return what tells grids apart; layouts, rows and seeds may be added."""
        recipe = self.recipe.model_copy(update={"seed": 0}).model_dump(mode="json")
        return {"version": VERSION, "recipe": recipe, "corpus": self.source.describe()}


def shape(recipe: Recipe, steps: int | None) -> Recipe:
    """Fit a recipe to a grid: steps for both stages, and the model that the development part finds best."""
    stages = {}
    for name in (SENTENCE, "document"):
        if name not in recipe.stage:
            raise RunError(f"a grid needs a recipe with the stages sentence and document; this one has no {name!r}")
        stage = recipe.stage[name]
        values = stage.model_dump() | {"steps": steps or stage.steps}
        values["warmup"] = min(stage.warmup, values["steps"] // 10) if steps else stage.warmup
        values["validate_every"] = min(stage.validate_every, values["steps"])
        values["result"] = "best" if stage.result == "last" else stage.result
        stages[name] = values
    return Recipe.model_validate(recipe.model_dump() | {"stage": stages})


def check_request(grid: Grid) -> None:
    """Refuse to mix up grids of different kinds in one folder."""
    there = grid.directory
    if grid.request.exists():
        stored, wanted = (_without_place(one) for one in (read_json(grid.request, error=RunError), grid.describe()))
        others = {name: value for name, value in wanted.items() if name != "recipe"}
        recipe = grid.recipe.model_copy(update={"seed": 0})
        if not is_same_request(stored, recipe, others):
            raise RunError("a grid with other settings is here: choose another --dir", path=there)
    elif there.exists() and (not there.is_dir() or any(path != grid.claims.folder for path in there.iterdir())):
        raise RunError("exists and is not a grid: choose another --dir", path=there)


def _without_place(request: Any) -> Any:
    """Leave out where the corpus is: the same one may lie elsewhere on another machine."""
    if not isinstance(request, dict) or not isinstance(request.get("corpus"), dict):
        return request
    return {**request, "corpus": {key: value for key, value in request["corpus"].items() if key != "path"}}


def write_request(grid: Grid) -> None:
    """Write down what was asked for, once; of two that begin a grid at the same moment, the second must agree."""
    with grid.claims.waited_for("request"):
        if grid.request.exists():
            check_request(grid)
        else:
            write_json(grid.request, {**grid.describe(), **grid.extra})


def read_request(directory: Path) -> tuple[Recipe, Source, dict[str, Any]]:
    """Return the recipe, the corpus and whatever else a grid was begun with."""
    path = directory / "grid.json"
    found = read_json(path, error=RunError)
    try:
        recipe = Recipe.model_validate(found.pop("recipe"), strict=False)
        corpus = found.pop("corpus")
        source = Source(Path(corpus["path"]), hash=corpus["hash"]) if "path" in corpus else Source(None, **corpus)
        found.pop("version")
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise RunError(f"does not describe a grid: {fault}", path=path) from None
    return recipe, source, found
