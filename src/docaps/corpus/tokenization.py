"""Words: Moses tokenisation and its reverse."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


class Tokenizer:
    """Cut sentences of one language into words and join words to sentences, as the Moses scripts do."""

    def __init__(self, language: str) -> None:
        from sacremoses import MosesDetokenizer, MosesTokenizer

        self._tokenizer: MosesTokenizer = MosesTokenizer(lang=language)
        self._detokenizer: MosesDetokenizer = MosesDetokenizer(lang=language)

    def tokenize(self, sentence: str) -> list[str]:
        """Cut a sentence into words and punctuation marks."""
        words: list[str] = self._tokenizer.tokenize(sentence)
        return words

    def detokenize(self, words: Sequence[str]) -> str:
        """Join words to a sentence as people write it."""
        sentence: str = self._detokenizer.detokenize(list(words))
        return sentence
