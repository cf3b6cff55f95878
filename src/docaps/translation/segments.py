"""Segments: the token sequences a sentence is translated as, and the sentence assembled from their translations.

Most sentences are one segment. A sentence of more than `decoding.longest_source` tokens is split, near its middle, at
the strongest punctuation. Characters that the vocabulary lacks are copied, never lost nor shown as `<unk>`: at either
end of a sentence they are taken off and put back around the translation; words with unknown tokens replace the unknown
words of the translation, in order; words with unknown characters that are left over go to the end. A vocabulary that
spells unknown characters in bytes (SentencePiece) needs none of this.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any

from docaps.batches.windows import Phrases
from docaps.corpus.text.codec import Codec
from docaps.corpus.text.known_words import split_words
from docaps.corpus.text.vocabulary import EOS, UNK
from docaps.translation.glossary import Glossary, Hit, find_terms, replace_terms
from docaps.translation.hypothesis import Hypothesis, length_penalty
from docaps.translation.terms import required_phrases

PLACEHOLDER = "\ufdd0"  # a Unicode noncharacter: it stands for an unknown token until a word is copied there
BREAKS = tuple(
    re.compile(pattern)
    for pattern in (
        r"[.!?…][\"'”’“»)\]]*\s+|[。！？][”」』]*",  # the end of a sentence
        r"[;:][\"'”’“»)\]]*\s+|\s[–—-]\s+|[；：]",  # of a clause
        r",[\"'”’“»)\]]*\s+|[，、]",
        r"\s+",  # of a word
    )
)
"""Where a long sentence may be split, the strongest first."""
MAX_ACCENTS = 32
"""A letter is split from its accents if it has more of them than any real text."""


@dataclass(frozen=True, slots=True)
class RankedTranslation:
    """A translation of a sentence and its score: the log-probability divided by the length penalty."""

    text: str
    score: float
    log_probability: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"translation": self.text, "score": self.score, "log_probability": self.log_probability}


@dataclass(frozen=True, slots=True)
class Segment:
    """A token sequence that is translated at once, its words to copy, and its text, with the space after it."""

    tokens: list[int]
    unknown: tuple[str, ...] = ()
    text: str = ""
    required: tuple[Phrases, ...] = ()
    """What its translation must have: of each one of the phrases."""

    @property
    def space(self) -> str:
        """The space after it."""
        return " " if self.text[-1:].isspace() else ""


@dataclass(frozen=True, slots=True)
class SegmentedSentence:
    """A sentence as the model reads it; one without segments has nothing to translate."""

    tokens: list[int]
    """What other sentences see of it as history."""
    segments: tuple[Segment, ...]
    before: str = ""
    after: str = ""
    words: int = 0
    rare_words: int = 0
    """Those of the words that are rare in the training text, or unknown."""
    tags: tuple[int, ...] = ()
    """What stands in front of the source of each segment; no other sentence sees it."""
    hits: tuple[Hit, ...] = ()
    """The terms of a glossary in it, by their places in the text of its segments."""

    @property
    def size(self) -> int:
        """The number of tokens of all segments."""
        return sum(len(segment.tokens) for segment in self.segments)

    def as_context(self) -> "SegmentedSentence":
        """Return the sentence as one that is only read as context: it has nothing to translate."""
        return SegmentedSentence(self.tokens, ())

    def assemble(self, codec: Codec, hypotheses: Sequence[Hypothesis], alpha: float) -> RankedTranslation:
        """Join the translations of the segments; several are scored as one long translation."""
        pairs = list(zip(self.segments, hypotheses, strict=True))
        text = "".join(decode(codec, one.tokens, segment.unknown) + segment.space for segment, one in pairs)
        whole = " ".join(part for part in (self.before, text.strip(), self.after) if part)
        if len(hypotheses) == 1:
            return RankedTranslation(whole, hypotheses[0].score, hypotheses[0].log_probability)
        log_probability = sum(one.log_probability for one in hypotheses)
        length = sum(len(one.tokens) + 1 for one in hypotheses)
        return RankedTranslation(whole, log_probability / length_penalty(length, alpha), log_probability)


def segment_sentence(
    codec: Codec, sentence: str, longest: int, glossaries: Sequence[Glossary] = (), tags: tuple[int, ...] = ()
) -> SegmentedSentence:
    """Encode a sentence in segments of at most `longest` tokens; their translations must keep to glossaries.

    As history, a long sentence is cut to its last `longest` tokens: those nearest to the sentences that see it.
    """
    found = replace(_segment(codec, sentence, longest), tags=tags)
    return _require_terms(codec, found, glossaries) if glossaries else found


def _require_terms(codec: Codec, sentence: SegmentedSentence, glossaries: Sequence[Glossary]) -> SegmentedSentence:
    """Require the translations of terms, each in the segment where it begins; put them into what is copied."""
    sides = [(side, find_terms(side, glossaries)) for side in (sentence.before, sentence.after)]
    hits = find_terms("".join(segment.text for segment in sentence.segments), glossaries)
    segments, start = [], 0
    for segment in sentence.segments:
        end = start + len(segment.text)
        own = [hit for hit in hits if start <= hit.start < end]
        segments.append(_with_terms(codec, segment, own) if own else segment)
        start = end
    (before, first), (after, last) = ((replace_terms(side, found), found) for side, found in sides)
    return replace(sentence, segments=tuple(segments), before=before, after=after, hits=(*first, *hits, *last))


def _with_terms(codec: Codec, segment: Segment, hits: Sequence[Hit]) -> Segment:
    """Require terms in the translation of a segment; their words are not copied."""
    words = {word for hit in hits for word in codec.source.words(hit.text)} if segment.unknown else ()
    unknown = tuple(word for word in segment.unknown if word not in words)
    return replace(segment, required=required_phrases(codec, hits), unknown=unknown)


def _segment(codec: Codec, sentence: str, longest: int) -> SegmentedSentence:
    """Encode a sentence in segments."""
    text = " ".join(sentence.split())
    tokens = codec.encode_source(text)
    seen = tokens[-longest - 1 :]
    counts = count_words(codec, text, tokens)
    if UNK not in tokens:
        return SegmentedSentence(seen, _segments(codec, text, tokens, longest), "", "", *counts)
    before, inner, after = strip_unknown(text, known_characters(codec))
    own = tokens if inner == text else codec.encode_source(inner)
    return SegmentedSentence(seen, _segments(codec, inner, own, longest), before, after, *counts)


def count_words(codec: Codec, text: str, tokens: Sequence[int]) -> tuple[int, int]:
    """Return how many words a sentence has, and how many of them are rare or unknown."""
    words = split_words(text)
    if codec.known_words is not None:
        return len(words), codec.known_words.count_rare(words)
    unknown = unknown_words(codec, text) if UNK in tokens else ()
    return len(words), min(len(words), sum(len(split_words(word)) for word in unknown))


def _segments(codec: Codec, text: str, tokens: list[int], longest: int) -> tuple[Segment, ...]:
    """Split a text into segments that are short enough."""
    parts = [(text, tokens)]
    if len(tokens) - 1 > longest:
        texts = split_sentence(text, lambda part: len(codec.encode_source(part)) - 1 <= longest)
        parts = [(part, codec.encode_source(part)) for part in texts]
    return tuple(
        Segment(own, unknown_words(codec, part) if UNK in own else (), part) for part, own in parts if own != [EOS]
    )


def split_sentence(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Split a text into parts that fit, each with the space after it."""
    parts, waiting = [], [text]
    while waiting:
        part = waiting.pop()
        if len(part) < 2 or fits(part):
            parts.append(part)
        else:
            position = find_split(part)
            waiting += [part[position:], part[:position]]
    return parts


