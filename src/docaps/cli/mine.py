"""`docaps mine`: what context decides in a parallel corpus, as contrastive items and as annotations for training."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docaps.cli import console

if TYPE_CHECKING:
    from docaps.corpus.annotations import Annotation
    from docaps.corpus.mining import Mined, MiningOptions

ITEMS, MARKS, PAGE, SUMMARY = "contrastive.jsonl", "annotations.jsonl", "audit.html", "mined.json"
FILES = (ITEMS, MARKS, PAGE, SUMMARY)

PhenomenaOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES", help="Phenomena, separated by commas: pronoun, formality, ellipsis, repetition (default: all)."
    ),
]


PartOption = Annotated[
    list[str] | None,
    typer.Option(metavar="PART", help="Prepared corpus: take items from this part (default: dev and test)."),
]
AnnotateOption = Annotated[
    str | None,
    typer.Option(metavar="PART", help="Prepared corpus: annotate this part (default: train); for docaps diagnose."),
]
TrainOption = Annotated[
    tuple[Path, Path] | None,
    typer.Option(metavar="SOURCE TARGET", help="Raw documents: learn genders and translations from this text."),
]
LeaveOutOption = Annotated[
    str | None,
    typer.Option(metavar="WORDS", help="Source words, separated by commas, of which repetition is not searched."),
]
HistoryOption = Annotated[
    int, typer.Option(min=1, max=20, help="How many sentences back the deciding one may be; items have as many.")
]
RunOption = Annotated[
    Path | None,
    typer.Option(help="Prepared corpus: also annotate what gains from context under this run; needs no rules."),
]
LeastGainOption = Annotated[
    float, typer.Option(min=0.01, metavar="NATS", help="With --run: the least gain of a token that is annotated.")
]
LimitOption = Annotated[
    int | None, typer.Option(min=1, help="With --run: measure only this many sentences, evenly over the part.")
]
SourceLanguageOption = Annotated[
    str | None, typer.Option(metavar="CODE", help="Raw documents: language of the source, if no name tells.")
]
TargetLanguageOption = Annotated[
    str | None, typer.Option(metavar="CODE", help="Raw documents: language of the target, if no name tells.")
]


def mine(
    source: Annotated[Path, typer.Argument(help="The directory of a prepared corpus, or raw documents of the source.")],
    target: Annotated[Path | None, typer.Argument(help="Raw documents of the target.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory for the results.")] = Path("mined"),
    part: PartOption = None,
    annotate: AnnotateOption = None,
    train: TrainOption = None,
    phenomena: PhenomenaOption = None,
    leave_out: LeaveOutOption = None,
    history: HistoryOption = 3,
    all_items: Annotated[bool, typer.Option("--all", help="Keep all items, not as many of each answer.")] = False,
    audit: Annotated[int, typer.Option(min=0, help="Items of each phenomenon on the page to be judged by eye.")] = 100,
    run: RunOption = None,
    least_gain: LeastGainOption = 1.0,
    limit: LimitOption = None,
    seed: Annotated[int, typer.Option(help="Draws the items that are kept and those on the page.")] = 1,
    source_language: SourceLanguageOption = None,
    target_language: TargetLanguageOption = None,
    format: console.FormatOption = None,
    starts: console.StartsOption = None,
    overwrite: console.OverwriteOption = False,
    json: console.JsonOption = False,
) -> None:
    """Find what context decides: pronouns, forms of address, repeated verbs and terms.

    Writes contrastive.jsonl (items with histories on both sides, for docaps contrast), annotations.jsonl (which
    training sentences need context, and which tokens), audit.html (a page to judge items by eye) and mined.json.

    Items of a prepared corpus come from dev and test; the annotations are of its training part (or --annotate PART).

    Examples: docaps mine data/prepared --out data/mined;
    docaps mine dev.en dev.de --train train.en train.de --out mined;
    docaps mine data/prepared --run runs/document --limit 20000 --out data/gains
    """
    from docaps.corpus.mining import MiningOptions

    prepared = {"--part": part, "--annotate": annotate, "--run": run}
    _check(source, target, prepared, {"--train": train, "--format": format, "--starts": starts})
    _check_absent(out, overwrite=overwrite)
    options = MiningOptions(phenomena, history, _words(leave_out), not all_items, annotate or "train", seed)
    if target is None:
        mined = _mine_prepared(source, options, part or [], run)
        gains = _measure(source, run, options.annotate, least_gain, limit) if run else []
    else:
        languages = _languages(source, target, source_language, target_language)
        mined, gains = _mine_raw((source, target), languages, options, train, format, starts), []
    summary = _summarise(source, target, mined, gains, options)
    _write(out, mined, gains, summary, audit, seed)
    _print(out, summary, source if target is None else None, json=json)


def _words(names: str | None) -> frozenset[str]:
    """Return the words of a list with commas."""
    return frozenset(word.strip().lower() for word in (names or "").split(",") if word.strip())


def _check(source: Path, target: Path | None, prepared: Mapping[str, object], raw: Mapping[str, object]) -> None:
    """Refuse one file alone, and options of the other kind of corpus."""
    from docaps.errors import CorpusError

    if target is None and not (source / "manifest.json").exists():
        raise CorpusError("not a prepared corpus: give one, or the two sides of raw documents", path=source)
    kind, others = ("a prepared corpus", raw) if target is None else ("raw documents", prepared)
    for name, value in others.items():
        if value:
            raise CorpusError(f"{name} does not go with {kind}", path=source)


def _check_absent(out: Path, *, overwrite: bool) -> None:
    """Refuse to replace results without --overwrite, and a directory of something else at all."""
    from docaps.errors import CorpusError
    from docaps.files import foreign_files

    if not out.exists():
        return
    if not out.is_dir():
        raise CorpusError("is a file, expected a directory: choose another --out", path=out)
    if found := next(foreign_files(out, FILES), None):
        raise CorpusError(f"the directory holds something else ({found}): choose another --out", path=out)
    if any(out.iterdir()) and not overwrite:
        raise CorpusError("exists already: give --overwrite to replace it", path=out)


def _mine_prepared(path: Path, options: "MiningOptions", parts: Sequence[str], run: Path | None) -> "Mined":
    """Mine a prepared corpus; with a run, a language pair may have no rules."""
    from docaps.corpus.annotations import AnnotationHeader
    from docaps.corpus.mining import Mined, mine_store
    from docaps.corpus.mining.rule_tables import list_pairs
    from docaps.corpus.store import open_store

    store = open_store(path)
    settings = store.manifest["settings"]
    if run is not None and f"{settings['source_language']}-{settings['target_language']}" not in list_pairs():
        return Mined([], 0, AnnotationHeader(corpus=store.hash, part=options.annotate), [], {})
    return mine_store(store, options, parts)


def _mine_raw(
    pair: tuple[Path, Path],
    languages: tuple[str, str],
    options: "MiningOptions",
    train: tuple[Path, Path] | None,
    format: str | None,
    starts: Path | None,
) -> "Mined":
    """Mine two raw files."""
    from docaps.corpus.formats import iterate_parallel
    from docaps.corpus.mining import mine_documents

    one, other = languages
    documents = list(iterate_parallel(*pair, format=format, language=one, target_language=other, starts=starts))
    learnt = iterate_parallel(*train, format=format, language=one, target_language=other) if train else None
    return mine_documents(documents, languages, options, learnt)


def _languages(source: Path, target: Path, one: str | None, other: str | None) -> tuple[str, str]:
    """Return the languages given, or those that the names of the files end in."""
    first = console.choose_language("--source-language", "the source", one, [source])
    return first, console.choose_language("--target-language", "the target", other, [target])


def _measure(path: Path, run: Path, part: str, least: float, limit: int | None) -> "list[Annotation]":
    """Annotate the sentences of a part that gain from context under a run."""
    from docaps.corpus.contrastive.contrastive_set import spread
    from docaps.corpus.store import open_store
    from docaps.diagnosis.context_gain import check_run, measure_gains, sentences_with_history
    from docaps.translation.trained_model import load_trained

    store, trained = open_store(path), load_trained(run)
    check_run(trained, store)
    split = store.split(part)
    numbers = spread(sentences_with_history(split), limit)
    found = (one.annotate(least) for one in measure_gains(trained, split, numbers))
    return [one for one in found if one is not None]


def _summarise(
    source: Path, target: Path | None, mined: "Mined", gains: "Sequence[Annotation]", options: "MiningOptions"
) -> dict[str, Any]:
    """Return the counts of what was found."""
    from docaps.corpus.mining.items import count_items

    labels: dict[str, Counter[str]] = {}
    for one in (*mined.annotations, *gains):
        labels.setdefault(str(one.phenomenon), Counter())[str(one.label or "")] += 1
    return {
        "corpus": [str(source)] if target is None else [str(source), str(target)],
        "corpus_hash": mined.header.corpus,
        "part": mined.header.part,
        "history": options.history,
        "seed": options.seed,
        "items": len(mined.items),
        "items_before_balancing": mined.found,
        "by_phenomenon_and_distance": count_items(mined.items),
        "annotations": len(mined.annotations) + len(gains),
        "by_phenomenon_and_label": {name: dict(found.most_common()) for name, found in sorted(labels.items())},
        "translations": {word: sorted(pair) for word, pair in sorted(mined.options.items())},
    }


def _write(
    out: Path, mined: "Mined", gains: "Sequence[Annotation]", summary: Mapping[str, Any], audit: int, seed: int
) -> None:
    """Write all files; the directory appears complete or not at all."""
    from docaps.corpus.annotations import write_annotations
    from docaps.corpus.contrastive import write_items
    from docaps.errors import CorpusError
    from docaps.files import replacing_directory, write_json, write_text_atomically
    from docaps.report.audit_page import build_audit, draw_items

    with replacing_directory(out, own=FILES, error=CorpusError) as directory:
        marks = sorted((*mined.annotations, *gains), key=lambda one: one.sentence)
        write_annotations(directory / MARKS, mined.header, marks)
        if mined.items:
            write_items(directory / ITEMS, mined.items)
            shown = draw_items(mined.items, audit, seed)
            page = build_audit(shown, title="Mined items", subtitle=", ".join(summary["corpus"]))
            write_text_atomically(directory / PAGE, page)
        write_json(directory / SUMMARY, summary)


def _print(out: Path, summary: Mapping[str, Any], prepared: Path | None, *, json: bool) -> None:
    """Print how many items and annotations there are, and the next commands; or the counts as JSON."""
    if json:
        console.print_json({"path": str(out), **summary})
        return
    rows = [
        [name, distance, f"{count:,}"]
        for name, counts in summary["by_phenomenon_and_distance"].items()
        for distance, count in counts.items()
    ]
    if rows:
        before = summary["items_before_balancing"]
        title = f"{out / ITEMS}: {summary['items']:,} items of {before:,} found"
        console.print_table(title, ["phenomenon", "distance", "items"], rows)
    rows = [
        [name, label or "-", f"{count:,}"]
        for name, counts in summary["by_phenomenon_and_label"].items()
        for label, count in list(counts.items())[:8]
    ]
    if rows:
        title = f"{out / MARKS}: {summary['annotations']:,} annotations; the most frequent labels"
        console.print_table(title, ["phenomenon", "label", "sentences"], rows, texts=(0, 1))
    _print_next(out, prepared, summary["part"], has_items=bool(summary["items"]))


def _print_next(out: Path, prepared: Path | None, part: str | None, *, has_items: bool) -> None:
    """Print the next commands."""
    commands = []
    if has_items:
        commands += [("judge items", f"open {out / PAGE} in a browser")]
        commands += [("test a model", console.typed("contrast", "RUN", "--set", "jsonl", out / ITEMS))]
    if prepared is not None and part not in (None, "train"):
        words = ("--corpus", prepared, "--part", str(part), "--annotations", out / MARKS)
        commands += [("find out what a model uses", console.typed("diagnose", "RUN", *words))]
    elif prepared is not None:
        stage = (f"select={out / MARKS}", "select_share=0.3", 'select_phenomena=["pronoun"]')
        settings = [word for setting in stage for word in ("--set", f"stage.document.{setting}")]
        command = console.typed("train", "RECIPE", "--corpus", prepared, "--out", "runs/NAME", *settings)
        commands += [("train on it", command)]
    if commands:
        console.print_next(commands)
