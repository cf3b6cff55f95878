"""What the grammar hands over: documents with labelled sentences, and a corpus of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from docaps.corpus.contrastive import ContrastiveItem


@dataclass(frozen=True, slots=True)
class Label:
    """What a sentence needs context for, and how far back that context lies."""

    phenomenon: str
    form: str
    distance: int
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MiniDocument:
    """A little story in both languages, sentence by sentence, with the labels of some sentences."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    labels: Mapping[int, Label]


@dataclass(frozen=True, slots=True)
class MiniCorpus:
    """Training, development and test documents, and contrastive items from yet other documents."""

    train: tuple[MiniDocument, ...]
    dev: tuple[MiniDocument, ...]
    test: tuple[MiniDocument, ...]
    contrastive: tuple[ContrastiveItem, ...]
