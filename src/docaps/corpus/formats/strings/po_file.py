"""PO files as documents: which entries are translated, which forms they have, and how they are written back."""

import gettext
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from docaps.corpus.documents import Document
from docaps.corpus.formats.encoded_text import EncodedText, Replacement, decode, decode_start
from docaps.corpus.formats.format import FileFormat, OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.strings.messages import (
    Message,
    counted,
    join_messages,
    read_context,
    read_message,
    written_messages,
)
from docaps.corpus.formats.strings.placeholders import choose_pattern
from docaps.corpus.formats.strings.po import (
    MOST_FORMS,
    PoEntry,
    format_string,
    is_wrapped,
    read_entries,
)

CHARSET = re.compile(rb"charset=([\w.:-]+)")
FORMS = re.compile(r"nplurals\s*=\s*(\d{1,3})\s*;\s*plural\s*=\s*([^;\n]{1,500})")
LANGUAGE = re.compile(r"^(X-Source-Language|Language):[ \t]*([A-Za-z]{2,3}(?![A-Za-z])\S*)[ \t]*$", re.MULTILINE)
NO_LANGUAGE = re.compile(r'(?<=Language:)[ \t]*(?=\\n")')
FIRST_LINES = re.compile(r'(?:[ \t]*(?:#[^\n]*|)\r?\n)*[ \t]*(?:msgid|msgctxt|domain)[ \t]+"')


@dataclass(frozen=True, slots=True)
class PoFile:
    """What is kept of a file to write it again: its entries, and those to translate with the forms to fill."""

    file: EncodedText
    header: PoEntry | None
    forms: tuple[int, int] | None
    """How many forms for numbers a translation has, and which of them is the singular."""
    wrapped: bool
    chosen: tuple["ChosenEntry", ...]


@dataclass(frozen=True, slots=True)
class ChosenEntry:
    """An entry to translate, the numbers of the messages of its singular and plural, and the forms to fill."""

    entry: PoEntry
    singular: int
    plural: int
    forms: tuple[int, ...]


def read_po(content: bytes, options: ReadingOptions) -> Document:
    """Return the document of a file, its entries in order."""
    charset = CHARSET.search(content)
    name = charset[1].decode("ascii") if charset and charset[1] != b"CHARSET" else "utf-8"
    file = decode(content, options, name)
    entries = read_entries(file, options)
    header = next((entry for entry in entries if entry.is_header), None)
    _check_languages(header, options)
    forms = _read_forms(header, options)
    chosen = list[ChosenEntry]()
    translated = (entry for entry in entries if not entry.is_header)
    messages = list(counted(_choose(translated, forms, options, chosen), options))
    kept = PoFile(file, header, forms, is_wrapped(entries, file), tuple(chosen))
    return join_messages(messages, options, "po", file=kept)


def _choose(
    entries: Iterable[PoEntry], forms: tuple[int, int] | None, options: ReadingOptions, chosen: list[ChosenEntry]
) -> Iterator[Message]:
    """Yield the messages of all entries; collect those to translate."""
    count = 0
    for entry in entries:
        wanted = _choose_forms(entry, forms, everything=options.choices.everything)
        own = list(_read_messages(entry, translated=not wanted))
        yield from own
        count += len(own)
        if wanted:
            chosen.append(ChosenEntry(entry, count - 1 - (entry.plural is not None), count - 1, wanted))


def _check_languages(header: PoEntry | None, options: ReadingOptions) -> None:
    """Refuse a file whose header names other languages by their codes."""
    if header is not None:
        named = dict(LANGUAGE.findall(header.forms[-1].value))
        options.check_languages(named.get("X-Source-Language", ""), named.get("Language", ""), header.line)


def _read_forms(header: PoEntry | None, options: ReadingOptions) -> tuple[int, int] | None:
    """Return the number of forms that the header names, and which is that of the number 1."""
    found = FORMS.search(header.forms[-1].value) if header else None
    if found is None:
        return None
    count = int(found[1])
    try:
        singular = gettext.c2py(found[2])(1)
    except (ValueError, RecursionError):
        singular = -1
    if not 0 < count <= MOST_FORMS or not 0 <= singular < count:
        assert header is not None
        raise options.fault(f"Plural-Forms that cannot be read: '{found[0]}'", header.line)
    return count, singular


