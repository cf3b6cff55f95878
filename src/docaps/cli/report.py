"""`docaps report`: one page about runs."""

from pathlib import Path
from typing import Annotated

import typer

from docaps.cli.console import JsonOption, command_name, print_json


def report(
    runs: Annotated[list[Path], typer.Argument(help="Finished run directories; the first is compared with the last.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("report.html"),
    corpus: Annotated[Path | None, typer.Option(help="Prepared corpus to assess on (default: the run's own).")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the page if it exists.")] = False,
    json: JsonOption = False,
) -> None:
    """Write a self-contained page: learning curves, scores, sample translations, heat maps of the routing.

    What has not been measured yet is measured first (on the test part of the corpus) and kept with the run.

    Example: docaps report runs/demo/runs/sentence runs/demo/runs/document --out report.html
    """
    from docaps.errors import DocapsError
    from docaps.experiments.pages import report_runs

    if out.exists() and not overwrite:
        raise DocapsError("exists already: give --overwrite to replace it", path=out)
    report_runs(runs, out, corpus=corpus, docaps=command_name())
    if json:
        print_json({"report": str(out), "runs": [str(run) for run in runs]})
        return
    typer.echo(f"Open {out} in a browser.")
