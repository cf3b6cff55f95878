"""Halves of sentence pairs: a pair is cut in two, and its first half becomes the history of its second.

Reference: Lupo, Dinarelli and Besacier (2022), who cut the source in its middle. Cutting makes context dense: what a
half lacks is nearly always in the half before it. Both sides are cut at the end of a word:

- The source is cut as near to its middle as possible, and the target as near to the same share of its tokens. No parser
  or word alignment is consulted, so that a few words may stand in the other half of the translation.
- A place behind a punctuation mark counts as if it were nearer by a fifth of the sentence: clauses correspond better
  than counts of tokens. In the target it does so only if the source is cut behind one, too.
- Nothing is cut in front of a punctuation mark, and only pairs with at least `SHORTEST` source words are cut.

Examples: a corpus of N sentences has the examples 0 to N - 1, its whole sentences, N to 2N - 1, their first halves, and
2N to 3N - 1, their second halves.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from docaps.batches.windows import Indices
from docaps.corpus.arrays import TokenArray
from docaps.corpus.store import Split
from docaps.corpus.text.bpe import SEPARATOR
from docaps.corpus.text.codec import Codec
from docaps.corpus.text.sentencepieces import BLANK, SentencePieces
from docaps.corpus.text.vocabulary import EOS

Flags = NDArray[np.bool_]
WHOLE_PAIR, FIRST, SECOND = 0, 1, 2
SHORTEST = 7
PUNCTUATION = frozenset(",;:.!?…–—、，。；：！？")
_CHUNK = 50_000
"""Sentences whose cuts are computed at once."""
_NEVER = np.int64(2**62)


@dataclass(frozen=True, eq=False)
class PieceKinds:
    """For each entry of a vocabulary: whether a word may end after it, begin with it, and whether it is a mark."""

    ends: Flags
    begins: Flags
    punctuation: Flags

    def word_ends(self, tokens: NDArray[np.int32]) -> Flags:
        """Flag the tokens of sentences, which are end to end, after which a word ends."""
        following = np.append(tokens[1:], EOS)
        found: Flags = self.ends[tokens] & self.begins[following]
        return found


def kinds_of(codec: Codec) -> PieceKinds:
    """Return what the pieces of a codec's vocabulary are."""
    pieces = codec.vocabulary.pieces
    if isinstance(codec.subwords, SentencePieces):  # a piece says whether it begins a word
        begins, ends = [piece.startswith(BLANK) for piece in pieces], [True] * len(pieces)
    else:  # a piece says whether its word goes on
        begins, ends = [True] * len(pieces), [not piece.endswith(SEPARATOR) for piece in pieces]
    begins[EOS] = True
    punctuation = [bool(word := piece.strip(BLANK)) and PUNCTUATION.issuperset(word) for piece in pieces]
    return PieceKinds(np.array(ends), np.array(begins), np.array(punctuation))


