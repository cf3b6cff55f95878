"""The phenomena of the corpus: what needs an earlier sentence."""

from docaps.corpus.minidocs.phenomena.ambiguity import Ambiguity
from docaps.corpus.minidocs.phenomena.interface import Event, Phenomenon, Variant
from docaps.corpus.minidocs.phenomena.pronoun import Pronoun

PHENOMENA: tuple[Phenomenon, ...] = (Pronoun(), Ambiguity())

__all__ = ["PHENOMENA", "Ambiguity", "Event", "Phenomenon", "Pronoun", "Variant"]
