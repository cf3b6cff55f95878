"""`docaps diagnose`: is context used?"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from docaps.cli.console import (
    ContextDirOption,
    ContextLinesOption,
    FormatOption,
    JsonOption,
    OverwriteOption,
    StartsOption,
    command_name,
    format_json,
    print_json,
    print_next,
    quote,
)


def diagnose(
    run: Annotated[Path, typer.Argument(help="A finished run directory of a model that looks at earlier sentences.")],
    against: Annotated[
        Path | None, typer.Option(help="The run to compare with (default: the sentence model it started from).")
    ] = None,
    corpus: Annotated[Path | None, typer.Option(help="Prepared corpus to look at (default: the run's own).")] = None,
    part: Annotated[
        Literal["dev", "test"] | None, typer.Option(help="Part of the prepared corpus (default: dev).")
    ] = None,
    source: Annotated[Path | None, typer.Option(help="Documents to look at instead of the corpus.")] = None,
    reference: Annotated[Path | None, typer.Option(help="Their translations by people.")] = None,
    format: FormatOption = None,
    starts: StartsOption = None,
    set: Annotated[
        tuple[str, Path] | None,
        typer.Option(
            "--set",
            metavar="NAME PATH",
            help="A contrastive set: contrapro, mt-geneval, ctxpro, minidocs or jsonl (default: that of the corpus).",
        ),
    ] = None,
    context_dir: ContextDirOption = None,
    context_lines: ContextLinesOption = None,
    limit: Annotated[int | None, typer.Option(min=2, help="Look at so many documents only, for a quick look.")] = None,
    items: Annotated[int | None, typer.Option(min=2, help="Take about so many contrastive items only.")] = None,
    no_bleu: Annotated[
        bool, typer.Option("--no-bleu", help="Score only, do not translate: several times faster.")
    ] = False,
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses kept at each step; 1 is greedy.")] = None,
    shuffles: Annotated[int, typer.Option(min=1, help="How often another history is drawn for each sentence.")] = 3,
    draws: Annotated[int, typer.Option(min=100, help="Draws of the significance tests.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all draws.")] = 1,
    examples: Annotated[int, typer.Option(min=0, help="How many sentences to show, helped and harmed.")] = 5,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to keep the result as JSON (default: RUN/diagnosis.json)."),
    ] = None,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Find out whether a model uses its context, and say how one can tell.

    Perplexity, BLEU and right choices with the true history, with another document's, with none and with the nearest
    sentences; the sentences for which history mattered most (CXMI, in bits); what the routing did; the same for the
    sentence model; significance over documents; a verdict. docs/diagnosing.md says what each number means.

    A whole diagnosis is kept in the run, where docaps report finds it; a quick look (--limit, --items, --no-bleu) only
    where --out says.

    Example: docaps diagnose runs/demo/runs/document --limit 20 --items 200

    Example: docaps diagnose RUN --source story.en --reference story.de --set contrapro contrapro.json
    """
    from docaps.cli.findings import print_findings
    from docaps.errors import DocapsError
    from docaps.experiments.diagnosis import FILE, diagnose_run
    from docaps.experiments.examination import Wishes
    from docaps.experiments.material import Request
    from docaps.files import write_text_atomically

    if out is not None and out.exists() and not overwrite:
        raise DocapsError("exists already: give --overwrite to replace it", path=out)
    quick = limit is not None or items is not None or no_bleu
    request = Request(
        corpus=corpus,
        part=part,
        source=source,
        reference=reference,
        format=format,
        starts=starts,
        set=set,
        context={"context_dir": context_dir, "context_lines": context_lines},
        limit=limit,
        items=items,
    )
    wishes = Wishes(shuffles=shuffles, bleu=not no_bleu, examples=examples, draws=draws, seed=seed)
    found = diagnose_run(run, request, wishes, against=against, beam=beam)
    kept = out or (None if quick else run / FILE)
    if kept is not None:
        write_text_atomically(kept, format_json(found))
    if json:
        print_json(found)
        return
    print_findings(found)
    _say_next(run, kept, quick=quick)


def _say_next(run: Path, kept: Path | None, *, quick: bool) -> None:
    """Say where the result is, and what can be done with it."""
    if kept is None:
        typer.echo("A quick look is not kept: leave --limit, --items and --no-bleu out, or give --out FILE.", err=True)
    else:
        typer.echo(f"Kept in {kept}.", err=True)
    whole = [("the whole of it", f"{command_name()} diagnose {quote(run)}")] if quick else []
    print_next([*whole, ("with pictures", f"{command_name()} report {quote(run)} --out report.html")])
