"""Terms of a glossary in a sentence: as the phrases of tokens that search must write, and as what was written."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from docaps.batches.windows import Phrases
from docaps.corpus.text.bpe import SEPARATOR
from docaps.corpus.text.codec import Codec
from docaps.corpus.text.sentencepieces import SentencePieces
from docaps.corpus.text.vocabulary import BOS, UNK
from docaps.translation.glossary import Hit, is_written

MOST_TOKENS = 400
"""Tokens that a segment's terms may have together; further terms of it are missing."""
TermState = Literal["written", "forced", "missing"]


@dataclass(frozen=True, slots=True)
class TermUse:
    """What became of a term in a sentence: the form that was written, or, if it is missing, the preferred one.

    A term is forced if it was written only because the translation had reached its greatest length.
    """

    source: str
    target: str
    state: TermState

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"source": self.source, "target": self.target, "state": self.state}


def required_phrases(codec: Codec, hits: Sequence[Hit]) -> tuple[Phrases, ...]:
    """Return what the translation of a segment with these terms must have, as far as the model can write it."""
    required, room = [], MOST_TOKENS
    for hit in hits:
        phrases = tuple(dict.fromkeys(phrase for form in hit.term.target for phrase in encode_form(codec, form)))
        longest = max(map(len, phrases), default=0)
        if phrases and longest <= room:
            room -= longest
            required.append(phrases)
    return tuple(required)


@lru_cache(maxsize=20_000)
def encode_form(codec: Codec, form: str) -> Phrases:
    """Return the token sequences that are read as a form; none if the model cannot write it.

    A form is written as it is given, whatever its usual case, and tokenised as it is alone and as it is in a sentence.
    The first word of a translation gets its capital afterwards: a phrase for that place begins with BOS.
    """
    target = codec.target
    inside = target.words_as_written(f"x {form} x")[1:-1]
    capital = form[:1].upper() + form[1:]
    first = target.words(form) if target.truecaser is not None else target.words_as_written(capital)
    found = [_encode(codec, words) for words in (target.words_as_written(form), inside)]
    initial = _encode(codec, first)
    phrases = dict.fromkeys(one for one in found if one and is_written(form, codec.decode_target(one)))
    if phrases and initial and initial not in phrases and is_written(form, codec.decode_target(initial)):
        phrases[(BOS, *initial)] = None
    return tuple(phrases)


def _encode(codec: Codec, words: Sequence[str]) -> tuple[int, ...]:
    """Return the tokens of words, if need be split otherwise than usual; none if the vocabulary cannot spell them."""
    if isinstance(codec.subwords, SentencePieces):
        parts = [codec.vocabulary.ids(codec.subwords.split(words))]
    else:
        parts = [_encode_word(codec, word) for word in words]
    tokens = [token for part in parts for token in part]
    return () if UNK in tokens else tuple(tokens)


def _encode_word(codec: Codec, word: str) -> list[int]:
    """Return the tokens of a word in BPE; if some are unknown, the fewest others that spell it, or an unknown one."""
    usual = codec.vocabulary.ids(codec.subwords.split([word]))
    if UNK not in usual:
        return usual
    best: list[list[int] | None] = [[], *[None] * len(word)]  # by the number of letters spelt
    for end in range(1, len(word) + 1):
        mark = SEPARATOR if end < len(word) else ""
        for start in range(end):
            before = best[start]
            (token,) = codec.vocabulary.ids([word[start:end] + mark])
            if before is not None and token != UNK and (best[end] is None or len(before) + 1 < len(best[end] or [])):
                best[end] = [*before, token]
    return best[-1] or [UNK]


def describe_term(use: TermUse) -> str:
    """Say what is wrong with a term that is missing or forced."""
    if use.state == "missing":
        return f"the translation of {use.source!r} could not be written as {use.target!r}"
    return f"{use.target!r} for {use.source!r} was forced at the greatest length of a translation: check the sentence"


def judge_terms(hits: Sequence[Hit], text: str, *, forced: bool) -> tuple[TermUse, ...]:
    """Return what became of the terms of a sentence in its translation."""
    uses = []
    for hit in hits:
        form = next((form for form in hit.term.target if is_written(form, text)), None)
        state: TermState = "missing" if form is None else "forced" if forced else "written"
        uses.append(TermUse(hit.text, form or hit.term.target[0], state))
    return tuple(uses)
