"""ContraPro as its authors' script extracts it: lines to score, and n lines of context for each of them.

NAME.text.en and NAME.text.de hold each reference and, after it, its contrastive lines; NAME.context.en and
NAME.context.de hold n lines for every line of them, oldest first, blank where the document had not begun. NAME.json
beside them, if it is there, tells distances, pronouns and documents, and where items begin.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docaps.corpus.contrastive.contrapro import Lines, make_item
from docaps.corpus.contrastive.interface import ContrastiveSet, SetOptions
from docaps.corpus.contrastive.items import PRONOUN, AnyItem, ContrastiveItem, with_pronoun
from docaps.corpus.contrastive.lines import check_counts, read_sentences, same_sentence
from docaps.corpus.contrastive.records import read_record_list
from docaps.corpus.formats.interface import shorten
from docaps.errors import CorpusError

TEXT, CONTEXT = "text", "context"


@dataclass(frozen=True, slots=True)
class Row:
    """A line to score: source, translation, and the contexts of both."""

    source: str
    target: str
    history: Lines = ()
    target_history: Lines = ()

    def follows(self, reference: "Row") -> bool:
        """Say whether this is a contrastive line of that reference: another translation of the same sentence there."""
        return dataclasses.replace(self, target="") == dataclasses.replace(reference, target="") and (
            self.target != reference.target
        )


def read_contrapro_text(path: Path, options: SetOptions) -> ContrastiveSet:
    """Read the four files of which one is named, or which a directory holds."""
    stem = _find_stem(path, options)
    rows = _read_rows(stem, options)
    labels = Path(f"{stem}.json")
    texts = Path(f"{stem}.{TEXT}.{options.target_language}")
    items = _label(rows, labels, texts) if labels.is_file() else _group(rows, texts)
    return ContrastiveSet(tuple(items), {texts.name: len(items)})


def _find_stem(path: Path, options: SetOptions) -> str:
    """Return what the names of the files begin with."""
    if not path.is_dir():
        return str(path.with_suffix("").with_suffix(""))
    ending = f".{TEXT}.{options.source_language}"
    found = sorted(name for name in path.iterdir() if name.name.endswith(ending))
    if len(found) != 1:
        names = ", ".join(name.name for name in found) or "none"
        raise CorpusError(f"expected one file *{ending} here, found {names}: name the one to read", path=path)
    return str(found[0]).removesuffix(ending)


def _read_rows(stem: str, options: SetOptions) -> list[Row]:
    """Read lines and contexts."""
    languages = options.source_language, options.target_language
    paths = [Path(f"{stem}.{TEXT}.{language}") for language in languages]
    texts = [read_sentences(path) for path in paths]
    check_counts(paths, [len(lines) for lines in texts])
    if options.without_history:
        return [Row(source, target) for source, target in zip(*texts, strict=True)]
    places = [Path(f"{stem}.{CONTEXT}.{language}") for language in languages]
    contexts = [read_sentences(path, blank=True) for path in places]
    check_counts(places, [len(lines) for lines in contexts])
    size = _context_size(paths[0], len(texts[0]), places[0], len(contexts[0]), options.context_lines)
    rows = []
    for number, (source, target) in enumerate(zip(*texts, strict=True)):
        history, target_history = (tuple(lines[size * number : size * (number + 1)]) for lines in contexts)
        rows.append(Row(source, target, *_cut_history(history, target_history)))
    return rows


def _context_size(path: Path, lines: int, place: Path, context: int, wanted: int | None) -> int:
    """Return how many lines of context go with a line: what the counts say, which must be what was told."""
    size = context // lines
    if context != lines * size or (wanted is not None and wanted != size):
        expected = f"{wanted} for each" if wanted is not None else "the same number for each"
        message = f"{context:,} lines of context for the {lines:,} lines of {path}, expected {expected}"
        raise CorpusError(f"{message}: extract them anew, or mend --context-lines", path=place)
    return size


def _cut_history(source: Lines, target: Lines) -> tuple[Lines, Lines]:
    """Leave out the blank lines before the document begins."""
    first = next((place for place, sentence in enumerate(source) if sentence), len(source))
    return source[first:], target[first:]


def _label(rows: list[Row], labels: Path, texts: Path) -> list[AnyItem]:
    """Make items of lines with the help of the published file, which tells how many lines each item has."""
    items: list[AnyItem] = []
    place = 0
    for number, record in enumerate(read_record_list(labels), start=1):
        label = make_item(record, number, (), ())
        own = rows[place : place + 1 + len(label.wrong)]
        if len(own) <= len(label.wrong):
            raise record.fault(f"item {number:,} has {1 + len(label.wrong)} lines, but {texts} ends before them")
        _check_row(own[0], label, texts, place + 1)
        items.append(_make_item(own, label))
        place += len(own)
    if place < len(rows):
        message = f"no item of {labels} for this line: it has {place:,} lines in all"
        raise CorpusError(message, path=texts, line=place + 1)
    return items


def _check_row(row: Row, item: ContrastiveItem, texts: Path, line: int) -> None:
    """Refuse a line that is not the reference of its item."""
    if not same_sentence(row.target, item.right):
        message = f"found {shorten(row.target)!r}, expected item {item.id}'s reference {shorten(item.right)!r}"
        raise CorpusError(f"{message}: the JSON file belongs to other lines", path=texts, line=line)


def _group(rows: list[Row], texts: Path) -> list[AnyItem]:
    """Make items of lines: other translations of one sentence in one place follow its reference."""
    items = []
    for number, (line, own) in enumerate(_groups(rows), start=1):
        if len(own) == 1:
            message = f"no contrastive line after the reference {shorten(own[0].target)!r}"
            raise CorpusError(f"{message}: extract the lines with their contrastive ones", path=texts, line=line)
        label = ContrastiveItem(id=str(number), source="", phenomenon=PRONOUN, right="", wrong=())
        items.append(with_pronoun(_make_item(own, label)))
    return items


def _make_item(rows: list[Row], label: ContrastiveItem) -> ContrastiveItem:
    """Make an item of its lines, reference first, and of what is known about it."""
    return dataclasses.replace(
        label,
        source=rows[0].source,
        right=rows[0].target,
        wrong=tuple(row.target for row in rows[1:]),
        history=rows[0].history,
        target_history=rows[0].target_history,
    )


def _groups(rows: list[Row]) -> Iterator[tuple[int, list[Row]]]:
    """Cut lines into items, each with the number of its first line."""
    start = 0
    for number in range(1, len(rows) + 1):
        if number == len(rows) or not rows[number].follows(rows[start]):
            yield start + 1, rows[start:number]
            start = number
