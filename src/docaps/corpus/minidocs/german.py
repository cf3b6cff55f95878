"""German noun phrases: articles, adjective endings, n-declension, contractions (singular only)."""

import re
from typing import Literal

from docaps.corpus.minidocs.entries import Adjective, Gender, Noun

Case = Literal["nom", "acc", "dat", "gen"]
Article = Literal["the", "an"]
CASES: tuple[Case, ...] = ("nom", "acc", "dat", "gen")

_Forms = tuple[str, str, str, str]  # by case, in the order of CASES
_ARTICLES: dict[Article, dict[Gender, _Forms]] = {
    "the": {
        "masculine": ("der", "den", "dem", "des"),
        "feminine": ("die", "die", "der", "der"),
        "neuter": ("das", "das", "dem", "des"),
    },
    "an": {
        "masculine": ("ein", "einen", "einem", "eines"),
        "feminine": ("eine", "eine", "einer", "einer"),
        "neuter": ("ein", "ein", "einem", "eines"),
    },
}
_ENDINGS: dict[Article, dict[Gender, _Forms]] = {
    "the": {
        "masculine": ("e", "en", "en", "en"),
        "feminine": ("e", "e", "en", "en"),
        "neuter": ("e", "e", "en", "en"),
    },
    "an": {
        "masculine": ("er", "en", "en", "en"),
        "feminine": ("e", "e", "en", "en"),
        "neuter": ("es", "es", "en", "en"),
    },
}
_PRONOUNS: dict[Gender, tuple[str, str, str]] = {  # nominative, accusative, stem of the possessive
    "masculine": ("er", "ihn", "sein"),
    "feminine": ("sie", "sie", "ihr"),
    "neuter": ("es", "es", "sein"),
}
_CONTRACTIONS = {"an dem": "am", "in dem": "im", "von dem": "vom", "zu dem": "zum", "zu der": "zur"}
_CONTRACTION = re.compile(r"\b(" + "|".join(_CONTRACTIONS) + r")\b")


def adjective_stem(adjective: str) -> str:
    """Return the stem for endings: "teur" for "teuer", "dunkl" for "dunkel", "hoh" for "hoch"."""
    if adjective == "hoch":
        return "hoh"
    if adjective.endswith("el"):
        return adjective[:-2] + "l"
    if adjective.endswith(("euer", "auer")):
        return adjective[:-2] + "r"
    return adjective.removesuffix("e")


def noun_phrase(noun: Noun, adjective: Adjective | None, article: Article, case: Case) -> str:
    """Decline article, adjective and noun together: "einen alten Löwen"."""
    position = CASES.index(case)
    words = [_ARTICLES[article][noun.gender][position]]
    if adjective is not None:
        words.append(adjective_stem(adjective.german) + _ENDINGS[article][noun.gender][position])
    words.append(_decline(noun, case))
    return " ".join(words)


def _decline(noun: Noun, case: Case) -> str:
    """Return the form of a noun in a case."""
    if case == "gen":
        if noun.genitive is None:
            raise ValueError(f"{noun.german!r} has no genitive in its table")
        return noun.genitive
    return noun.german if case == "nom" else noun.oblique


def pronoun_slots(gender: Gender) -> dict[str, str]:
    """Return the forms of *it* and *its* for a thing of this gender."""
    nominative, accusative, possessive = _PRONOUNS[gender]
    return {"it": nominative, "it:acc": accusative, "its": possessive}


def contract(sentence: str) -> str:
    """Contract preposition and article as in German: "von dem" becomes "vom"."""
    return _CONTRACTION.sub(lambda found: _CONTRACTIONS[found[0]], sentence)


def order_words(subject: str, verb: str, rest: str, front: str = "") -> str:
    """Put the verb second: after a phrase in front, the subject follows the verb."""
    words = (front, verb, subject, rest) if front else (subject, verb, rest)
    return " ".join(word for word in words if word)
