"""`docaps demo`: the whole chain on mini-documents."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docaps.cli.console import JsonOption, SetOption, command_name, print_json, print_next, print_table, quote

if TYPE_CHECKING:
    from docaps.experiments.demo import DemoFolder


def demo(
    dir: Annotated[Path, typer.Option("--dir", help="Where everything goes.")] = Path("runs/demo"),
    seed: Annotated[int, typer.Option(help="Seed of documents, weights and order.")] = 1,
    documents: Annotated[int, typer.Option(min=1, help="Training documents.")] = 8000,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished demo.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Start over, removing the demo that is there.")
    ] = False,
    set: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Train a sentence model and a document model on mini-documents and compare them: a few minutes on two cores.

    In the mini-documents some choices (er, sie or es for *it*; Bank or Ufer for *bank*) are settled by an earlier
    sentence. A sentence model can only guess there; the table shows what context adds.

    Example: docaps demo --seed 2 --dir runs/demo-2
    """
    from docaps.config import load_recipe, recipe_path
    from docaps.errors import RunError
    from docaps.experiments.demo import DemoFolder, check_folder, run_demo
    from docaps.files import read_json

    folder = DemoFolder(dir)
    if folder.request.exists() and folder.summary.exists() and not overwrite:
        summary = read_json(folder.summary, error=RunError)
        again = f"{command_name()} demo --dir {quote(dir)} --seed {seed} --overwrite"
        typer.echo(f"{dir} holds a finished demo, seed {summary['seed']}. Start over: {again}", err=True)
    else:
        recipe = load_recipe(recipe_path("minidocs"), [*(set or ()), f"seed={seed}"])
        check_folder(folder, recipe, documents, resume=resume, overwrite=overwrite)
        summary = run_demo(folder, recipe, documents, docaps=command_name())
    if json:
        print_json(summary)
        return
    _print_summary(summary)
    _print_places(folder)


def _print_summary(summary: dict[str, Any]) -> None:
    """Print the table: BLEU and contrastive accuracy of both models, and chance."""
    names = {"sentence": "sentence-level Transformer", "document": "Transformer + QCN + regularisation"}
    chance = summary["chance"]
    phenomena, distances = list(chance["by_phenomenon"]), list(chance["by_distance"])
    header = ["right choices in %", "BLEU", "all", *phenomena, *(f"distance {distance}" for distance in distances)]
    rows = [
        [title, f"{summary[stage]['bleu']:.1f}", *_row(summary[stage]["contrastive"])] for stage, title in names.items()
    ]
    print_table("With and without context", header, [*rows, ["chance", "", *_row(chance)]])


def _row(numbers: dict[str, Any]) -> list[str]:
    """Write accuracies in per cent."""
    values = [numbers["all"], *numbers["by_phenomenon"].values(), *numbers["by_distance"].values()]
    return [f"{100 * value:.1f}" for value in values]


def _print_places(folder: "DemoFolder") -> None:
    """Say what to look at and what to type next."""
    docaps, document = command_name(), quote(folder.run("document").path)
    typer.echo(f"Look at {folder.report} in a browser; the numbers are in {folder.summary}.", err=True)
    example = "printf 'Anna bought a red blouse in the sale.\\nIt fitted Anna like a glove.\\n'"
    print_next(
        [
            ("translate", f"{example} | {docaps} translate {document}"),
            ("without context", f"{example} | {docaps} translate {document} --no-context"),
            ("more documents", f"{docaps} minidocs --documents 5 --seed 3"),
            ("all commands", f"{docaps} --help"),
        ]
    )
