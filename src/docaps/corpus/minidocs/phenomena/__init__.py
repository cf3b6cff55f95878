"""The phenomena of the corpus: what needs an earlier sentence, or its translation."""

from docaps.corpus.minidocs.phenomena.dialogue import AddressForm, VerbEllipsis
from docaps.corpus.minidocs.phenomena.free_wording import Wording
from docaps.corpus.minidocs.phenomena.nouns import Ambiguity, Profession
from docaps.corpus.minidocs.phenomena.phenomenon import ContextLabel, Event, Phenomenon, Variant
from docaps.corpus.minidocs.phenomena.pronoun import Pronoun
from docaps.errors import CorpusError

PHENOMENA: tuple[Phenomenon, ...] = (Pronoun(), Ambiguity(), AddressForm(), Profession(), VerbEllipsis())
"""Those of a corpus unless others are named: an earlier source sentence decides."""
NAMES = tuple(phenomenon.name for phenomenon in PHENOMENA)
TARGET_SIDE: tuple[Phenomenon, ...] = (Wording(),)
"""Those that only an earlier translation decides."""

__all__ = ["NAMES", "PHENOMENA", "TARGET_SIDE", "ContextLabel", "Event", "Phenomenon", "Variant", "choose_phenomena"]


def choose_phenomena(names: str) -> tuple[Phenomenon, ...]:
    """Return phenomena by their names, separated by commas, in the order of `PHENOMENA` and `TARGET_SIDE`."""
    wanted, known = [name.strip() for name in names.split(",")], (*PHENOMENA, *TARGET_SIDE)
    unknown = [name for name in wanted if name not in {phenomenon.name for phenomenon in known}]
    if unknown:
        there = ", ".join(phenomenon.name for phenomenon in known)
        raise CorpusError(f"no phenomenon {', '.join(map(repr, unknown))}: there are {there}")
    return tuple(phenomenon for phenomenon in known if phenomenon.name in wanted)
