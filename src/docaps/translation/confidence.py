"""Confidence: how much a translation can be trusted, by the model's own probability and by what it was trained on.

A model translates text of any kind, fluently and wrongly if it never saw such text: then it is said once.
"""

from dataclasses import dataclass
from typing import Any

FAR = 0.15
"""The share of rare words from which a text is far from what the model knows: well above that of held-out text of the
training's own kind. `benchmarks/control.py` prints the share of any text."""
VERY_FAR = 0.5
"""The share from which even one or two rare words count."""
FEW = 3
"""A text with fewer rare words, such as a few names, is not called far."""


@dataclass(frozen=True, slots=True)
class Confidence:
    """What speaks for the translation of a sentence; numbers that are not known are None."""

    mean_log_probability: float | None
    """Log-probability per token, end mark included; None if the search computed none."""
    words: int
    """Source words: runs of letters."""
    rare_words: int
    """Those that the training text does not have, or hardly; without its word counts, those of unknown tokens."""
    length_ratio: float | None
    """Tokens of the translation per token of the source, in subwords."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


def describe_distance(words: int, rare: int) -> str | None:
    """Say how many words of a text are unknown if it is far from what the model was trained on, else None."""
    if not rare or rare < FAR * words or (rare < FEW and rare < VERY_FAR * words):
        return None
    return f"{rare / words:.0%} of the words are rare or unknown to this model ({rare:,} of {words:,}); see its card"
