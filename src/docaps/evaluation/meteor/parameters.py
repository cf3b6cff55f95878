"""METEOR 1.5's tuned parameters by language, its function words, and the Snowball stemmers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from docaps.errors import ConfigError


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
