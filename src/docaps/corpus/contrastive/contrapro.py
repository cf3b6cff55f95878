"""ContraPro: which of er, sie and es is the German *it*? Read as published, or as its authors' script extracts it.

Published: NAME.json, a list of sentences with their translation, wrong ones (`errors`), their document and line. The
sentences before them are in the documents of OpenSubtitles, one file for each document and language in a folder for
each year, as the authors' `setup_opensubs.sh` lays them out.

Extracted: NAME.text.en and NAME.text.de hold each reference followed by its contrastive lines; NAME.context.en and
NAME.context.de hold n lines for every line of them, oldest first, blank before the document begins. NAME.json beside
them, if there is one, gives distances, pronouns and documents, and the number of lines of each item.

Reference: Müller et al. (2018), https://github.com/ZurichNLP/ContraPro
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from docaps.corpus.contrastive.contrastive_set import (
    PRONOUN,
    AnyItem,
    ContrastiveItem,
    ContrastiveSet,
    SetOptions,
    with_pronoun,
)
from docaps.corpus.contrastive.records import JsonRecord, check_counts, read_record_list, read_sentences, same_sentence
from docaps.corpus.formats.format import shorten
from docaps.errors import CorpusError

TEXT, CONTEXT = "text", "context"
Lines = tuple[str, ...]


def read_contrapro(path: Path, options: SetOptions) -> ContrastiveSet:
    """Read the published file, or the files that the authors' script extracts from it."""
    if path.is_file() and path.name.removesuffix(".gz").removesuffix(".zst").endswith(".json"):
        return _read_published(path, options)
    if options.context_dir:
        raise CorpusError("extracted text has its contexts with it: leave --context-dir out", path=path)
    return _read_extracted(path, options)


def _read_published(path: Path, options: SetOptions) -> ContrastiveSet:
    """Read the published file, and look up the histories."""
    records = read_record_list(path)
    if options.context_dir is None and not options.without_history:
        raise CorpusError(
            "ContraPro's JSON file has no histories: give the folder of its documents with --context-dir, "
            "or --no-context to do without",
            path=path,
        )
    subtitles = Subtitles(options.context_dir, options) if options.context_dir else None
    items = [
        _make_item(record, number, *(subtitles.history(record) if subtitles else ((), ())))
        for number, record in enumerate(records, start=1)
    ]
    return ContrastiveSet(tuple(items), {path.name: len(items)})


def _make_item(record: JsonRecord, number: int, history: Lines, target_history: Lines) -> ContrastiveItem:
    """Return the item of a record."""
    return ContrastiveItem(
        id=str(number),
        source=record.sentence("src segment"),
        phenomenon=PRONOUN,
        distance=record.integer("ante distance") if record.has("ante distance") else None,
        pronoun=record.text("ref pronoun").lower(),
        document=record.text("document id") if record.has("document id") else None,
        history=history,
        target_history=target_history,
        right=record.sentence("ref segment"),
        wrong=tuple(error.sentence("contrastive") for error in record.records("errors")),
    )


class Subtitles:
    """The documents that the items were taken from, each read once."""

    def __init__(self, folder: Path, options: SetOptions) -> None:
        if not folder.is_dir():
            raise CorpusError("no such directory: give the folder of ContraPro's documents", path=folder)
        self._folder = folder
        self._languages = options.source_language, options.target_language
        self._limit = options.context_lines
        self._read = cache(self._read_document)

    def history(self, record: JsonRecord) -> tuple[Lines, Lines]:
        """Return the sentences before an item, and their translations."""
        file = self._find(record)
        source, target = self._read(file)
        number = record.integer("segment id")  # counts from 1
        if not 1 <= number <= len(source):
            raise record.fault(
                f"'segment id' is {number}, but the document {self._name(record)} has {len(source)} lines"
            )
        found = source[number - 1]
        if found and not same_sentence(found, record.sentence("src segment")):  # a blank line contradicts nothing
            raise record.fault(
                f"'src segment' is not the sentence of {file}:{number}, which is {shorten(found)!r}: "
                "give the documents of OpenSubtitles2018 with --context-dir"
            )
        first = 0 if self._limit is None else max(0, number - 1 - self._limit)
        return source[first : number - 1], target[first : number - 1]

    def _name(self, record: JsonRecord) -> str:
        """Return the document's name: its id without folders and without the language at its end."""
        return record.text("document id").rpartition("/")[2].removesuffix(f".{self._languages[1]}")

    def _find(self, record: JsonRecord) -> Path:
        """Return the source file of a document: in the folder of its year, or without such folders."""
        name = self._name(record)
        file = f"{name}.{self._languages[0]}"
        candidates = [self._folder / name.partition("_")[0] / file, self._folder / file]
        for candidate in candidates:
            if candidate.is_file():
                return candidate
        raise record.fault(
            f"no document '{name}': looked for {candidates[0]} and {candidates[1]}; give the folder that ContraPro's "
            "setup_opensubs.sh makes with --context-dir"
        )

    def _read_document(self, path: Path) -> tuple[Lines, Lines]:
        """Read both sides of a document; the target may be missing."""
        other = path.with_suffix(f".{self._languages[1]}")
        source = tuple(read_sentences(path, blank=True))
        target = tuple(read_sentences(other, blank=True)) if other.is_file() else ()
        if target:
            check_counts([path, other], [len(source), len(target)])
        return source, target


