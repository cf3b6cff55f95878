"""The automaton of constraints: what is missing, begun and met after each token."""

import pytest
from tests.invariants import tiny

from docaps.batches.windows import Phrases
from docaps.corpus.store import Store
from docaps.corpus.text.codec import Codec, Language
from docaps.corpus.text.sentencepieces import learn_sentencepieces
from docaps.corpus.text.vocabulary import BOS, SPECIALS, Vocabulary
from docaps.translation.constraints import Constraints, Progress, WordBorders, word_borders

PLAIN = WordBorders(frozenset(), frozenset(), ())
BPE = WordBorders(frozenset({20, 21}), frozenset(), (10,))
PIECES = WordBorders(frozenset(), frozenset({30, 31}), ())


def after(required: list[Phrases], tokens: list[int], borders: WordBorders = PLAIN) -> Progress:
    constraints = Constraints(required, borders)
    state = constraints.start
    for token in tokens:
        state = constraints.step(state, token)
    return state


@pytest.mark.parametrize(
    ("tokens", "level", "needed", "is_met"),
    [
        ([], 0, 5, False),
        ([9], 0, 5, False),
        ([4], 1, 4, False),
        ([4, 5], 1, 3, False),
        ([4, 5, 6], 1, 2, False),
        ([4, 5, 4], 1, 4, False),
        ([4, 5, 4, 5, 6], 1, 2, False),
        ([4, 5, 6, 7], 2, 1, False),
        ([7, 8, 4, 5], 2, 1, False),
        ([7, 8, 4, 5, 6], 2, 0, True),
        ([4, 5, 6, 7, 9, 7, 8, 9], 2, 0, True),
    ],
)
def test_states_count_what_is_met_and_what_is_left(tokens: list[int], level: int, needed: int, is_met: bool) -> None:
    state = after([((4, 5, 6),), ((7, 8),)], tokens)
    assert (state.level, state.needed, state.is_met) == (level, needed, is_met)


def test_any_phrase_of_a_group_will_do_and_the_shortest_counts_as_needed() -> None:
    group: Phrases = ((4, 5, 6), (4, 7))
    assert after([group], []).needed == 2
    assert after([group], [4]).needed == 1
    assert after([group], [4, 5]).needed == 1
    assert after([group], [4, 7]).is_met
    assert after([group], [4, 5, 6]).is_met


def test_a_phrase_that_is_wanted_twice_must_occur_twice() -> None:
    required: list[Phrases] = [((4,),), ((4,),)]
    assert not after(required, [4]).is_met
    assert after(required, [4, 9, 4]).is_met


def test_a_phrase_of_two_groups_counts_for_the_one_with_fewer_others() -> None:
    required: list[Phrases] = [((4,), (5,)), ((4,),)]
    assert not after(required, [4]).is_met
    assert after(required, [4, 5]).is_met
    assert not after(required, [5, 5]).is_met


def test_a_phrase_is_no_part_of_a_longer_word() -> None:
    """In BPE 20 and 21 are beginnings of words; in SentencePiece 30 and 31 go on with the word before."""
    assert not after([((4, 5),)], [20, 4, 5], BPE).is_met
    assert after([((4, 5),)], [20, 9, 4, 5], BPE).is_met
    assert after([((20, 5),)], [20, 5], BPE).is_met
    assert after([((4,),)], [4], PIECES).is_met
    assert not after([((4,),)], [4, 30], PIECES).is_met
    assert after([((4,),)], [4, 9, 30], PIECES).is_met
    assert after([((4, 30),)], [4, 30], PIECES).is_met
    assert not after([((4, 30),)], [4, 30, 31], PIECES).is_met


def test_an_unfinished_word_needs_a_token_more() -> None:
    assert after([((4, 5),)], [20], BPE).needed == 3
    assert after([((20, 5),)], [20], BPE).needed == 1
    assert after([((4,),)], [4, 20], BPE).needed == 0


def test_a_phrase_for_the_beginning_counts_only_there() -> None:
    group: Phrases = ((5, 6), (BOS, 7))
    assert after([group], [7]).is_met
    assert not after([group], [9, 7]).is_met
    assert after([group], [9, 5, 6]).is_met
    assert set(Constraints([group], PLAIN).wanted(Constraints([group], PLAIN).start, urgent=False)) == {5, 7}


def test_wanted_tokens_lead_on_and_close_a_word_only_if_it_is_urgent() -> None:
    constraints = Constraints([((4, 5),), ((20, 6),)], BPE)
    assert constraints.wanted(constraints.start, urgent=False) == [4, 20]
    begun = constraints.step(constraints.start, 20)
    assert constraints.wanted(begun, urgent=False) == [6]
    assert constraints.wanted(begun, urgent=True) == [6, 10]
    met = constraints.step(begun, 6)
    assert constraints.wanted(met, urgent=False) == [4]
    assert constraints.wanted(constraints.step(constraints.step(met, 4), 5), urgent=True) == []


def test_equal_states_are_the_same_whatever_was_written() -> None:
    constraints = Constraints([((4, 5),)], PLAIN)
    state = constraints.start
    for token in (9, 8, 4, 7, 9):
        state = constraints.step(state, token)
    assert state is constraints.start


@pytest.fixture(scope="module")
def codec(tmp_path_factory: pytest.TempPathFactory) -> Codec:
    store: Store = tiny.prepared(tmp_path_factory.mktemp("corpus"))
    return store.codec


def test_word_borders_are_those_of_the_subwords(codec: Codec) -> None:
    borders = word_borders(codec)
    pieces = codec.vocabulary.pieces
    assert {pieces[token] for token in borders.unfinished} == {one for one in pieces if one.endswith("@@")}
    assert not any(pieces[token].endswith("@@") for token in borders.closing)
    assert borders.closing
    assert not borders.continuing
    subwords = learn_sentencepieces(["das Haus, die Haustür."] * 30, size=300)
    vocabulary = Vocabulary((*SPECIALS, *subwords.pieces))
    sides = {side: Language(code, tokenize=False) for side, code in (("source", "en"), ("target", "de"))}
    borders = word_borders(Codec(**sides, subwords=subwords, vocabulary=vocabulary))
    continuing = {vocabulary.pieces[token] for token in borders.continuing}
    assert "<0x41>" in continuing
    assert not {one for one in continuing if one[0] in "▁.,"}
    assert not borders.unfinished
