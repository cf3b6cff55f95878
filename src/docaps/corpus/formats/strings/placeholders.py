"""Placeholders in strings: what a program fills in, tags and addresses, kept as inline marks.

The text that is translated has neither the placeholders nor double spaces where they were. Each placeholder remembers
the spaces around it and what it stood beside, so that a translation that leaves it there gets the same spaces again,
and one that moves it has a space where one is needed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from docaps.corpus.documents import InlineMark
from docaps.corpus.formats.strings.entities import ENTITY, is_space_entity, is_text_entity

VOID_TAGS = frozenset(("area", "br", "hr", "img", "input", "link", "meta", "source", "wbr"))
CODES = r"b|i|u|s|em|strong|code|quote|url|img|color|size|list|center|sub|sup"
"""Tags in square brackets, which are tags only if they have a partner."""
PRINTF = (
    r"|%%|%\(\w[\w.]*\)[-+#0-9.]*[diouxXeEfFgGcrsa]"
    r"|%(?:\d+\$)?[-+#0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcrspn@]"
    r"|%L?\d{1,2}(?![\d%])"
)
SPACED_PRINTF = r"|%[ ][-+#0]*\d*(?:\.\d+)?[diouxXeEfFgG]"
"""With a space as its flag, which is only taken for a placeholder where a file says that there are some."""
_DATE = r"%[-_^#]?[aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ]"
DATE = rf"|(?<![\d%]){_DATE}(?![A-Za-z])"
DATES = rf"|(?=(?:{_DATE}[-/.:, T]{{1,2}})*%[bBDHhIjklmMPRSTUVwWyYzZ]){_DATE}(?:[-/.:, T]{{1,2}}{_DATE})+"
"""Parts of a date that belong together; some of them alone are the same as those of `printf`."""
OTHERS = (
    rf"|\[(?P<code>{CODES})(?:=[^\[\]]{{0,200}})?\](?=(?s:.{{0,2000}}?)\[/(?P=code)\])|\[/(?P<end>{CODES})\]"
    r"|<%[-=]?(?:(?!%>)[^\n]){0,200}%>"
    r"|(?:https?|ftp)://[^\s<>\"']*[^\s<>\"'.,;:!?()]"
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}"
    r"|%[A-Za-z_][\w.-]+%(?![\w(%])"
)
NAMED = (
    r"|\{\{[^{}]{0,200}\}\}|[%$\#]\{[^{}]{0,200}\}|\$t\([^()]{0,200}\)"
    r"|\{[\w.:!,\#%+<>=^\[\] -]{0,200}\}"
    r"|(?<![\w$])\$[A-Za-z_]\w*|(?<![\w:/]):[A-Za-z_]\w*:?"
    r"|@(?:\.\w+)?:(?:\([\w.]+\)|\w[\w.]*\w)|(?<![\w@./])@[A-Za-z_]\w*|(?<!\w)__[A-Za-z0-9](?:\w*?[A-Za-z0-9])?__(?!\w)"
)
TAGS = r"</?(?P<name>[A-Za-z][\w:.-]*|\d+)(?:\s[^<>]*)?/?>"
SPACES = rf"|(?P<space>[^\S \n])|(?P<entity>{ENTITY.pattern})"
"""Characters of space that are no plain spaces, and entities; those of other characters are text."""
PLACEHOLDER = re.compile(TAGS + SPACES + OTHERS + DATES + PRINTF + DATE + NAMED)
BRANCH_PLACEHOLDER = re.compile(PLACEHOLDER.pattern + "|#")
"""Those within a choice of an ICU message, where # is the number."""
WITHOUT_PERCENT = re.compile(TAGS + SPACES + OTHERS + NAMED)
WITH_SPACE = re.compile(TAGS + SPACES + OTHERS + DATES + PRINTF + SPACED_PRINTF + DATE + NAMED)
BRACES = re.compile(PLACEHOLDER.pattern + r"|\{(?:[^{}]|\{[^{}]*\}){0,200}\}")
BY_ORDER = re.compile(
    r"%[-+#0 ]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcrspn@]|\{(?:[!:][^{}]*)?\}"
)
"""Those that a program fills in by their order, without a name or a number."""
CLOSING = frozenset(".,;:!?)]}…»”’。，、！？")
OPENING = frozenset("([{«“„‘¿¡")
SENTENCE_ENDS = tuple(".!?…:;。！？")
DEEPEST = 100
"""Tags that are open at most, so that odd strings take no longer than others."""

