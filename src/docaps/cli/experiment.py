"""`docaps experiment`: many runs, one table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from docaps.cli.console import (
    AddressOption,
    BlockOption,
    EngineOption,
    JsonOption,
    SetOption,
    StopAfterOption,
    command_name,
    complete_recipe,
    print_json,
    print_next,
    print_table,
    replace_generated,
    stop_after,
    typed,
)
from docaps.cli.engines import check_engine
from docaps.experiments import DOCUMENTS, RECIPE
from docaps.memory import keep_pages
from docaps.progress import in_words

if TYPE_CHECKING:
    from docaps.experiments.estimate import Cost
    from docaps.experiments.grid import Cell, Grid
    from docaps.experiments.scheduling import RunEngine

NameArgument = Annotated[
    Literal["table2", "history", "capsules", "rounds", "trials", "routing", "rivals", "series"],
    typer.Argument(
        help="table2: the systems of Table 2, and controls; history, capsules: Figures 4 and 5; rounds: routing "
        "iterations; trials: one setting of the QCN at a time; routing: what the paper leaves open; rivals: other "
        "systems; series: the long comparison on real documents, from one sentence model."
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
    str | None,
    typer.Option(
        autocompletion=complete_recipe,
        help="A recipe with the stages sentence and document.",
        show_default=RECIPE,
    ),
]
BudgetOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Time for the whole grid, such as 30m: chooses the steps, once.")
]
JobsOption = Annotated[
    int | None, typer.Option(min=1, help="Runs at a time, each with its share of the cores.", show_default="1")
]
ListOption = Annotated[bool, typer.Option("--list", help="Print a command for each run, for any scheduler, and stop.")]
DocumentsOption = Annotated[
    int | None, typer.Option(min=1, help="Training documents, of mini-documents.", show_default=str(DOCUMENTS))
]
PhenomenaOption = Annotated[
    str | None, typer.Option(metavar="NAMES", help="Phenomena of mini-documents, with commas between (default: all).")
]
IntoOption = Annotated[
    Path | None, typer.Option(help="Also write the table into this Markdown file, between its begin and end comments.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Print the runs, what is done and what is left; train and write nothing.")
]
EstimateOption = Annotated[
    bool,
    typer.Option(
        "--estimate",
        help="Also train a few steps of each unfinished row, and print the time and disk that the rest takes; write "
        "nothing. Not for routing and rivals.",
    ),
]


def experiment(
    name: NameArgument,
    dir: DirOption = None,
    seeds: SeedsOption = "1",
    only: Annotated[list[str] | None, typer.Option(help="Only this row.")] = None,
    corpus: CorpusOption = None,
    profile: ProfileOption = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps of each stage, instead of the recipe's.")] = None,
    budget: BudgetOption = None,
    jobs: JobsOption = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
    cpus_per_run: Annotated[float | None, typer.Option(min=0, help="Ray: cores for a run.", show_default="1")] = None,
    gpus_per_run: Annotated[float | None, typer.Option(min=0, help="Ray: GPUs for a run.", show_default="0")] = None,
    list_: ListOption = False,
    documents: DocumentsOption = None,
    phenomena: PhenomenaOption = None,
    set: SetOption = None,
    into: IntoOption = None,
    block: BlockOption = None,
    stop: StopAfterOption = None,
    dry_run: DryRunOption = False,
    estimate: EstimateOption = False,
    json: JsonOption = False,
) -> None:
    """Train a sentence model per seed, then one document model for each row, and compare them.

    BLEU, METEOR and more are measured, with significance; `routing` and `rivals` compare contrastive choices by
    phenomenon and distance. Stop it any time: the same command continues.

    Examples: docaps experiment table2 --steps 1000 --dry-run;
    docaps experiment table2 --corpus data/ted --profile paper --seeds 1,2,3 --dir runs/ted
    """
    keep_pages()  # before torch is imported
    from docaps.cli.grid_options import GridOptions, build_grid, check_mode, parse_seeds

    ray = {"--address": address, "--cpus-per-run": cpus_per_run, "--gpus-per-run": gpus_per_run}
    check_engine(engine, ray, jobs, "--cpus-per-run")
    check_mode(name, {"--list": list_, "--dry-run": dry_run, "--estimate": estimate})
    folder, numbers = dir or Path("runs") / name, parse_seeds(seeds)
    options = GridOptions(name, folder, numbers, only, profile, corpus, documents, phenomena, set or (), steps, budget)
    grid = build_grid(replace(options, jobs=jobs or 1, measures=not dry_run))
    place = _find_place(into, block or (f"{name}-estimate" if estimate else name))
    if list_:
        _print_commands(grid)
    elif dry_run or estimate:
        _print_plan(grid, jobs or 1, place, measured=estimate, json=json)
    else:
        stop_after(stop)
        _run(grid, _engine(engine, address, (cpus_per_run, gpus_per_run), jobs or 1), place, json=json)


def _find_place(into: Path | None, block: str) -> tuple[Path, str] | None:
    """Return where the table is to be written too; report an error now, not after hours of training."""
    if into is None:
        return None
    replace_generated(into, block)
    return into, block


def _engine(name: str, address: str | None, resources: tuple[float | None, float | None], jobs: int) -> "RunEngine":
    """Return where runs are made."""
    from docaps.experiments.ray_runs import RayRuns
    from docaps.experiments.run_processes import RunProcesses
    from docaps.experiments.scheduling import ThisProcess

    if name == "ray":
        return RayRuns(address, cpus=resources[0], gpus=resources[1])
    return ThisProcess() if jobs == 1 else RunProcesses(jobs)


def _run(grid: "Grid", engine: "RunEngine", into: tuple[Path, str] | None, *, json: bool) -> None:
    """Run the grid and print the table; report failed runs at the end."""
    from docaps.errors import RunError
    from docaps.experiments.aggregate import aggregate_grid
    from docaps.experiments.grid import write_request
    from docaps.experiments.scheduling import failures, run_grid

    write_request(grid)
    run_grid(grid, engine)
    results = aggregate_grid(grid)
    table = write_table(grid.directory, results)
    if into is not None:
        replace_generated(*into, table)
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
    """Write the Markdown table of an experiment, and return it: that of its file of numbers, which may be newer."""
    from docaps.errors import RunError
    from docaps.experiments.grid import lock_folder
    from docaps.files import read_json, write_text_atomically

    path = directory / f"{results['experiment']}.json"
    with lock_folder(directory, "numbers"):
        text = _as_table(directory, read_json(path, error=RunError))
        write_text_atomically(path.with_suffix(".md"), text)
    return text


def _as_table(directory: Path, results: Mapping[str, Any]) -> str:
    """Format the numbers of an experiment, with those of its runs."""
    from docaps.report.grid_tables import as_markdown
    from docaps.report.markdown import runs_table
    from docaps.runs.results import read_results

    text = as_markdown(results)
    if "chance" not in results:
        read = [read_results(directory / run["path"]) for row in results["rows"] for run in row["runs"]]
        text += f"\n{runs_table(read)}\n" if read else ""
    return text


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


def _print_plan(grid: "Grid", jobs: int, place: tuple[Path, str] | None, *, measured: bool, json: bool) -> None:
    """Print the state of each run and, if they are measured, what the unfinished ones take; write that there, too."""
    plan = _make_plan(grid, jobs, measured=measured)
    (print_json if json else partial(_print_plan_table, grid))(plan)
    if place is not None and measured:
        replace_generated(*place, _plan_as_markdown(plan))


def _make_plan(grid: "Grid", jobs: int, *, measured: bool) -> dict[str, Any]:
    """Return the state of each run and, if they are measured, the time and disk that the unfinished ones will take."""
    from docaps.experiments.runner import state_of

    cells = list(grid.cells())
    costs = _measure(grid, [cell for cell in cells if not grid.is_done(cell)], jobs) if measured else None
    of_cell = {cost.cell: cost for cost in costs or ()}
    runs = [
        {
            "seed": cell.seed,
            "row": cell.name,
            "title": cell.row.title if cell.row else "the sentence model that all rows start from",
            "stage": "document" if cell.row else "sentence",
            "state": state_of(grid, cell).value,
            "steps": grid.steps_of(cell),
            "taken": min(grid.steps_taken(cell), grid.steps_of(cell)),
            **(_cost(of_cell.get(cell)) if measured else {}),
        }
        for cell in cells
    ]
    return {"runs": runs, **_totals(costs, jobs)}


def _measure(grid: "Grid", cells: "Sequence[Cell]", jobs: int) -> "list[Cost]":
    """Measure a few steps of some cells."""
    from docaps.experiments.estimate import corpus_to_measure, estimate

    with corpus_to_measure(grid) as store:
        return estimate(grid, store, cells, jobs)


def _cost(cost: "Cost | None") -> dict[str, Any]:
    """Return the time and disk of a run; None for a finished one."""
    return {"seconds": cost and round(cost.seconds, 1), "bytes": cost and cost.kept}


def _totals(costs: "Sequence[Cost] | None", jobs: int) -> dict[str, Any]:
    """Return the time and disk of all unfinished runs, if they were measured."""
    if costs is None:
        return {}
    from docaps.experiments.estimate import disk_in_all, seconds_in_all

    return {"seconds": round(seconds_in_all(costs, jobs), 1), "bytes": disk_in_all(costs, jobs), "jobs": jobs}


def _print_plan_table(grid: "Grid", plan: Mapping[str, Any]) -> None:
    """Print a row for each run, and how much is left."""
    runs, measured = plan["runs"], "seconds" in plan
    header = ["row", "seed", "stage", "state", "steps", *(["about"] if measured else [])]
    rows = [_plan_cells(run)[: len(header)] for run in runs]
    print_table(f"Runs in {grid.directory}", header, rows)
    left = [run for run in runs if run["state"] != "finished"]
    steps = sum(run["steps"] - run["taken"] for run in left)
    typer.echo(f"{len(runs) - len(left)} of {len(runs)} runs are finished; {steps:,} training steps are left.")
    if measured:
        workers = "one process" if plan["jobs"] == 1 else f"{plan['jobs']} processes"
        disk = f"{plan['bytes'] / 2**20:,.0f} MiB of disk"
        typer.echo(f"About {in_words(plan['seconds'])} with {workers}, and at most {disk}.")


def _plan_as_markdown(plan: Mapping[str, Any]) -> str:
    """Format what is left, with its time, as a table."""
    from docaps.runs.card import markdown_table

    left = [run for run in plan["runs"] if run["state"] != "finished"]
    rows = [
        [run["row"], str(run["seed"]), f"{run['steps'] - run['taken']:,}", in_words(run["seconds"])] for run in left
    ]
    whole = f"About {in_words(plan['seconds'])} in all with {plan['jobs']} at a time."
    return f"{markdown_table(['row', 'seed', 'steps', 'about'], rows)}\n\n{whole}"


def _plan_cells(run: Mapping[str, Any]) -> list[str]:
    taken = f"{run['taken']:,} of " if 0 < run["taken"] < run["steps"] else ""
    time = in_words(run["seconds"]) if run.get("seconds") is not None else ""
    name = f"{run['row']}: {run['title']}"
    return [name, str(run["seed"]), run["stage"], run["state"], f"{taken}{run['steps']:,}", time]
