"""The codec of a run: text to token ids and back, through words, case, subwords and vocabulary.

languages.json          languages, marks of the vocabulary, and which of the files below there are
bpe.codes               BPE merges, or sentencepiece.model
truecase.source.txt     the truecase model (Moses format), if text is truecased; likewise for target
vocabulary.json         the pieces, by id
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from docaps.corpus.text.bpe import Subwords
from docaps.corpus.text.sentencepieces import SentencePieces
from docaps.corpus.text.tokenization import Tokenizer
from docaps.corpus.text.truecasing import Truecaser, load_truecaser
from docaps.corpus.text.vocabulary import EOS, Vocabulary
from docaps.errors import CorpusError, RunError
from docaps.files import LARGEST_DESCRIPTION, read_json, write_json

CODES, PIECES = "bpe.codes", "sentencepiece.model"
CODEC_FILES = ("languages.json", "vocabulary.json", CODES, PIECES, "truecase.source.txt", "truecase.target.txt")
SubwordModel = Subwords | SentencePieces


@dataclass(frozen=True, eq=False)
class Language:
    """One side of the codec: sentences to words and back."""

    code: str
    tokenize: bool = True
    truecaser: Truecaser | None = None

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer(self.code)

    def words(self, sentence: str) -> list[str]:
        """Split a sentence into truecased words; without a tokenizer, at its blanks."""
        if not self.tokenize:
            return sentence.split()
        words = self._tokenizer.tokenize(sentence)
        return words if self.truecaser is None else self.truecaser.truecase(words)

    def sentence(self, words: Sequence[str]) -> str:
        """Join words into a sentence as people write it."""
        if not self.tokenize:
            return " ".join(words)
        return self._tokenizer.detokenize(words if self.truecaser is None else Truecaser.detruecase(words))


@dataclass(frozen=True, eq=False, kw_only=True)
class Codec:
    """Encode sentences of the two languages as token ids, and decode ids."""

    source: Language
    target: Language
    subwords: SubwordModel
    vocabulary: Vocabulary

    def encode_source(self, sentence: str) -> list[int]:
        """Return the token ids of a source sentence, with the end symbol."""
        return self.encode_words(self.source.words(sentence))

    def encode_target(self, sentence: str) -> list[int]:
        """Return the token ids of a target sentence, with the end symbol."""
        return self.encode_words(self.target.words(sentence))

    def encode_words(self, words: Sequence[str]) -> list[int]:
        """Return the token ids of words, with the end symbol."""
        return [*self.vocabulary.ids(self.subwords.split(words)), EOS]

    def decode_target(self, ids: Sequence[int]) -> str:
        """Return the target sentence of token ids."""
        return self.target.sentence(self.subwords.join(self.vocabulary.text(ids)))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the vocabulary entries of all ids, special symbols included."""
        return [self.vocabulary.pieces[number] for number in ids]

    def save(self, directory: Path) -> None:
        """Write the codec to a directory."""
        directory.mkdir(parents=True, exist_ok=True)
        kind = "sentencepiece" if isinstance(self.subwords, SentencePieces) else "bpe"
        self.subwords.save(directory / (PIECES if kind == "sentencepiece" else CODES))
        write_json(directory / "vocabulary.json", list(self.vocabulary.pieces))
        for side, language in (("source", self.source), ("target", self.target)):
            if language.truecaser is not None:
                language.truecaser.save(directory / f"truecase.{side}.txt")
        marks = list(self.vocabulary.marks)
        description = {
            "source_language": self.source.code,
            "target_language": self.target.code,
            "subwords": kind,
            "truecase": self.source.truecaser is not None,
            **({"marks": marks} if marks else {}),
        }
        write_json(directory / "languages.json", description)


def load_codec(directory: Path) -> Codec:
    """Read a codec that `Codec.save` wrote."""
    description = read_json(directory / "languages.json", error=RunError, limit=LARGEST_DESCRIPTION)
    pieces = read_json(directory / "vocabulary.json", error=RunError)
    try:
        kind = description.get("subwords", "bpe")
        if kind not in ("bpe", "sentencepiece"):
            raise ValueError(f"subwords are 'bpe' or 'sentencepiece', found {kind!r}")
        subwords = Subwords.load(directory / CODES) if kind == "bpe" else SentencePieces.load(directory / PIECES)
        source, target = (_load_language(directory, description, side) for side in ("source", "target"))
        vocabulary = Vocabulary(pieces, description.get("marks", ()))
        return Codec(source=source, target=target, subwords=subwords, vocabulary=vocabulary)
    except (OSError, KeyError, TypeError, ValueError, AttributeError, CorpusError) as fault:
        raise RunError(f"the text settings cannot be used: {fault}", path=directory) from None


def _load_language(directory: Path, description: dict[str, object], side: str) -> Language:
    """Read the language settings of one side."""
    code = description[f"{side}_language"]
    if not isinstance(code, str):
        raise TypeError(f"{side}_language is not a text: {code!r}")
    truecaser = load_truecaser(directory / f"truecase.{side}.txt") if description.get("truecase") else None
    return Language(code, tokenize=description.get("subwords") != "sentencepiece", truecaser=truecaser)
