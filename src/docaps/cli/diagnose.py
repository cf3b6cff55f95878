"""`docaps diagnose`: does a model use its context?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from docaps.cli import console
from docaps.cli.histogram import bar
from docaps.cli.translate import PrecisionOption
from docaps.diagnosis import DiagnosisOptions

DEFAULTS = DiagnosisOptions()
BAR_WIDTH, NARROW_BAR_WIDTH, WIDE = 18, 6, 95
"""Width of bars, in terminals of at least `WIDE` columns and in others."""
TITLES = {"true": "true", "shuffled": "another document's", "none": "none"}
JsonObject = Mapping[str, Any]

RunArgument = Annotated[
    Path, typer.Argument(help="A finished run directory; a model without context does the same with every history.")
]
AgainstOption = Annotated[
    Path | None, typer.Option(help="The run to compare with (default: the sentence model it started from).")
]
PartOption = Annotated[Literal["dev", "test"] | None, typer.Option(help="Part of the prepared corpus (default: dev).")]
SetOption = Annotated[
    tuple[str, Path] | None,
    typer.Option(
        "--set",
        metavar="NAME PATH",
        help="A contrastive set: contrapro, mt-geneval, ctxpro, minidocs or jsonl (default: that of the corpus).",
    ),
]
AnnotationsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Tokens that an earlier sentence decides, by phenomenon (default: found by the rules of docaps mine).",
    ),
]
NoBleuOption = Annotated[bool, typer.Option("--no-bleu", help="Score only, do not translate: several times faster.")]
ShufflesOption = Annotated[int, typer.Option(min=1, help="Shuffled histories drawn for each sentence.")]
ExamplesOption = Annotated[int, typer.Option(min=0, help="Example sentences to show, helped and harmed each.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", help="Where to write the result as JSON (default: RUN/diagnosis.json).")
]


def diagnose(
    run: RunArgument,
    against: AgainstOption = None,
    corpus: Annotated[Path | None, typer.Option(help="Prepared corpus to use (default: the run's own).")] = None,
    part: PartOption = None,
    source: Annotated[Path | None, typer.Option(help="Documents to use instead of the corpus.")] = None,
    reference: Annotated[Path | None, typer.Option(help="Their reference translations.")] = None,
    format: console.FormatOption = None,
    starts: console.StartsOption = None,
    set: SetOption = None,
    annotations: AnnotationsOption = None,
    context_dir: console.ContextDirOption = None,
    context_lines: console.ContextLinesOption = None,
    limit: Annotated[int | None, typer.Option(min=2, help="Use only this many documents, for a quick look.")] = None,
    items: Annotated[int | None, typer.Option(min=2, help="Use only about this many contrastive items.")] = None,
    no_bleu: NoBleuOption = False,
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses kept at each step; 1 is greedy.")] = None,
    shuffles: ShufflesOption = DEFAULTS.shuffles,
    draws: Annotated[int, typer.Option(min=100, help="Draws of the significance tests.")] = DEFAULTS.draws,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all draws.")] = DEFAULTS.seed,
    examples: ExamplesOption = DEFAULTS.examples,
    translations: console.TranslationsOption = DEFAULTS.translations,
    precision: PrecisionOption = "auto",
    out: OutOption = None,
    overwrite: console.OverwriteOption = False,
    json: console.JsonOption = False,
) -> None:
    """Find out whether a model uses its context.

    Measures perplexity, BLEU and right choices with the true history, another document's, none and the nearest
    sentences, and those of the sentence model, with significance over documents. Prints a verdict over all tokens and
    one for each phenomenon, the sentences for which history mattered most (CXMI, in bits) and traces of the routing.

    A full diagnosis is stored in the run for docaps report, a quick look (--limit, --items, --no-bleu) only by --out.

    Example: docaps diagnose runs/demo/runs/document --limit 20 --items 200

    Example: docaps diagnose RUN --source story.en --reference story.de --set contrapro contrapro.json
    """
    from docaps.diagnosis.data import DataOptions
    from docaps.diagnosis.run import FILE, diagnose_run

    _check_out(out, overwrite)
    context = {"context_dir": context_dir, "context_lines": context_lines}
    data = DataOptions(corpus, part, source, reference, format, starts, set, context, limit, items, annotations)
    options = DiagnosisOptions(shuffles, not no_bleu, examples, draws, seed, translations)
    found = diagnose_run(run, data, options, against=against, beam=beam, precision=precision)
    quick = limit is not None or items is not None or no_bleu
    _deliver(found, run, out or (None if quick else run / FILE), json=json, quick=quick)


def _check_out(out: Path | None, overwrite: bool) -> None:
    """Refuse to overwrite a file."""
    from docaps.errors import DocapsError

    if out is not None and out.exists() and not overwrite:
        raise DocapsError("exists already: give --overwrite to replace it", path=out)


def _deliver(found: JsonObject, run: Path, stored: Path | None, *, json: bool, quick: bool) -> None:
    """Store and print the result, and print the next commands."""
    from docaps.files import write_text_atomically

    found = {**found, "command": console.typed_command()}
    if stored is not None:
        write_text_atomically(stored, console.format_json(found))
    if json:
        console.print_json(found)
        return
    _print(found)
    if stored is None:
        typer.echo("A quick look is not stored: leave out --limit, --items, --no-bleu, or give --out FILE.", err=True)
    else:
        typer.echo(f"Kept in {stored}.", err=True)
    full = [("in full", console.typed("diagnose", run))] if quick else []
    console.print_next([*full, ("with figures", console.typed("report", run, "--out", "report.html"))])


def _print(found: JsonObject) -> None:
    """Print a diagnosis: verdict, tables with bars, and example sentences."""
    typer.echo(f"Verdict: {found['verdict']}.")
    for sentence in found["explanation"]:
        typer.echo(f"  {sentence}")
    typer.echo("")
    names = {row["condition"]: f"the {row['condition']}" for row in found["conditions"]}
    other = {"against": f"(run {found['against']['name']})"} if found["against"] else {}
    _print_conditions(found, titles := names | TITLES | other)
    if found["translations"]:
        shown = "reference translations" if found["translations"] == "reference" else "the model's own translations"
        typer.echo(f"Histories are shown with {shown}.")
    _print_phenomena(found["phenomena"])
    _print_distances(found["by_distance"]["perplexity"])
    if found["choices"]:
        _print_choices(found["choices"], titles)
    _print_traces(found["traces"])
    _print_cxmi(found["cxmi"])
    _print_examples("History helped most", found["better"])
    _print_examples("History harmed most", found["worse"])
    typer.echo(f"\n{found['signature']}")


def _print_conditions(found: JsonObject, titles: Mapping[str, str]) -> None:
    """Print a row for each history, with a bar for the change of perplexity against no history."""
    rows = [row for row in found["conditions"] if row["perplexity"] is not None]
    none = next(row["perplexity"] for row in rows if row["condition"] == "none")
    changes = [row["perplexity"] / none - 1 for row in rows]
    measured = {"bleu": ("BLEU", "{:.1f}"), "accuracy": ("right choices", "{:.1%}")}
    columns = {key: known for key, known in measured.items() if all(row[key] is not None for row in rows)}
    table: list[list[str | Text]] = [
        [
            titles[row["condition"]],
            f"{row['perplexity']:.3f}",
            f"{100 * change:+.1f} %",
            drawn,
            *(_p_value(found["comparisons"], row["condition"], other) for other in ("none", "true")),
            *(form.format(row[key]).replace("%", " %") for key, (_, form) in columns.items()),
        ]
        for row, change, drawn in zip(rows, changes, _bars(changes), strict=True)
    ]
    header = ["history", "perplexity", "change", "", "p to none", "p to true", *(name for name, _ in columns.values())]
    size = f"{found['documents']:,} documents, {found['sentences']:,} sentences"
    console.print_table(f"{size}; p over documents, of perplexity", header, table, texts=(0, 3))


def _bars(changes: Sequence[float]) -> list[Text]:
    """Draw a bar for each change of perplexity: green where it falls, red where it rises."""
    most = max(map(abs, changes), default=0.0) or 1.0
    width = NARROW_BAR_WIDTH if console.terminal_width() < WIDE else BAR_WIDTH
    return [Text(bar(abs(change), most, width), style="green" if change < 0 else "red") for change in changes]


def _p_value(comparisons: Sequence[JsonObject], one: str, other: str) -> str:
    """Write the p-value of a difference of perplexity, the larger of both tests."""
    for row in comparisons:
        if row["measure"] == "perplexity" and {row["condition"], row["baseline"]} == {one, other}:
            return f"{max(row['p_bootstrap'], row['p_randomisation']):.3f}"
    return ""


def _print_phenomena(phenomena: Sequence[JsonObject]) -> None:
    """Print the verdict on each phenomenon with its numbers."""
    for number, one in enumerate(phenomena):
        if not number:
            typer.echo(f"\nBy phenomenon, each test at p < {one['level']:.2g}:")
        typer.echo(f"  {one['phenomenon']}: {one['verdict']}")
        for sentence in one["explanation"]:
            typer.echo(f"    {sentence}")
    if phenomena:
        typer.echo("")


def _print_distances(rows: Sequence[JsonObject]) -> None:
    """Print what each sentence of the history adds to the nearer ones."""
    drawn = zip(rows, _bars([-row["gain"] for row in rows]), strict=True)
    table: list[list[str | Text]] = [
        [str(row["distance"]), f"{-100 * row['gain']:+.2f} %", bar, f"{row['p']:.3f}"] for row, bar in drawn
    ]
    if table:
        title = "What each sentence of the history adds to the nearer ones"
        console.print_table(title, ["distance", "perplexity", "", "p"], table, texts=(0, 2))


def _print_choices(choices: JsonObject, titles: Mapping[str, str]) -> None:
    """Print right choices by phenomenon and by the distance of the deciding sentence."""
    table = [
        [f"{prefix}{name}", *(f"{100 * by_group[name]:.1f} %" for by_group in choices[key].values())]
        for key, prefix in (("by_phenomenon", ""), ("by_distance", "distance "))
        for name in choices[key]["true"]
    ]
    title = f"Right choices among {choices['items']:,} items (chance {100 * choices['chance']:.1f} %), by history"
    console.print_table(title, ["", *(titles[condition] for condition in choices["by_phenomenon"])], table)


def _print_traces(traces: Sequence[JsonObject]) -> None:
    """Print what the model reports about its use of the history."""
    numbers = ["mean", "deviation", "least", "most"]
    table = [
        ["" if number else trace["title"], place["place"], *(f"{place[key]:.3f}" for key in numbers)]
        for trace in traces
        for number, place in enumerate(trace["places"])
    ]
    if table:
        header = ["trace", "where", *numbers]
        console.print_table("With the true history", header, table, texts=(0, 1))


def _print_cxmi(cxmi: JsonObject) -> None:
    """Print the CXMI of the text."""
    text = f"CXMI: {cxmi['per_token']:.4f} bits per token"
    if cxmi["low"] is not None:
        text += f", 95 % interval {cxmi['low']:.4f} to {cxmi['high']:.4f}"
    if cxmi["per_sentence"] is not None:
        share = f"above 0 in {100 * cxmi['share_above_0']:.0f} % of them"
        text += f", {cxmi['per_sentence']:.2f} bits per sentence with a history, {share}"
    typer.echo(text)


def _print_examples(title: str, records: Sequence[JsonObject]) -> None:
    """Print sentences with their histories, and translations with and without history where they differ."""
    if records:
        typer.echo(f"\n{title}:")
    for record in records:
        head = f"document {record['document']}, sentence {record['sentence']}: {record['cxmi']:+.2f} bits"
        lines = [f"{head} ({record['against_shuffled']:+.2f} against another document's history)"]
        lines += [f"      {sentence}" for sentence in record["history"]]
        lines += [f"    > {record['source']}", f"    = {record['reference']}"]
        with_history, without = (record.get(f"translation_{key}") for key in ("true", "none"))
        if with_history != without:
            lines += [f"    with history:    {with_history}", f"    without history: {without}"]
        typer.echo("  " + "\n".join(lines))
