"""ICU messages with a choice by number or kind: `{count, plural, one {# file} other {# files}}`.

The texts of the branches are translated, if nothing with words stands around the choice: such words belong to the
sentence of every branch, and could only be translated with each of them. Such a message is left as it is.
"""

import re
from collections.abc import Iterator

from docaps.corpus.formats.passages import Passage
from docaps.corpus.formats.strings.messages import Message, read_message
from docaps.corpus.formats.strings.placeholders import BRANCH_PLACEHOLDER

CHOICE = re.compile(r"\{\s*[\w.]+\s*,\s*(?:plural|select|selectordinal)\s*,")
OFFSET = re.compile(r"\s*offset\s*:\s*\d+")
BRANCH = re.compile(r"\s*(=\d+|[\w-]+)\s*\{")
TOKEN = re.compile(r"'\{[^']*'|'\}[^']*'|[{}]")
DEEPEST = 10


class IcuError(Exception):
    """A message that is not read: it is broken, or has words around its choice."""


def has_choice(text: str) -> bool:
    """Return whether a string is an ICU message with a choice."""
    return CHOICE.search(text) is not None


def read_icu_message(text: str, line: int) -> Message:
    """Return the message of the branches of a choice."""
    return Message(tuple(_read(text, line, 0)), line)


def _read(text: str, line: int, depth: int) -> Iterator[Passage | str]:
    """Yield what a choice holds: the texts of its branches, and all around them."""
    found = CHOICE.search(text)
    if found is None:
        yield from read_message(text, line, pattern=BRANCH_PLACEHOLDER).parts
        return
    end = _end_of(text, found.start())
    if depth >= DEEPEST or any(map(str.isalpha, text[: found.start()] + text[end:])):
        raise IcuError
    at = OFFSET.match(text, found.end())
    done, position = 0, at.end() if at else found.end()
    while branch := BRANCH.match(text, position):
        inner_end = _end_of(text, branch.end() - 1) - 1
        yield text[done : branch.end()]
        yield from _read(text[branch.end() : inner_end], line, depth + 1)
        done, position = inner_end, inner_end + 1
    if done == 0 or text[position : end - 1].strip():
        raise IcuError
    yield text[done:]


def _end_of(text: str, start: int) -> int:
    """Return the position after the brace that closes the one at a position."""
    depth = 0
    for token in TOKEN.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    raise IcuError
