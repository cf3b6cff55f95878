"""Contrastive accuracy, chance and counts on a set worked by hand."""

import json

import pytest

from docaps.corpus.contrastive import ContrastiveItem
from docaps.evaluation.contrastive import accuracy, chance, counts, is_right


def item(phenomenon: str, distance: int, wrong: int) -> ContrastiveItem:
    return ContrastiveItem(
        id="x",
        phenomenon=phenomenon,
        form="f",
        distance=distance,
        history=("h",),
        target_history=("H",),
        source="s",
        right="r",
        wrong=("w",) * wrong,
    )


ITEMS = [item("pronoun", 1, 2), item("pronoun", 1, 2), item("pronoun", 2, 1), item("bank", 1, 1), item("bank", 10, 3)]
SCORES = [[-1.0, -2.0, -3.0], [-2.0, -1.0, -3.0], [-1.0, -1.0], [-5.0, -6.0], [0.0, -1.0, -1.0, -1.0]]
#          right               wrong               a tie         right         right


def test_accuracy_worked_by_hand() -> None:
    found = accuracy(ITEMS, SCORES)
    assert found.all == pytest.approx(3 / 5)
    assert found.by_phenomenon == pytest.approx({"bank": 1.0, "pronoun": 1 / 3})
    assert found.by_distance == pytest.approx({"1": 2 / 3, "10": 1.0, "2": 0.0})
    assert found.by_phenomenon_and_distance == {"bank": {"1": 1.0, "10": 1.0}, "pronoun": {"1": 0.5, "2": 0.0}}


def test_chance_counts_the_choices_of_each_item() -> None:
    found = chance(ITEMS)
    assert found.all == pytest.approx((1 / 3 + 1 / 3 + 1 / 2 + 1 / 2 + 1 / 4) / 5)
    assert found.by_phenomenon == pytest.approx({"bank": 3 / 8, "pronoun": 7 / 18})
    assert found.by_distance == pytest.approx({"1": 7 / 18, "10": 1 / 4, "2": 1 / 2})


def test_counts() -> None:
    found = counts(ITEMS)
    assert (found.all, found.by_phenomenon, found.by_distance) == (
        5,
        {"bank": 2, "pronoun": 3},
        {"1": 3, "10": 1, "2": 1},
    )
    assert json.loads(json.dumps(found.as_dict()))["by_phenomenon_and_distance"]["bank"] == {"1": 1, "10": 1}


@pytest.mark.parametrize(
    ("scores", "right"), [([2.0, 1.0], True), ([1.0, 2.0], False), ([1.0, 1.0], False), ([2.0, 1.0, 3.0], False)]
)
def test_the_right_one_must_beat_all_others(scores: list[float], right: bool) -> None:
    assert is_right(scores) is right


@pytest.mark.parametrize("scores", [[float("nan"), 1.0], [1.0, float("nan")]])
def test_what_is_not_a_number_is_not_right(scores: list[float]) -> None:
    assert not is_right(scores)


def test_the_same_item_twice_is_judged_twice() -> None:
    one = item("pronoun", 1, 1)
    assert accuracy([one, one], [[1.0, 0.0], [0.0, 1.0]]).all == pytest.approx(0.5)


def test_scores_of_other_items_are_refused() -> None:
    with pytest.raises(ValueError, match="5 items, but scores of 4"):
        accuracy(ITEMS, SCORES[:4])
