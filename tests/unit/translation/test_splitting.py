"""Long sentences are cut where it hurts least, and nothing of them is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docaps.translation.splitting import find_cut
from docaps.translation.segments import split_sentence


@given(st.text(max_size=200), st.integers(1, 30))
def test_pieces_fit_and_make_up_the_whole(text: str, limit: int) -> None:
    pieces = split_sentence(text, lambda piece: len(piece) <= limit)
    assert "".join(pieces) == text
    assert all(len(piece) <= limit for piece in pieces)


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
def test_the_strongest_mark_near_the_middle_is_taken(text: str, first: str) -> None:
    assert text[: find_cut(text)] == first


def test_an_accent_stays_with_its_letter() -> None:
    assert find_cut("abce\u0301\u0302fgh") == 6


def test_a_text_that_fits_is_left_alone() -> None:
    assert split_sentence("one. two.", lambda _: True) == ["one. two."]
    assert split_sentence("x", lambda _: False) == ["x"]
