"""Contrastive sets: items that need context, read from their authors' formats and from JSON Lines."""

from docaps.corpus.contrastive.contrastive_set import (
    AnyItem,
    ContrastiveItem,
    ContrastiveSet,
    GenerativeItem,
    SetOptions,
    read_any_items,
    read_items,
    spread,
    spread_documents,
    with_nearest_history,
    with_other_histories,
    without_history,
    write_items,
)
from docaps.corpus.contrastive.sets import SETS, read_set

__all__ = [
    "SETS",
    "AnyItem",
    "ContrastiveItem",
    "ContrastiveSet",
    "GenerativeItem",
    "SetOptions",
    "read_any_items",
    "read_items",
    "read_set",
    "spread",
    "spread_documents",
    "with_nearest_history",
    "with_other_histories",
    "without_history",
    "write_items",
]
