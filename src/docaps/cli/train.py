"""`docaps train`: the stages of a recipe, each to a run directory."""

from pathlib import Path
from typing import Annotated, Any

import typer

from docaps.cli.console import (
    JsonOption,
    OverwriteOption,
    SetOption,
    command_name,
    print_json,
    print_next,
    print_table,
    quote,
)


def train(
    recipe: Annotated[str, typer.Argument(help="A recipe (TOML file), or the name of one that comes with docaps.")],
    corpus: Annotated[Path, typer.Option(help="A prepared corpus.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory of the run directories, one for each stage.")],
    stage: Annotated[list[str] | None, typer.Option(help="Only this stage (may be given several times).")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of weights, order and dropout.")] = None,
    set: SetOption = None,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Train the stages of a recipe in order; finished stages are kept.

    Example: docaps train minidocs --corpus data/prepared --out runs/first --set stage.sentence.steps=200
    """
    from docaps.config import load_recipe, recipe_path
    from docaps.corpus.store import open_store
    from docaps.training.stages import train_recipe

    overrides = [*(set or ()), *([f"seed={seed}"] if seed is not None else [])]
    settings = load_recipe(recipe_path(recipe), overrides)
    runs = train_recipe(settings, open_store(corpus), out, stages=stage, overwrite=overwrite)
    summaries = [_summary(run.path) for run in runs]
    if json:
        print_json({"runs": summaries})
        return
    rows = [
        [
            str(row["path"]),
            row["system"],
            f"{row['parameters']:,}",
            f"{row['dev_perplexity']:.2f}",
            f"{row['seconds']:.0f}",
        ]
        for row in summaries
    ]
    print_table("Trained", ["run", "system", "parameters", "dev perplexity", "seconds"], rows)
    docaps, last = command_name(), runs[-1].path
    print_next(
        [
            ("translate", f"{docaps} translate {quote(last)} < document.txt > translation.txt"),
            ("look", f"{docaps} report {' '.join(quote(run.path) for run in runs)} --out report.html"),
        ]
    )


def _summary(path: Path) -> dict[str, Any]:
    """Return the numbers of a finished run."""
    from docaps.errors import RunError
    from docaps.runs import Run, read_metrics

    run = Run(path)
    description = run.read()
    perplexities = [row["dev_perplexity"] for row in read_metrics(run.metrics) if "dev_perplexity" in row]
    if not perplexities:
        raise RunError("no perplexity is logged: train the stage again with --overwrite", path=run.metrics)
    numbers = {key: description[key] for key in ("system", "parameters", "steps", "seconds")}
    return {"path": str(path), **numbers, "dev_perplexity": perplexities[-1]}
