"""Remembering: text repeats itself, so what was worked out for a word once is looked up from then on."""

from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")
LIMIT = 500_000
LONGEST = 60
"""Longer texts are hardly words, and hardly come again."""


class Memo(dict[str, Value]):
    """A table from texts to what a function makes of them, filled as texts come; full, it starts afresh."""

    def __init__(self, make: Callable[[str], Value], limit: int = LIMIT) -> None:
        super().__init__()
        self._make = make
        self._limit = limit

    def __missing__(self, text: str) -> Value:
        if len(text) > LONGEST:
            return self._make(text)
        if len(self) >= self._limit:
            self.clear()
        value = self[text] = self._make(text)
        return value
