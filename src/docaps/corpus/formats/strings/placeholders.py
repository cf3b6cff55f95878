"""Placeholders in strings: what a program fills in, tags and addresses, kept as inline marks.

A placeholder that stands as a word of its own, with a space beside it, takes this space along: the text that is
translated has no double spaces, and the translation has a space where one is needed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from docaps.corpus.documents import InlineMark

VOID_TAGS = frozenset(("area", "br", "hr", "img", "input", "link", "meta", "source", "wbr"))
PLACEHOLDER = re.compile(
    r"(?P<tag></?(?P<name>[A-Za-z][\w:.-]*|\d+)(?:\s[^<>]*)?/?>)"
    r"|&(?:[A-Za-z]\w{1,30}|\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6});"
    r"|(?:https?|ftp)://[^\s<>\"']*[^\s<>\"'.,;:!?()]"
    r"|%%|%\(\w[\w.]*\)[-+#0-9.]*[diouxXeEfFgGcrsa]"
    r"|%(?:\d+\$)?[-+#0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcrspn@]"
    r"|%L?\d{1,2}(?![\d%])"
    r"|\{\{[^{}]{0,200}\}\}|[%$\#]\{[^{}]{0,200}\}|\$t\([^()]{0,200}\)"
    r"|\{[\w.:!,\#%+<>=^\[\] -]{0,200}\}"
)
BRANCH_PLACEHOLDER = re.compile(PLACEHOLDER.pattern + "|#")
"""Those within a choice of an ICU message, where # is the number."""
BY_ORDER = re.compile(
    r"%[-+#0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcrspn@]|\{(?:[!:][^{}]*)?\}"
)
"""Those that a program fills in by their order, without a name or a number."""
CLOSING = tuple(".,;:!?)]}…»”’。，、！？")
OPENING = tuple("([{«“„‘")
DEEPEST = 100
"""Tags that are open at most, so that odd strings take no longer than others."""
GLUE = "\ufdd2"
"""A Unicode noncharacter: the space that a mark took along, at this end of its text."""
ADDED = GLUE + " "
"""What a mark may have around its own text."""


def take_placeholders(
    text: str,
    encode: Callable[[str], str] = str,
    others: Iterable[InlineMark] = (),
    pattern: re.Pattern[str] = PLACEHOLDER,
) -> tuple[str, tuple[InlineMark, ...]]:
    """Return a text without its placeholders, and these as marks; `others` are marks that it has already.

    `encode` writes a placeholder as the file does; `pattern` finds them.
    """
    marks = list[InlineMark]()
    waiting = sorted(others, key=lambda mark: mark.position)[::-1]
    first = max((mark.pair for mark in waiting), default=0) + 1
    kept, done = "", 0
    opened: list[tuple[str, int]] = []
    for found in (*pattern.finditer(text), None):
        start, end = found.span() if found else (len(text), len(text))
        while waiting and waiting[-1].position <= start:
            mark = waiting.pop()
            kept, done = kept + text[done : mark.position], max(done, mark.position)
            marks.append(replace(mark, position=len(kept)))
        kept, done = kept + text[done:start], end
        if found is None:
            break
        marks.append(InlineMark(len(kept), encode(found[0]), "single", first + len(marks)))
        if name := found["name"]:
            _pair(found["tag"], name.lower(), opened, marks)
    return _take_spaces(kept, marks)


def _pair(tag: str, name: str, opened: list[tuple[str, int]], marks: list[InlineMark]) -> None:
    """Make the last mark, a tag, the opening or closing one of a pair; tags within that are not closed stay single."""
    if tag.startswith("</"):
        near = range(max(0, len(opened) - DEEPEST), len(opened))
        at = next((place for place in reversed(near) if opened[place][0] == name), None)
        if at is not None:
            number = opened[at][1]
            marks[number] = replace(marks[number], kind="open")
            marks[-1] = replace(marks[-1], kind="close", pair=marks[number].pair)
            del opened[at:]
    elif not tag.endswith("/>") and name not in VOID_TAGS:
        opened.append((name, len(marks) - 1))


def _take_spaces(text: str, marks: Sequence[InlineMark]) -> tuple[str, tuple[InlineMark, ...]]:
    """Move a space beside placeholders into them: the one before or, at the start of the text, the one after.

    Marks without text between them are one word, if one of them is single.
    """
    kept, moved, done = "", list[InlineMark](), 0
    for position, group in groupby(marks, key=lambda mark: mark.position):
        own = list(group)
        kept, done = kept + text[done:position], position
        if any(mark.kind == "single" for mark in own):
            if kept.strip() and kept.endswith(" ") and not text[done : done + 1].isalnum():
                kept = kept[:-1]
                own[0] = replace(own[0], text=GLUE + own[0].text)
            elif not kept.strip() and text[done : done + 1] == " ":
                done += 1
                own[-1] = replace(own[-1], text=own[-1].text + GLUE)
        moved += (replace(mark, position=len(kept)) for mark in own)
    return kept + text[done:], tuple(moved)


def keep_order(pieces: Iterable[str | InlineMark], marks: Iterable[InlineMark]) -> Iterator[str | InlineMark]:
    """Yield the pieces of a text; its placeholders without a name or a number come in the order of the source."""
    texts = iter([core for mark in marks if BY_ORDER.fullmatch(core := mark.text.strip(ADDED))])
    for piece in pieces:
        if isinstance(piece, InlineMark) and BY_ORDER.fullmatch(core := piece.text.strip(ADDED)):
            yield replace(piece, text=piece.text.replace(core, next(texts)))
        else:
            yield piece


def spread_placeholders(pieces: Iterable[str | InlineMark]) -> Iterator[str | InlineMark]:
    """Yield the pieces of a text with the spaces that placeholders took along as text again."""
    last, needs_space, wants_space = "", False, False
    for piece in pieces:
        text = piece if isinstance(piece, str) else piece.text
        if not isinstance(piece, str) and GLUE in text:
            text = text.strip(" ")  # a space more, which it got as one of two beside each other
        core = text if isinstance(piece, str) else text.strip(GLUE)
        if not core:
            continue
        is_word = core != text and not isinstance(piece, str)
        follows = wants_space and not core.startswith((" ", *CLOSING))
        touches = needs_space and (is_word or (isinstance(piece, str) and core[0].isalnum()))
        begins = is_word and text.startswith(GLUE) and last and not last[-1].isspace() and not last.endswith(OPENING)
        if follows or touches or begins:
            yield " "
        yield piece if isinstance(piece, str) else replace(piece, text=core)
        last = core
        needs_space, wants_space = is_word, is_word and text.endswith(GLUE)
