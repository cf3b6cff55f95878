"""Subwords: byte-pair encoding learnt on both languages together (subword-nmt)."""

import contextlib
import io
from collections import Counter
from collections.abc import Sequence

from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

SEPARATOR = "@@"
HEADER = "#version: 0.2"


def learn_codes(words: Counter[str], *, merges: int, minimum_frequency: int) -> str:
    """Learn the merge operations from the frequencies of words."""
    if all(len(word) < 2 for word in words):  # nothing to merge, which the library takes for a mistake
        return f"{HEADER}\n"
    table = io.StringIO("".join(f"{word} {count}\n" for word, count in sorted(words.items())))
    codes = io.StringIO()
    with contextlib.redirect_stderr(io.StringIO()):  # the library writes a progress bar of its own
        learn_bpe(table, codes, merges, min_frequency=minimum_frequency, is_dict=True)
    return codes.getvalue()


class Subwords:
    """Cut words into subwords and put them together again."""

    def __init__(self, codes: str) -> None:
        header, *merges = codes.rstrip("\n").split("\n")
        if header != HEADER or any(len(merge.split(" ")) != 2 for merge in merges):
            raise ValueError(f"BPE codes are the line {HEADER!r} and then two pieces a line")
        # The number of merges matters when it is 0: without it the library ends the program.
        self._bpe = BPE(io.StringIO(codes), merges=len(merges), separator=SEPARATOR)

    def split(self, words: Sequence[str]) -> list[str]:
        """Cut words into pieces; all pieces of a word but the last end in `@@`."""
        pieces: list[str] = self._bpe.segment_tokens(words)
        return pieces

    @staticmethod
    def join(pieces: Sequence[str]) -> list[str]:
        """Put pieces together to words."""
        return (" ".join(pieces) + " ").replace(f"{SEPARATOR} ", "").split()
