"""Strings that are the values of a file, such as one of JSON or YAML, as messages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from docaps import progress
from docaps.corpus.formats.format import ReadingOptions
from docaps.corpus.formats.strings.icu_messages import IcuError, has_choice, read_icu_message
from docaps.corpus.formats.strings.messages import Message, read_message


@dataclass(frozen=True, slots=True)
class StringValue:
    """A string, the span of it in the file with its quotation marks, and its line."""

    text: str
    start: int
    end: int
    line: int


def read_values(values: Iterable[StringValue], options: ReadingOptions) -> Sequence[Message]:
    """Return the message of each string; refuse a file without any to translate."""
    messages, left = list[Message](), list[int]()
    for value in values:
        options.check_sentence(value.text, value.line)
        try:
            read = read_icu_message if has_choice(value.text) else read_message
            messages.append(read(value.text, value.line))
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
