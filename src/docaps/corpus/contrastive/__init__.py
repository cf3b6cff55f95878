"""Contrastive sets: items that need context, read from their authors' formats and from JSON Lines."""

from docaps.corpus.contrastive.contrastive_set import (
    ContrastiveItem,
    ContrastiveSet,
    GenerativeItem,
    SetOptions,
    read_items,
    write_items,
)
from docaps.corpus.contrastive.sets import read_set

__all__ = [
    "ContrastiveItem",
    "ContrastiveSet",
    "GenerativeItem",
    "SetOptions",
    "read_items",
    "read_set",
    "write_items",
]


def __dir__() -> list[str]:
    """List the public API only."""
    return __all__
