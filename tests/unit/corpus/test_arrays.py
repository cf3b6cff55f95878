"""Concatenated sentences are split, joined and decoded as they would be one by one."""

from hypothesis import given
from hypothesis import strategies as st

from docaps.corpus.arrays import TokenArray, concatenate, expand, join_sentences, starts_of

ROWS = 7
SENTENCES = st.lists(st.lists(st.integers(0, ROWS - 1), max_size=6), max_size=8)
TABLE = st.lists(st.lists(st.integers(10, 99), max_size=4), min_size=ROWS, max_size=ROWS)


def as_lists(array: TokenArray) -> list[list[int]]:
    return [array[number].tolist() for number in range(len(array))]


@given(SENTENCES)
def test_joined_sentences_are_the_same_sentences(sentences: list[list[int]]) -> None:
    found = join_sentences(sentences)
    assert as_lists(found) == sentences
    assert found.lengths.tolist() == [len(sentence) for sentence in sentences]


@given(st.lists(SENTENCES, max_size=4))
def test_parts_are_put_behind_each_other(parts: list[list[list[int]]]) -> None:
    assert as_lists(concatenate([join_sentences(part) for part in parts])) == [line for part in parts for line in part]


@given(SENTENCES, TABLE)
def test_each_number_is_replaced_by_its_row_and_each_sentence_gets_an_end(
    sentences: list[list[int]], table: list[list[int]]
) -> None:
    found = expand(join_sentences(sentences), join_sentences(table), end=2)
    assert as_lists(found) == [[*(piece for number in line for piece in table[number]), 2] for line in sentences]


@given(SENTENCES, st.integers(0, 8))
def test_the_first_sentences_are_a_view(sentences: list[list[int]], count: int) -> None:
    count = min(count, len(sentences))
    whole = join_sentences(sentences)
    assert as_lists(whole.first(count)) == sentences[:count]


def test_lengths_become_places() -> None:
    assert starts_of([]).tolist() == [0]
    assert starts_of([2, 0, 3]).tolist() == [0, 2, 2, 5]
