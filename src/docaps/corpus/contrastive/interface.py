"""What every reader of a contrastive set is told, and what it gives back."""

from dataclasses import dataclass
from pathlib import Path

from docaps.corpus.contrastive.items import AnyItem


@dataclass(frozen=True, slots=True)
class SetOptions:
    """The languages of the model, and what a set needs besides its own files."""

    source_language: str = "en"
    target_language: str = "de"
    context_dir: Path | None = None  # the documents that ContraPro was taken from
    context_lines: int | None = None  # how many context lines go with a line of ContraPro
    without_history: bool = False  # nobody will look at the histories: they need not be there


@dataclass(frozen=True, slots=True)
class ContrastiveSet:
    """The items of a set, and how many each file gave."""

    items: tuple[AnyItem, ...]
    files: dict[str, int]


def join_sets(sets: list[ContrastiveSet]) -> ContrastiveSet:
    """Put sets together."""
    items = tuple(item for part in sets for item in part.items)
    return ContrastiveSet(items, {name: count for part in sets for name, count in part.files.items()})
