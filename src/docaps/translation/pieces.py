"""Pieces: how documents are cut up when sentences of many of them are translated together."""

from dataclasses import dataclass
from typing import Literal

from docaps.translation.ordering import Earlier
from docaps.translation.passages import Passage

Carried = list[Earlier]
"""What sentences leave to those after them; only a translator looks into it."""

Grain = Literal["sentence", "turn", "document"]
"""Sentences in any order; each after the one before it, whose translation the model looks at; only all at once."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive sentences of a document, and what those before them left."""

    passages: tuple[Passage, ...]
    carried: Carried
