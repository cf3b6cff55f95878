"""`docaps precision`: check whether a model may translate in lower precision."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from docaps.cli.console import FormatOption


def precision(
    run: Annotated[Path, typer.Argument(help="A finished run directory.")],
    source: Annotated[Path, typer.Argument(help="Source documents, for example those of the development set.")],
    target: Annotated[
        Path | None, typer.Argument(help="Their reference; may be left out if the first file holds both sides.")
    ] = None,
    format: FormatOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check how well and how fast a model translates in float32, bfloat16 and int8.

    Prints BLEU, the loss against float32, sentences per second, and the perplexity of the reference, which docaps score
    and docaps diagnose measure. A precision is good if it loses at most 0.3 BLEU. int8 is calibrated on the first 500
    sentences, if that is good. The run stores the result (precision.json) and the ranges (ranges.safetensors): on CPUs
    without fast bfloat16, docaps translate chooses int8 by itself only for a model that was checked, and for which int8
    was found good and faster than float32.

    Example: docaps precision runs/demo/runs/document dev.en dev.de
    """
    import json as jsonlib

    from docaps.corpus.formats import read_parallel
    from docaps.experiments.precision_check import compare_precisions
    from docaps.runs.directory import Run
    from docaps.translation.trained_model import is_int8_better, load_trained

    codec = load_trained(run).codec
    pairs = read_parallel(source, target, format=format, language=codec.source.code, target_language=codec.target.code)
    found = compare_precisions(run, pairs)
    if json:
        typer.echo(jsonlib.dumps({name: asdict(result) for name, result in found.items()}))
        return
    typer.echo("precision  BLEU   loss   sentences/s  perplexity  good")
    for name, one in found.items():
        good, perplexity = "yes" if one.good else "no", "-" if one.perplexity is None else f"{one.perplexity:.3f}"
        typer.echo(
            f"{name:<10} {one.bleu:5.2f}  {one.loss:5.2f}  {one.sentences_per_second:11.1f}  {perplexity:>10}  {good}"
        )
    ranges = "ranges calibrated on this text" if found["int8"].calibrated else "the largest number of each row"
    typer.echo(f"int8 rounds by {ranges}", err=True)
    chosen = "int8" if is_int8_better(Run(run)) else "float32"
    typer.echo(f"docaps translate {run} uses {chosen} on CPUs without fast bfloat16", err=True)
