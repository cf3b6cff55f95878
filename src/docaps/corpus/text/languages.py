"""Languages: their codes, and the abbreviations after which a full stop does not end a sentence.

English and German have their lists here, so that evaluating a translation does not import sacremoses (0.17 s, more than
the rest of `docaps evaluate`); those of 36 more languages come from sacremoses when first needed.
"""

import difflib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from string import ascii_letters, ascii_uppercase

from docaps.errors import ConfigError

_TWO_LETTERS = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo "
    "es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka "
    "kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng "
    "nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st "
    "su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
_ISO_639_1 = frozenset(_TWO_LETTERS.split())
_FORMAT_ENDINGS = frozenset({"gz", "zst", "txt", "sgm", "sgml", "xml", "json", "jsonl", "tsv"})

_TITLES = (
    "Adj Adm Adv Asst Bart Bldg Brig Bros Capt Cmdr Col Comdr Con Corp Cpl DR Dr Ens Gen Gov Hon Hosp Insp Lt MM MR "
    "MRS MS Maj Messrs Mlle Mme Mr Mrs Ms Msgr Op Ord Pfc Ph Prof Pvt Rep Reps Res Rev Rt Sen Sens Sfc Sgt Sr St Supt "
    "Surg v vs"
)
_ENGLISH = "Drs Hr i.e e.g rev Rs Nos Nr Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec"
_ENGLISH_BEFORE_NUMBERS = "No Art pp"
_GERMAN = (
    "Mio Mrd bzw usw d.h z.B u.a etc MwSt ggf d.J D.h m.E vgl I.F z.T sogen ff u.E g.U g.g.A c.-à-d Buchst u.s.w sog "
    "u.ä Std evtl Zt Chr u.U o.ä Ltd b.A z.Zt spp sen SA k.o jun i.H.v dgl dergl Co zzt usf s.p.a Dkr bzgl BSE No Nos "
    "Art Nr pp ca Ca"
)
_ROMAN = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx"
_NUMBERS_ONLY = "#NUMERIC_ONLY#"


def check_language(language: str) -> None:
    """Refuse anything but the code of a language: two letters of ISO 639-1, or any three letters (ISO 639-3)."""
    if language in _ISO_639_1 or re.fullmatch("[a-z]{3}", language):
        return
    near = difflib.get_close_matches(language.lower()[:2], _ISO_639_1, n=1, cutoff=0.9)
    hint = f": did you mean {near[0]!r}?" if near else "; any three letters will do for a language without one"
    raise ConfigError(f"{language!r} is not a language code like 'en' or 'de' (ISO 639, lower case){hint}")


def language_in_name(path: Path) -> str | None:
    """Return the language that a name ends in, as test.de, test.de.gz and the directory de/ do; None if none."""
    *stem, last = path.name.lower().split(".")
    while stem and last in _FORMAT_ENDINGS:
        *stem, last = stem
    named = any(stem) or path.is_dir()  # a file called `de` is not known to be German
    return last if named and last in _ISO_639_1 else None


def note_on(language: str) -> str | None:
    """Return what a user should know about a language before tokenising it, if anything."""
    check_language(language)
    if language in ("en", "de") or _listed(language) is not None:
        return None
    return f"no list of abbreviations for {language!r}: full stops are tokenised as in English"


@cache
def abbreviations(language: str) -> dict[str, bool]:
    """Return the abbreviations of a language; True for those that only count before a number (*No. 5*).

    Languages without a list fall back to English, as in Moses. Departure from Moses: blanks after an entry are ignored
    (a dozen entries, in Spanish, Italian, Dutch and three more, never apply in the script because of such a blank).
    """
    if language == "de":
        words = " ".join((_TITLES, _GERMAN, _ROMAN, _ROMAN.upper())).split()
        return dict.fromkeys([*ascii_letters, *words, *map(str, range(1, 100))], False)
    listed = None if language == "en" else _listed(language)
    if listed is None:
        always = dict.fromkeys([*ascii_uppercase, *f"{_TITLES} {_ENGLISH}".split()], False)
        return always | dict.fromkeys(_ENGLISH_BEFORE_NUMBERS.split(), True)
    return {word.removesuffix(_NUMBERS_ONLY).strip(): word.endswith(_NUMBERS_ONLY) for word in listed}


def _listed(language: str) -> Iterable[str] | None:
    """Return the list of abbreviations that sacremoses has for a language, if any."""
    from sacremoses.corpus import NonbreakingPrefixes

    lists = NonbreakingPrefixes()
    found: Iterable[str] | None = lists.words(language) if language in lists.available_langs else None
    return found
