"""`docaps report`: a page, Markdown tables and figures about runs."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docaps.cli.console import JsonOption, command_name, print_json

if TYPE_CHECKING:
    from docaps.experiments.collect import ReportData


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Finished run directories (the first is compared with the last), or folders of grids."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("report.html"),
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the tables as Markdown as well.")] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write figures as SVG and PDF as well (needs the extra plots).")
    ] = None,
    corpus: Annotated[Path | None, typer.Option(help="Prepared corpus to assess on (default: the run's own).")] = None,
    sentence: Annotated[
        list[str] | None,
        typer.Option(metavar="D:S", help="Show the routing for sentence S of test document D."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the page if it exists.")] = False,
    json: JsonOption = False,
) -> None:
    """Write a self-contained page: tables, learning curves, sample translations, heat maps of the routing.

    Runs that have not been measured are measured first, on the test part of the corpus; rows of a grid (`docaps
    experiment`) keep their results. For a grid, the page has Table 2 with the paper's scores, and Figures 4 and 5.

    Example: docaps report runs/demo/runs/sentence runs/demo/runs/document --out report.html

    Example: docaps report runs/demo/runs/document --sentence 48:2 --sentence 48:6
    """
    from docaps.experiments.collect import collect
    from docaps.report.figures import load_converter, write_figures

    places = [_place(text) for text in sentence or ()]
    _check_absent([out, *([markdown] if markdown else [])], overwrite=overwrite)
    if figures is not None:
        if figures.is_dir() and any(figures.iterdir()):
            _check_absent([figures], overwrite=overwrite)
        load_converter()  # fail now rather than after measuring the models
    found = collect(runs, corpus=corpus, docaps=command_name(), places=places)
    written = _write_pages(found, runs, out, markdown)
    if figures is not None:
        written += write_figures(figures, found.results, found.grids)
    if json:
        names = [str(run) for run in runs]
        print_json({"report": str(out), "runs": names, "files": [str(path) for path in written]})
        return
    typer.echo(f"Open {out} in a browser.")


def _place(text: str) -> tuple[int, int]:
    """Parse the numbers of a document and a sentence in it."""
    from docaps.errors import ConfigError

    document, colon, sentence = text.partition(":")
    if not (colon and document.isdecimal() and sentence.isdecimal()):
        raise ConfigError(f"--sentence {text}: expected the numbers of a document and of a sentence, for example 48:2")
    return int(document), int(sentence)


def _check_absent(paths: list[Path], *, overwrite: bool) -> None:
    """Refuse to replace existing files without --overwrite."""
    from docaps.errors import DocapsError

    for path in paths:
        if path.exists() and not overwrite:
            raise DocapsError("exists already: give --overwrite to replace it", path=path)


def _write_pages(found: "ReportData", runs: list[Path], out: Path, markdown: Path | None) -> list[Path]:
    """Write the page and, if asked for, the tables as Markdown; return the paths."""
    from docaps.files import write_text_atomically
    from docaps.report.markdown import build_markdown
    from docaps.report.page import build_page

    names, target = shlex.join(map(str, runs)), shlex.quote(str(out))
    page = build_page(
        found.results,
        title="docaps report",
        subtitle="; ".join(str(grid["title"]) for grid in found.grids) or ", ".join(run.name for run in runs),
        commands=[*found.commands, ("Write this page", f"{command_name()} report {names} --out {target}")],
        grids=found.grids,
        sentence_models=found.sentence_models,
    )
    write_text_atomically(out, page)
    if markdown is None:
        return [out]
    text = build_markdown(found.results, title="docaps report", grids=found.grids, commands=found.commands)
    write_text_atomically(markdown, text)
    return [out, markdown]
