"""A grid of runs in a folder: a sentence model for each seed or one for all, and a run for each row and seed.

grid.json                  the request: recipe, corpus, steps; another request needs another folder
corpus/, prepared/         mini-documents, if no prepared corpus was given; of `routing` and `rivals`, below seed-S/
seed-S/sentence            the sentence model of a seed; of `series`, one for all seeds
seed-S/ROW                 one run for each row
locks/                     a file for each run, locked by the process that works on it
attempts/                  attempts that failed, and why
logs/                      output of the processes; a run that failed has a copy, failed.log
EXPERIMENT.json, .md       the numbers of all rows, and the same as a table
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from json import dumps, loads
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from docaps.config import Recipe, upgrade_settings
from docaps.config.model_settings import Count
from docaps.corpus.minidocs.phenomena import choose_phenomena
from docaps.corpus.store import Store, open_store
from docaps.errors import RunError
from docaps.experiments import DOCUMENTS, PHENOMENA
from docaps.experiments.rows import SENTENCE, GridLayout, GridRow
from docaps.files import is_locked, locking, read_json, write_json
from docaps.runs.card import flatten
from docaps.runs.directory import Run
from docaps.runs.training_log import read_metrics

VERSION = 2
"""Version of grid.json."""
CHANGED = {"han", "han-joint"}
"""Rows that had other stages in version 1: `han` both sides at once, `han-joint` a whole stage after han-encoder."""
ONE_MODEL = "one_sentence_model"
"""The key of grid.json that says that the rows of all seeds start from one sentence model."""
SHOWN = 6
"""Differences of settings that an error lists."""


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """The corpus of a grid: a prepared one, or mini-documents."""

    corpus: Path | None = None
    documents: Count = DOCUMENTS
    phenomena: str = PHENOMENA
    hash: str | None = None
    """The hash of the corpus, if known: then the corpus need not be there to be described."""
    per_seed: bool = False
    """Whether each seed has mini-documents of its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One run of a grid: a row, or the sentence model, with a seed."""

    seed: int
    row: GridRow | None

    @property
    def name(self) -> str:
        """The name of its run directory."""
        return SENTENCE if self.row is None else self.row.name

    @property
    def key(self) -> str:
        """The name of its lock."""
        return f"seed-{self.seed}.{self.name}"


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of one layout with some seeds, in a folder."""

    directory: Path
    layout: GridLayout
    recipe: Recipe
    source: CorpusSource
    seeds: Sequence[int] = (1,)
    only: Sequence[str] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What else the request records: its time budget, and the options that repeat it."""

    @property
    def request(self) -> Path:
        """Path of the request."""
        return self.directory / "grid.json"

    @property
    def results(self) -> Path:
        """Path of the numbers of all rows."""
        return self.directory / f"{self.layout.name}.json"

    @property
    def locks(self) -> Path:
        """Path of the locks."""
        return self.directory / "locks"

    def lock(self, name: str) -> AbstractContextManager[None]:
        """Wait for a lock of the folder and hold it."""
        return lock_folder(self.directory, name)

    def is_running(self, cell: "Cell") -> bool:
        """Return whether a process works on a cell."""
        return is_locked(self.locks / f"{cell.key}.lock")

    @property
    def rows(self) -> list[GridRow]:
        """The requested rows and those that they start from; all but those on demand, if none was named."""
        known = self.layout.rows
        names = set(known.keys() - self.layout.on_demand if self.only is None else self.only)
        names |= {known[name].starts_from for name in names & known.keys()}
        return [row for name, row in known.items() if name in names]

    def cells(self) -> Iterator[Cell]:
        """Iterate over all runs, each after the one that it starts from."""
        models = dict.fromkeys(map(self.layout.model_seed, self.seeds))
        for seed in dict.fromkeys((*models, *self.seeds)):
            if seed in models:
                yield Cell(seed, None)
            if seed in self.seeds:
                yield from (Cell(seed, row) for row in self.rows if self._is_trained(row, seed))

    def _is_trained(self, row: GridRow, seed: int) -> bool:
        """Return whether a row is trained with a seed: with any, if it was named."""
        return self.only is not None or row.name not in self.layout.once or seed == self.layout.shared_seed

    def in_order(self) -> list[Cell]:
        """List all runs in the order to start them: sentence models, because rows wait for them, then long rows.

        Rows that are trained once come last: they are what is cut if time is short.
        """
        # A long row started last would keep one worker busy and the others idle.
        return sorted(
            self.cells(),
            key=lambda cell: (cell.row is not None, cell.name in self.layout.once, -self.steps_of(cell)),
        )

    def predecessor(self, cell: Cell) -> Cell | None:
        """Return the cell whose model a cell starts from; None for a sentence model."""
        if cell.row is None:
            return None
        first = self.layout.rows.get(cell.row.starts_from)
        return Cell(cell.seed if first else self.layout.model_seed(cell.seed), first)

    def run(self, cell: Cell) -> Run:
        """Return the run directory of a cell."""
        return Run(self.directory / f"seed-{cell.seed}" / cell.name)

    def log(self, cell: Cell) -> Path:
        """Return the path of what a cell's process prints."""
        return self.directory.resolve() / "logs" / f"{cell.key}.log"

    def attempts(self, cell: Cell) -> Path:
        """Return the path of a cell's unfinished attempts."""
        return self.directory / "attempts" / f"{cell.key}.json"

    def speed(self, cell: Cell) -> Path:
        """Return the path of a cell's training speed."""
        return self.run(cell).assessment / "speed.json"

    def recipe_of(self, cell: Cell) -> Recipe:
        """Return the recipe whose stage of the cell's name trains its run."""
        recipe = self.recipe.model_copy(update={"seed": cell.seed})
        return recipe if cell.row is None else cell.row.apply(recipe)

    def steps_of(self, cell: Cell) -> int:
        """Return how many steps the training of a cell takes in all."""
        return self.recipe_of(cell).stage[cell.name].steps

    def is_done(self, cell: Cell) -> bool:
        """Return whether a cell is finished: measured, with likelihoods and speed where the layout compares them."""
        compared = self.layout.compares_histories and cell.row is not None
        timed = self.layout.timed and cell.row is not None
        needed = [self.run(cell).likelihoods] * compared + [self.speed(cell)] * timed
        return all(path.exists() for path in needed) and self.is_measured(cell)

    def is_measured(self, cell: Cell) -> bool:
        """Return whether a cell is trained, has its card and, except for the sentence model, scores."""
        run = self.run(cell)
        return run.finished and run.card.exists() and (cell.row is None or run.results.exists())

    def steps_taken(self, cell: Cell) -> int:
        """Return the last step in the training log of a cell."""
        return max((row.get("step", 0) for row in read_metrics(self.run(cell).metrics)), default=0)

    def corpus_home(self, seed: int) -> Path:
        """Return the folder that mini-documents for a seed are in."""
        return self.directory / f"seed-{seed}" if self.layout.per_seed else self.directory

    def store(self, seed: int = 1) -> Store:
        """Open the corpus for a seed; it must exist, and be the one that the grid was started with."""
        store = open_store(self.source.corpus or self.corpus_home(seed) / "prepared")
        if self.source.hash not in (None, store.hash):
            raise RunError("the corpus is not the one that the grid was started with", path=store.path)
        return store

    def describe_corpus(self) -> dict[str, Any]:
        """Return what distinguishes the corpora of grids."""
        if (corpus := self.source.corpus) is not None:
            return {"path": str(corpus.resolve()), "hash": self.source.hash or open_store(corpus).hash}
        names = ",".join(phenomenon.name for phenomenon in choose_phenomena(self.source.phenomena))
        per_seed = {"per_seed": True} if self.layout.per_seed else {}
        return {"documents": self.source.documents, "phenomena": names, **per_seed}

    def describe(self) -> dict[str, Any]:
        """Return what distinguishes grids; layouts, rows and seeds may be added later."""
        recipe = self.recipe.model_copy(update={"seed": 0}).model_dump(mode="json")
        shared = {ONE_MODEL: True} if self.layout.shared_seed is not None else {}
        return {"version": VERSION, "recipe": recipe, "corpus": self.describe_corpus(), **shared}


