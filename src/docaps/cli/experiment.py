"""`docaps experiment`: many runs, one table."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from docaps.cli.console import JsonOption, SetOption, command_name, print_json, print_next, print_table, typed
from docaps.experiments import DOCUMENTS, PHENOMENA, RECIPE
from docaps.memory import keep_pages
from docaps.progress import in_words

if TYPE_CHECKING:
    from docaps.experiments.estimate import Cost
    from docaps.experiments.grid import Cell, Grid

NameArgument = Annotated[
    Literal["table2", "history", "capsules", "rounds", "trials", "routing", "rivals"],
    typer.Argument(
        help="table2: the systems of Table 2, and controls; history, capsules: Figures 4 and 5; rounds: routing "
        "iterations; trials: one setting of the QCN at a time; routing: what the paper leaves open; rivals: other "
        "systems."
    ),
]
DirOption = Annotated[
    Path | None, typer.Option("--dir", help="Folder of the runs; finished ones are kept.", show_default="runs/NAME")
]
SeedsOption = Annotated[
    str, typer.Option(help="Seeds of the weights (routing, rivals: of the documents too), with commas between.")
]
CorpusOption = Annotated[
    Path | None, typer.Option(help="A prepared corpus (default: mini-documents); not for routing and rivals.")
]
ProfileOption = Annotated[
    str | None, typer.Option(help="A recipe with the stages sentence and document.", show_default=RECIPE)
]
BudgetOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Time for the whole grid, such as 30m: chooses the steps, once.")
]
ListOption = Annotated[bool, typer.Option("--list", help="Print a command for each run, for any scheduler, and stop.")]
DocumentsOption = Annotated[
    int | None, typer.Option(min=1, help="Training documents, of mini-documents.", show_default=str(DOCUMENTS))
]
PhenomenaOption = Annotated[
    str | None, typer.Option(metavar="NAMES", help="Phenomena of mini-documents.", show_default=PHENOMENA)
]
IntoOption = Annotated[
    Path | None, typer.Option(help="Also write the table into this Markdown file, between its begin and end comments.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Print the runs and, except for routing and rivals, time and disk; then stop.")
]


def experiment(
    name: NameArgument,
    dir: DirOption = None,
    seeds: SeedsOption = "1",
    only: Annotated[list[str] | None, typer.Option(help="Only this row (may be given several times).")] = None,
    corpus: CorpusOption = None,
    profile: ProfileOption = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps of each stage, instead of the recipe's.")] = None,
    budget: BudgetOption = None,
    jobs: Annotated[int, typer.Option(min=1, help="Runs at a time, each a process with its share of the cores.")] = 1,
    list_: ListOption = False,
    documents: DocumentsOption = None,
    phenomena: PhenomenaOption = None,
    set: SetOption = None,
    into: IntoOption = None,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Train a sentence model per seed, then one document model for each row, and compare them.

    BLEU, METEOR and more are measured, with significance; `routing` and `rivals` compare contrastive choices by
    phenomenon and distance. Several machines may share a folder. Stop it any time: the same command continues.

    Example: docaps experiment table2 --corpus data/ted --profile paper --seeds 1,2,3 --dir runs/ted
    """
    keep_pages()  # before torch is imported
    from docaps.cli.grid_options import GridOptions, build_grid, parse_seeds
    from docaps.experiments.grid_locks import PARENT

    folder, numbers = dir or Path("runs") / name, parse_seeds(seeds)
    grid = build_grid(
        GridOptions(name, folder, numbers, only, profile, corpus, documents, phenomena, set or (), steps, budget, jobs)
    )
    if into is not None:
        replace_generated(into, name)  # report an error now, not after hours of training
    if PARENT in os.environ:  # this process was started as a worker
        from docaps.experiments.grid_workers import work_for_parent

        work_for_parent(grid)
    elif list_:
        _print_commands(grid)
    elif dry_run:
        _print_plan(grid, jobs, json=json)
    else:
        _run(grid, jobs, into, json=json)


def _run(grid: "Grid", jobs: int, into: Path | None, *, json: bool) -> None:
    """Run the grid and print the table; report failed runs at the end."""
    from docaps.errors import RunError
    from docaps.experiments.aggregate import aggregate_grid
    from docaps.experiments.grid import write_request
    from docaps.experiments.grid_workers import failures, run_grid

    write_request(grid)
    run_grid(grid, jobs=jobs)
    results = aggregate_grid(grid)
    table = write_table(grid.directory, results)
    if into is not None:
        replace_generated(into, grid.layout.name, table)
    if json:
        print_json(results)
    else:
        _print_results(grid, results)
    if failed := failures(grid):
        listed = "\n".join(f"  {key}: {(error.splitlines() or ['?'])[-1]}" for key, error in failed.items())
        raise RunError(f"{len(failed)} of the runs failed, each tried twice; the same command tries again:\n{listed}")


