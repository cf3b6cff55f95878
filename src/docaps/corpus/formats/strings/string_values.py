"""Strings that are the values of a file, such as one of JSON or YAML, as messages."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from docaps import progress
from docaps.corpus.formats.format import ReadingOptions, same_language
from docaps.corpus.formats.strings.icu_messages import IcuError, has_choice, read_icu_message
from docaps.corpus.formats.strings.messages import Message, counted, read_context, read_message
from docaps.corpus.formats.text_input import open_input

IDENTIFIER = re.compile(
    r"[a-z0-9]+(?:_[a-z0-9]+)+|[A-Z0-9]+(?:_[A-Z0-9]+)+|#[0-9A-Fa-f]{3,8}|\.{0,2}/[\w./-]+"
    r"|[\w./-]+\.(?:png|jpe?g|svg|gif|webp|ico|css|js|html?|json|ya?ml|pdf|md|txt|mp[34])"
)
"""A value for programs: a name with underscores, a colour, a path, the name of a file."""


@dataclass(frozen=True, slots=True)
class StringValue:
    """A string: the span of it in the file with its quotation marks, its line, what the file notes on it, its key."""

    text: str
    start: int
    end: int
    line: int
    note: str = ""
    key: tuple[str | int, ...] = ()
    known: str | None = None
    """Its translation, if there is one already."""


def add_known(
    values: Sequence[StringValue],
    options: ReadingOptions,
    largest: int,
    read: Callable[[bytes, ReadingOptions], Sequence[StringValue]],
) -> Sequence[StringValue]:
    """Return strings with the translations that an existing file has under the same keys."""
    path = Path(options.choices.existing or "")
    if options.choices.existing is None or options.choices.everything:
        return values
    with open_input(path) as file:
        found = read(file.read(largest), replace(options, path=path))
    known = {_without_language(one.key, options.target_language): one.text for one in found if one.text.strip()}
    return [_with_known(value, known.get(_without_language(value.key, options.language))) for value in values]


def _with_known(value: StringValue, text: str | None) -> StringValue:
    """Return a string with its translation, which has as many line ends at its end as the source."""
    ends = value.text[len(value.text.rstrip("\n")) :]
    return value if text is None or not value.text.strip() else replace(value, known=text.rstrip("\n") + ends)


def _without_language(key: tuple[str | int, ...], language: str) -> tuple[str | int, ...]:
    """Return a key without the code of the language that it may begin with, as in files of Rails."""
    first = key[0] if key else ""
    return key[1:] if isinstance(first, str) and len(key) > 1 and same_language(first, language) else key


def read_values(values: Sequence[StringValue], options: ReadingOptions) -> Sequence[Message]:
    """Return the message of each string; refuse a file without any to translate."""
    left = list[int]()
    messages = list(counted((_read(value, options, left) for value in values), options))
    if left:
        more = f", and {len(left) - 1} more" if len(left) > 1 else ""
        what = f"left untranslated{more}: a choice (plural, select) with words around it, or a broken one"
        progress.say(f"{options.path}:{left[0]}: {what}")
    if not any(message.passages for message in messages) and not any(value.known for value in values):
        raise options.fault("no strings to translate: expected texts as values")
    return messages


def _read(value: StringValue, options: ReadingOptions, left: list[int]) -> Message:
    """Return the message of a string; note the line of one that is left as it is."""
    options.check_sentence(value.text, value.line)
    if IDENTIFIER.fullmatch(value.text):
        return Message((value.text,), value.line)
    if value.known is not None:
        return read_context(value.text, value.line)
    try:
        found = (read_icu_message if has_choice(value.text) else read_message)(value.text, value.line)
    except IcuError:
        left.append(value.line)
        return Message((value.text,), value.line)
    note = read_context(value.note, value.line).parts if value.note and found.passages else ()
    return Message((*note, *found.parts), found.line)
