"""The codec of a run: text to token ids and back, through words, case, subwords and vocabulary.

languages.json          languages, marks of the vocabulary, and which of the files below there are
bpe.codes               BPE merges, or sentencepiece.model, or source.spm and target.spm of an imported model
truecase.source.txt     the truecase model (Moses format), if text is truecased; likewise for target
vocabulary.json         the pieces, by id
words.source.txt        how often the source words of the training text occurred
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from docaps.corpus.text.bpe import Subwords, WholeWords
from docaps.corpus.text.known_words import KnownWords, load_known_words
from docaps.corpus.text.sentencepieces import PublishedPieces, SentencePieces
from docaps.corpus.text.tokenization import Tokenizer
from docaps.corpus.text.truecasing import Truecaser, load_truecaser
from docaps.corpus.text.vocabulary import EOS, UNK, Vocabulary
from docaps.errors import CorpusError, RunError
from docaps.files import LARGEST_DESCRIPTION, read_json, write_json

CODES, PIECES, WORDS = "bpe.codes", "sentencepiece.model", "words.source.txt"
SOURCE_PIECES, TARGET_PIECES = "source.spm", "target.spm"
CODEC_FILES = (
    *("languages.json", "vocabulary.json", CODES, PIECES, "truecase.source.txt", "truecase.target.txt"),
    *(WORDS, SOURCE_PIECES, TARGET_PIECES),
)
SubwordModel = Subwords | SentencePieces | WholeWords
MODELS: dict[str, type[SubwordModel]] = {
    "bpe": Subwords,
    "sentencepiece": SentencePieces,
    "marian": PublishedPieces,
    "words": WholeWords,
}
PUBLISHED = ("marian", "words")
"""Those of imported models; no corpus is prepared with others of these kinds."""
FILES = {"bpe": CODES, "sentencepiece": PIECES, "marian": TARGET_PIECES, "words": ""}


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
        words = self.words_as_written(sentence)
        return words if self.truecaser is None else self.truecaser.truecase(words)

    def words_as_written(self, text: str) -> list[str]:
        """Split a text into words that keep their case."""
        return self._tokenizer.tokenize(text) if self.tokenize else text.split()

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
    known_words: KnownWords | None = None
    """None if the corpus was prepared by a version that did not count them."""
    source_subwords: PublishedPieces | None = None
    """The source's own subwords, if each side has some; `subwords` are then the target's."""

    @property
    def kind(self) -> str:
        """The name of the kind of subwords."""
        return next(name for name, model in MODELS.items() if type(self.subwords) is model)

    def encode_source(self, sentence: str) -> list[int]:
        """Return the token ids of a source sentence, with the end symbol."""
        if self.source_subwords is not None:  # it reads the sentence as it is
            return self.encode_words([sentence])
        return self.encode_words(self.source.words(sentence))

    def encode_target(self, sentence: str) -> list[int]:
        """Return the token ids of a target sentence, with the end symbol."""
        words = [sentence] if self.source_subwords is not None else self.target.words(sentence)
        return [*self.vocabulary.ids(self.subwords.split(words)), EOS]

    def encode_words(self, words: Sequence[str]) -> list[int]:
        """Return the token ids of source words, with the end symbol."""
        return [*self.vocabulary.ids((self.source_subwords or self.subwords).split(words)), EOS]

    def decode_target(self, ids: Sequence[int]) -> str:
        """Return the target sentence of token ids."""
        if isinstance(self.subwords, PublishedPieces):
            return self.subwords.text(self.vocabulary.text(number for number in ids if number != UNK))
        return self.target.sentence(self.subwords.join(self.vocabulary.text(ids)))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the vocabulary entries of all ids, special symbols included."""
        return [self.vocabulary.pieces[number] for number in ids]

    def save(self, directory: Path) -> None:
        """Write the codec to a directory."""
        directory.mkdir(parents=True, exist_ok=True)
        self.subwords.save(directory / FILES[self.kind])
        if self.source_subwords is not None:
            self.source_subwords.save(directory / SOURCE_PIECES)
        write_json(directory / "vocabulary.json", list(self.vocabulary.pieces))
        for side, language in (("source", self.source), ("target", self.target)):
            if language.truecaser is not None:
                language.truecaser.save(directory / f"truecase.{side}.txt")
        if self.known_words is not None:
            self.known_words.save(directory / WORDS)
        marks = list(self.vocabulary.marks)
        description = {
            "source_language": self.source.code,
            "target_language": self.target.code,
            "subwords": self.kind,
            "truecase": self.source.truecaser is not None,
            **({"marks": marks} if marks else {}),
            **({"known_words": True} if self.known_words is not None else {}),
        }
        write_json(directory / "languages.json", description)


def load_codec(directory: Path) -> Codec:
    """Read a codec that `Codec.save` wrote."""
    description = read_json(directory / "languages.json", error=RunError, limit=LARGEST_DESCRIPTION)
    pieces = read_json(directory / "vocabulary.json", error=RunError)
    try:
        kind = description.get("subwords", "bpe")
        if not isinstance(kind, str) or kind not in MODELS:
            raise ValueError(f"subwords are {', '.join(MODELS)}, found {kind!r}")
        subwords = MODELS[kind].load(directory / FILES[kind])
        own = PublishedPieces.load(directory / SOURCE_PIECES) if kind == "marian" else None
        source, target = (_load_language(directory, description, side) for side in ("source", "target"))
        vocabulary = Vocabulary(pieces, description.get("marks", ()))
        known = load_known_words(directory / WORDS) if description.get("known_words") else None
        return Codec(
            source=source,
            target=target,
            subwords=subwords,
            vocabulary=vocabulary,
            known_words=known,
            source_subwords=own,
        )
    except (OSError, KeyError, TypeError, ValueError, AttributeError, CorpusError) as fault:
        raise RunError(f"the text settings cannot be used: {fault}", path=directory) from None


def _load_language(directory: Path, description: dict[str, object], side: str) -> Language:
    """Read the language settings of one side."""
    code = description[f"{side}_language"]
    if not isinstance(code, str):
        raise TypeError(f"{side}_language is not a text: {code!r}")
    truecaser = load_truecaser(directory / f"truecase.{side}.txt") if description.get("truecase") else None
    return Language(code, tokenize=description.get("subwords", "bpe") == "bpe", truecaser=truecaser)
