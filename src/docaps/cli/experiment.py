"""`docaps experiment`: many runs, one table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from docaps.cli import grid_options as grids
from docaps.cli.console import (
    JsonOption,
    SetOption,
    command_name,
    print_json,
    print_next,
    print_table,
    quote,
)
from docaps.memory import prepare_memory

if TYPE_CHECKING:
    from docaps.experiments.comparison import Comparison
    from docaps.experiments.readings import Reading


NameArgument = Annotated[
    Literal["table2", "history", "capsules", "rounds", "trials", "routing", "rivals"],
    typer.Argument(
        help="table2: the systems of Table 2, and controls; history, capsules: Figures 4 and 5; rounds: routing "
        "iterations; trials: one setting of the QCN at a time. routing: readings of the method; rivals: other systems."
    ),
]
DirOption = Annotated[
    Path | None,
    typer.Option("--dir", help="Where everything goes; finished runs there are kept.", show_default="runs/NAME"),
]
SeedsOption = Annotated[
    str, typer.Option(help="Seeds of the weights (routing, rivals: of the documents too), with commas between.")
]
OnlyOption = Annotated[list[str] | None, typer.Option(help="Only this row (may be given several times).")]
CorpusOption = Annotated[
    Path | None, typer.Option(help="A prepared corpus (default: mini-documents). Grids only, as all down to --list.")
]
ProfileOption = Annotated[
    str | None, typer.Option(help="A recipe with the stages sentence and document.", show_default="minidocs")
]
StepsOption = Annotated[int | None, typer.Option(min=1, help="Steps of each stage, instead of the recipe's.")]
BudgetOption = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Time for the whole grid, such as 30m; the steps are chosen for it, once."),
]
JobsOption = Annotated[int, typer.Option(min=1, help="Runs at a time, each a process with its share of the cores.")]
ListOption = Annotated[
    bool, typer.Option("--list", help="Print one command for each run, for any scheduler, and stop.")
]
DocumentsOption = Annotated[
    int | None, typer.Option(min=1, help="Training documents, of mini-documents.", show_default="8000")
]
KindsOption = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Phenomena of mini-documents.", show_default="pronoun,ambiguity"),
]
IntoOption = Annotated[
    Path | None, typer.Option(help="Also put the table into this Markdown file, between its two marks.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be trained (grids: how long it takes), and stop.")
]


def experiment(
    name: NameArgument,
    dir: DirOption = None,
    seeds: SeedsOption = "1",
    only: OnlyOption = None,
    corpus: CorpusOption = None,
    profile: ProfileOption = None,
    steps: StepsOption = None,
    budget: BudgetOption = None,
    jobs: JobsOption = 1,
    list_: ListOption = False,
    documents: DocumentsOption = None,
    phenomena: KindsOption = None,
    set: SetOption = None,
    into: IntoOption = None,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Train a sentence model per seed, then one document model for each row, and compare them.

    The grids, `table2` to `trials`, measure BLEU, METEOR and more, with significance; several may share a folder, and
    several machines too. The rows of `routing` are the options the paper leaves open, those of `rivals` the other
    systems; both compare choices on mini-documents. Stop it any time: the same command goes on.

    Example: docaps experiment table2 --corpus data/ted --profile paper --seeds 1,2,3 --dir runs/ted
    """
    prepare_memory()  # before torch is imported
    numbers = _numbers(seeds)
    if name in ("routing", "rivals"):
        given = {"--corpus": corpus, "--profile": profile, "--steps": steps, "--budget": budget}
        _refuse(name, [option for option, value in given.items() if value is not None] + ["--list"] * list_)
        comparison = _comparison(name, dir, numbers, only, documents, phenomena, set)
        _carry_out(comparison, name, into, dry_run=dry_run, json=json)
        return
    wishes = grids.Wishes(
        name, dir, numbers, only, profile, corpus, documents, phenomena, set or (), steps, budget, jobs
    )
    if grids.is_worker():
        grids.work_on(wishes)
    elif list_:
        grids.print_commands(wishes)
    elif dry_run:
        grids.print_plan(wishes, json=json)
    else:
        grids.run(wishes, into, json=json)


