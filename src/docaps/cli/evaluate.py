"""`docaps evaluate`: translations against a reference."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docaps.cli.console import FormatOption, JsonOption, StartsOption, print_json, print_table

if TYPE_CHECKING:
    from docaps.corpus.documents import Document
    from docaps.evaluation.systems import Wishes


def evaluate(
    hypothesis: Annotated[list[Path], typer.Option(help="Translated documents (may be given several times).")],
    reference: Annotated[Path, typer.Option(help="The same documents, translated by people.")],
    source: Annotated[Path | None, typer.Option(help="The same documents, not translated.")] = None,
    baseline: Annotated[Path | None, typer.Option(help="What to compare with (default: the first).")] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Some of bleu,dbleu,tokbleu,chrf,meteor (default: all for the language).")
    ] = None,
    language: Annotated[str, typer.Option(help="Language code of the translations.")] = "de",
    source_language: Annotated[str, typer.Option(help="Language code of the source.")] = "en",
    draws: Annotated[int, typer.Option(min=1, help="Draws for intervals and significance tests.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 1,
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
    """Compare translations with a reference; both as people write, not tokenised.

    Scores are sacreBLEU (13a), d-BLEU, tokenised BLEU, chrF2++ and METEOR, each with a signature and a 95 % interval.
    Several translations are compared with the first by tests that draw whole documents. With --source: lexical
    consistency and, from English to German, pronoun accuracy. docs/metrics.md defines them all.

    Example: docaps evaluate --hypothesis story.de --reference story.reference.de
    """
    from docaps.evaluation.comet import find_comet
    from docaps.evaluation.systems import Wishes, evaluate_systems

    first = _check_choice(hypothesis, baseline, source=source, comet=comet, terms=terms)
    wishes = Wishes(
        metrics=tuple(metrics.split(",")) if metrics else None,
        language=language,
        source_language=source_language,
        paraphrases=meteor_paraphrases,
        terms=_read_terms(terms) if terms else None,
        comet=find_comet(comet) if comet else None,
        draws=draws,
        seed=seed,
    )
    systems, references, sources = _read(hypothesis, reference, source, {"format": format, "starts": starts}, wishes)
    found = evaluate_systems(systems, references, sources, wishes, baseline=str(first))
    (print_json if json else _print)({"reference": str(reference), "baseline": str(first), **found})


def _check_choice(
    hypothesis: Sequence[Path], baseline: Path | None, *, source: Path | None, comet: str | None, terms: Path | None
) -> Path:
    """Refuse options that do not go together; return the baseline."""
    from docaps.errors import ConfigError

    if len(set(hypothesis)) != len(hypothesis):
        raise ConfigError("the same --hypothesis twice: a system is known by its file's name")
    if baseline is not None and baseline not in hypothesis:
        raise ConfigError(f"--baseline {baseline} is none of the translations: give it as --hypothesis too")
    for name, wish in (("--comet", comet), ("--terms", terms)):
        if wish and source is None:
            raise ConfigError(f"{name} needs the source: give it with --source")
    return baseline or hypothesis[0]


def _read_terms(path: Path) -> frozenset[str]:
    """Read source terms, one word a line."""
    from docaps.corpus.formats import read_lines

    return frozenset(line.strip().lower() for line in read_lines(path) if line.strip())


def _read(
    hypothesis: Sequence[Path], reference: Path, source: Path | None, layout: Mapping[str, Any], wishes: "Wishes"
) -> "tuple[dict[str, list[Document]], list[Document], list[Document] | None]":
    """Read all sides, and refuse those that differ in shape from the reference."""
    from docaps.corpus.formats import read_documents
    from docaps.evaluation.bleu import check_same_shape

    references = read_documents(reference, side="target", **layout, language=wishes.language)
    systems = {}
    for path in hypothesis:
        systems[str(path)] = read_documents(path, side="hypothesis", **layout, language=wishes.language)
        check_same_shape(systems[str(path)], references, path=path)
    if source is None:
        return systems, references, None
    sources = read_documents(source, **layout, language=wishes.source_language)
    check_same_shape(sources, references, path=source, what="source")
    return systems, references, sources


def _print(result: Mapping[str, Any]) -> None:
    """Print one table of scores, one of differences, and the signatures."""
    systems = result["systems"]
    scores = systems[0]["scores"]
    size = f"{result['documents']:,} documents, {result['sentences']:,} sentences"
    header = ["translation", *(score["name"] for score in scores.values()), *_word_header(systems[0])]
    rows = [
        [row["hypothesis"], *(_with_interval(score) for score in row["scores"].values()), *_word_cells(row)]
        for row in systems
    ]
    print_table(f"{size}; 95 % intervals over documents" if result["documents"] > 1 else size, header, rows)
    if result["comparisons"]:
        _print_comparisons(result, [score["name"] for score in scores.values()])
    for score in scores.values():
        typer.echo(f"signature of {score['name']}: {score['signature']}")
    if result["documents"] < 2:
        typer.echo("one document: no intervals and no significance, which draw whole documents", err=True)


def _print_comparisons(result: Mapping[str, Any], names: Sequence[str]) -> None:
    """Print differences to the baseline with the p-values of both tests."""
    rows = [
        [
            comparison["system"],
            *(
                f"{one['difference']:+.2f} (p {one['p_bootstrap']:.4f} / {one['p_randomisation']:.4f})"
                for one in comparison["scores"].values()
            ),
        ]
        for comparison in result["comparisons"]
    ]
    title = f"Differences to {result['baseline']} (p by paired bootstrap / approximate randomisation)"
    print_table(title, ["translation", *names], rows)


def _with_interval(score: Mapping[str, Any]) -> str:
    if score["low"] is None:
        return f"{score['score']:.2f}"
    return f"{score['score']:.2f} [{score['low']:.2f}, {score['high']:.2f}]"


def _word_header(row: Mapping[str, Any]) -> list[str]:
    names = {"lexical_consistency": "consistency", "pronouns": "pronouns", "comet": "COMET"}
    return [name for key, name in names.items() if key in row]


def _word_cells(row: Mapping[str, Any]) -> list[str]:
    """Write what was measured with the source's help."""
    cells = []
    if "lexical_consistency" in row:
        cells.append(_percent(row["lexical_consistency"]["share"]))
    if "pronouns" in row:
        cells.append(_percent(row["pronouns"]["accuracy"]))
    if "comet" in row:
        cells.append(f"{row['comet']:.4f}")
    return cells


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
