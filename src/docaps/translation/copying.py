"""Copying what a model cannot read: characters that its vocabulary does not have are never lost, nor shown as `<unk>`.

At either end of a sentence they are set aside and put back around the translation. Words within a sentence that the
model cannot read take the places of the unknown words of the translation, in order; where there are too few of these, a
word with characters that the vocabulary does not have stands at the end. A vocabulary that spells unknown characters in
bytes (SentencePiece) needs none of this.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from docaps.corpus.text.codec import Codec
from docaps.corpus.text.sentencepieces import SentencePieces
from docaps.corpus.text.vocabulary import SPECIALS, UNK

HOLE = "\ufdd0"  # no character: it stands for an unknown piece until a word is copied there


class Aside(NamedTuple):
    """A sentence in three: what is copied before the translation, what is translated, what is copied after it."""

    before: str
    inner: str
    after: str


@lru_cache(maxsize=8)
def known_characters(codec: Codec) -> frozenset[str]:
    """Return all characters that pieces of the vocabulary are made of."""
    return frozenset(chain.from_iterable(codec.vocabulary.pieces[len(SPECIALS) :]))


def set_aside(text: str, known: frozenset[str]) -> Aside:
    """Take unknown characters off both ends of a sentence; marks that stand among them stay with the sentence."""
    chunks = text.split()
    first = next((place for place, chunk in enumerate(chunks) if _is_readable(chunk, known)), None)
    if first is None:  # not one letter or digit that the model could read
        return Aside(text, "", "")
    last = next(place for place in range(len(chunks), first, -1) if _is_readable(chunks[place - 1], known))
    before, marks_before = _sift(chunks[:first], known)
    after, marks_after = _sift(chunks[last:], known)
    inner = " ".join([*marks_before, *chunks[first:last]]) + "".join(marks_after)
    return Aside(" ".join(before), inner, " ".join(after))


def _is_readable(chunk: str, known: frozenset[str]) -> bool:
    """Say whether there is a letter or digit to translate, or only marks, and no unknown character among them."""
    return any(letter.isalnum() and letter in known for letter in chunk) or known.issuperset(chunk)


def _sift(chunks: Sequence[str], known: frozenset[str]) -> tuple[list[str], list[str]]:
    """Part unknown characters from the marks beside them."""
    unknown = ["".join(letter for letter in chunk if letter not in known) for chunk in chunks]
    marks = ["".join(letter for letter in chunk if letter in known) for chunk in chunks]
    return [text for text in unknown if text], [text for text in marks if text]


def unknown_words(codec: Codec, text: str) -> tuple[str, ...]:
    """List the words of a source sentence that the model cannot read."""
    return tuple(word for word in codec.source.words(text) if UNK in codec.encode_words([word]))


def decode(codec: Codec, tokens: Sequence[int], unknown: Sequence[str] = ()) -> str:
    """Write a translation, with the unknown words of its source in the places of its own, or else at the end."""
    if UNK not in tokens and not unknown:
        return codec.decode_target(tokens)
    if isinstance(codec.subwords, SentencePieces):
        return codec.decode_target([token for token in tokens if token != UNK])
    pieces = [HOLE if token == UNK else codec.vocabulary.pieces[token] for token in tokens]
    waiting = list(unknown)
    words = []
    for word in codec.subwords.join(pieces):
        if HOLE not in word:
            words.append(word)
        elif waiting:
            words.append(waiting.pop(0))
    lost = [word for word in waiting if not known_characters(codec).issuperset(word)]
    return codec.target.sentence([*words, *lost])
