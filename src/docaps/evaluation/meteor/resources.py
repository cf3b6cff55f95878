"""What METEOR 1.5 knows of a language: tuned parameters, function words, Snowball stemmers, and a paraphrase table."""

import gzip
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import IO

from docaps.errors import ConfigError, CorpusError

Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MeteorParameters:
    """Parameters of one language; `weights` are those of exact, stem and paraphrase matches."""

    stemmer: str
    alpha: float
    beta: float
    gamma: float
    delta: float
    weights: tuple[float, float, float]


LANGUAGES = {
    "de": MeteorParameters("german", alpha=0.95, beta=1.0, gamma=0.55, delta=0.55, weights=(1.0, 0.8, 0.2)),
    "en": MeteorParameters("english", alpha=0.85, beta=0.2, gamma=0.6, delta=0.75, weights=(1.0, 0.6, 0.6)),
}


def parameters_of(language: str) -> MeteorParameters:
    """Return the parameters of a language; refuse others."""
    if language not in LANGUAGES:
        known = " and ".join(LANGUAGES)
        raise ConfigError(f"METEOR is implemented for {known}, not for '{language}': leave it out with --metrics")
    return LANGUAGES[language]


@cache
def function_words() -> frozenset[str]:
    """Return the function words; like the program and published scores, the English list serves German too."""
    text = files("docaps.evaluation.meteor").joinpath("function_words.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


@cache
def snowball(name: str) -> Callable[[str], str]:
    """Return a Snowball stemmer that remembers its words."""
    import snowballstemmer

    stem: Callable[[str], str] = cache(snowballstemmer.stemmer(name).stemWord)
    return stem


class Paraphrases:
    """The paraphrases of each phrase, in the order of the user's table."""

    def __init__(self, pairs: Iterator[tuple[Phrase, Phrase]]) -> None:
        self.of, self.longest = defaultdict[Phrase, list[Phrase]](list), 0
        for one, other in pairs:
            self.of[one].append(other)
            self.longest = max(self.longest, len(one), len(other))


def read_paraphrases(path: Path) -> Paraphrases:
    """Read a table, plain or gzip: three lines an entry, namely a probability, a phrase and its paraphrase."""
    try:
        with path.open("rb") as file:
            compressed = file.read(2) == b"\x1f\x8b"
        with (gzip.open if compressed else open)(path, "rt", encoding="utf-8") as text:
            return Paraphrases(_entries(text, path))
    except FileNotFoundError:
        raise CorpusError("no such file", path=path) from None
    except (OSError, EOFError, UnicodeDecodeError) as fault:
        raise CorpusError(f"cannot be read as a paraphrase table: {fault}", path=path) from None


def _entries(file: IO[str], path: Path) -> Iterator[tuple[Phrase, Phrase]]:
    """Yield the entries; refuse the first malformed one with its line."""
    for number, (probability, *phrases) in enumerate(iter(lambda: list(islice(file, 3)), [])):
        try:
            float(probability)
        except ValueError:
            message = f"expected a probability, found '{probability.strip()}': an entry is three lines"
            raise CorpusError(message, path=path, line=3 * number + 1) from None
        if len(phrases) < 2:
            raise CorpusError("the last entry is cut short: an entry is three lines", path=path, line=3 * number + 1)
        yield tuple(phrases[0].split()), tuple(phrases[1].split())
