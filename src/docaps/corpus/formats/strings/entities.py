"""Character entities in strings, such as `&uuml;` and `&#39;`: read as text, and written as the string writes them.

Each character that a string writes as an entity is written in the same way again, the first one as the first one was,
and so on; so a text that does not change is written as it was. New letters are spelled out if the string does so.
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from html import escape, unescape
from html.entities import codepoint2name

ENTITY = re.compile(r"&(?:[A-Za-z]\w{1,30}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});")
MARKUP = "&<>"

Form = tuple[str, str]
"""A character, and how the file writes it."""


def is_text_entity(text: str) -> bool:
    """Return whether a text is the entity of a character that is no space."""
    return bool(ENTITY.fullmatch(text)) and len(found := unescape(text)) == 1 and not found.isspace()


def is_space_entity(text: str) -> bool:
    """Return whether a text is the entity of a space or a line break."""
    return bool(ENTITY.fullmatch(text)) and unescape(text).isspace()


class EntityReader:
    """Decodes the entities of a string, and notes how it writes its characters."""

    def __init__(self) -> None:
        self._parts: list[Form] = []
        """Texts, and how the string writes them."""

    def decode(self, text: str) -> str:
        """Return a text with its entities decoded; what is no entity of a character stays."""
        done = 0
        first = len(self._parts)
        for found in ENTITY.finditer(text):
            if is_text_entity(found[0]):
                plain = text[done : found.start()]
                self._parts += (plain, plain), (unescape(found[0]), found[0])
                done = found.end()
        self._parts.append((text[done:], text[done:]))
        return "".join(part for part, _ in self._parts[first:])

    @property
    def forms(self) -> tuple[Form, ...]:
        """How the string writes special characters, in order; nothing if it has no entities."""
        special = {text for text, form in self._parts if text != form}
        if not special:
            return ()
        special.update(MARKUP)
        found = list[Form]()
        for text, form in self._parts:
            found += [(text, form)] if text != form else [(one, one) for one in text if one in special or one > "\x7f"]
        return tuple(found)


class EntityWriter:
    """Writes texts of one string, in order, as its source writes them."""

    def __init__(self, forms: Sequence[Form]) -> None:
        self._waiting: dict[str, deque[str]] = defaultdict(deque)
        for character, form in forms:
            self._waiting[character].append(form)
        self._usual = {one: Counter(waiting).most_common(1)[0][0] for one, waiting in self._waiting.items()}
        letters = [form for one, form in forms if one.isalpha()]
        self._spells = bool(letters) and not any(len(form) == 1 for form in letters)
        self._by_number = any("#" in form for form in letters)

    def encode(self, text: str) -> str:
        """Return a text as the string would have it."""
        if not self._usual:
            return text
        return "".join(self._form(one, text, number) for number, one in enumerate(text))

    def _form(self, character: str, text: str, position: int) -> str:
        if character in self._usual:
            waiting = self._waiting[character]
            form = waiting.popleft() if waiting else self._usual[character]
            return "&amp;" if form == "&" and ENTITY.match(text, position) else form
        if character in MARKUP:
            return escape(character)
        if character.isascii() or not self._spells or not character.isalpha():
            return character
        name = None if self._by_number else codepoint2name.get(ord(character))
        return f"&{name};" if name else f"&#{ord(character)};"
