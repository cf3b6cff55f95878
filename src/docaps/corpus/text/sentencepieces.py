"""SentencePiece: pieces learnt on raw text of both languages together, blanks included.

Reference: Kudo and Richardson (2018). No tokeniser and no truecaser comes before it: words are separated by blanks. The
text is not normalised, and what the pieces do not cover is spelt in bytes, so every sentence is restored exactly,
except for its blanks. `PublishedPieces` are a model that others made: it may normalise, and lack characters.
"""

import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from docaps.errors import CorpusError
from docaps.files import read_bytes, replacing

_LONGEST_SENTENCE = 1_000_000

# SentencePiece writes a blank as `▁`; the same character in the text is replaced by a private-use stand-in, and a
# stand-in in the text is escaped by a second private-use character.
BLANK, _STANDIN, _LITERAL = "▁", "\ue581", "\ue580"
MARK_START, MARK_END = ">>", "<<"
_TO_HIDE = re.compile(f"[{BLANK}{_STANDIN}{_LITERAL}]")
_HIDDEN = re.compile(f"{_LITERAL}([{_STANDIN}{_LITERAL}])|{_STANDIN}")


def hide_blanks(text: str) -> str:
    """Replace SentencePiece's own blank character in a text."""
    return _TO_HIDE.sub(lambda found: _STANDIN if found[0] == BLANK else _LITERAL + found[0], text)


def show_blanks(text: str) -> str:
    """Undo `hide_blanks`."""
    return _HIDDEN.sub(lambda found: found[1] or BLANK, text)


class SentencePieces:
    """Split raw text into pieces, and join them again."""

    spells_everything = True
    """Whether text never has unknown pieces."""

    def __init__(self, model: bytes) -> None:
        from sentencepiece import SentencePieceProcessor

        self.model = model
        self._processor = SentencePieceProcessor(model_proto=model)

    def __reduce__(self) -> tuple[type["SentencePieces"], tuple[bytes]]:
        return type(self), (self.model,)

    @property
    def pieces(self) -> list[str]:
        """All pieces that text can be split into."""
        model = self._processor
        return [model.id_to_piece(number) for number in range(model.get_piece_size()) if not model.is_unknown(number)]

    def split(self, words: Sequence[str]) -> list[str]:
        """Split words into pieces; the first piece of a word begins with `▁`."""
        pieces: list[str] = self._processor.encode(hide_blanks(" ".join(words)), out_type=str)
        return pieces

    def join(self, pieces: Sequence[str]) -> list[str]:
        """Join pieces into words."""
        text: str = self._processor.decode_pieces([*pieces])
        return [word for word in show_blanks(text).split(" ") if word]

    def save(self, path: Path) -> None:
        """Write the model as SentencePiece does."""
        with replacing(path) as draft:
            draft.write_bytes(self.model)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a model that `save` or SentencePiece wrote."""
        try:
            return cls(read_bytes(path, error=CorpusError))
        except RuntimeError as fault:
            raise CorpusError(f"the SentencePiece model cannot be read: {fault}", path=path) from None


class PublishedPieces(SentencePieces):
    """The pieces of one language of a published Marian model, as its tokenizer splits and joins them.

    Text is left to the model as it is. In multilingual models, a mark such as `>>deu<<` in front of a sentence chooses
    the target language; it is one piece.
    """

    spells_everything = False

    @property
    def numbers(self) -> dict[str, int]:
        """All entries of the model, marks included, with their numbers."""
        model = self._processor
        return {model.id_to_piece(number): number for number in range(model.get_piece_size())}

    def split(self, words: Sequence[str]) -> list[str]:
        """Split text into pieces, after its mark if it has one."""
        text = " ".join(words)
        end = text.find(MARK_END) if text.startswith(MARK_START) else -1
        mark, rest = ([], text) if end < 0 else ([text[: end + 2]], text[end + 2 :])
        pieces: list[str] = self._processor.encode(rest, out_type=str)
        return [*mark, *pieces]

    def join(self, pieces: Sequence[str]) -> list[str]:
        """Join pieces into words."""
        return [word for word in self.text(pieces).split(" ") if word]

    def text(self, pieces: Iterable[str]) -> str:
        """Return the text of pieces, on one line."""
        found: str = self._processor.decode_pieces([*pieces])
        return " ".join(found.replace(BLANK, " ").splitlines()).strip()


def learn_sentencepieces(sentences: Iterable[str], *, size: int) -> SentencePieces:
    """Learn about `size` pieces from sentences of both languages; fewer if the text does not have that many.

    It runs in one thread, because the result depends on the number of threads.
    """
    from sentencepiece import SentencePieceTrainer

    model = io.BytesIO()
    lines = (hide_blanks(" ".join(sentence.split())) for sentence in sentences)
    try:
        SentencePieceTrainer.train(
            sentence_iterator=lines,
            model_writer=model,
            model_type="unigram",
            vocab_size=size,
            hard_vocab_limit=False,
            normalization_rule_name="identity",
            byte_fallback=True,
            bos_id=-1,
            eos_id=-1,
            max_sentence_length=_LONGEST_SENTENCE,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as fault:
        message = f"SentencePiece cannot learn {size:,} pieces (the setting preparation.pieces) from this text: {fault}"
        raise CorpusError(message) from None
    return SentencePieces(model.getvalue())
