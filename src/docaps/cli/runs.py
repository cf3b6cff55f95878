"""`docaps runs`: finished runs side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from docaps.cli.console import BlockOption, JsonOption, print_json, print_table, replace_generated

COLUMNS = {
    "system": "",
    "parameters": ",",
    "steps": ",",
    "tokens": ",",
    "tokens_per_second": ",.0f",
    "seconds": ",.0f",
    "dev_perplexity": ".2f",
}
"""What is shown of a run, and its format."""


def runs(
    paths: Annotated[list[Path], typer.Argument(help="Finished run directories.")],
    into: Annotated[
        Path | None, typer.Option(help="Also write the table into this Markdown file, between its comments.")
    ] = None,
    block: BlockOption = None,
    json: JsonOption = False,
) -> None:
    """Compare finished runs: system, parameters, training, perplexity of the development part; the best one first.

    Example: docaps runs runs/sizes/*/sentence
    """
    from docaps.runs.card import markdown_table

    if into is not None:
        replace_generated(into, block or "runs")
    found = sorted((summarise_run(path) for path in paths), key=lambda one: float(one["dev_perplexity"]))
    header, rows = ["run", *(name.replace("_", " ") for name in COLUMNS)], _rows(found)
    if into is not None:
        replace_generated(into, block or "runs", markdown_table(header, rows))
    if json:
        print_json({"runs": found})
    else:
        print_table("Runs", header, rows, texts=(0, 1))


def summarise_run(path: Path) -> dict[str, Any]:
    """Return the main numbers of a finished run."""
    from docaps.errors import RunError
    from docaps.runs.directory import open_run
    from docaps.runs.training_log import read_metrics

    run = open_run(path)
    description = run.read()
    perplexities = [row["dev_perplexity"] for row in read_metrics(run.metrics) if "dev_perplexity" in row]
    if not perplexities:
        raise RunError("no perplexity in the log: train the stage again with --overwrite", path=run.metrics)
    numbers = {key: description[key] for key in ("system", "parameters", "steps", "seconds", "tokens")}
    speed = numbers["tokens"] / max(numbers["seconds"], 1e-9)
    return {
        "path": str(path),
        **numbers,
        "tokens_per_second": round(speed, 1),
        "weights": description.get("weights"),
        "dev_perplexity": perplexities[-1],
    }


def _rows(found: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Format the numbers of runs."""
    return [[one["path"], *(f"{one[key]:{form}}" for key, form in COLUMNS.items())] for one in found]
