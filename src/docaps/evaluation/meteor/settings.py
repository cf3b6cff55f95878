"""What METEOR 1.5 was tuned to for each language, and the words it takes for function words."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from docaps.errors import ConfigError

EXACT, STEM, PARAPHRASE = range(3)


@dataclass(frozen=True, slots=True)
class Settings:
    """Parameters of one language; `weights` are those of exact, stem and paraphrase matches."""

    stemmer: str
    alpha: float
    beta: float
    gamma: float
    delta: float
    weights: tuple[float, float, float]


LANGUAGES = {
    "de": Settings("german", alpha=0.95, beta=1.0, gamma=0.55, delta=0.55, weights=(1.0, 0.8, 0.2)),
    "en": Settings("english", alpha=0.85, beta=0.2, gamma=0.6, delta=0.75, weights=(1.0, 0.6, 0.6)),
}


def settings_of(language: str) -> Settings:
    """Return the parameters of a language, or say which languages there are."""
    if language not in LANGUAGES:
        known = " and ".join(LANGUAGES)
        raise ConfigError(f"METEOR is implemented for {known}, not for '{language}': leave it out with --metrics")
    return LANGUAGES[language]


@cache
def function_words() -> frozenset[str]:
    """Return the function words; the program uses its English list for German too, and so do published scores."""
    text = files("docaps.evaluation.meteor").joinpath("function_words.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))
