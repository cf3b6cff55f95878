"""ContraPro as published: which of er, sie and es is the German *it*?

A JSON list of sentences with their translation, wrong ones (`errors`), the document and the line in it. The sentences
before it stand in the documents of OpenSubtitles, one file for each document and language in a folder for each year, as
the authors' `setup_opensubs.sh` lays them out. Reference: Müller et al. (2018), https://github.com/ZurichNLP/ContraPro
"""

from functools import cache
from pathlib import Path

from docaps.corpus.contrastive.interface import ContrastiveSet, SetOptions
from docaps.corpus.contrastive.items import PRONOUN, ContrastiveItem
from docaps.corpus.contrastive.lines import check_counts, read_sentences, same_sentence
from docaps.corpus.contrastive.records import Record, read_record_list
from docaps.corpus.formats.interface import shorten
from docaps.errors import CorpusError

Lines = tuple[str, ...]


class Library:
    """The documents that the items were taken from, each read once."""

    def __init__(self, folder: Path, options: SetOptions) -> None:
        if not folder.is_dir():
            raise CorpusError("no such directory: give the folder of ContraPro's documents", path=folder)
        self._folder = folder
        self._languages = options.source_language, options.target_language
        self._limit = options.context_lines
        self.read = cache(self._read)

    def history(self, record: Record) -> tuple[Lines, Lines]:
        """Return the sentences before an item, and their translations."""
        source, target = self.read(self._find(record))
        number = record.integer("segment id")  # counts from 1
        if not 1 <= number <= len(source):
            raise record.fault(
                f"'segment id' is {number}, but the document {self._name(record)} has {len(source)} lines"
            )
        self._check(record, source[number - 1], number)
        first = 0 if self._limit is None else max(0, number - 1 - self._limit)
        return source[first : number - 1], target[first : number - 1]

    def _check(self, record: Record, found: str, number: int) -> None:
        """Refuse a document whose line is another sentence; a blank line contradicts nothing."""
        if found and not same_sentence(found, record.sentence("src segment")):
            where = f"{self._find(record)}:{number}"
            raise record.fault(
                f"'src segment' is not the sentence of {where}, which is {shorten(found)!r}: "
                "give the documents of OpenSubtitles2018 with --context-dir"
            )

    def _name(self, record: Record) -> str:
        """Return the document's name: its id without folders and without the language at its end."""
        return record.text("document id").rpartition("/")[2].removesuffix(f".{self._languages[1]}")

    def _find(self, record: Record) -> Path:
        """Find the source side of a document: in the folder of its year, or without such folders."""
        name = self._name(record)
        file = f"{name}.{self._languages[0]}"
        places = [self._folder / name.partition("_")[0] / file, self._folder / file]
        for place in places:
            if place.is_file():
                return place
        raise record.fault(
            f"no document '{name}': looked for {places[0]} and {places[1]}; give the folder that ContraPro's "
            "setup_opensubs.sh makes with --context-dir"
        )

    def _read(self, path: Path) -> tuple[Lines, Lines]:
        """Read both sides of a document; the target may be missing, for its sentences are not looked at."""
        other = path.with_suffix(f".{self._languages[1]}")
        source = tuple(read_sentences(path, blank=True))
        target = tuple(read_sentences(other, blank=True)) if other.is_file() else ()
        if target:
            check_counts([path, other], [len(source), len(target)])
        return source, target


def read_contrapro_json(path: Path, options: SetOptions) -> ContrastiveSet:
    """Read the published file, and look the histories up."""
    records = read_record_list(path)
    if options.context_dir is None and not options.without_history:
        raise CorpusError(
            "ContraPro's JSON file has no histories: give the folder of its documents with --context-dir, "
            "or --no-context to do without",
            path=path,
        )
    library = Library(options.context_dir, options) if options.context_dir else None
    items = [
        make_item(record, number, *(library.history(record) if library else ((), ())))
        for number, record in enumerate(records, start=1)
    ]
    return ContrastiveSet(tuple(items), {path.name: len(items)})


def make_item(record: Record, number: int, history: Lines, target_history: Lines) -> ContrastiveItem:
    """Make an item of a record."""
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
