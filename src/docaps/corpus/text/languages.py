"""Languages: their codes, and the abbreviations after which a full stop ends no sentence."""

import difflib
import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

from docaps.errors import ConfigError

_TWO_LETTERS = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo "
    "es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka "
    "kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng "
    "nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st "
    "su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
_ISO_639_1 = frozenset(_TWO_LETTERS.split())

_FALLBACK = "en"
_PREFIX = "nonbreaking_prefix."  # what the lists are called, followed by the code of the language


def check_language(language: str) -> None:
    """Refuse what is not the code of a language: two letters of ISO 639-1, or any three letters (ISO 639-3)."""
    if language in _ISO_639_1 or re.fullmatch("[a-z]{3}", language):
        return
    near = difflib.get_close_matches(language.lower()[:2], _ISO_639_1, n=1, cutoff=0.9)
    hint = f": did you mean {near[0]!r}?" if near else "; any three letters will do for a language without one"
    raise ConfigError(f"{language!r} is not a language code like 'en' or 'de' (ISO 639, lower case){hint}")


def has_own_abbreviations(language: str) -> bool:
    """Say whether Moses has a list of abbreviations for a language."""
    return language in _lists()


def note_on(language: str) -> str | None:
    """Return what a user should know about a language before tokenising it, if anything."""
    check_language(language)
    if has_own_abbreviations(language):
        return None
    return f"no list of abbreviations for {language!r}: full stops are tokenised as in English"


@cache
def abbreviations(language: str) -> dict[str, bool]:
    """Return the abbreviations of a language; True marks those that only count before a number (*No. 5*).

    Languages without a list fall back to English, as in Moses. Departure from Moses: blanks after an entry of a list do
    not count (a dozen entries, in Spanish, Italian, Dutch and three more, are dead in the script for such a blank).
    """
    lines = [line.strip() for line in _lists()[language if has_own_abbreviations(language) else _FALLBACK].splitlines()]
    return {
        line.removesuffix("#NUMERIC_ONLY#").strip(): line.endswith("#NUMERIC_ONLY#")
        for line in lines
        if line and not line.startswith("#")
    }


@cache
def _lists() -> Mapping[str, str]:
    """Return the lists of abbreviations that sacremoses carries, by language.

    They are read from the module that holds nothing else: the package itself takes longer to import than all of
    docaps evaluate. A version that keeps them elsewhere is imported after all.
    """
    found = find_spec("sacremoses")
    for folder in (found.submodule_search_locations or ()) if found else ():
        spec = spec_from_file_location("sacremoses_data", Path(folder) / "_data_nonbreaking_prefixes.py")
        if spec and spec.loader and Path(spec.origin or "").exists():
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            names = {
                name: name.removeprefix(_PREFIX) for name in module.NONBREAKING_PREFIXES if name.startswith(_PREFIX)
            }
            return {code: str(module.NONBREAKING_PREFIXES[name]) for name, code in names.items()}
    return _imported_lists()


def _imported_lists() -> Mapping[str, str]:
    """Return the same lists as the package gives them."""
    from sacremoses.corpus import NonbreakingPrefixes

    lists = NonbreakingPrefixes()
    return {code: "\n".join(lists.words(code)) for code in set(lists.available_langs.values())}
