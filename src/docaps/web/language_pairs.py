"""Languages of the service: the pairs that its models translate, their names, and the language that a text is in.

Languages are told apart offline by py3langid, a naive Bayes classifier over byte sequences. It is loaded with the first
text whose language is asked for.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from docaps.web.http_errors import invalid
from docaps.web.schemas import ModelCard

MOST_CHARACTERS = 10_000
"""How much of a text is looked at to tell its language."""
LEAST_CONFIDENCE = 0.01
"""Languages that are less likely are not listed."""
REGIONS = {"en": ("en-GB", "en-US"), "pt": ("pt-PT", "pt-BR")}
"""Targets that DeepL's clients name only with a region."""
_NAMES = (
    "af Afrikaans|am Amharic|an Aragonese|ar Arabic|as Assamese|az Azerbaijani|be Belarusian|bg Bulgarian|"
    "bn Bengali|br Breton|bs Bosnian|ca Catalan|cs Czech|cy Welsh|da Danish|de German|el Greek|en English|"
    "eo Esperanto|es Spanish|et Estonian|eu Basque|fa Persian|fi Finnish|fo Faroese|fr French|ga Irish|"
    "gl Galician|gu Gujarati|he Hebrew|hi Hindi|hr Croatian|hu Hungarian|hy Armenian|id Indonesian|is Icelandic|"
    "it Italian|ja Japanese|ka Georgian|kk Kazakh|km Khmer|kn Kannada|ko Korean|ky Kyrgyz|la Latin|"
    "lb Luxembourgish|lo Lao|lt Lithuanian|lv Latvian|mg Malagasy|mk Macedonian|ml Malayalam|mn Mongolian|"
    "mr Marathi|ms Malay|mt Maltese|my Burmese|nb Norwegian Bokmål|ne Nepali|nl Dutch|nn Norwegian Nynorsk|"
    "no Norwegian|oc Occitan|pa Punjabi|pl Polish|ps Pashto|pt Portuguese|ro Romanian|ru Russian|sa Sanskrit|"
    "si Sinhala|sk Slovak|sl Slovenian|so Somali|sq Albanian|sr Serbian|sv Swedish|sw Swahili|ta Tamil|te Telugu|"
    "tg Tajik|th Thai|tl Tagalog|tr Turkish|tt Tatar|uk Ukrainian|ur Urdu|uz Uzbek|vi Vietnamese|xh Xhosa|"
    "yi Yiddish|zh Chinese|zu Zulu"
)
NAMES = dict(entry.split(" ", 1) for entry in _NAMES.split("|"))
"""English names by code."""


@dataclass(frozen=True)
class LikelyLanguage:
    """A language that a text may be in, and its probability."""

    code: str
    confidence: float


@dataclass(frozen=True)
class LanguagePairs:
    """The languages between which the models of a service translate; the first model of a pair is used."""

    cards: Sequence[ModelCard]

    @property
    def sources(self) -> list[str]:
        """The languages that some model reads, that of the default model first."""
        return list(dict.fromkeys(card.source_language for card in self.cards))

    @property
    def targets(self) -> list[str]:
        """The languages that some model writes, that of the default model first."""
        return list(dict.fromkeys(card.target_language for card in self.cards))

    def card(self, name: str | None) -> ModelCard:
        """Return a model by its name, by default the first."""
        found = next((card for card in self.cards if name in (None, card.name)), None)
        if found is None:
            raise invalid("no such model", "model", f"one of {', '.join(card.name for card in self.cards)}")
        return found

    def formal(self, target: str) -> bool:
        """Return whether some model that writes a language can choose the formality."""
        return any(card.formality for card in self.cards if card.target_language == target)

    def targets_of(self, source: str) -> list[str]:
        """Return the languages into which a language is translated."""
        return list(dict.fromkeys(card.target_language for card in self.cards if card.source_language == source))

    def choose(self, source: str | None, target: str, text: str = "", *, fields: tuple[str, str]) -> ModelCard:
        """Return the model for a pair; without a source, for the likeliest language of the text that can be translated.

        Codes may have a region and be in any case; `fields` name the two in the error.
        """
        wanted = base_language(target)
        fitting = {card.source_language: card for card in reversed(self.cards) if card.target_language == wanted}
        if not fitting:
            raise invalid("there is no model for this language", fields[1], f"one of {', '.join(self.targets)}")
        if source is None:
            return fitting[next(iter(fitting)) if len(fitting) == 1 else _likeliest(text, list(fitting))]
        if base_language(source) not in fitting:
            found = f"into {wanted!r}, one of {', '.join(sorted(fitting))}"
            raise invalid("there is no model for these languages", fields[0], found)
        return fitting[base_language(source)]


def base_language(code: str) -> str:
    """Return a language code in lower case, without a region or script."""
    return code.strip().lower().replace("_", "-").partition("-")[0]


def language_name(code: str) -> str:
    """Return the English name of a language; its code if it has none here."""
    return NAMES.get(code, code)


def detect_languages(text: str) -> list[LikelyLanguage]:
    """Return the likely languages of a text, the likeliest first; none if the text has no words."""
    if not any(character.isalpha() for character in text):
        return []
    return [LikelyLanguage(code, share) for code, share in _rank(text) if share >= LEAST_CONFIDENCE]


def _likeliest(text: str, codes: list[str]) -> str:
    return next((code for code, _ in _rank(text) if code in codes), codes[0])


def _rank(text: str) -> list[tuple[str, float]]:
    with _LOADING:
        identifier = _load_identifier()
    return identifier.rank(text[:MOST_CHARACTERS])  # type: ignore[no-any-return, attr-defined]


_LOADING = threading.Lock()


@cache
def _load_identifier() -> object:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
