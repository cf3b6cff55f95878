"""Halves: pairs are cut at the ends of words, where a plain loop cuts them, and nothing is lost."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import signal_oracles

from docaps.batches import halves
from docaps.batches.halves import FIRST, SECOND, Halves, PieceKinds, find_halves, kinds_of
from docaps.corpus.arrays import join_sentences, starts_of
from docaps.corpus.store import Split
from docaps.corpus.text.bpe import Subwords, format_codes
from docaps.corpus.text.codec import Codec, Language
from docaps.corpus.text.sentencepieces import SentencePieces
from docaps.corpus.text.vocabulary import EOS, SPECIALS, Vocabulary

PIECES = ("a@@", "b@@", "c", "d", "e", ",", ".", ";@@")
CODEC = Codec(
    source=Language("en"),
    target=Language("de"),
    subwords=Subwords(format_codes([])),
    vocabulary=Vocabulary([*SPECIALS, *PIECES]),
)
SENTENCES = st.lists(st.sampled_from(PIECES), max_size=24)
PAIRS = st.lists(st.tuples(SENTENCES, SENTENCES), max_size=12)


def make(pairs: list[tuple[list[str], list[str]]]) -> Split:
    ids = ([[*CODEC.vocabulary.ids(pair[side]), EOS] for pair in pairs] for side in (0, 1))
    source, target = map(join_sentences, ids)
    return Split(source, target, starts_of([len(pairs)] if pairs else []))


@given(PAIRS, st.integers(1, 4))
def test_pairs_are_cut_where_a_plain_loop_cuts_them(pairs: list[tuple[list[str], list[str]]], chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(halves, "_CHUNK", chunk)
        found = find_halves(make(pairs), CODEC, 1.0)
    expected = [signal_oracles.cut_pair(*pair) for pair in pairs]
    assert list(zip(found.source.tolist(), found.target.tolist(), strict=True)) == expected


def cut(source: str, target: str) -> tuple[int, int]:
    found = find_halves(make([(source.split(), target.split())]), CODEC, 1.0)
    return int(found.source[0]), int(found.target[0])


def test_a_cut_worked_by_hand() -> None:
    """The source's middle is 5.5, the ideal in the target 5 / 11 of 10 pieces, and a mark is worth a fifth."""
    assert cut("a@@ c d e , c d e c d .", "c d a@@ c e , d e c .") == (5, 6)
    # Without a mark in the source none is preferred in the target, and nothing is cut in front of one.
    assert cut("a@@ c d e c d e c d c .", "c d a@@ c e , d e c .") == (5, 4)


@pytest.mark.parametrize("words", ["c d e c d e", "a@@ a@@ a@@ c d e c d e"])
def test_a_pair_of_fewer_than_seven_words_stays_whole(words: str) -> None:
    assert cut(words, "c d e c d e c d") == (0, 0)
    assert cut(f"{words} d", "c d e c d e c d")[0] > 0


def test_sentencepiece_says_where_words_begin() -> None:
    class Model(SentencePieces):
        def __init__(self) -> None:
            pass

    pieces = ("▁the", "▁cat", "s", ",", "▁sat")
    codec = Codec(
        source=Language("en", tokenize=False),
        target=Language("de", tokenize=False),
        subwords=Model(),
        vocabulary=Vocabulary([*SPECIALS, *pieces]),
    )
    kinds, ids = kinds_of(codec), codec.vocabulary.ids(["▁the", "▁cat", "s", ",", "▁sat"])
    assert kinds.word_ends(np.array([*ids, EOS], np.int32)).tolist() == [True, False, False, True, True, True]
    assert kinds.punctuation[ids].tolist() == [False, False, False, True, False]


def test_bpe_says_where_words_go_on() -> None:
    kinds: PieceKinds = kinds_of(CODEC)
    ids = [*CODEC.vocabulary.ids(["a@@", "c", ",", "d"]), EOS]
    assert kinds.word_ends(np.array(ids, np.int32)).tolist() == [False, True, True, True, True]


@given(PAIRS, st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 5))
def test_halves_follow_each_other_and_nothing_is_lost(
    pairs: list[tuple[list[str], list[str]]], share: float, seed: int
) -> None:
    split = make(pairs)
    found = find_halves(split, CODEC, share)
    count = len(pairs)
    examples = found.draw(np.arange(count), np.random.default_rng(seed)).tolist()
    assert found.sentences(np.array(examples, np.int64)).tolist() == [one % count for one in examples]
    located = [found.locate(one) for one in examples]
    assert sorted({sentence for _, sentence in located}) == list(range(count))
    for sentence, group in itertools.groupby(located, key=lambda one: one[1]):
        parts = [part for part, _ in group]
        assert parts == [0] or parts == [FIRST, SECOND]
        assert found.source[sentence] or parts == [0]
        assert share or parts == [0]
        if share == 1.0 and found.source[sentence]:
            assert parts == [FIRST, SECOND]
            for side, whole in enumerate((split.source[sentence], split.target[sentence])):
                first, second = (found.pair(split, sentence, part)[side].tolist() for part in parts)
                assert first[-1] == second[-1] == EOS
                assert [*first[:-1], *second] == whole.tolist()
                assert min(len(first), len(second)) > 1


@given(PAIRS)
def test_lengths_are_those_of_the_examples(pairs: list[tuple[list[str], list[str]]]) -> None:
    split = make(pairs)
    found = find_halves(split, CODEC, 1.0)
    source, target = found.lengths(split.source.lengths, split.target.lengths)
    for sentence in range(len(pairs)):
        for part in (FIRST, SECOND) if found.source[sentence] else ():
            example = part * len(pairs) + sentence
            assert (source[example], target[example]) == tuple(map(len, found.pair(split, sentence, part)))


def test_the_share_is_met_on_average() -> None:
    one = Halves(0.3, np.full(1000, 3), np.full(1000, 2))
    drawn = len(one.draw(np.arange(1000), np.random.default_rng(1))) - 1000
    assert 250 < drawn < 350
