"""Contrastive accuracy, chance and counts on a set worked by hand; random answers are at chance on every set."""

import json
from dataclasses import asdict
from math import sqrt
from pathlib import Path
from random import Random

import pytest
from tests.unit.corpus.contrastive.page import EXAMPLES, Example

from docaps.corpus.contrastive import ContrastiveItem, GenerativeItem
from docaps.evaluation.contrastive import (
    accuracy,
    chance,
    counts,
    holds,
    is_right,
    judge_scores,
    judge_translations,
    measure_accuracy,
)


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
    assert json.loads(json.dumps(asdict(found)))["by_phenomenon_and_distance"]["bank"] == {"1": 1, "10": 1}


@pytest.mark.parametrize(
    ("scores", "right"), [([2.0, 1.0], True), ([1.0, 2.0], False), ([1.0, 1.0], False), ([2.0, 1.0, 3.0], False)]
)
def test_the_right_one_must_beat_all_others(scores: list[float], right: bool) -> None:
    assert is_right(scores) is right


@pytest.mark.parametrize("scores", [[float("nan"), 1.0], [1.0, float("nan")]])
def test_nan_scores_are_not_right(scores: list[float]) -> None:
    assert not is_right(scores)


def test_the_same_item_twice_is_judged_twice() -> None:
    one = item("pronoun", 1, 1)
    assert accuracy([one, one], [[1.0, 0.0], [0.0, 1.0]]).all == pytest.approx(0.5)


def test_scores_of_other_items_are_refused() -> None:
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        accuracy(ITEMS, SCORES[:4])


def test_groups_leave_out_what_is_not_known_and_count_nine_before_ten() -> None:
    items = [
        ContrastiveItem(id="1", source="s", right="r", wrong=("w",), distance=distance, pronoun=pronoun, form=form)
        for distance, pronoun, form in [(10, "er", ""), (9, "sie", "subject"), (None, None, "subject")]
    ]
    found = counts(items)
    assert list(found.by_distance.items()) == [("9", 1), ("10", 1)]
    assert (found.by_pronoun, found.by_form, found.all) == ({"er": 1, "sie": 1}, {"subject": 2}, 3)
    assert found.by_phenomenon == {"unlabelled": 3}
    assert counts(items[2:]).by_phenomenon_and_distance == {}


def test_a_measure_worked_by_hand() -> None:
    found = measure_accuracy(ITEMS, judge_scores(ITEMS, SCORES))
    assert (found.all.accuracy, found.all.items, found.all.ties) == (0.6, 5, 1)
    assert found.all.chance == pytest.approx((1 / 3 + 1 / 3 + 1 / 2 + 1 / 2 + 1 / 4) / 5)
    assert (found.all.low, found.all.high) == pytest.approx((0.2307, 0.8824), abs=1e-4)
    assert found.by_phenomenon["pronoun"].ties == 1
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        measure_accuracy(ITEMS, [])


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        ("Er kam.", ["er"], True),
        ("Aber sie kam.", ["er"], False),
        ("Kommen SIE?", ["sie"], True),
        ("„Weiß ich.“", ["weiß"], True),
        ("Da siehst du's.", ["du"], True),
        ("Das war die\u00a0 Nôtre.", ["la nôtre", "die nôtre"], True),
        ("", ["er"], False),
        ("a.b", ["a?b"], False),
    ],
)
def test_an_expected_word_is_a_whole_word_in_any_case(text: str, words: list[str], found: bool) -> None:
    assert holds(text, words) is found


def task(word: str, phenomenon: str = "gender") -> GenerativeItem:
    return GenerativeItem(id=word, source="s", expected=(word,), phenomenon=phenomenon)


def test_chance_of_a_translation_is_how_often_those_of_others_would_do() -> None:
    items = [task("er"), task("er"), task("sie"), task("es")]
    decisions = judge_translations(items, ["Er kam.", "Sie kam.", "Sie kam.", "Er und sie."])
    assert [decision.right for decision in decisions] == [True, False, True, False]
    assert [decision.chance for decision in decisions] == pytest.approx([1 / 3, 2 / 3, 2 / 3, 0])
    assert not any(decision.tie for decision in decisions)
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        judge_translations(items, ["Er kam."])


def test_one_item_alone_has_no_others_to_guess_from() -> None:
    assert judge_translations([task("er")], ["Er kam."])[0].chance == 0


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.title for example in EXAMPLES])
def test_random_answers_are_at_chance_on_every_set(example: Example, tmp_path: Path) -> None:
    """Scores are drawn; translations are shuffled among the items. Each group must be at its own chance, too."""
    rng = Random(7)
    items = [item for item in example.read(tmp_path).items for _ in range(3000)]
    choices = [item for item in items if isinstance(item, ContrastiveItem)]
    tasks = [item for item in items if isinstance(item, GenerativeItem)]
    decisions = judge_scores(choices, [[rng.gauss(-20, 5) for _ in (item.right, *item.wrong)] for item in choices])
    words = ["Er kam.", "Sie kam.", "Anna hat es gekauft.", "Nichts."]
    decisions += judge_translations(tasks, [rng.choice(words) for _ in tasks])
    found = measure_accuracy([*choices, *tasks], decisions)
    groups = [found.all, *found.by_phenomenon.values(), *found.by_distance.values(), *found.by_pronoun.values()]
    for group in groups:
        spread = sqrt(group.chance * (1 - group.chance) / group.items)
        assert 0.1 < group.chance < 0.7
        assert abs(group.accuracy - group.chance) < 4 * spread
    assert found.all.ties == 0


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.title for example in EXAMPLES])
def test_the_same_score_for_everything_is_never_right_and_always_a_tie(example: Example, tmp_path: Path) -> None:
    items = [item for item in example.read(tmp_path).items if isinstance(item, ContrastiveItem)]
    decisions = judge_scores(items, [[-3.5] * (1 + len(item.wrong)) for item in items])
    assert [(decision.right, decision.tie) for decision in decisions] == [(False, True)] * len(items)


def test_the_same_translation_of_everything_is_at_chance() -> None:
    items = [task("er"), task("er"), task("sie"), task("sie")] * 100
    found = measure_accuracy(items, judge_translations(items, ["Er kam."] * 400)).all
    assert found.accuracy == 0.5
    assert found.chance == pytest.approx(0.5, abs=0.002)
