"""The phenomena of the corpus: what needs an earlier sentence."""

from docaps.corpus.minidocs.phenomena.dialogue import AddressForm, VerbEllipsis
from docaps.corpus.minidocs.phenomena.nouns import Ambiguity, Profession
from docaps.corpus.minidocs.phenomena.phenomenon import ContextLabel, Event, Phenomenon, Variant
from docaps.corpus.minidocs.phenomena.pronoun import Pronoun
from docaps.errors import CorpusError

PHENOMENA: tuple[Phenomenon, ...] = (Pronoun(), Ambiguity(), AddressForm(), Profession(), VerbEllipsis())
NAMES = tuple(phenomenon.name for phenomenon in PHENOMENA)

__all__ = ["NAMES", "PHENOMENA", "ContextLabel", "Event", "Phenomenon", "Variant", "choose_phenomena"]


def choose_phenomena(names: str) -> tuple[Phenomenon, ...]:
    """Return phenomena by their names, separated by commas, in the order of `PHENOMENA`."""
    wanted = [name.strip() for name in names.split(",")]
    unknown = [name for name in wanted if name not in NAMES]
    if unknown:
        raise CorpusError(f"no phenomenon {', '.join(map(repr, unknown))}: there are {', '.join(NAMES)}")
    return tuple(phenomenon for phenomenon in PHENOMENA if phenomenon.name in wanted)
