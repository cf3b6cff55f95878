"""`docaps endpoints`: measure the runs of a grid on further texts, each once, and compare its rows."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docaps.cli.console import (
    BlockOption,
    JsonOption,
    StopAfterOption,
    print_json,
    print_next,
    print_table,
    replace_generated,
    stop_after,
    typed,
)
from docaps.memory import keep_pages

if TYPE_CHECKING:
    from docaps.experiments.endpoint_measures import EndpointPart, EndpointRequest
    from docaps.runs.grid_results import Grid

PartOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=SOURCE,TARGET", help="Translate and score this text as well; may be repeated."),
]
ItemsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=FILE",
        help="Answer these contrastive items (as docaps mine writes them) with each history; may be repeated.",
    ),
]
IntoOption = Annotated[
    Path | None, typer.Option(help="Also write the tables into this Markdown file, between its begin and end comments.")
]


def endpoints(
    folder: Annotated[Path, typer.Argument(help="The folder of a grid: docaps experiment.")],
    part: PartOption = None,
    items: ItemsOption = None,
    checkpoints: Annotated[
        bool, typer.Option("--checkpoints/--no-checkpoints", help="Measure the weights that keep_at kept, too.")
    ] = True,
    into: IntoOption = None,
    block: BlockOption = None,
    stop: StopAfterOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what is measured and what is left; measure nothing.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Measure every finished run of a grid on further texts and items, and compare its rows.

    For each run: BLEU, d-BLEU, chrF2++ and METEOR of further test parts; right choices with an item's own history,
    another's and none, for models that read translations also with their own ones; at each kept checkpoint, right
    choices and perplexity with each history. Everything is stored in the runs and measured once; stop it any time, the
    same command goes on. Numbers and tables are written into the folder; docaps report shows them.

    Examples: docaps endpoints runs/series --part ted=ted.en,ted.de --items pronoun=mined/contrastive.jsonl;
    docaps endpoints runs/series --part ted=ted.en,ted.de --dry-run
    """
    keep_pages()  # before torch is imported
    from docaps.cli.experiment import write_tables
    from docaps.experiments.endpoint_comparison import compare_endpoints, measure_endpoints

    request = _read_request(part or [], items or [], checkpoints=checkpoints)
    if into is not None:
        replace_generated(into, block or NAME)
    request.check()
    write_tables(folder)  # runs may have finished since the results were written
    grid, store = _open(folder)
    if dry_run:
        _print_plan(folder, grid, request, json=json)
        return
    stop_after(stop)
    measure_endpoints(folder, grid, request, store)
    found = compare_endpoints(folder, grid, request)
    _deliver(folder, found, None if into is None else (into, block or NAME), json=json)


NAME = "endpoints"
"""What the begin and end comments of a Markdown file name."""


def _read_request(parts: Sequence[str], items: Sequence[str], *, checkpoints: bool) -> "EndpointRequest":
    """Parse the options."""
    from docaps.experiments.endpoint_measures import EndpointRequest

    found = [_read_part(text) for text in parts]
    sets = [_named("--items", text) for text in items]
    names = [*(part.name for part in found), *(name for name, _ in sets)]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise typer.BadParameter(f"two texts have the name {repeated!r}: each needs its own")
    return EndpointRequest(found, {name: Path(path) for name, path in sets}, checkpoints)


def _read_part(text: str) -> "EndpointPart":
    """Parse the name and the two files of a part."""
    from docaps.experiments.endpoint_measures import EndpointPart

    name, files = _named("--part", text)
    source, separator, target = files.partition(",")
    if not (source and separator and target):
        raise typer.BadParameter(f"--part {text}: expected NAME=SOURCE,TARGET, two files with a comma between")
    return EndpointPart(name, Path(source), Path(target))


def _named(option: str, text: str) -> tuple[str, str]:
    """Parse NAME=VALUE; the name becomes that of a file."""
    name, separator, value = text.partition("=")
    if not separator or not value or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name) or name == "test":
        raise typer.BadParameter(
            f"{option} {text}: expected NAME=..., a name of letters, digits, - and _ (test is the grid's own part)"
        )
    return name, value


def _open(folder: Path) -> "tuple[Grid, Any]":
    """Return the grid's results, of a table with a baseline, and its corpus."""
    from docaps.corpus.store import open_store
    from docaps.errors import RunError
    from docaps.experiments.endpoint_comparison import list_runs
    from docaps.runs.directory import own_corpus
    from docaps.runs.grid_results import read_grids

    grids = [grid for grid in read_grids(folder) if grid["baseline"] and "chance" not in grid]
    if len(grids) != 1:
        raise RunError(f"{len(grids)} tables of runs with a baseline are here, expected one", path=folder)
    runs = list_runs(folder, grids[0])
    if not runs:
        raise RunError("no run is finished yet: run its `docaps experiment` command first", path=folder)
    return grids[0], open_store(own_corpus(runs[0]))


def _print_plan(folder: Path, grid: "Grid", request: "EndpointRequest", *, json: bool) -> None:
    """Print what is left of each run."""
    from docaps.corpus.store import open_store
    from docaps.experiments.endpoint_comparison import list_runs
    from docaps.experiments.endpoint_measures import EndpointMeter
    from docaps.runs.directory import own_corpus

    runs = list_runs(folder, grid)
    store = open_store(own_corpus(runs[0]))
    left = {str(run.path): [name for name, _ in EndpointMeter(run, request, store).missing()] for run in runs}
    if json:
        print_json({"left": left})
        return
    print_table("Endpoints", ["run", "left"], [[run, ", ".join(names) or "nothing"] for run, names in left.items()])
    typer.echo(f"{sum(map(len, left.values())):,} endpoints are left.")


def _deliver(folder: Path, found: Mapping[str, Any], place: tuple[Path, str] | None, *, json: bool) -> None:
    """Write the tables, and print them or all numbers."""
    from docaps.files import write_text_atomically
    from docaps.report.endpoint_tables import endpoints_as_markdown
    from docaps.runs.endpoint_results import ENDPOINTS

    text = endpoints_as_markdown(found)
    write_text_atomically((folder / ENDPOINTS).with_suffix(".md"), text)
    if place is not None:
        replace_generated(*place, text)
    if json:
        print_json(found)
    else:
        _print(folder, found)


def _print(folder: Path, found: Mapping[str, Any]) -> None:
    """Print all tables."""
    from docaps.report.endpoint_tables import checkpoint_rows, item_rows, part_names, part_rows
    from docaps.runs.endpoint_results import ENDPOINTS

    for part in part_names(found):
        print_table(f"Scores of the part {part}", *part_rows(found, part))
    for name in found["items"]:
        print_table(f"Right choices among the items {name}, %", *item_rows(found, name))
    header, rows = checkpoint_rows(found)
    if rows:
        print_table("Gain from context against training", header, rows)
    numbers = folder / ENDPOINTS
    typer.echo(f"The tables are in {numbers.with_suffix('.md')}, the numbers in {numbers}.", err=True)
    print_next([("look", typed("report", folder, "--out", folder / "report.html"))])