def find_split(text: str) -> int:
    """Return where to split: at the strongest break in the middle half, of equal ones the nearest to the middle."""
    middle = len(text) // 2
    for pattern in BREAKS:
        ends = [found.end() for found in pattern.finditer(text, middle // 2, len(text) - middle // 2)]
        inner = [end for end in ends if 0 < end < len(text)]
        if inner:
            return min(inner, key=lambda end: abs(end - middle))
    # An accent stays with its letter, unless there are so many that the parts would be of very unequal length.
    after = text[middle : min(middle + MAX_ACCENTS, len(text) - 1)]
    return next((middle + skipped for skipped, mark in enumerate(after) if not unicodedata.combining(mark)), middle)


@lru_cache(maxsize=8)
def known_characters(codec: Codec) -> frozenset[str]:
    """Return the characters that occur in the vocabulary."""
    return frozenset(chain.from_iterable(codec.vocabulary.text_pieces))


def strip_unknown(text: str, known: frozenset[str]) -> tuple[str, str, str]:
    """Take unknown characters off both ends of a sentence: what to copy before, to translate, to copy after.

    Known punctuation among them stays with the sentence.
    """
    chunks = text.split()
    first = next((number for number, chunk in enumerate(chunks) if _is_readable(chunk, known)), None)
    if first is None:  # not one letter or digit that the model could read
        return text, "", ""
    last = next(number for number in range(len(chunks), first, -1) if _is_readable(chunks[number - 1], known))
    before, kept_before = _partition(chunks[:first], known)
    after, kept_after = _partition(chunks[last:], known)
    inner = " ".join([*kept_before, *chunks[first:last]]) + "".join(kept_after)
    return " ".join(before), inner, " ".join(after)


def _is_readable(chunk: str, known: frozenset[str]) -> bool:
    """Return whether a chunk has a known letter or digit, or no unknown character at all."""
    return any(letter.isalnum() and letter in known for letter in chunk) or known.issuperset(chunk)


def _partition(chunks: Sequence[str], known: frozenset[str]) -> tuple[list[str], list[str]]:
    """Separate the unknown characters of chunks from the known ones."""
    unknown = ("".join(letter for letter in chunk if letter not in known) for chunk in chunks)
    kept = ("".join(letter for letter in chunk if letter in known) for chunk in chunks)
    return list(filter(None, unknown)), list(filter(None, kept))


def unknown_words(codec: Codec, text: str) -> tuple[str, ...]:
    """List the words of a source sentence that have unknown tokens."""
    return tuple(word for word in codec.source.words(text) if UNK in codec.encode_words([word]))


def decode(codec: Codec, tokens: Sequence[int], unknown: Sequence[str] = ()) -> str:
    """Write a translation as text, with the unknown words of the source in place of its own, or else at the end."""
    if UNK not in tokens and not unknown:
        return codec.decode_target(tokens)
    if codec.subwords.spells_everything:
        return codec.decode_target([token for token in tokens if token != UNK])
    subwords = [PLACEHOLDER if token == UNK else codec.vocabulary.pieces[token] for token in tokens]
    waiting = list(unknown)
    words = []
    for word in codec.subwords.join(subwords):
        if PLACEHOLDER not in word:
            words.append(word)
        elif waiting:
            words.append(waiting.pop(0))
    left_over = [word for word in waiting if not known_characters(codec).issuperset(word)]
    return codec.target.sentence([*words, *left_over])
