"""METEOR's matches and alignment, worked by hand."""

import pytest

from docaps.evaluation.meteor.alignment import EXACT, STEM, Match, align, count_chunks, hash_code


def test_a_stem_is_taken_where_it_costs_no_chunk_and_an_exact_match_always() -> None:
    free = [[Match(0, 0, EXACT)], [Match(1, 1, STEM), Match(1, 3, STEM)]]
    assert align(free) == (Match(0, 0, EXACT), Match(1, 1, STEM))
    costly = [[Match(0, 1, STEM), Match(0, 3, STEM)]]
    assert align(costly) == ()
    assert align([[Match(0, 1, EXACT), Match(0, 3, EXACT)]]) == (Match(0, 1, EXACT),)


def test_passing_over_a_match_costs_its_distance() -> None:
    # Two words of the reference want one of the translation: the first is passed over only where that costs nothing.
    assert align([[Match(0, 0, EXACT)], [Match(1, 0, EXACT)]]) == (Match(1, 0, EXACT),)
    assert align([[Match(0, 1, EXACT)], [Match(1, 1, EXACT)]]) == (Match(0, 1, EXACT),)


@pytest.mark.parametrize(
    ("word", "code"),
    [("", 0), ("a", 97), ("as", 3122), ("c5", 3122), ("\U0001f600", 1772899), ("verantwortungsvoll", 329286460)],
)
def test_words_are_known_by_javas_hash_code(word: str, code: int) -> None:
    assert hash_code(word) == code


def test_chunks_are_runs_in_both_sentences() -> None:
    assert count_chunks([]) == 0
    assert count_chunks([Match(0, 0, EXACT), Match(1, 1, EXACT), Match(2, 4, EXACT), Match(4, 5, EXACT)]) == 3
    assert count_chunks([Match(0, 0, EXACT, 2, 1), Match(2, 1, EXACT)]) == 1
