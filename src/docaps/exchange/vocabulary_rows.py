"""The entries of a published vocabulary in the order of ours, which begins with padding, begin, end and unknown.

Published models start a translation with an entry of their choice, mostly padding, or with a vector of zeros. Ours have
an entry for it. An entry that is not there has a vector of zeros here and is never predicted.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from docaps.corpus.text.vocabulary import BOS, PAD, SPECIALS, Vocabulary
from docaps.errors import RunError

SILENT = -100.0
"""The output bias of a row that is never predicted: its probability vanishes in float32, and sums stay finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The numbers of the entries that are not text in a published vocabulary."""

    pad: int
    end: int
    unknown: int
    start: int
    """What the decoder reads first."""


@dataclass(frozen=True, slots=True)
class VocabularyRows:
    """Our vocabulary, and for each of its entries the row of the published tables."""

    vocabulary: Vocabulary
    rows: tuple[int, ...]
    silent: tuple[int, ...]
    """Entries of ours that are never predicted: they repeat a row, or have none."""
    absent: tuple[int, ...]
    """Those that have no row: their vectors are zero."""
    published: int
    """The number of entries there."""

    def silence(self, number: int) -> "VocabularyRows":
        """Return rows with which an entry of the published vocabulary is never predicted."""
        ours = [place for place, row in enumerate(self.rows) if row == number]
        return replace(self, silent=tuple(sorted({*self.silent, *ours})))

    def arrange(self, table: Float[Tensor, "V D"]) -> Float[Tensor, "W D"]:
        """Return a published table in our order."""
        found = table[torch.tensor(self.rows)]
        found[list(self.absent)] = 0.0
        return found

    def arrange_bias(self, bias: Float[Tensor, " V"]) -> Float[Tensor, " W"]:
        """Return a published output bias in our order."""
        found = bias[torch.tensor(self.rows)]
        found[list(self.silent)] = SILENT
        return found


def order_vocabulary(names: Sequence[str], marks: Marks) -> VocabularyRows:
    """Put the entries of a published vocabulary, given by number, in our order."""
    begins_with_pad, own_start = marks.start == marks.pad, names[marks.start] == SPECIALS[BOS]
    replaced = {marks.pad, marks.end, marks.unknown, *([marks.start] if own_start else [])}
    silent = (PAD,) if begins_with_pad else () if own_start else (BOS,)
    absent = (PAD,) if begins_with_pad else ()
    return _order(names, (marks.pad, marks.start, marks.end, marks.unknown), replaced, silent, absent)


def order_without_padding(names: Sequence[str], *, end: int, unknown: int) -> VocabularyRows:
    """Put a vocabulary in our order that has no padding, and whose translations start with a vector of zeros."""
    return _order(names, (end, end, end, unknown), {end, unknown}, (PAD, BOS), (PAD, BOS))


def _order(
    names: Sequence[str],
    first: tuple[int, int, int, int],
    replaced: Collection[int],
    silent: tuple[int, ...],
    absent: tuple[int, ...],
) -> VocabularyRows:
    """Put our marks first, with the given rows, and then all other entries."""
    others = [number for number in range(len(names)) if number not in replaced]
    pieces = [f"{names[number]}*" if names[number] in SPECIALS else names[number] for number in others]
    return VocabularyRows(Vocabulary([*SPECIALS, *pieces]), (*first, *others), silent, absent, len(names))


def names_by_number(numbers: Mapping[str, int], size: int) -> list[str]:
    """Return the entries of a vocabulary by their numbers, which must be those of the rows of the tables."""
    names = {number: name for name, number in numbers.items()}
    if len(numbers) != size:
        raise RunError(f"the vocabulary does not fit: it has {len(numbers):,} entries, and the model {size:,} words")
    if len(names) < len(numbers) or names.keys() != set(range(size)):
        raise RunError(f"the vocabulary does not fit: its numbers are not those from 0 to {size - 1:,}, each once")
    return [names[number] for number in range(size)]
