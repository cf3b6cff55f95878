"""The grids of `docaps experiment`: from options to a grid, and what is printed of it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from docaps.cli.console import command_name, print_json, print_next, print_table, quote

if TYPE_CHECKING:
    from docaps.config import Recipe
    from docaps.experiments.grid import Grid


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user said about a grid; None where nothing was said."""

    name: str
    dir: Path | None
    seeds: Sequence[int]
    only: Sequence[str] | None
    profile: str | None = None
    corpus: Path | None = None
    documents: int | None = None
    phenomena: str | None = None
    set: Sequence[str] = ()
    steps: int | None = None
    budget: str | None = None
    jobs: int = 1

    @property
    def place(self) -> Path:
        """The grid's folder."""
        return self.dir or Path("runs") / self.name

    @property
    def silent(self) -> bool:
        """Whether nothing was said that a folder does not say itself, but perhaps where its corpus lies."""
        said = (self.profile, self.documents, self.phenomena, self.steps, self.budget)
        return all(value is None for value in said) and not self.set


def plan(wishes: Wishes) -> "Grid":
    """Turn wishes into a grid; what is not said is as the folder has it, else as usual."""
    from docaps.experiments.grid import Grid, Source, check_request, read_request
    from docaps.experiments.layouts import LAYOUTS

    layout = LAYOUTS[wishes.name]
    _check_rows(wishes.only, layout.rows)
    if wishes.silent and (wishes.place / "grid.json").exists():
        recipe, source, extra = read_request(wishes.place)
        source = source if wishes.corpus is None else Source(wishes.corpus)
        grid = Grid(wishes.place, layout, recipe, source, wishes.seeds, wishes.only, extra)
    else:
        grid = _fresh(wishes)
    check_request(grid)
    return grid


def _fresh(wishes: Wishes) -> "Grid":
    """Make a grid of what was said."""
    from docaps.config import load_recipe, recipe_path
    from docaps.errors import ConfigError
    from docaps.experiments.grid import Grid, Source, shape
    from docaps.experiments.layouts import LAYOUTS

    if wishes.steps is not None and wishes.budget is not None:
        raise ConfigError("--steps and --budget: give the one or the other")
    if wishes.corpus is not None and (wishes.documents is not None or wishes.phenomena is not None):
        raise ConfigError("--documents and --phenomena are about mini-documents, which --corpus replaces")
    path = recipe_path(wishes.profile or "minidocs")
    recipe = load_recipe(path, [*wishes.set, f"seed={max(wishes.seeds)}"])
    usual = Source()
    source = Source(wishes.corpus, wishes.documents or usual.documents, wishes.phenomena or usual.phenomena)
    grid = Grid(wishes.place, LAYOUTS[wishes.name], shape(recipe, wishes.steps), source, wishes.seeds, wishes.only)
    if wishes.budget is None:
        return replace(grid, extra={"options": _options(wishes)})
    return _within(grid, recipe, wishes, wishes.budget)


def _options(wishes: Wishes, **changes: Any) -> list[str]:
    """Write what was said about the grid's runs as options again."""
    said = replace(wishes, **changes)
    named = {
        "--profile": said.profile,
        "--corpus": said.corpus,
        "--documents": said.documents,
        "--phenomena": said.phenomena,
        "--steps": said.steps,
    }
    given = [word for option, value in named.items() if value is not None for word in (option, str(value))]
    return [*given, *(word for setting in said.set for word in ("--set", setting))]


def _within(grid: "Grid", recipe: "Recipe", wishes: Wishes, budget: str) -> "Grid":
    """Choose the steps that a budget of time allows; a grid that was begun keeps its own."""
    from docaps.config import parse_duration
    from docaps.errors import ConfigError
    from docaps.experiments.estimates import corpus_to_measure, steps_within
    from docaps.experiments.grid import read_request, shape

    try:
        seconds = parse_duration(budget)
    except ValueError as fault:
        raise ConfigError(f"--budget {fault}") from None
    extra: dict[str, Any] = {}
    if grid.request.exists():
        begun, _, extra = read_request(grid.directory)
    if extra.get("budget") == budget:
        steps = begun.stage["document"].steps
    else:
        with corpus_to_measure(grid) as store:
            steps = steps_within(grid, store, seconds, wishes.jobs)
    extra = {"budget": budget, "options": _options(wishes, steps=steps)}
    return replace(grid, recipe=shape(recipe, steps), extra=extra)


def _check_rows(only: Sequence[str] | None, known: Any) -> None:
    from docaps.errors import ConfigError

    unknown = [name for name in only or () if name not in known and name != "sentence"]
    if unknown:
        raise ConfigError(f"no row {', '.join(unknown)!r}: there are sentence, {', '.join(known)}")


