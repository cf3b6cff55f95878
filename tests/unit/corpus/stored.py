"""Writing the arrays of a prepared corpus by hand."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from docaps.corpus.arrays import join_sentences, starts_of
from docaps.corpus.store import write_arrays


def write_part(
    folder: Path, name: str, source: Sequence[list[int]], target: Sequence[list[int]], lengths: Iterable[int]
) -> None:
    """Write sentences of ids, and how many each document has."""
    arrays = {"documents": starts_of(lengths), "usable": np.ones(len(source), np.bool_)}
    for side, sentences in (("source", source), ("target", target)):
        ids = join_sentences(sentences)
        arrays |= {side: ids.tokens, f"{side}.starts": ids.starts}
    write_arrays(folder, name, arrays)