@dataclass(frozen=True, slots=True)
class ScoredLine:
    """An extracted line to score: source, translation, and the contexts of both."""

    source: str
    target: str
    history: Lines = ()
    target_history: Lines = ()

    def contrasts(self, reference: "ScoredLine") -> bool:
        """Return whether this is a contrastive line of a reference: another translation of the same sentence."""
        return dataclasses.replace(self, target="") == dataclasses.replace(reference, target="") and (
            self.target != reference.target
        )


def _read_extracted(path: Path, options: SetOptions) -> ContrastiveSet:
    """Read the four files of which one is named, or which a directory holds."""
    stem = _find_stem(path, options)
    lines = _read_scored_lines(stem, options)
    labels = Path(f"{stem}.json")
    texts = Path(f"{stem}.{TEXT}.{options.target_language}")
    items = _label(lines, labels, texts) if labels.is_file() else _group(lines, texts)
    return ContrastiveSet(tuple(items), {texts.name: len(items)})


def _find_stem(path: Path, options: SetOptions) -> str:
    """Return the common beginning of the file names."""
    if not path.is_dir():
        return str(path.with_suffix("").with_suffix(""))
    ending = f".{TEXT}.{options.source_language}"
    found = sorted(name for name in path.iterdir() if name.name.endswith(ending))
    if len(found) != 1:
        names = ", ".join(name.name for name in found) or "none"
        raise CorpusError(f"expected one file *{ending} here, found {names}: name the one to read", path=path)
    return str(found[0]).removesuffix(ending)


def _read_scored_lines(stem: str, options: SetOptions) -> list[ScoredLine]:
    """Read lines and contexts."""
    languages = options.source_language, options.target_language
    paths = [Path(f"{stem}.{TEXT}.{language}") for language in languages]
    texts = [read_sentences(path) for path in paths]
    check_counts(paths, [len(lines) for lines in texts])
    if options.without_history:
        return [ScoredLine(source, target) for source, target in zip(*texts, strict=True)]
    context_paths = [Path(f"{stem}.{CONTEXT}.{language}") for language in languages]
    contexts = [read_sentences(path, blank=True) for path in context_paths]
    check_counts(context_paths, [len(lines) for lines in contexts])
    size = _context_size(paths[0], len(texts[0]), context_paths[0], len(contexts[0]), options.context_lines)
    found = []
    for number, (source, target) in enumerate(zip(*texts, strict=True)):
        history, target_history = (tuple(lines[size * number : size * (number + 1)]) for lines in contexts)
        # Blank lines before the document begins are not history.
        first = next((place for place, sentence in enumerate(history) if sentence), len(history))
        found.append(ScoredLine(source, target, history[first:], target_history[first:]))
    return found


def _context_size(path: Path, lines: int, context_path: Path, context: int, wanted: int | None) -> int:
    """Return the number of context lines of each line, which must be the same for all, and the one given."""
    size = context // lines
    if context != lines * size or (wanted is not None and wanted != size):
        expected = f"{wanted} for each" if wanted is not None else "the same number for each"
        message = f"{context:,} lines of context for the {lines:,} lines of {path}, expected {expected}"
        raise CorpusError(f"{message}: extract them anew, or correct --context-lines", path=context_path)
    return size


def _label(lines: list[ScoredLine], labels: Path, texts: Path) -> list[AnyItem]:
    """Return the items of lines, labelled by the published file, which gives the number of lines of each item."""
    items: list[AnyItem] = []
    start = 0
    for number, record in enumerate(read_record_list(labels), start=1):
        label = _make_item(record, number, (), ())
        own = lines[start : start + 1 + len(label.wrong)]
        if len(own) <= len(label.wrong):
            raise record.fault(f"item {number:,} has {1 + len(label.wrong)} lines, but {texts} ends before them")
        if not same_sentence(own[0].target, label.right):
            message = f"found {shorten(own[0].target)!r}, expected item {number}'s reference {shorten(label.right)!r}"
            raise CorpusError(f"{message}: the JSON file belongs to other lines", path=texts, line=start + 1)
        items.append(_join_lines(own, label))
        start += len(own)
    if start < len(lines):
        message = f"no item of {labels} for this line: it has {start:,} lines in all"
        raise CorpusError(message, path=texts, line=start + 1)
    return items


def _group(lines: list[ScoredLine], texts: Path) -> list[AnyItem]:
    """Return the items of lines without labels: a reference is followed by its contrastive lines."""
    items = []
    for number, (line, own) in enumerate(_groups(lines), start=1):
        if len(own) == 1:
            message = f"no contrastive line after the reference {shorten(own[0].target)!r}"
            raise CorpusError(f"{message}: extract the lines with their contrastive ones", path=texts, line=line)
        label = ContrastiveItem(id=str(number), source="", phenomenon=PRONOUN, right="", wrong=())
        items.append(with_pronoun(_join_lines(own, label)))
    return items


def _groups(lines: list[ScoredLine]) -> Iterator[tuple[int, list[ScoredLine]]]:
    """Yield the lines of each item, with the number of its first line."""
    start = 0
    for number in range(1, len(lines) + 1):
        if number == len(lines) or not lines[number].contrasts(lines[start]):
            yield start + 1, lines[start:number]
            start = number


def _join_lines(lines: list[ScoredLine], label: ContrastiveItem) -> ContrastiveItem:
    """Return the item of lines, reference first, with the other fields of `label`."""
    return dataclasses.replace(
        label,
        source=lines[0].source,
        right=lines[0].target,
        wrong=tuple(line.target for line in lines[1:]),
        history=lines[0].history,
        target_history=lines[0].target_history,
    )
