"""`docaps diagnose`: is context used?"""

from pathlib import Path
from typing import Annotated, Any, Literal

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
    typed_command,
)

SetOption = Annotated[
    tuple[str, Path] | None,
    typer.Option(
        "--set",
        metavar="NAME PATH",
        help="A contrastive set: contrapro, mt-geneval, ctxpro, minidocs or jsonl (default: that of the corpus).",
    ),
]
OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", help="Where to keep the result as JSON (default: RUN/diagnosis.json).")
]
RunArgument = Annotated[
    Path, typer.Argument(help="A finished run directory of a model that looks at earlier sentences.")
]
AgainstOption = Annotated[
    Path | None, typer.Option(help="The run to compare with (default: the sentence model it started from).")
]
CorpusOption = Annotated[Path | None, typer.Option(help="Prepared corpus to look at (default: the run's own).")]
PartOption = Annotated[Literal["dev", "test"] | None, typer.Option(help="Part of the prepared corpus (default: dev).")]
SourceOption = Annotated[Path | None, typer.Option(help="Documents to look at instead of the corpus.")]
ReferenceOption = Annotated[Path | None, typer.Option(help="Their translations by people.")]
LimitOption = Annotated[int | None, typer.Option(min=2, help="Look at so many documents only, for a quick look.")]
ItemsOption = Annotated[int | None, typer.Option(min=2, help="Take about so many contrastive items only.")]
NoBleuOption = Annotated[bool, typer.Option("--no-bleu", help="Score only, do not translate: several times faster.")]
BeamOption = Annotated[int | None, typer.Option(min=1, help="Hypotheses kept at each step; 1 is greedy.")]
ShufflesOption = Annotated[int, typer.Option(min=1, help="How often another history is drawn for each sentence.")]
DrawsOption = Annotated[int, typer.Option(min=100, help="Draws of the significance tests.")]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of all draws.")]
ExamplesOption = Annotated[int, typer.Option(min=0, help="How many sentences to show, helped and harmed.")]


def diagnose(
    run: RunArgument,
    against: AgainstOption = None,
    corpus: CorpusOption = None,
    part: PartOption = None,
    source: SourceOption = None,
    reference: ReferenceOption = None,
    format: FormatOption = None,
    starts: StartsOption = None,
    set: SetOption = None,
    context_dir: ContextDirOption = None,
    context_lines: ContextLinesOption = None,
    limit: LimitOption = None,
    items: ItemsOption = None,
    no_bleu: NoBleuOption = False,
    beam: BeamOption = None,
    shuffles: ShufflesOption = 3,
    draws: DrawsOption = 1000,
    seed: SeedOption = 1,
    examples: ExamplesOption = 5,
    out: OutOption = None,
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
    from docaps.diagnosis.data import Request
    from docaps.diagnosis.examination import Wishes
    from docaps.diagnosis.run import FILE, diagnose_run
    from docaps.errors import DocapsError

    if out is not None and out.exists() and not overwrite:
        raise DocapsError("exists already: give --overwrite to replace it", path=out)
    context = {"context_dir": context_dir, "context_lines": context_lines}
    request = Request(corpus, part, source, reference, format, starts, set, context, limit, items)
    wishes = Wishes(shuffles=shuffles, bleu=not no_bleu, examples=examples, draws=draws, seed=seed)
    quick = limit is not None or items is not None or no_bleu
    found = diagnose_run(run, request, wishes, against=against, beam=beam) | {"command": typed_command()}
    _deliver(found, run, out or (None if quick else run / FILE), json=json, quick=quick)


def _deliver(found: dict[str, Any], run: Path, kept: Path | None, *, json: bool, quick: bool) -> None:
    """Keep the result where it belongs and show it."""
    from docaps.cli.findings import print_findings
    from docaps.files import write_text_atomically

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
