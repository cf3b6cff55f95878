"""YAML files of strings: every value that is a string is a message; keys, comments, anchors and styles are not touched.

The only key of a file, if it is the code of the source language, becomes that of the target language, as Rails needs.

A value keeps its style (plain, quoted, block) where the translation can be written in it, and is else quoted.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from typing import Any, cast

from docaps.corpus.documents import Document
from docaps.corpus.formats.encoded_text import EncodedText, Replacement, decode
from docaps.corpus.formats.format import FileFormat, OutputDocument, ReadingOptions, WritingOptions, same_language
from docaps.corpus.formats.strings.messages import join_messages, limited, written_messages
from docaps.corpus.formats.strings.string_values import StringValue, add_known, read_values
from docaps.corpus.formats.strings.yaml_scalars import PROPERTIES, STRING_TAGS, YamlScalar, YamlStyles, load_yaml

TOP_LEVEL = re.compile(r"^(?=[^#\s])(?!---|\.\.\.|%)(?:([A-Za-z]{2,3}(?:[-_][A-Za-z]{2,4})?)(?=:\s))?", re.MULTILINE)
"""A line that is not indented, and its key if it may be the code of a language."""
COMMENT, TRAILING = re.compile(r"\s*#"), re.compile(r"(?<=\s)#[^'\"]*$")
OLD_ENTRY = re.compile(r"(?:- )?[\w.-]+:(?:\s|$)")
"""An entry that was made a comment."""
MOST_COMMENTS = 20
"""Lines of comments that are read for a string."""
LARGEST = 2**24
DEEPEST = 100


def read_yaml_strings(content: bytes, options: ReadingOptions) -> Document:
    """Return the document of a file's strings."""
    file = decode(content, options)
    scalars = find_scalars(file, options)
    values = add_known(
        _values(scalars, file), options, LARGEST, lambda other, own: _values(find_scalars(decode(other, own), own))
    )
    known = [value.known for value in values]
    messages = read_values(values, options)
    return join_messages(messages, options, "yaml", file=file, scalars=scalars, known=known, reading=options)


def _values(scalars: Sequence[YamlScalar], file: EncodedText | None = None) -> list[StringValue]:
    """Return the strings of a file, with the comments on them."""
    lines = file.text.splitlines() if file else []
    return [StringValue(one.text, one.start, one.end, one.line, _note_on(one, lines), one.key) for one in scalars]


def _note_on(scalar: YamlScalar, lines: Sequence[str]) -> str:
    """Return the comments on a string: those on the lines before it, and the one after it on its line."""
    first = scalar.line - 1
    above = list(takewhile(COMMENT.match, lines[max(0, first - MOST_COMMENTS) : first][::-1]))[::-1]
    after = () if "\n" in scalar.raw or first >= len(lines) else TRAILING.findall(lines[first])[:1]
    notes = (re.sub(r"^[\s#]+", "", note).strip() for note in (*above, *after))
    return " ".join(note for note in notes if " " in note and not OLD_ENTRY.match(note))