def write_tables(directory: Path) -> None:
    """Aggregate every experiment in a grid's folder again and write its tables."""
    from docaps.experiments.aggregate import aggregate_folder

    for results in aggregate_folder(directory):
        write_table(directory, results)


def write_table(directory: Path, results: Mapping[str, Any]) -> str:
    """Write the Markdown table of an experiment, and return it."""
    from docaps.files import write_text_atomically
    from docaps.report.grid_tables import as_markdown
    from docaps.report.markdown import runs_table
    from docaps.runs.results import read_results

    text = as_markdown(results)
    if "chance" not in results:
        read = [read_results(directory / run["path"]) for row in results["rows"] for run in row["runs"]]
        text += f"\n{runs_table(read)}\n" if read else ""
    write_text_atomically(directory / f"{results['experiment']}.md", text)
    return text


def replace_generated(path: Path, name: str, text: str | None = None) -> None:
    """Replace the part of a Markdown file between its begin and end comments; without text, only check the file."""
    from docaps.errors import RunError
    from docaps.files import replacing

    begin, end = (f"<!-- {word} {name} -->" for word in ("begin", "end"))
    if not path.is_file():
        raise RunError(f"no such file; it should hold the lines {begin} and {end}", path=path)
    before, opened, rest = path.read_bytes().partition(begin.encode())
    _, closed, after = rest.partition(end.encode())
    if not opened or not closed:
        raise RunError(f"expected the lines {begin} and, after it, {end}", path=path)
    if text is not None:
        with replacing(path) as temporary:
            temporary.write_bytes(before + opened + f"\n{text.strip()}\n".encode() + closed + after)


def _print_results(grid: "Grid", results: Mapping[str, Any]) -> None:
    from docaps.report.grid_tables import as_rows, choice_rows

    if results["rows"]:
        print_table(results["title"], *(choice_rows if "chance" in results else as_rows)(results))
    typer.echo(f"The table is in {grid.results.with_suffix('.md')}, the numbers are in {grid.results}.", err=True)
    page = grid.directory / "report.html"
    print_next([("look", typed("report", grid.directory, "--out", page))])


def _print_commands(grid: "Grid") -> None:
    """Store the grid's request, and print one command for each unfinished run."""
    from docaps.experiments.grid import write_request
    from docaps.experiments.runner import command_for

    write_request(grid)
    for cell in grid.in_order():
        if not grid.is_done(cell):
            typer.echo(command_for(grid, cell, command_name()))


def _print_plan(grid: "Grid", jobs: int, *, json: bool) -> None:
    """Print the state of each run, and the time and disk that the others will take; routing and rivals are untimed."""
    from docaps.experiments.estimate import corpus_to_measure, disk_in_all, estimate, seconds_in_all
    from docaps.experiments.runner import state_of

    cells, costs = list(grid.cells()), dict["Cell", "Cost"]()
    if timed := not grid.layout.per_seed:
        with corpus_to_measure(grid) as store:
            missing = [cell for cell in cells if not grid.is_done(cell)]
            costs = {cost.cell: cost for cost in estimate(grid, store, missing, jobs)}
    runs = [
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
    seconds, disk = (total(list(costs.values()), jobs) if timed else None for total in (seconds_in_all, disk_in_all))
    if json:
        print_json({"runs": runs, "seconds": seconds and round(seconds, 1), "bytes": disk, "jobs": jobs})
        return
    table = [_plan_cells(run) for run in runs]
    print_table(f"Runs in {grid.directory}", ["row", "seed", "state", "steps", "about"], table)
    if seconds is not None and disk is not None:
        workers = "one process" if jobs == 1 else f"{jobs} processes"
        typer.echo(f"About {in_words(seconds)} with {workers}, and at most {disk / 2**20:,.0f} MiB of disk.")


def _plan_cells(run: Mapping[str, Any]) -> list[str]:
    taken = f"{run['taken']:,} of " if 0 < run["taken"] < run["steps"] else ""
    time = "" if run["seconds"] is None else in_words(run["seconds"])
    return [f"{run['row']}: {run['title']}", str(run["seed"]), run["state"], f"{taken}{run['steps']:,}", time]