@contextmanager
def lock_folder(directory: Path, name: str) -> Iterator[None]:
    """Wait for a lock of a grid's folder and hold it; the system frees it when the process ends, however that ends."""
    path = directory / "locks" / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with locking(path) as held:
        if not held and os.name == "posix":
            what = "cannot be locked, so that two processes might train the same run"
            remedy = "put the folder on storage with file locks (NFS: mounted without nolock)"
            raise RunError(f"{what}: {remedy}", path=path)
        yield


def shape(recipe: Recipe, steps: int | None, check_every: int | None = None) -> Recipe:
    """Fit a recipe to a grid: steps for both stages, and the model that is best on the development part.

    If choices are checked in training, validate that often, and keep the model that the recipe asks for.
    """
    stages = {}
    for name in (SENTENCE, "document"):
        if name not in recipe.stage:
            raise RunError(f"a grid needs a recipe with the stages sentence and document; this one has no {name!r}")
        stage, taken = recipe.stage[name], steps or recipe.stage[name].steps
        warmup = min(stage.warmup, taken // 10) if steps else stage.warmup
        every = min(stage.validate_every if name == SENTENCE or check_every is None else check_every, taken)
        result = "best" if check_every is None and stage.result == "last" else stage.result
        changed = {"steps": taken, "warmup": warmup, "validate_every": every, "result": result}
        stages[name] = stage.model_dump() | changed
    return Recipe.model_validate(recipe.model_dump() | {"stage": stages})


def list_differences(found: Any, recipe: Recipe, others: Mapping[str, Any]) -> list[str]:
    """List the settings in which a stored request differs from a recipe and other values; none: they are the same.

    Settings that the version that stored the request did not know have their defaults.
    """
    if not isinstance(found, dict) or not isinstance(found.get("recipe"), dict):
        return ["no recipe is stored"]
    stored = {**upgrade_settings(Recipe, found["recipe"]), **{name: found.get(name) for name in others}}
    # Both as JSON: a tuple of settings is a list in the file.
    there, wanted = (flatten(loads(dumps(one))) for one in (stored, {**recipe.model_dump(), **others}))
    differing = [key for key in {**there, **wanted} if there.get(key) != wanted.get(key)]
    return [f"{key} is {dumps(there.get(key))}, asked for: {dumps(wanted.get(key))}" for key in differing]


def describe_differences(differences: Sequence[str]) -> str:
    """Describe what differs between two requests: a few settings, and how many more."""
    more = len(differences) - SHOWN
    return "; ".join([*differences[:SHOWN], *([f"and {more} more"] if more > 0 else [])])


def as_begun(grid: Grid) -> Grid:
    """Return a grid with the recipe as the version that began it understood it, if it was begun."""
    if not grid.request.exists():
        return grid
    stored = read_json(grid.request, error=RunError)
    recipe = stored.get("recipe") if isinstance(stored, dict) else None
    return replace(grid, recipe=grid.recipe.as_begun(recipe)) if isinstance(recipe, dict) else grid


def check_request(grid: Grid) -> None:
    """Refuse to mix grids of different kinds in one folder."""
    folder, wanted = grid.directory, _without_path(grid.describe())
    if grid.request.exists():
        stored = _upgrade(_without_path(read_json(grid.request, error=RunError)), grid)
        others = {name: wanted.get(name) for name in {**wanted, ONE_MODEL: None} if name != "recipe"}
        if differences := list_differences(stored, grid.recipe.model_copy(update={"seed": 0}), others):
            what = describe_differences(differences)
            raise RunError(f"a grid with other settings is here: choose another --dir ({what})", path=folder)
    elif (folder / "request.json").exists():
        raise RunError("a comparison of docaps 0.1, which cannot be continued: choose another --dir", path=folder)
    elif folder.exists() and (not folder.is_dir() or any(path != grid.locks for path in folder.iterdir())):
        raise RunError("exists and is not a grid: choose another --dir", path=folder)


def _upgrade(request: Any, grid: Grid) -> Any:
    """Return a stored request in the current version; refuse rows that had other stages before."""
    if not isinstance(request, dict) or request.get("version") != 1:
        return request
    if changed := [row.name for row in grid.rows if row.name in CHANGED]:
        what = f"a grid of an earlier version is here, in which {' and '.join(changed)} had other stages"
        raise RunError(f"{what}: choose another --dir, or other rows with --only", path=grid.directory)
    return {**request, "version": VERSION}


def _without_path(request: Any) -> Any:
    """Remove the path of the corpus: the same corpus may be elsewhere on another machine."""
    if not isinstance(request, dict) or not isinstance(request.get("corpus"), dict):
        return request
    return {**request, "corpus": {key: value for key, value in request["corpus"].items() if key != "path"}}


def write_request(grid: Grid) -> None:
    """Store the request, once; of two that start a grid at the same moment, the second must agree."""
    with grid.lock("request"):
        if grid.request.exists():
            check_request(grid)
        else:
            write_json(grid.request, {**grid.describe(), **grid.extra})


def read_request(directory: Path) -> tuple[Recipe, CorpusSource, dict[str, Any]]:
    """Return the recipe, the corpus and the rest of a stored request."""
    path = directory / "grid.json"
    found = read_json(path, error=RunError)
    try:
        recipe, corpus = Recipe.model_validate(Recipe.complete(found.pop("recipe")), strict=False), found.pop("corpus")
        known = {"corpus": corpus["path"], "hash": corpus["hash"]} if "path" in corpus else corpus
        source = TypeAdapter(CorpusSource).validate_python(known)
        TypeAdapter(list[str]).validate_python(found.get("options", []), strict=True)
        found.pop("version")
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise RunError(f"does not describe a grid: {fault}", path=path) from None
    return recipe, source, found
