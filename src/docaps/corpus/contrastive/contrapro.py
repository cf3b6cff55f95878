"""ContraPro: which of er, sie and es is the German *it*? Read as published, or as its authors' script extracts it.

Published: NAME.json, a list of sentences with their translation, wrong ones (`errors`), their document and line. The
sentences before them are in the documents of OpenSubtitles, one file for each document and language in a folder for
each year, as the authors' `setup_opensubs.sh` lays them out.

Extracted: NAME.text.en and NAME.text.de hold each reference followed by its contrastive lines; NAME.context.en and
NAME.context.de hold n lines for every line of them, oldest first, blank before the document begins. NAME.json beside
them, if there is one, gives distances, pronouns and documents, and the number of lines of each item.

Reference: Müller et al. (2018), https://github.com/ZurichNLP/ContraPro
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

from docaps.corpus.contrastive.contrastive_set import PRONOUN, ContrastiveItem, ContrastiveSet, SetOptions, find_pronoun
from docaps.corpus.contrastive.records import JsonRecord, read_columns, read_record_list, read_sentences, same_sentence
from docaps.corpus.formats.format import shorten
from docaps.errors import CorpusError

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
        message = "ContraPro's JSON file has no histories: give the folder of its documents with --context-dir"
        raise CorpusError(f"{message}, or --no-context to do without", path=path)
    subtitles = Subtitles(options.context_dir, options) if options.context_dir else None
    items = [
        _make_item(record, number, subtitles.history(record) if subtitles else ((), ()))
        for number, record in enumerate(records, start=1)
    ]
    return ContrastiveSet(tuple(items), {path.name: len(items)})


def _make_item(record: JsonRecord, number: int, histories: tuple[Lines, Lines] = ((), ())) -> ContrastiveItem:
    """Return the item of a record."""
    return ContrastiveItem(
        id=str(number),
        source=record.sentence("src segment"),
        phenomenon=PRONOUN,
        distance=record.integer("ante distance") if record.has("ante distance") else None,
        pronoun=record.text("ref pronoun").lower(),
        document=record.text("document id") if record.has("document id") else None,
        history=histories[0],
        target_history=histories[1],
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
        # The document's name is its id without folders and without the language at its end.
        name = record.text("document id").rpartition("/")[2].removesuffix(f".{self._languages[1]}")
        file = self._find(name, record)
        source, target = self._read(file)
        number = record.integer("segment id")  # counts from 1
        if not 1 <= number <= len(source):
            raise record.fault(f"'segment id' is {number}, but the document {name} has {len(source)} lines")
        found = source[number - 1]
        if found and not same_sentence(found, record.sentence("src segment")):  # a blank line contradicts nothing
            message = f"'src segment' is not the sentence of {file}:{number}, which is {shorten(found)!r}"
            raise record.fault(f"{message}: give the documents of OpenSubtitles2018 with --context-dir")
        first = 0 if self._limit is None else max(0, number - 1 - self._limit)
        return source[first : number - 1], target[first : number - 1]

    def _find(self, name: str, record: JsonRecord) -> Path:
        """Return the source file of a document: in the folder of its year, or without such folders."""
        file = f"{name}.{self._languages[0]}"
        candidates = [self._folder / name.partition("_")[0] / file, self._folder / file]
        for candidate in candidates:
            if candidate.is_file():
                return candidate
        message = f"no document '{name}': looked for {candidates[0]} and {candidates[1]}"
        raise record.fault(f"{message}; give the folder that ContraPro's setup_opensubs.sh makes with --context-dir")

    def _read_document(self, path: Path) -> tuple[Lines, Lines]:
        """Read both sides of a document; the target may be missing."""
        other = path.with_suffix(f".{self._languages[1]}")
        if not other.is_file():
            return tuple(read_sentences(path, blank=True)), ()
        source, target = read_columns([path, other], blank=True)
        return tuple(source), tuple(target)


def _read_extracted(path: Path, options: SetOptions) -> ContrastiveSet:
    """Read the four files of which one is named, or which a directory holds."""
    stem = _find_stem(path, options)
    lines = _read_lines(stem, options)
    labels, texts = Path(f"{stem}.json"), Path(f"{stem}.text.{options.target_language}")
    items = _label(lines, labels, texts) if labels.is_file() else _group(lines, texts)
    return ContrastiveSet(tuple(items), {texts.name: len(items)})


def _find_stem(path: Path, options: SetOptions) -> str:
    """Return the common beginning of the file names."""
    if not path.is_dir():
        return str(path.with_suffix("").with_suffix(""))
    ending = f".text.{options.source_language}"
    found = sorted(name for name in path.iterdir() if name.name.endswith(ending))
    if len(found) != 1:
        names = ", ".join(name.name for name in found) or "none"
        raise CorpusError(f"expected one file *{ending} here, found {names}: name the one to read", path=path)
    return str(found[0]).removesuffix(ending)


def _read_lines(stem: str, options: SetOptions) -> list[ContrastiveItem]:
    """Read lines and contexts: each line as an item with one translation, right or wrong."""
    languages = options.source_language, options.target_language
    paths, context_paths = ([Path(f"{stem}.{kind}.{name}") for name in languages] for kind in ("text", "context"))
    sources, targets = read_columns(paths)
    contexts, size = [list[str](), list[str]()], 0
    if not options.without_history:
        contexts = read_columns(context_paths, blank=True)
        size, rest = divmod(len(contexts[0]), len(sources))
        if rest or options.context_lines not in (None, size):
            expected = "the same number" if options.context_lines is None else options.context_lines
            context = f"{len(contexts[0]):,} lines of context for the {len(sources):,} lines of {paths[0]}"
            message = f"{context}, expected {expected} for each: extract them anew, or correct --context-lines"
            raise CorpusError(message, path=context_paths[0])
    found = []
    for number, (source, right) in enumerate(zip(sources, targets, strict=True)):
        one, other = (tuple(lines[size * number : size * (number + 1)]) for lines in contexts)
        # Blank lines before the document begins are not history.
        first = next((place for place, sentence in enumerate(one) if sentence), len(one))
        line = ContrastiveItem(id="", source=source, phenomenon=PRONOUN, right=right, wrong=())
        found.append(replace(line, history=one[first:], target_history=other[first:]))
    return found


def _label(lines: list[ContrastiveItem], labels: Path, texts: Path) -> list[ContrastiveItem]:
    """Return the items of lines, labelled by the published file, which gives the number of lines of each item."""
    items, start = list[ContrastiveItem](), 0
    for number, record in enumerate(read_record_list(labels), start=1):
        label = _make_item(record, number)
        own = lines[start : start + 1 + len(label.wrong)]
        if len(own) <= len(label.wrong):
            raise record.fault(f"item {number:,} has {1 + len(label.wrong)} lines, but {texts} ends before them")
        if not same_sentence(own[0].right, label.right):
            message = f"found {shorten(own[0].right)!r}, expected item {number}'s reference {shorten(label.right)!r}"
            raise CorpusError(f"{message}: the JSON file belongs to other lines", path=texts, line=start + 1)
        item = replace(own[0], id=label.id, distance=label.distance, pronoun=label.pronoun, document=label.document)
        items.append(replace(item, wrong=tuple(line.right for line in own[1:])))
        start += len(own)
    if start < len(lines):
        message = f"no item of {labels} for this line: it has {start:,} lines in all"
        raise CorpusError(message, path=texts, line=start + 1)
    return items


def _group(lines: list[ContrastiveItem], texts: Path) -> list[ContrastiveItem]:
    """Return the items of lines without labels: a reference is followed by other translations of its sentence."""
    items, start = list[ContrastiveItem](), 0
    for end in range(1, len(lines) + 1):
        reference = lines[start]
        if end < len(lines) and lines[end] == replace(reference, right=lines[end].right) != reference:
            continue
        if end == start + 1:
            message = f"no contrastive line after the reference {shorten(reference.right)!r}"
            raise CorpusError(f"{message}: extract the lines with their contrastive ones", path=texts, line=end)
        wrong = tuple(line.right for line in lines[start + 1 : end])
        pronoun = find_pronoun(reference.right, wrong)
        items.append(replace(reference, id=str(len(items) + 1), wrong=wrong, pronoun=pronoun))
        start = end
    return items