def find_scalars(file: EncodedText, options: ReadingOptions) -> list[YamlScalar]:
    """Return the strings of a file that are values; refuse what is not YAML."""
    yaml = load_yaml(options)
    try:
        events = yaml.parse(file.text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return list(limited(_find_values(events, file, options, YamlStyles(yaml)), options))
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        line = mark.line + 1 if mark else file.line_of(getattr(fault, "position", 0))
        problem = getattr(fault, "problem", None) or getattr(fault, "reason", "a character that it cannot hold")
        raise options.fault(f"not YAML: {problem}", line) from None


def _find_values(
    events: Iterator[Any], file: EncodedText, options: ReadingOptions, styles: YamlStyles
) -> Iterator[YamlScalar]:
    """Go through the nodes of a file; a key, and all in it, is no value."""
    levels: list[_Level] = [_Level(is_mapping=False)]
    for event in events:
        kind = type(event).__name__
        level = levels[-1]
        if kind in ("MappingStartEvent", "SequenceStartEvent"):
            is_key = level.take_node() or level.is_key
            is_flow = level.is_flow or bool(event.flow_style)
            levels.append(_Level(is_mapping=kind[0] == "M", is_key=is_key, is_flow=is_flow))
            if len(levels) > DEEPEST:
                message = f"more than {DEEPEST} levels within each other"
                raise options.fault(message, event.start_mark.line + 1)
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            levels.pop()
        elif kind == "AliasEvent":
            level.take_node()
        elif kind == "ScalarEvent":
            is_key = level.take_node(event.value) or level.is_key
            if not is_key and len(levels) > 1 and _is_string(event, styles):
                key = tuple(one.key for one in levels[1:])
                yield replace(_make_scalar(event, file, level.is_flow), key=key)


class _Level:
    """A mapping or sequence that is being read."""

    def __init__(self, *, is_mapping: bool, is_key: bool = False, is_flow: bool = False) -> None:
        self.is_mapping, self.is_key, self.is_flow = is_mapping, is_key, is_flow
        self._expects_key = is_mapping
        self.key: str | int = "" if is_mapping else -1

    def take_node(self, text: str = "") -> bool:
        """Go to the next node, which may be a scalar; return whether this one is a key."""
        is_key = self._expects_key
        if isinstance(self.key, int):
            self.key += 1
        elif is_key:
            self.key = text
        self._expects_key = self.is_mapping and not is_key
        return is_key


def _is_string(event: Any, styles: YamlStyles) -> bool:
    """Return whether a scalar is a string: it says so, or is quoted, or means nothing else."""
    if event.tag is not None:
        return event.tag in STRING_TAGS
    return bool(event.value) and bool(event.style or styles.means_string(event.value))


def _make_scalar(event: Any, file: EncodedText, is_flow: bool) -> YamlScalar:
    """Return a scalar without the anchor and the tag before it."""
    start, end = event.start_mark.index, event.end_mark.index
    if event.anchor is not None or event.tag is not None:
        found = PROPERTIES.match(file.text, start, end)
        start = found.end() if found else start
    raw = file.text[start:end]
    return YamlScalar(event.value, start, end, event.start_mark.line + 1, event.style or "", raw, is_flow)


def write_yaml_strings(item: OutputDocument, options: WritingOptions) -> bytes:  # noqa: ARG001
    """Return the file with its strings translated."""
    assert item.document.layout is not None
    details = item.document.layout.details
    reading = cast(ReadingOptions, details["reading"])
    file, scalars = cast(EncodedText, details["file"]), cast(Sequence[YamlScalar], details["scalars"])
    if item.translation is None:
        return file.replace(())
    styles = YamlStyles(load_yaml(reading))
    texts = [known or text for known, text in zip(details["known"], written_messages(item), strict=True)]
    for quoted in (False, True):
        pairs = ((one, text) for one, text in zip(scalars, texts, strict=True) if text != one.text)
        changes = ((one.start, one.end, styles.format(one, text, quoted=quoted)) for one, text in pairs)
        content = file.replace([*_rename_root(file.text, reading), *changes])
        if _holds(content, texts, reading):
            break
    return content


def _rename_root(text: str, options: ReadingOptions) -> Iterator[Replacement]:
    """Yield the code of the target language for that of the source, if this is the only key of a file."""
    keys = list(islice(TOP_LEVEL.finditer(text), 2))
    if len(keys) == 1 and keys[0][1] and same_language(keys[0][1], options.language):
        yield *keys[0].span(1), options.target_language


def _holds(content: bytes, texts: Sequence[str], options: ReadingOptions) -> bool:
    """Return whether a file that was written has these strings."""
    from docaps.errors import CorpusError

    try:
        return [one.text for one in find_scalars(decode(content, options), options)] == list(texts)
    except CorpusError:
        return False


def detect_yaml_strings(start: bytes, name: str) -> bool:  # noqa: ARG001
    """Return whether a file is named as YAML: nearly every text is YAML of a kind."""
    return name.endswith((".yaml", ".yml"))


YAML = FileFormat(
    "yaml",
    "YAML files of strings",
    (".yaml", ".yml"),
    detect_yaml_strings,
    read_yaml_strings,
    write_yaml_strings,
    largest=LARGEST,
)