def _choose_forms(entry: PoEntry, forms: tuple[int, int] | None, *, everything: bool) -> tuple[int, ...]:
    """Return which translations of an entry are to be made: the empty ones, or all if it is fuzzy."""
    present = tuple(sorted(entry.forms))
    if entry.plural is not None and forms is not None:
        present = tuple(sorted({*present, *range(forms[0])}))
    if everything or entry.is_fuzzy:
        return present
    return tuple(form for form in present if form not in entry.forms or not entry.forms[form].value)


def _read_messages(entry: PoEntry, *, translated: bool) -> Iterator[Message]:
    """Yield the messages of an entry: notes, then its msgid and msgid_plural; only context if it is translated."""
    assert entry.source is not None
    if translated:
        yield read_context(entry.source.value, entry.line)
        return
    context = entry.context.value if entry.context and " " in entry.context.value.strip() else ""
    for note in filter(None, (context, " ".join(entry.notes))):
        yield read_context(note, entry.line)
    pattern = choose_pattern(entry.flag_names)
    for one in (entry.source, entry.plural):
        if one is not None:
            yield read_message(one.value, entry.line, pattern=pattern)


def write_po(item: OutputDocument, options: WritingOptions) -> bytes:
    """Return the file with the translations in it, their entries marked fuzzy."""
    assert item.document.layout is not None
    kept = cast(PoFile, item.document.layout.details["file"])
    if item.translation is None:
        return kept.file.replace(())
    written = list(written_messages(item))
    changes = list(_fill_header(kept, options))
    for chosen in kept.chosen:
        changes += _fill_entry(chosen, written, kept)
    changes.sort(key=lambda change: change[:2])
    return _encode(kept, changes)


def _fill_header(kept: PoFile, options: WritingOptions) -> Iterator[Replacement]:
    """Yield the name of the language, if the header has a place for it."""
    if kept.header is not None and kept.chosen:
        value = kept.header.forms[-1]
        if found := NO_LANGUAGE.search(kept.file.text, value.start, value.end):
            yield found.start(), found.end(), f" {options.target_language}"


def _fill_entry(chosen: ChosenEntry, written: Sequence[str], kept: PoFile) -> Iterator[Replacement]:
    """Yield the flag and the translations of an entry."""
    entry, line_end = chosen.entry, kept.file.line_end
    if entry.flags is None:
        yield entry.flags_at, entry.flags_at, f"#, fuzzy{line_end}"
    elif not entry.is_fuzzy:
        start, end, flags = entry.flags
        yield start, end, f" fuzzy, {flags.strip()}" if flags.strip() else " fuzzy"
    added, last = list[str](), entry.forms[max(entry.forms)]
    singular = 0 if kept.forms is None else kept.forms[1]
    only = kept.forms is not None and kept.forms[0] == 1
    for form in chosen.forms:
        number = chosen.singular if form == singular and not only else chosen.plural
        keyword = "msgstr" if form < 0 else f"msgstr[{form}]"
        text = format_string(written[number], keyword, line_end, wrapped=kept.wrapped)
        if form in entry.forms:
            yield entry.forms[form].start, entry.forms[form].end, text
        else:
            added.append(f"{line_end}{keyword} {text}")
    if added:
        yield last.end, last.end, "".join(added)


def _encode(kept: PoFile, changes: Sequence[Replacement]) -> bytes:
    """Encode the file; if its charset lacks a character, as UTF-8, and say so in the header."""
    file = kept.file
    try:
        "".join(text for _, _, text in changes).encode(file.encoding)
    except UnicodeEncodeError:
        text = EncodedText(file.text).replace(changes).decode("utf-8")
        return re.sub(r"(?<=charset=)[\w.:-]+", "UTF-8", text, count=1).encode("utf-8")
    return file.replace(changes)


def detect_po(start: bytes, name: str) -> bool:
    """Return whether a file begins as PO: after comments, an entry."""
    return bool(FIRST_LINES.match(decode_start(start))) or name.endswith((".po", ".pot"))


PO = FileFormat("po", "PO files of gettext", (".po", ".pot"), detect_po, read_po, write_po)
