"""Items of a contrastive set: a sentence in its document, and what only the document tells about its translation."""

import dataclasses
import re
from dataclasses import dataclass

UNLABELLED, PRONOUN = "unlabelled", "pronoun"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A sentence with the sentences before it; what a set does not tell about it is None or empty."""

    id: str
    source: str
    phenomenon: str = UNLABELLED
    form: str = ""
    distance: int | None = None  # how many sentences back the answer lies; 0 is the sentence itself
    pronoun: str | None = None  # the right one
    document: str | None = None  # items of one document are not independent
    history: tuple[str, ...] = ()  # source sentences before it, oldest first
    target_history: tuple[str, ...] = ()  # their translations, as many or none


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastiveItem(Item):
    """A sentence with the right translation and the wrong ones: which does a model find most likely?"""

    right: str
    wrong: tuple[str, ...]

    @property
    def chance(self) -> float:
        """The accuracy of guessing among the translations."""
        return 1 / (1 + len(self.wrong))


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerativeItem(Item):
    """A sentence whose translation, made by the model, must hold one of the expected words."""

    expected: tuple[str, ...]


AnyItem = ContrastiveItem | GenerativeItem


def with_pronoun(item: AnyItem) -> AnyItem:
    """Name the pronoun of an item about pronouns whose translations differ in nothing else."""
    if item.pronoun is not None or item.phenomenon != PRONOUN or not isinstance(item, ContrastiveItem):
        return item
    return dataclasses.replace(item, pronoun=find_pronoun(item.right, item.wrong))


def find_pronoun(right: str, wrong: tuple[str, ...]) -> str | None:
    """Return the one word in which a right translation differs from the wrong ones; None if there is no such word."""
    texts = [_WORD.findall(text.lower()) for text in (right, *wrong)]
    if len({len(words) for words in texts}) > 1:
        return None
    differing = [words[0] for words in zip(*texts, strict=True) if len(set(words)) > 1]
    return differing[0] if len(differing) == 1 else None
