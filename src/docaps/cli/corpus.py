"""`docaps corpus`: statistics of a corpus, with a histogram of sentence lengths."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docaps.cli.console import FormatOption, JsonOption, StartsOption, print_json, print_table

if TYPE_CHECKING:
    from docaps.corpus.statistics import Statistics

ALL = "all"
UNITS = {"words": "words between spaces", "pieces": "subwords, end symbols not counted"}


def corpus(
    source: Annotated[Path, typer.Argument(help="Raw documents of the source, or the directory of a prepared corpus.")],
    target: Annotated[Path | None, typer.Argument(help="Raw documents of the target.")] = None,
    train: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="SOURCE TARGET", help="With raw files: words that are not in this text are unknown."),
    ] = None,
    limit: Annotated[
        list[int] | None,
        typer.Option(
            min=1, metavar="WORDS", help="Count what this length limit would drop (default: 50, 80, 100, 200)."
        ),
    ] = None,
    format: FormatOption = None,
    starts: StartsOption = None,
    json: JsonOption = False,
) -> None:
    """Count sentences, documents, words and unknown words; show lengths, and what a length limit would drop.

    The first table is the paper's Table 1. A pair is over a limit if either side is. Nothing is changed.

    Examples: docaps corpus data/ted/dev.en data/ted/dev.de --train data/ted/train.en data/ted/train.de;
    docaps corpus data/ted-prepared --limit 60
    """
    from docaps.corpus.statistics import LIMITS, combine, count_store, describe, read_filters
    from docaps.corpus.store import open_store

    limits = sorted(set(limit)) if limit else LIMITS
    if target is not None:
        name, unit, counted = f"{source}, {target}", "words", _count_raw((source, target), train, format, starts)
        description = {"paths": [str(source), str(target)], "unit": unit, **describe(counted, limits)}
    else:
        _check_prepared(source, {"--train": train, "--format": format, "--starts": starts})
        store = open_store(source)
        name, unit, parts = str(source), "pieces", count_store(store)
        description = {"paths": [str(source)], "unit": unit, **describe(combine(parts.values()), limits)}
        description["parts"] = {part: describe(found, limits) for part, found in parts.items()}
        description |= {"filters": filters} if (filters := read_filters(store)) else {}
    if json:
        print_json(description)
    else:
        _print(f"{name}; tokens are {UNITS[unit]}", description)


def _count_raw(
    pair: tuple[Path, Path], train: tuple[Path, Path] | None, format: str | None, starts: Path | None
) -> "Statistics":
    """Count two raw files, holding one document at a time."""
    from docaps import progress
    from docaps.corpus.formats import iterate_parallel
    from docaps.corpus.statistics import collect_words, count_documents

    known, (one, other) = None, _languages(pair, format)
    read = partial(iterate_parallel, format=format, language=one, target_language=other)
    if train:
        known = collect_words(progress.track(read(*train), "collect known words"))
    documents = progress.track(read(*pair, starts=starts), "count documents")
    return count_documents(documents, known)


def _languages(pair: tuple[Path, Path], format: str | None) -> tuple[str, str]:
    """Return the languages by whose rules running text is split: what names end in, or else English and German."""
    from docaps import progress
    from docaps.corpus.formats.format import SOURCE_LANGUAGE, TARGET_LANGUAGE
    from docaps.corpus.text.languages import language_in_name

    one, other = (language_in_name(pair[0]) or SOURCE_LANGUAGE, language_in_name(pair[1]) or TARGET_LANGUAGE)
    if format == "text":
        rules = f"the rules of {one!r} and {other!r}"
        progress.say(f"running text is split by {rules}: what the names of the files end in, or else en and de")
    return one, other


def _check_prepared(path: Path, options: Mapping[str, object]) -> None:
    """Refuse one file alone, and options that do not apply to a prepared corpus."""
    from docaps.errors import CorpusError

    if path.is_file() or path == Path("-"):
        message = "one side alone: give both, or the same file twice if it holds both, or a prepared corpus"
        raise CorpusError(message, path=path)
    for name, value in options.items():
        if value is not None:
            raise CorpusError(f"{name} goes with raw files, and this is a prepared corpus", path=path)


def _print(title: str, description: Mapping[str, Any]) -> None:
    """Print the tables and the histogram."""
    from docaps.cli.histogram import draw_histogram

    parts = {**description.get("parts", {}), ALL: description}
    header = ["part", "documents", "sentences", "average length", "one sentence", "ratio"]
    typer.echo(title)
    subtitle = "Documents (length in sentences; ratio: target tokens for one source token)"
    print_table(subtitle, header, [[name, *_sizes(part)] for name, part in parts.items()])
    sides = [(f"{name} {side}", part[side]) for name, part in parts.items() for side in ("source", "target")]
    header = ["side", "tokens", "types", "unknown", "average", "longest", "empty"]
    print_table("Sentences", header, [[name, *_side(side)] for name, side in sides])
    _print_longest(description)
    typer.echo("\n".join(["", "Sentences by length", *draw_histogram(description["histogram"]), ""]))
    _print_limits(parts)
    if filters := description.get("filters"):
        names = list(dict.fromkeys(part for counts in filters.values() for part in counts))
        rows = [[name, *(f"{counts.get(part, 0):,}" for part in names)] for name, counts in filters.items()]
        print_table("Dropped by the cleaning filters", ["filter", *names], rows)


def _sizes(part: Mapping[str, Any]) -> list[str]:
    """Format a row of the paper's Table 1, one-sentence documents and length ratio."""
    counts = [f"{part[key]:,}" for key in ("documents", "sentences")]
    average = f"{part['average_document_length']:.2f}"
    return [*counts, average, f"{part['one_sentence_documents']:,}", f"{part['length_ratio']:.3f}"]


def _side(side: Mapping[str, Any]) -> list[str]:
    """Format the row of one side of a part."""
    unknown = "-" if side["unknown"] is None else f"{100 * side['unknown_rate']:.2f} %"
    counts = [f"{side['tokens']:,}", f"{side['types']:,}", unknown, f"{side['average_length']:.1f}"]
    return [*counts, f"{side['longest']['length']:,}", f"{side['empty']:,}"]


def _print_longest(description: Mapping[str, Any]) -> None:
    """Print the position of the longest sentences."""
    for side in ("source", "target"):
        if (place := description[side]["longest"])["length"]:
            part = f"{place['part']}, " if place.get("part") else ""
            where = f"{part}document {place['document']:,}, sentence {place['sentence']:,}"
            typer.echo(f"Longest {side} sentence: {place['length']:,} tokens ({where})")


def _print_limits(parts: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the pairs each limit would drop from each part, and the documents it would break up."""
    rows = []
    for number, total in enumerate(parts[ALL]["limits"]):
        dropped = [f"{part['limits'][number]['sentences']:,}" for part in parts.values()]
        rows.append([f"{total['limit']:,}", *dropped, f"{100 * total['share']:.2f} %", f"{total['documents']:,}"])
    title = "Pairs that a length limit would drop (docaps needs none)"
    print_table(title, ["longer than", *parts, "share", "documents broken"], rows)
