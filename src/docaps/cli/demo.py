"""`docaps demo`: the whole chain on mini-documents."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docaps.cli.console import JsonOption, SetOption, command_name, print_json, print_next, print_table, typed
from docaps.experiments import DEMO_DIRECTORY, DOCUMENTS
from docaps.interruption import Interrupted
from docaps.memory import keep_pages

if TYPE_CHECKING:
    from docaps.config import Recipe
    from docaps.experiments.demo_chain import DemoFolder

EXAMPLES = {
    "address": "you: du or Sie",
    "ambiguity": "bank: Bank or Ufer",
    "ellipsis": "she did: hat ihn gekauft ...",
    "profession": "doctor: Arzt or Ärztin",
    "pronoun": "it: er, sie or es",
}


def demo(
    dir: Annotated[Path, typer.Option("--dir", help="The folder of the demo.")] = DEMO_DIRECTORY,
    seed: Annotated[int, typer.Option(help="Seed of documents, weights and order.")] = 1,
    documents: Annotated[int, typer.Option(min=1, help="Training documents.")] = DOCUMENTS,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an unfinished demo.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Start over: remove the demo that is there.")] = False,
    set: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Train a sentence model and a document model on mini-documents and compare them: a few minutes on two cores.

    In the mini-documents some choices are settled by an earlier sentence: er, sie or es for *it*, Bank or Ufer for
    *bank*, du or Sie, Arzt or Ärztin for *doctor*, and what *she did*. A sentence model can only guess there; the table
    shows what context adds.

    Example: docaps demo --seed 2 --dir runs/demo-2
    """
    keep_pages()  # before torch is imported
    from docaps.config import load_recipe, recipe_path
    from docaps.errors import RunError
    from docaps.experiments.demo_chain import (
        DemoFolder,
        check_folder,
        command_for,
        timed,
        train_and_assess,
        write_summary,
    )
    from docaps.files import read_json

    folder, recipe = DemoFolder(dir), load_recipe(recipe_path("minidocs"), [*(set or ()), f"seed={seed}"])
    command = command_for(folder, recipe, documents, command_name())
    if check_folder(folder, recipe, documents, resume=resume, overwrite=overwrite):
        summary = read_json(folder.summary, error=RunError)
        typer.echo(f"{dir} holds this demo, finished. Start over: {command} --overwrite", err=True)
    else:
        with _telling(f"{command} --resume"):
            seconds = train_and_assess(folder, recipe, documents)
            with timed(seconds, "report"):
                _write_page(folder, recipe, command)
            summary = write_summary(folder, recipe, seconds)
    if json:
        print_json(summary)
    else:
        _print_summary(summary)
        _print_next(folder)


@contextmanager
def _telling(command: str) -> Iterator[None]:
    """If the block is stopped, tell the command that continues."""
    try:
        yield
    except Interrupted as stop:
        raise Interrupted(stop.number, f"stopped; what was finished is kept. Go on: {command}") from None


def _write_page(folder: "DemoFolder", recipe: "Recipe", command: str) -> None:
    """Write the report on both models."""
    from docaps.experiments.demo_chain import STAGES
    from docaps.files import write_text_atomically
    from docaps.report.page import build_page
    from docaps.runs.results import read_results

    model, results = folder.run("document").path, [read_results(folder.run(stage).path) for stage in STAGES]
    commands = [
        ("Make all of this again", f"{command} --overwrite"),
        ("Translate a document of your own", f"{typed('translate', model)} < document.txt"),
        ("Measure context-dependent choices", typed("contrast", model, folder.items)),
    ]
    title, subtitle = "Does the model use context?", f"docaps demo on mini-documents, seed {recipe.seed}"
    write_text_atomically(folder.report, build_page(results, title=title, subtitle=subtitle, commands=commands))


def _print_summary(summary: dict[str, Any]) -> None:
    """Print the table: BLEU and contrastive accuracy of both models, and chance."""
    models = [summary[stage] for stage in ("sentence", "document")]
    columns = [*(model["contrastive"] for model in models), summary["chance"]]
    shares = {"right choices in %: all": [column["all"] for column in columns]}
    for name in columns[-1]["by_phenomenon"]:
        title = f"{name} ({EXAMPLES[name]})" if name in EXAMPLES else name
        shares[f"  {title}"] = [column["by_phenomenon"][name] for column in columns]
    for distance in columns[-1]["by_distance"]:
        title = f"  decided {distance} sentence{'s' * (distance != '1')} before"
        shares[title] = [column["by_distance"][distance] for column in columns]
    rows = [[title, *(f"{100 * share:.1f}" for share in found)] for title, found in shares.items()]
    bleu = ["BLEU", *(f"{model['bleu']:.1f}" for model in models), ""]
    title = "A sentence-level Transformer, and the same with QCN and regularisation, which sees three sentences before"
    print_table(title, ["", "sentence model", "document model", "chance"], [bleu, *rows])


def _print_next(folder: "DemoFolder") -> None:
    """Print what to look at and what to type next."""
    translate = typed("translate", folder.run("document").path)
    typer.echo(f"Look at {folder.report} in a browser; the numbers are in {folder.summary}.", err=True)
    example = "printf 'Anna bought a red blouse in the sale.\\nIt fitted Anna like a glove.\\n'"
    print_next(
        [
            ("translate", f"{example} | {translate}"),
            ("without context", f"{example} | {translate} --no-context"),
            ("more documents", typed("minidocs", "--documents", "5", "--seed", "3")),
            ("all commands", typed("--help")),
        ]
    )
