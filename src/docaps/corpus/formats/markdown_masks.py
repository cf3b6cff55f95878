"""What Markdown's parser does not know: formulas, admonitions, definition lists and the like are hidden from it.

The hidden text has the same length and the same lines. A formula becomes characters that no text has, which name it; a
line that belongs to no paragraph becomes blank; a heading of an admonition becomes an item of a list, to which the
indented lines below it belong.
"""

import re
from collections.abc import Callable

FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\r?\n.*?^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
FIRST, PAD = 0xF0000, chr(0xFFFFD)
"""Characters for private use: the first begins the name of something hidden, the pad fills it up."""
DIGITS = 60_000
MASK = re.compile(f"{chr(FIRST)}[^{PAD}]{{2}}{PAD}*")
PRIVATE = re.compile(f"[{chr(FIRST)}-{PAD}]")
DISPLAY = re.compile(
    r"^(?P<prefix>[>\t ]*)(?P<open>\$\$|\\\[|\\begin\{(?P<name>[a-z]+\*?)\})(?:(?!\n[>\t ]*\n).){0,2000}?"
    r"(?:(?<=\$)(?<!^)\$|\\\]|\\end\{(?P=name)\})[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
"""A formula on lines of its own."""
ALONE = re.compile(
    r"^[>\t ]*(?::{3,}[^\n:]*|\{:[^}\n]*\}|\*\[[^\]\n]+\]:[^\n]*|\[TOC\]|\[\[_TOC_\]\])[ \t]*$", re.MULTILINE
)
"""Fences of containers, attributes, abbreviations, the place of a table of contents."""
HEADING = re.compile(
    r"^(?P<indent>[>\t ]*)(?:!!!|\?\?\?\+?|===!?)[ \t]+(?:\w[\w -]*+)?(?:\"(?P<title>[^\"\n]*)\")?[ \t]*$",
    re.MULTILINE,
)
"""The first line of an admonition or of a tab; what is in it follows, indented."""
DEFINITION = re.compile(r"^([>\t ]{0,8}):(?=[ \t]+\S)", re.MULTILINE)
SIGNS = r"[\\^_{}=+*<>|/]"
INLINE = re.compile(
    r"\$\$(?=\S)[^$\n]{1,500}\$\$"
    rf"|(?<![\\$\w])\$(?=[^\s$])(?=[^$\n`]*{SIGNS}|\S{{1,20}}\$)(?:\\.|[^$\n`\\]){{1,500}}(?<!\s)\$(?![\w$])"
    rf"|\\\((?=[^\n]*?{SIGNS})[^\n]{{1,500}}?\\\)|\[\[(?!\^)[^\[\]\n]{{1,200}}\]\](?![(\[])"
)
"""Formulas in a line, and links of wikis."""
ITEM = "- ***"
"""A list item that holds a line, and, below it, what is indented."""


class MaskedText:
    """A text as the parser sees it, and what is hidden in it; `titles` are those of admonitions, by line."""

    def __init__(self, text: str) -> None:
        self._originals: list[str] = []
        self.titles: dict[int, tuple[int, int]] = {}
        self.text = text if PRIVATE.search(text) else self._hide(text)

    def _hide(self, text: str) -> str:
        if front := FRONT_MATTER.match(text):
            text = re.sub(r"[^\r\n]", " ", front[0]) + text[front.end() :]
        masks: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
            (DISPLAY, _blank),
            (ALONE, _blank),
            (HEADING, self._hide_heading),
            (DEFINITION, lambda found: found[1] + "-"),
            (INLINE, self._name),
        )
        for pattern, hide in masks:
            text = pattern.sub(hide, text)
        return text

    def _hide_heading(self, found: re.Match[str]) -> str:
        if found["title"]:
            self.titles[found.string.count("\n", 0, found.start())] = found.span("title")
        return (found["indent"] + ITEM).ljust(len(found[0]))

    def _name(self, found: re.Match[str]) -> str:
        """Return the name of something hidden, as long as it is; what a table's cell would break at is not hidden."""
        line = found.string[found.string.rfind("\n", 0, found.start()) + 1 : found.start()]
        if "|" in found[0] and line.lstrip(" >").startswith("|"):
            return found[0]
        first, second = divmod(len(self._originals), DIGITS)
        self._originals.append(found[0])
        return (chr(FIRST) + chr(FIRST + 1 + first) + chr(FIRST + 1 + second)).ljust(len(found[0]), PAD)

    def restore(self, text: str) -> str:
        """Return a text with all that was hidden in it."""
        return MASK.sub(self._original, text)

    def _original(self, found: re.Match[str]) -> str:
        return self._originals[(ord(found[0][1]) - FIRST - 1) * DIGITS + ord(found[0][2]) - FIRST - 1]


def _blank(found: re.Match[str]) -> str:
    """Return spaces instead of a text; its line ends, and the signs of quotes before its lines, stay."""
    return re.sub(r"(?m)^([>\t ]*)([^\r\n]*)", lambda line: line[1] + " " * len(line[2]), found[0])
