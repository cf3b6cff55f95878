"""Text to token ids and back: tokenisation, subwords and vocabulary in one object that a run keeps with it."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from docaps.corpus.subwords import Subwords
from docaps.corpus.tokenization import Tokenizer
from docaps.corpus.vocabulary import EOS, Vocabulary
from docaps.errors import RunError
from docaps.files import read_json, write_json, write_text_atomically


class Codec:
    """Turn sentences of the two languages into token ids, and ids into sentences."""

    def __init__(self, *, source_language: str, target_language: str, codes: str, pieces: Sequence[str]) -> None:
        self.source_language = source_language
        self.target_language = target_language
        self.codes = codes
        self.vocabulary = Vocabulary(pieces)
        self.subwords = Subwords(codes)

    @cached_property
    def _source(self) -> Tokenizer:
        return Tokenizer(self.source_language)

    @cached_property
    def _target(self) -> Tokenizer:
        return Tokenizer(self.target_language)

    def encode_source(self, sentence: str) -> list[int]:
        """Return the token ids of a source sentence, with the end mark."""
        return self.encode_words(self._source.tokenize(sentence))

    def encode_target(self, sentence: str) -> list[int]:
        """Return the token ids of a target sentence, with the end mark."""
        return self.encode_words(self._target.tokenize(sentence))

    def encode_words(self, words: Sequence[str]) -> list[int]:
        """Return the token ids of words that are tokenised already, with the end mark."""
        return [*self.vocabulary.ids(self.subwords.split(words)), EOS]

    def decode_target(self, ids: Sequence[int]) -> str:
        """Return the target sentence that token ids spell."""
        return self._target.detokenize(Subwords.join(self.vocabulary.text(ids)))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the vocabulary's pieces for all ids, special symbols included."""
        return [self.vocabulary.pieces[number] for number in ids]

    def save(self, directory: Path) -> None:
        """Store everything that is needed to make this object again."""
        directory.mkdir(parents=True, exist_ok=True)
        write_text_atomically(directory / "bpe.codes", self.codes)
        write_json(directory / "vocabulary.json", list(self.vocabulary.pieces))
        languages = {"source_language": self.source_language, "target_language": self.target_language}
        write_json(directory / "languages.json", languages)


def load_codec(directory: Path) -> Codec:
    """Read what `Codec.save` wrote."""
    languages = read_json(directory / "languages.json", error=RunError)
    pieces = read_json(directory / "vocabulary.json", error=RunError)
    codes = directory / "bpe.codes"
    try:
        return Codec(**languages, codes=codes.read_text(encoding="utf-8"), pieces=pieces)
    except (OSError, TypeError, ValueError) as fault:
        raise RunError(f"the text settings cannot be used: {fault}", path=directory) from None
