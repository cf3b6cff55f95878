"""Small in-memory corpora, as hypothesis strategies."""

import itertools
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from docaps.corpus.arrays import TokenArray
from docaps.corpus.store import Split
from docaps.corpus.text.vocabulary import EOS

Lengths = Sequence[tuple[int, int]]

DOCUMENTS = st.lists(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=8), min_size=1)
"""For each sentence of each document, the number of its source and of its target words."""


def make_split(documents: Sequence[Lengths]) -> Split:
    """Make a corpus in which every word occurs once, so that a word identifies its sentence."""
    number = itertools.count(10)
    sides: list[list[list[int]]] = [[], []]
    for lengths in itertools.chain(*documents):
        for side, length in zip(sides, lengths, strict=True):
            side.append([*itertools.islice(number, length), EOS])
    arrays = [
        TokenArray(np.array([*itertools.chain(*side)], np.int32), np.cumsum([0, *map(len, side)])) for side in sides
    ]
    return Split(arrays[0], arrays[1], np.cumsum([0, *map(len, documents)]))