Neighbour = Literal["edge", "mark", "word", "open", "close", "other"]
"""What stands beside a placeholder: nothing, another one, a letter or digit, or punctuation."""


@dataclass(frozen=True, slots=True)
class Placeholder(InlineMark):
    """A mark of a string: its own text, its number among them, and its neighbours and the spaces between.

    `text` may get further spaces where sentences are split; `core` is what is written.
    """

    core: str = ""
    number: int = 0
    left: tuple[Neighbour, str] = ("edge", "")
    right: tuple[Neighbour, str] = ("edge", "")


Piece = str | InlineMark


def choose_pattern(flags: Iterable[str]) -> re.Pattern[str]:
    """Return what finds placeholders in an entry of a PO file with flags such as `c-format`."""
    names = set(flags)
    if {"python-brace-format", "rust-format", "csharp-format"} & names:
        return BRACES
    if {"c-format", "objc-format", "python-format", "php-format", "perl-format"} & names:
        return WITH_SPACE
    return WITHOUT_PERCENT if any(re.fullmatch("no-[a-z]+-format", name) for name in names) else PLACEHOLDER


def take_placeholders(
    text: str,
    encode: Callable[[str], str] = str,
    others: Iterable[InlineMark] = (),
    pattern: re.Pattern[str] = PLACEHOLDER,
    decode: Callable[[str], str] = str,
) -> tuple[str, tuple[InlineMark, ...]]:
    """Return a text without its placeholders, and these as marks; `others` are marks that it has already.

    `encode` writes a placeholder as the file does; `pattern` finds them; `decode` is applied to all other text.
    """
    marks = list[InlineMark]()
    waiting = sorted(others, key=lambda mark: mark.position)[::-1]
    first = max((mark.pair for mark in waiting), default=0) + 1
    parts, length, done = list[str](), 0, 0

    def keep(until: int) -> None:
        nonlocal length, done
        parts.append(decode(text[done:until]))
        length, done = length + len(parts[-1]), max(done, until)

    opened: list[tuple[str, int]] = []
    for found in (*(one for one in pattern.finditer(text) if not is_text_entity(one[0])), None):
        start, end = found.span() if found else (len(text), len(text))
        while waiting and waiting[-1].position <= start:
            mark = waiting.pop()
            keep(mark.position)
            marks.append(replace(mark, position=length))
        keep(start)
        done = end
        if found is None:
            break
        is_space = bool(found["space"]) or (found["name"] or "").lower() == "br" or is_space_entity(found[0])
        marks.append(InlineMark(length, encode(found[0]), "single", first + len(marks), is_space))
        if name := found["name"] or found["code"] or found["end"]:
            _pair(found[0], name.lower(), opened, marks)
    return _take_spaces("".join(parts), marks)


def _pair(tag: str, name: str, opened: list[tuple[str, int]], marks: list[InlineMark]) -> None:
    """Make the last mark, a tag, the opening or closing one of a pair; tags within that are not closed stay single."""
    if tag[1] == "/":
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
    """Take the spaces around placeholders out of a text, and leave one where it needs one."""
    kept, length, moved, done = list[str](), 0, list[InlineMark](), 0
    for run in _runs(text, marks):
        start, end = run[0].position, _skip_spaces(text, run[-1].position)
        before = text[done:start].rstrip(" ")
        spaces = [text[one.position : other.position] for one, other in pairwise(run)]
        spaces = [text[done + len(before) : start], *spaces, text[run[-1].position : end]]
        if all(mark.kind != "single" for mark in run) and sum(map(bool, spaces)) < 2 and before and end < len(text):
            # Tags around words: the space beside them is the text's.
            moved += (replace(mark, position=length + mark.position - done) for mark in run)
            kept.append(text[done : run[-1].position])
            length, done = length + len(kept[-1]), run[-1].position
            continue
        position, space = _rejoin(before, text[end : end + 1], run, spaces)
        inner: list[Neighbour] = ["mark"] * (len(run) - 1)
        sides = list(zip([_kind(before[-1:]), *inner, _kind(text[end : end + 1])], spaces, strict=True))
        for mark, left, right in zip(run, sides, sides[1:], strict=False):
            moved.append(_remember(mark, length + len(before) + position, len(moved), left, right))
        kept.append(before + space)
        length, done = length + len(kept[-1]), end
    return "".join((*kept, text[done:])), tuple(moved)


def _skip_spaces(text: str, position: int) -> int:
    while text.startswith(" ", position):
        position += 1
    return position