@dataclass(frozen=True, eq=False)
class Halves:
    """Where the pairs of a corpus can be cut, and the share of them that is."""

    share: float
    source: Indices
    """The number of source tokens in each pair's first half, without an end mark; 0: the pair is never cut."""
    target: Indices

    def draw(self, sentences: Indices, generator: np.random.Generator) -> Indices:
        """Replace a share of the sentences that can be cut by their halves, one after the other."""
        cut = (generator.random(len(sentences)) < self.share) & (self.source[sentences] > 0)
        examples = np.repeat(sentences, 1 + cut)
        first = np.cumsum(1 + cut)[cut] - 2  # index of each first half among the examples
        examples[first] += FIRST * len(self.source)
        examples[first + 1] += SECOND * len(self.source)
        return examples

    def lengths(self, source: Indices, target: Indices) -> tuple[Indices, Indices]:
        """Return the lengths of all examples from those of the sentences; a first half gets an end mark."""
        sides = ((source, self.source), (target, self.target))
        one, other = (np.concatenate((whole, cut + 1, whole - cut)) for whole, cut in sides)
        return one, other

    def pair(self, split: Split, sentence: int, part: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return source and target of one half of a pair, with end marks."""
        sides = (split.source[sentence], self.source[sentence]), (split.target[sentence], self.target[sentence])
        end = np.array([EOS], np.int32)
        one, other = (np.concatenate((side[:cut], end)) if part == FIRST else side[cut:] for side, cut in sides)
        return one, other

    def sentences(self, examples: Indices) -> Indices:
        """Return the sentence that each example is, or is a half of."""
        found: Indices = np.mod(examples, len(self.source))
        return found

    def locate(self, example: int) -> tuple[int, int]:
        """Return the part of an example, and its sentence."""
        return divmod(example, len(self.source))


def find_halves(split: Split, codec: Codec, share: float) -> Halves:
    """Find where the pairs of a corpus can be cut."""
    kinds, cuts = kinds_of(codec), list[tuple[Indices, Indices]]()
    for start in range(0, len(split), _CHUNK):
        source, target = (_part(side, start, start + _CHUNK) for side in (split.source, split.target))
        cuts.append(_cut_pairs(source, target, kinds))
    both = (np.concatenate([np.zeros(0, np.int64), *(pair[side] for pair in cuts)]) for side in (0, 1))
    return Halves(share, *both)


def _part(side: TokenArray, first: int, end: int) -> TokenArray:
    """Return some of the sentences, with offsets from their beginning."""
    starts = np.asarray(side.starts[first : end + 1])
    return TokenArray(np.asarray(side.tokens[starts[0] : starts[-1]]), starts - starts[0])


def _cut_pairs(source: TokenArray, target: TokenArray, kinds: PieceKinds) -> tuple[Indices, Indices]:
    """Return how many tokens of each side belong to the first half; 0 where a pair is not cut."""
    size, other = source.lengths - 1, target.lengths - 1  # without end marks
    long_enough = _count_words(source, kinds) >= SHORTEST
    here, after_mark = _best_cuts(source, kinds, size, np.full_like(size, 2), np.ones(len(size), np.bool_))
    there, _ = _best_cuts(target, kinds, here * other, np.maximum(size, 1), after_mark)
    both = long_enough & (here > 0) & (there > 0)
    return np.where(both, here, 0), np.where(both, there, 0)


def _count_words(side: TokenArray, kinds: PieceKinds) -> Indices:
    """Count the words of each sentence."""
    ends = kinds.word_ends(side.tokens) & (side.tokens != EOS)
    return np.diff(np.concatenate((np.zeros(1, np.int64), np.cumsum(ends)))[side.starts])


def _best_cuts(
    side: TokenArray, kinds: PieceKinds, above: Indices, below: Indices, prefer_marks: Flags
) -> tuple[Indices, Flags]:
    """Return each sentence's best number of tokens to cut off, and whether that is behind a mark; 0: none is allowed.

    The ideal is the fraction `above / below`. Costs are whole numbers, in fifths of a token divided by `below`.
    """
    if not len(side.tokens):
        return np.zeros(len(side), np.int64), np.zeros(len(side), np.bool_)
    sentence = np.repeat(np.arange(len(side)), side.lengths)
    cut = np.arange(len(side.tokens)) - side.starts[sentence] + 1  # tokens up to and including this one
    size = side.lengths[sentence] - 1
    mark = kinds.punctuation[side.tokens]
    allowed = kinds.word_ends(side.tokens) & ~np.append(mark[1:], False) & (cut < size)
    bonus = np.where(mark & prefer_marks[sentence], size * below[sentence], 0)
    cost = 5 * np.abs(cut * below[sentence] - above[sentence]) - bonus
    base = int(side.lengths.max()) + 1
    ranked = np.where(allowed, cost * base + cut, _NEVER)  # of equal costs, the first
    worded = side.lengths > 0
    best = np.full(len(side), _NEVER)
    best[worded] = np.minimum.reduceat(ranked, side.starts[:-1][worded])
    found = np.where(best < _NEVER, best % base, 0)
    last = np.clip(side.starts[:-1] + found - 1, 0, len(side.tokens) - 1)
    return found, mark[last] & (found > 0)
