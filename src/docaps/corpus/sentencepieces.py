"""SentencePiece: pieces learnt on raw text of both languages together, blanks included.

Reference: Kudo and Richardson (2018). No tokeniser and no truecaser is needed before it: words are what stands between
blanks. Nothing of the text is changed, and what the pieces do not cover is spelt in bytes, so every sentence comes back
as it was but for its blanks.
"""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from docaps.errors import CorpusError
from docaps.files import replacing

Algorithm = Literal["unigram", "bpe"]
_LONGEST_SENTENCE = 1_000_000

# SentencePiece writes a blank as `▁`; the same character in the text is written as one that nobody uses.
_BLANK, _UNUSED = "▁", "\ue581"


class SentencePieces:
    """Cut raw text into pieces and put them together again."""

    def __init__(self, model: bytes) -> None:
        from sentencepiece import SentencePieceProcessor

        self.model = model
        self._processor = SentencePieceProcessor(model_proto=model)

    def __reduce__(self) -> tuple[type["SentencePieces"], tuple[bytes]]:
        return SentencePieces, (self.model,)

    @property
    def pieces(self) -> list[str]:
        """Return all pieces that text can be cut into."""
        model = self._processor
        names = [model.id_to_piece(number) for number in range(model.get_piece_size()) if not model.is_unknown(number)]
        return [str(name) for name in names]

    def split(self, words: Sequence[str]) -> list[str]:
        """Cut words into pieces; the first piece of a word begins with `▁`."""
        pieces: list[str] = self._processor.encode(" ".join(words).replace(_BLANK, _UNUSED), out_type=str)
        return pieces

    def split_many(self, sentences: Iterable[Sequence[str]]) -> list[list[str]]:
        """Cut the words of many sentences into pieces."""
        return [self.split(words) for words in sentences]

    def join(self, pieces: Sequence[str]) -> list[str]:
        """Put pieces together to words."""
        text: str = self._processor.decode_pieces([*pieces])
        return [word for word in text.replace(_UNUSED, _BLANK).split(" ") if word]

    def save(self, path: Path) -> None:
        """Write the model as SentencePiece does."""
        with replacing(path) as draft:
            draft.write_bytes(self.model)

    @classmethod
    def load(cls, path: Path) -> "SentencePieces":
        """Read a model that `save` or SentencePiece wrote."""
        try:
            return cls(path.read_bytes())
        except (OSError, RuntimeError) as fault:
            raise CorpusError(f"the SentencePiece model cannot be read: {fault}", path=path) from None


def learn_sentencepieces(sentences: Iterable[str], *, size: int, algorithm: Algorithm = "unigram") -> SentencePieces:
    """Learn about `size` pieces from sentences of both languages; fewer, if the text does not give that many.

    One thread is used, since the pieces of several depend on their number.
    """
    from sentencepiece import SentencePieceTrainer

    model = io.BytesIO()
    lines = (" ".join(sentence.split()).replace(_BLANK, _UNUSED) for sentence in sentences)
    try:
        SentencePieceTrainer.train(
            sentence_iterator=lines,
            model_writer=model,
            model_type=algorithm,
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
        raise CorpusError(f"SentencePiece cannot learn {size:,} pieces from this text: {fault}") from None
    return SentencePieces(model.getvalue())
