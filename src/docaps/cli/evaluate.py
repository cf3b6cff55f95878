"""`docaps evaluate`: score translations against a reference."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docaps.cli.console import FormatOption, JsonOption, StartsOption, choose_language, print_json, print_table
from docaps.evaluation import DRAWS, SEED, EvaluationOptions

if TYPE_CHECKING:
    from docaps.corpus.documents import Document

P_VALUES = "{difference:+.2f} (p {p_bootstrap:.4f} / {p_randomisation:.4f})"
LanguageOption = Annotated[
    str | None,
    typer.Option(
        metavar="CODE", help="Language of the translations, such as de (default: what their names end in, as story.de)."
    ),
]
SourceLanguageOption = Annotated[
    str | None, typer.Option(metavar="CODE", help="Language of the source (default: what its name ends in).")
]
SOURCE_COLUMNS = {"lexical_consistency": "consistency", "pronouns": "pronouns", "comet": "COMET"}


def evaluate(
    hypothesis: Annotated[list[Path], typer.Option(help="Translated documents; several are compared.")],
    reference: Annotated[Path, typer.Option(help="Reference translations of the same documents.")],
    source: Annotated[Path | None, typer.Option(help="The source documents.")] = None,
    baseline: Annotated[Path | None, typer.Option(help="What to compare with (default: the first).")] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Some of bleu,dbleu,tokbleu,chrf,meteor (default: all for the language).")
    ] = None,
    language: LanguageOption = None,
    source_language: SourceLanguageOption = None,
    draws: Annotated[int, typer.Option(min=1, help="Draws for intervals and significance tests.")] = DRAWS,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = SEED,
    meteor_paraphrases: Annotated[Path | None, typer.Option(help="METEOR's paraphrase table of the language.")] = None,
    terms: Annotated[
        Path | None, typer.Option(help="Source terms for lexical consistency, one a line (default: content words).")
    ] = None,
    comet: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Add COMET, by comet-score or the Python it is installed for.")
    ] = None,
    format: FormatOption = None,
    starts: StartsOption = None,
    json: JsonOption = False,
) -> None:
    """Compare detokenised translations with a reference.

    Scores are sacreBLEU (13a), d-BLEU, tokenised BLEU, chrF2++ and METEOR, each with a signature and a 95 % interval.
    Several translations are compared with the first by tests that resample documents. With --source: lexical
    consistency and, from English to German, pronoun accuracy. A signature says how its score was computed.

    Example: docaps evaluate --hypothesis story.de --reference story.reference.de
    """
    from docaps.corpus.formats.text_input import read_lines
    from docaps.evaluation.compare import evaluate_systems
    from docaps.evaluation.external import find_comet

    first = _check_options(hypothesis, reference, baseline, source=source, comet=comet, terms=terms)
    options = EvaluationOptions(
        metrics=tuple(metrics.split(",")) if metrics else None,
        language=choose_language("--language", "the translation", language, [reference, *hypothesis]),
        source_language=_source_language(source, reference, source_language, terms),
        paraphrases=meteor_paraphrases,
        terms=frozenset(line.strip().lower() for line in read_lines(terms) if line.strip()) if terms else None,
        comet=find_comet(comet) if comet else None,
        draws=draws,
        seed=seed,
    )
    systems, references, sources = _read(hypothesis, reference, source, options, format=format, starts=starts)
    found = evaluate_systems(systems, references, sources, options, str(first))
    (print_json if json else _print)({"reference": str(reference), "baseline": str(first), **found})


def _source_language(source: Path | None, reference: Path, given: str | None, terms: Path | None) -> str | None:
    """Return the language of the source, if there is one; say if it has no list of function words."""
    from docaps import progress

    if source is None:
        return None
    names = [] if source == reference else [source]  # a file with both sides is not named by one
    language = choose_language("--source-language", "the source", given, names)
    if language != "en" and terms is None:
        what = f"no list of function words for {language!r}"
        progress.say(f"lexical consistency: {what}, so any word of four letters or more is a term (--terms)")
    return language


def _check_options(
    hypothesis: Sequence[Path],
    reference: Path,
    baseline: Path | None,
    *,
    source: Path | None,
    comet: str | None,
    terms: Path | None,
) -> Path:
    """Refuse options that exclude each other and files that do not exist; return the baseline."""
    from docaps.errors import ConfigError, CorpusError

    if len(set(hypothesis)) != len(hypothesis):
        raise ConfigError("the same --hypothesis twice: a system is known by its file's name")
    if baseline is not None and baseline not in hypothesis:
        raise ConfigError(f"--baseline {baseline} is none of the translations: give it as --hypothesis too")
    for path in (*hypothesis, reference, *([source] if source else ())):
        if path != Path("-") and not path.exists():
            raise CorpusError("no such file", path=path)
    for name, value in (("--comet", comet), ("--terms", terms)):
        if value and source is None:
            raise ConfigError(f"{name} needs the source: give it with --source")
    return baseline or hypothesis[0]


def _read(
    hypothesis: Sequence[Path], reference: Path, source: Path | None, options: EvaluationOptions, **layout: Any
) -> "tuple[dict[str, list[Document]], list[Document], list[Document] | None]":
    """Read all sides, and refuse those that differ in shape from the reference."""
    from docaps.corpus.formats import read_documents
    from docaps.evaluation.compare import check_same_shape

    references, systems = read_documents(reference, side="target", language=options.language, **layout), {}
    for path in hypothesis:
        systems[str(path)] = read_documents(path, side="hypothesis", language=options.language, **layout)
        check_same_shape(systems[str(path)], references, path=path)
    if source is None:
        return systems, references, None
    sources = read_documents(source, language=str(options.source_language), **layout)
    check_same_shape(sources, references, path=source, what="source")
    return systems, references, sources


def _print(result: Mapping[str, Any]) -> None:
    """Print a table of scores, one of differences, and the signatures."""
    systems = result["systems"]
    scores = systems[0]["scores"].values()
    columns = {key: name for key, name in SOURCE_COLUMNS.items() if key in systems[0]}
    rows = []
    for row in systems:
        found = *map(_with_interval, row["scores"].values()), *(_format_sourced(key, row) for key in columns)
        rows.append([row["hypothesis"], *found])
    size = f"{result['documents']:,} documents, {result['sentences']:,} sentences"
    title = f"{size}; 95 % intervals over documents" if result["documents"] > 1 else size
    print_table(title, ["translation", *(score["name"] for score in scores), *columns.values()], rows)
    if result["comparisons"]:
        title = f"Differences to {result['baseline']} (p by paired bootstrap / approximate randomisation)"
        differences = [
            [row["system"], *(P_VALUES.format(**score) for score in row["scores"].values())]
            for row in result["comparisons"]
        ]
        print_table(title, ["translation", *(score["name"] for score in scores)], differences)
    for score in scores:
        typer.echo(f"signature of {score['name']}: {score['signature']}")
    if result["documents"] < 2:
        typer.echo("one document: no intervals and no significance, which need several documents", err=True)


def _with_interval(score: Mapping[str, Any]) -> str:
    interval = "" if score["low"] is None else f" [{score['low']:.2f}, {score['high']:.2f}]"
    return f"{score['score']:.2f}{interval}"


def _format_sourced(key: str, row: Mapping[str, Any]) -> str:
    """Write a metric that needs the source."""
    if key == "comet":
        return f"{row['comet']:.4f}"
    share = row[key]["share" if key == "lexical_consistency" else "accuracy"]
    return "-" if share is None else f"{100 * share:.1f} %"
