"""Passages: what a model is given of each sentence, and how its translations become a sentence again."""

from collections.abc import Sequence
from dataclasses import dataclass

from docaps.corpus.text.codec import Codec
from docaps.corpus.text.vocabulary import EOS, UNK
from docaps.translation.copying import decode, known_characters, set_aside, unknown_words
from docaps.translation.search import Hypothesis, length_penalty
from docaps.translation.splitting import split_sentence


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of several translations of a sentence."""

    text: str
    score: float
    log_probability: float


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a sentence that is translated at once, with the words in it that are copied."""

    tokens: list[int]
    unknown: tuple[str, ...] = ()
    gap: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence as the model sees it: one part, several of a long sentence, none if there is nothing to translate."""

    tokens: list[int]
    parts: tuple[Part, ...]
    before: str = ""
    after: str = ""

    @property
    def longest(self) -> int:
        """Return how many tokens its longest part has."""
        return max((len(part.tokens) for part in self.parts), default=0)

    @property
    def size(self) -> int:
        """Return how many tokens all its parts have."""
        return sum(len(part.tokens) for part in self.parts)

    def assemble(self, codec: Codec, found: Sequence[Hypothesis], alpha: float) -> Alternative:
        """Put the translations of the parts together; the score is that of one long translation."""
        texts = [decode(codec, one.tokens, part.unknown) for part, one in zip(self.parts, found, strict=True)]
        text = "".join(text + part.gap for part, text in zip(self.parts, texts, strict=True))
        whole = " ".join(piece for piece in (self.before, text.strip(), self.after) if piece)
        if len(found) == 1:
            return Alternative(whole, found[0].score, found[0].log_probability)
        log_probability = sum(one.log_probability for one in found)
        length = sum(len(one.tokens) + 1 for one in found)
        return Alternative(whole, log_probability / length_penalty(length, alpha), log_probability)


def read_passage(codec: Codec, sentence: str, longest: int) -> Passage:
    """Get a sentence ready: encode it, set aside what cannot be read, split it if it is longer than `longest` tokens.

    As history, a long sentence is cut to its last `longest` tokens: nearest to the sentences that look back at it.
    """
    text = " ".join(sentence.split())
    tokens = codec.encode_source(text)
    kept = tokens[-longest - 1 :]
    if UNK not in tokens:
        return Passage(kept, _parts(codec, text, tokens, longest))
    before, inner, after = set_aside(text, known_characters(codec))
    own = tokens if inner == text else codec.encode_source(inner)
    return Passage(kept, _parts(codec, inner, own, longest), before, after)


def _parts(codec: Codec, text: str, tokens: list[int], longest: int) -> tuple[Part, ...]:
    """Cut a text into parts that are short enough."""
    if tokens == [EOS]:
        return ()
    if len(tokens) - 1 <= longest:
        return (_part(codec, text, tokens),)
    pieces = split_sentence(text, lambda piece: len(codec.encode_source(piece)) - 1 <= longest)
    parts = (_part(codec, piece, codec.encode_source(piece)) for piece in pieces)
    return tuple(part for part in parts if part.tokens != [EOS])


def _part(codec: Codec, text: str, tokens: list[int]) -> Part:
    return Part(tokens, unknown_words(codec, text) if UNK in tokens else (), " " if text[-1:].isspace() else "")
