"""Filters drop the pairs they name, count each pair once, and leave the rest."""

from typing import Any

import pytest

from docaps.config.settings import CleaningSettings
from docaps.corpus.arrays import join_sentences
from docaps.corpus.building import clean

SOURCE = join_sentences([[1, 2], [], [1, 2, 3, 4], [5], [1, 2], [7, 8]])
TARGET = join_sentences([[3], [4], [1], [5], [3], [7, 9]])
EMPTY = "empty on one side or both"


@pytest.mark.parametrize(
    ("settings", "usable", "filtered"),
    [
        ({}, [1, 0, 1, 1, 1, 1], {EMPTY: 1}),
        ({"longest": 3}, [1, 0, 0, 1, 1, 1], {EMPTY: 1, "longer than 3 words": 1}),
        ({"longest": 4}, [1, 0, 1, 1, 1, 1], {EMPTY: 1, "longer than 4 words": 0}),
        ({"ratio": 2}, [1, 0, 0, 1, 1, 1], {EMPTY: 1, "more than 2 times as long as the other side": 1}),
        ({"ratio": 1.5}, [0, 0, 0, 1, 0, 1], {EMPTY: 1, "more than 1.5 times as long as the other side": 3}),
        ({"copies": True}, [1, 0, 1, 0, 1, 1], {EMPTY: 1, "the same on both sides": 1}),
        ({"duplicates": True}, [1, 0, 1, 1, 0, 1], {EMPTY: 1, "seen before": 1}),
        (
            {"longest": 3, "ratio": 2},
            [1, 0, 0, 1, 1, 1],
            {EMPTY: 1, "longer than 3 words": 1, "more than 2 times as long as the other side": 0},
        ),
    ],
)
def test_filters_drop_and_count(settings: dict[str, Any], usable: list[int], filtered: dict[str, int]) -> None:
    found, counts = clean(SOURCE, TARGET, CleaningSettings(**settings))
    assert found.astype(int).tolist() == usable
    assert counts == filtered


def test_a_corpus_without_pairs_is_clean() -> None:
    nothing = join_sentences([])
    usable, counts = clean(nothing, nothing, CleaningSettings(longest=3, ratio=2.0, copies=True, duplicates=True))
    assert len(usable) == 0
    assert set(counts.values()) == {0}