def _runs(text: str, marks: Sequence[InlineMark]) -> Iterator[list[InlineMark]]:
    """Yield marks in runs that have no text between them but spaces."""
    run: list[InlineMark] = []
    for mark in marks:
        if run and text[run[-1].position : mark.position].strip(" "):
            yield run
            run = []
        run.append(mark)
    if run:
        yield run


def _rejoin(before: str, after: str, run: Sequence[InlineMark], spaces: Sequence[str]) -> tuple[int, str]:
    """Return the space that a text needs in place of marks, and how much of it stands before them."""
    if not before or not after:
        return 0, ""
    worded = _kind(before[-1]) == _kind(after) == "word"
    closed = after in CLOSING or before[-1] in OPENING
    if not (worded or any(mark.is_space for mark in run) or (any(spaces) and not closed)):
        return 0, ""
    return int(bool(spaces[0]) and before.endswith(SENTENCE_ENDS)), " "


def _remember(
    mark: InlineMark, position: int, number: int, left: tuple[Neighbour, str], right: tuple[Neighbour, str]
) -> Placeholder:
    """Return a mark that knows its neighbours."""
    return Placeholder(position, mark.text, mark.kind, mark.pair, mark.is_space, mark.text, number, left, right)


def _kind(character: str) -> Neighbour:
    if not character:
        return "edge"
    if character.isalnum() or character == "_":
        return "word"
    return "open" if character in OPENING else "close" if character in CLOSING else "other"


def keep_order(pieces: Iterable[Piece], marks: Iterable[InlineMark]) -> Iterator[Piece]:
    """Yield the pieces of a text; its placeholders without a name or a number come in the order of the source."""
    texts = iter([mark.core for mark in marks if isinstance(mark, Placeholder) and BY_ORDER.fullmatch(mark.core)])
    for piece in pieces:
        if isinstance(piece, Placeholder) and BY_ORDER.fullmatch(piece.core):
            yield replace(piece, text=next(texts))
        else:
            yield piece


def spread_placeholders(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces of a text with spaces around its placeholders: those of the source, or as their place needs."""
    parts = list(_joined(pieces))
    for number, piece in enumerate(parts):
        before = parts[number - 1] if number else ""
        after = parts[number + 1] if number + 1 < len(parts) else ""
        if isinstance(piece, str):
            text = piece.lstrip(" ") if isinstance(before, Placeholder) else piece
            yield text.rstrip(" ") if isinstance(after, Placeholder) else text
        elif isinstance(piece, Placeholder):
            if not isinstance(before, Placeholder):
                yield _space_beside(piece, parts, number, -1)
            yield replace(piece, text=piece.core)
            if isinstance(after, Placeholder):
                yield _space_between(piece, after)
            else:
                yield _space_beside(piece, parts, number, 1)
        else:
            yield piece


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield pieces with texts beside each other joined, and without spaces that stand alone beside a placeholder."""
    joined: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        else:
            joined.append(piece)
    for number, piece in enumerate(joined):
        near = joined[max(0, number - 1) : number + 2]
        if not (isinstance(piece, str) and not piece.strip(" ") and any(isinstance(one, Placeholder) for one in near)):
            yield piece


def _space_beside(mark: Placeholder, parts: Sequence[Piece], number: int, step: int) -> str:
    """Return the space between a placeholder and what stands before it (step -1) or after it (step 1)."""
    kind, stored = mark.left if step < 0 else mark.right
    end = min(step, 0)
    found: Neighbour = "edge"
    for place in range(number + step, len(parts) if step > 0 else -1, step):
        piece = parts[place]
        if isinstance(piece, str):
            text = piece.strip(" ") if place == number + step else piece
            found = "edge" if text[end].isspace() else _kind(text[end])
            break
        if isinstance(piece, Placeholder):
            found = "mark"
            break
    if found == kind:
        return stored
    is_inner = mark.kind == ("close" if end else "open")
    is_glued = kind == "word" and not stored
    if found in ("edge", "open" if end else "close") or mark.is_space or is_inner or is_glued:
        return ""
    return stored if found == "other" else " "


def _space_between(one: Placeholder, other: Placeholder) -> str:
    """Return the space between two placeholders."""
    if one.right[0] == other.left[0] == "mark" and other.number == one.number + 1:
        return one.right[1]
    return "" if one.is_space or other.is_space or one.kind == "open" or other.kind == "close" else " "