def run(wishes: Wishes, into: Path | None, *, json: bool) -> None:
    """Do all that is to do, and print the table; what failed is told at the end."""
    from docaps.experiments.crew import failures, run_grid
    from docaps.experiments.gathering import gather
    from docaps.experiments.grid import write_request
    from docaps.experiments.marks import put_between_marks, split_at_marks

    grid = plan(wishes)
    if into is not None:
        split_at_marks(into, wishes.name)  # a fault is found now, not after hours of training
    write_request(grid)
    run_grid(grid, jobs=wishes.jobs)
    results = gather(grid)
    if into is not None:
        put_between_marks(into, wishes.name, grid.table.read_text(encoding="utf-8"))
    if json:
        print_json(results)
    else:
        _print_results(grid, results)
    _tell(failures(grid))


def _tell(failed: dict[str, str]) -> None:
    from docaps.errors import RunError

    if failed:
        listed = "\n".join(f"  {key}: {(error.splitlines() or ['?'])[-1]}" for key, error in failed.items())
        raise RunError(f"{len(failed)} of the runs failed, each tried twice; the same command tries again:\n{listed}")


def _print_results(grid: "Grid", results: dict[str, Any]) -> None:
    from docaps.report.grid_tables import as_rows

    if results["rows"]:
        print_table(results["title"], *as_rows(results))
    typer.echo(f"The table is in {grid.results.with_suffix('.md')}, the numbers are in {grid.results}.", err=True)
    page = grid.directory / "report.html"
    print_next([("look", f"{command_name()} report {quote(grid.directory)} --out {quote(page)}")])


def is_worker() -> bool:
    """Say whether this process was started as a worker of a grid."""
    from docaps.experiments.claims import PARENT

    return PARENT in os.environ


def work_on(wishes: Wishes) -> None:
    """Be one of the workers of a grid."""
    from docaps.experiments.crew import serve

    serve(plan(wishes))


def print_commands(wishes: Wishes) -> None:
    """Write down the grid, and print one command for each run."""
    from docaps.experiments.grid import write_request
    from docaps.experiments.work import command_for

    grid = plan(wishes)
    write_request(grid)
    for cell in grid.in_order():
        if not grid.is_done(cell):
            typer.echo(command_for(grid, cell, command_name()))


def print_plan(wishes: Wishes, *, json: bool) -> None:
    """Say how far each run is, and how much time and disk the others will take."""
    from docaps.experiments.estimates import corpus_to_measure, disk_in_all, estimate, seconds_in_all
    from docaps.experiments.work import state_of

    grid = plan(wishes)
    cells = list(grid.cells())
    with corpus_to_measure(grid) as store:
        missing = [cell for cell in cells if not grid.is_done(cell)]
        costs = {cost.cell: cost for cost in estimate(grid, store, missing, wishes.jobs)}
    rows = [
        {
            "seed": cell.seed,
            "row": cell.name,
            "title": cell.row.title if cell.row else "the sentence model that all rows start from",
            "state": state_of(grid, cell).value,
            "steps": grid.steps_of(cell),
            "taken": grid.steps_taken(cell),
            "seconds": round(costs[cell].seconds, 1) if cell in costs else None,
            "bytes": costs[cell].kept if cell in costs else None,
        }
        for cell in cells
    ]
    seconds, disk = seconds_in_all(list(costs.values()), wishes.jobs), disk_in_all(list(costs.values()), wishes.jobs)
    if json:
        print_json({"runs": rows, "seconds": round(seconds, 1), "bytes": disk, "jobs": wishes.jobs})
        return
    _print_plan(grid, rows, seconds, disk, wishes.jobs)


def _print_plan(grid: "Grid", rows: Sequence[dict[str, Any]], seconds: float, disk: int, jobs: int) -> None:
    from docaps.progress import in_words

    cells = [
        [
            f"{row['row']}: {row['title']}",
            str(row["seed"]),
            row["state"],
            f"{row['taken']:,} of {row['steps']:,}" if 0 < row["taken"] < row["steps"] else f"{row['steps']:,}",
            "" if row["seconds"] is None else in_words(row["seconds"]),
        ]
        for row in rows
    ]
    print_table(f"Runs in {grid.directory}", ["row", "seed", "state", "steps", "about"], cells)
    workers = "one process" if jobs == 1 else f"{jobs} processes"
    typer.echo(f"About {in_words(seconds)} with {workers}, and at most {disk / 2**20:,.0f} MiB of disk.")