def _refuse(name: str, options: list[str]) -> None:
    """Refuse options that the comparison does not have."""
    from docaps.errors import ConfigError

    if options:
        raise ConfigError(
            f"{', '.join(options)}: {name} has no such option; table2, history, capsules, rounds and trials do"
        )


def _comparison(
    name: str,
    dir: Path | None,
    seeds: list[int],
    only: list[str] | None,
    documents: int | None,
    phenomena: str | None,
    set: list[str] | None,
) -> "Comparison":
    """Put a comparison on mini-documents together."""
    from docaps.config import load_recipe, recipe_path
    from docaps.corpus.minidocs.phenomena import choose_phenomena
    from docaps.experiments.comparison import Comparison

    # Each seed will stand in for the recipe's; if the largest can, all can.
    recipe = load_recipe(recipe_path("minidocs"), [*(set or ()), f"seed={max(seeds)}"])
    rows, chosen = _chosen(name, only), choose_phenomena(phenomena or "pronoun,ambiguity")
    place, timed = dir or Path("runs") / name, name == "rivals"
    return Comparison(place, recipe, rows, seeds, documents or 8000, chosen, timed=timed)


def _carry_out(comparison: "Comparison", name: str, into: Path | None, *, dry_run: bool, json: bool) -> None:
    """Make the comparison, or say what there is to do; faults are told first."""
    from docaps.experiments.comparison import check_request, compare
    from docaps.experiments.marks import put_between_marks, split_at_marks
    from docaps.report.readings import as_markdown

    check_request(comparison)
    if into is not None:
        split_at_marks(into, name)  # a fault is found now, not after hours of training
    if dry_run:
        _print_plan(comparison, json=json)
        return
    results = compare(comparison)
    if into is not None:
        put_between_marks(into, name, as_markdown(results))
    if json:
        print_json(results)
        return
    _print_results(comparison, results, name)


def _chosen(experiment: str, only: list[str] | None) -> list["Reading"]:
    """Return the rows that were asked for, or all."""
    from docaps.errors import ConfigError
    from docaps.experiments.readings import READINGS
    from docaps.experiments.rivals import RIVALS

    known = RIVALS if experiment == "rivals" else READINGS
    unknown = [name for name in only or () if name not in known]
    if unknown:
        raise ConfigError(f"no reading {', '.join(unknown)!r}: there are {', '.join(known)}")
    return [reading for name, reading in known.items() if only is None or name in only]


def _numbers(text: str) -> list[int]:
    """Read seeds."""
    from docaps.errors import ConfigError

    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ConfigError(f"--seeds {text}: expected whole numbers with commas between, for example 1,2,3")
    return list(dict.fromkeys(int(part) for part in parts))


def _print_plan(comparison: "Comparison", *, json: bool) -> None:
    """Say which runs are there and which would be trained."""
    cells = [
        {
            "seed": seed,
            "reading": reading.name,
            "title": reading.title,
            "finished": comparison.run(seed, reading.name).finished,
        }
        for seed, reading in comparison.cells()
    ]
    if json:
        print_json({"runs": cells})
        return
    rows = [
        [f"{cell['reading']}: {cell['title']}", str(cell["seed"]), "finished" if cell["finished"] else "to train"]
        for cell in cells
    ]
    print_table(f"Runs in {comparison.directory}", ["reading", "seed", "state"], rows)


def _print_results(comparison: "Comparison", results: dict[str, Any], name: str) -> None:
    """Print the table, where it is, and how to look at the first reading."""
    from docaps.report.readings import as_rows

    print_table("Right choices in %", *as_rows(results))
    typer.echo(f"The table is in {comparison.table}, the numbers are in {comparison.results}.", err=True)
    names = ("sentence", comparison.readings[0].name)
    runs = " ".join(quote(comparison.run(comparison.seeds[0], name).path) for name in names)
    print_next([("look", f"{command_name()} report {runs} --out {name}.html")])
