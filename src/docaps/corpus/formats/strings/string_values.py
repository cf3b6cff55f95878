"""Strings that are the values of a file, such as one of JSON or YAML, as messages."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from docaps import progress
from docaps.corpus.formats.format import ReadingOptions
from docaps.corpus.formats.strings.icu_messages import IcuError, has_choice, read_icu_message
from docaps.corpus.formats.strings.messages import Message, read_context, read_message

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
    key: str = ""


def read_values(values: Iterable[StringValue], options: ReadingOptions) -> Sequence[Message]:
    """Return the message of each string; refuse a file without any to translate."""
    messages, left = list[Message](), list[int]()
    for value in values:
        options.check_sentence(value.text, value.line)
        if IDENTIFIER.fullmatch(value.text):
            messages.append(Message((value.text,), value.line))
            continue
        note = read_context(value.note, value.line).parts if value.note else ()
        try:
            read = read_icu_message if has_choice(value.text) else read_message
            found = read(value.text, value.line)
            messages.append(Message((*note, *found.parts), found.line) if found.passages else found)
        except IcuError:
            left.append(value.line)
            messages.append(Message((value.text,), value.line))
    if left:
        more = f", and {len(left) - 1} more" if len(left) > 1 else ""
        what = f"left untranslated{more}: a choice (plural, select) with words around it, or a broken one"
        progress.say(f"{options.path}:{left[0]}: {what}")
    if not any(message.passages for message in messages):
        raise options.fault("no strings to translate: expected texts as values")
    return messages
