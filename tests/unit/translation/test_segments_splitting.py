"""Long sentences are split at the strongest punctuation near the middle, and nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docaps.translation.segments import find_split, split_sentence


@given(st.text(max_size=200), st.integers(1, 30))
def test_parts_fit_and_add_up_to_the_whole(text: str, limit: int) -> None:
    parts = split_sentence(text, lambda part: len(part) <= limit)
    assert "".join(parts) == text
    assert all(len(part) <= limit for part in parts)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("one two. three, four; five six", "one two. "),
        ("one two, three; four five, six", "one two, three; "),
        ("one two three, four five six", "one two three, "),
        ('he said: "one two." and then three', 'he said: "one two." '),
        ("one two three four five", "one two "),
        ("一二三，四五。六七八，九十", "一二三，四五。"),
        ("onetwothreefour", "onetwot"),
        ("costs 3,141.59 and 2,718.28 euros", "costs 3,141.59 "),
    ],
)
def test_a_split_is_at_the_strongest_punctuation_near_the_middle(text: str, first: str) -> None:
    assert text[: find_split(text)] == first


def test_an_accent_stays_with_its_letter() -> None:
    assert find_split("abce\u0301\u0302fgh") == 6


def test_a_text_that_fits_is_left_alone() -> None:
    assert split_sentence("one. two.", lambda _: True) == ["one. two."]
    assert split_sentence("x", lambda _: False) == ["x"]


def test_thousands_of_accents_are_split_into_few_equal_parts() -> None:
    text, tried = "Anna Z" + "\u0301" * 4000, []

    def fits(part: str) -> bool:
        tried.append(len(part))
        return len(part) <= 200

    parts = split_sentence(text, fits)
    assert "".join(parts) == text
    assert min(map(len, parts)) >= 50
    assert sum(tried) < 10 * len(text)  # n log n: each level of halving reads the text once
