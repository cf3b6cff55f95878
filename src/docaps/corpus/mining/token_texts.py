"""Text of token ids: the words of a prepared corpus as the rules read them, and back to its tokens exactly."""

from collections.abc import Sequence
from dataclasses import dataclass

from docaps.corpus.mining.sentences import Words
from docaps.corpus.store import Split
from docaps.corpus.text.bpe import SEPARATOR
from docaps.corpus.text.codec import Codec
from docaps.corpus.text.sentencepieces import SentencePieces
from docaps.corpus.text.tokenization import unescape
from docaps.corpus.text.vocabulary import EOS

HYPHEN, BLANK = "@-@", "▁"
"""A hyphen inside a word, as Moses writes it, and a blank, as SentencePiece does."""


@dataclass(frozen=True, slots=True)
class TokenText:
    """The text of a sentence of token ids, and where each token is in it (the end mark is nowhere)."""

    text: str
    spans: tuple[tuple[int, int], ...]

    def tokens_of(self, words: Words, places: Sequence[int]) -> tuple[int, ...]:
        """Return the positions of the tokens that hold some words of the text."""
        wanted = [words.spans[place] for place in places]
        return tuple(
            number
            for number, (start, end) in enumerate(self.spans)
            if any(start < last and first < end for first, last in wanted)
        )


def read_tokens(codec: Codec, ids: Sequence[int]) -> TokenText:
    """Return the text of one sentence."""
    pieces = codec.pieces(ids[:-1] if len(ids) and ids[-1] == EOS else ids)
    return _join_sentencepieces(pieces) if isinstance(codec.subwords, SentencePieces) else _join_bpe(pieces)


def _join_bpe(pieces: Sequence[str]) -> TokenText:
    """Join words with blanks; a hyphen inside a word gets none."""
    text, spans, word, blank = "", list[tuple[int, int]](), list[str](), ""
    for piece in pieces:
        word.append(piece.removesuffix(SEPARATOR))
        if piece.endswith(SEPARATOR):
            continue
        inside = "".join(word) == HYPHEN
        word, blank = (["-"] * len(word) if inside else word), ("" if inside else blank)
        text += blank
        found = [(len(text), len(text) + 1)] * len(word) if inside else _spans_of(word, len(text))
        text += "-" if inside else unescape("".join(word))
        spans += found
        word, blank = [], "" if inside else " "
    return TokenText(text, tuple(spans))


def _spans_of(word: Sequence[str], start: int) -> list[tuple[int, int]]:
    """Return where the pieces of a word are; those of a word with an escaped character are all of it."""
    whole = "".join(word)
    if (text := unescape(whole)) != whole:
        return [(start, start + len(text))] * len(word)
    spans = []
    for piece in word:
        spans.append((start, start + len(piece)))
        start += len(piece)
    return spans


def _join_sentencepieces(pieces: Sequence[str]) -> TokenText:
    """Join pieces, which hold their blanks."""
    text, spans = "", []
    for piece in pieces:
        part = piece.replace(BLANK, " ") if text else piece.replace(BLANK, " ").lstrip()
        spans.append((len(text), len(text) + len(part)))
        text += part
    return TokenText(text, tuple(spans))


def write_text(codec: Codec, text: str, *, target: bool) -> str:
    """Return the text of token ids as people write it."""
    return (codec.target if target else codec.source).sentence(text.split())


@dataclass(frozen=True)
class TokenDocuments:
    """The documents of a part of a prepared corpus, read from its token ids."""

    codec: Codec
    split: Split

    def __len__(self) -> int:
        return len(self.split.documents) - 1

    def sentence(self, number: int, *, target: bool) -> TokenText:
        """Return a sentence of the part."""
        side = self.split.target if target else self.split.source
        return read_tokens(self.codec, side[number].tolist())

    def document(self, number: int) -> tuple[list[str], list[str]]:
        """Return both sides of a document."""
        numbers = range(int(self.split.documents[number]), int(self.split.documents[number + 1]))
        source, target = ([self.sentence(one, target=side).text for one in numbers] for side in (False, True))
        return source, target
