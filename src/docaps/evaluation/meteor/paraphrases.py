"""METEOR's paraphrase table, which the user may supply."""

import gzip
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO

from docaps.errors import CorpusError

Phrase = tuple[str, ...]


class Paraphrases:
    """The paraphrases of each phrase, in the order of the table."""

    def __init__(self, pairs: Iterator[tuple[Phrase, Phrase]]) -> None:
        self._table: dict[Phrase, list[Phrase]] = defaultdict(list)
        self.longest = 0
        for one, other in pairs:
            self._table[one].append(other)
            self.longest = max(self.longest, len(one), len(other))

    def of(self, phrase: Phrase) -> Sequence[Phrase]:
        """Return the paraphrases of a phrase."""
        return self._table.get(phrase, ())


def read_paraphrases(path: Path) -> Paraphrases:
    """Read a table, plain or gzip: three lines an entry, namely a probability, a phrase and its paraphrase."""
    try:
        with _open(path) as file:
            return Paraphrases(_entries(file, path))
    except FileNotFoundError:
        raise CorpusError("no such file", path=path) from None
    except (OSError, EOFError, UnicodeDecodeError) as fault:
        raise CorpusError(f"cannot be read as a paraphrase table: {fault}", path=path) from None


def _open(path: Path) -> IO[str]:
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rt", encoding="utf-8") if compressed else path.open(encoding="utf-8")


def _entries(file: IO[str], path: Path) -> Iterator[tuple[Phrase, Phrase]]:
    """Yield the entries; refuse the first malformed one with its line."""
    line = 1
    while lines := list(islice(file, 3)):
        try:
            float(lines[0])
        except ValueError:
            message = f"expected a probability, found '{lines[0].strip()}': an entry is three lines"
            raise CorpusError(message, path=path, line=line) from None
        if len(lines) < 3:
            raise CorpusError("the last entry is cut short: an entry is three lines", path=path, line=line)
        yield tuple(lines[1].split()), tuple(lines[2].split())
        line += 3
