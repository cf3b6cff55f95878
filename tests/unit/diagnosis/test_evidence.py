"""Counts become perplexities, gains and CXMI worked by hand; comparisons are made where both sides were measured."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from tests.unit.diagnosis.measured import TESTS, likelihoods

from docaps.diagnosis.conditions import AGAINST, NONE, SHUFFLED, TRUE, condition_names, history_steps
from docaps.diagnosis.evidence import (
    ACCURACY,
    PERPLEXITY,
    ConditionComparison,
    Measure,
    compare_all,
    compare_likelihoods,
    count_right,
    cxmi,
    gains_by_distance,
    perplexity_of,
    share_of,
    unigram_perplexity,
)


def test_scores_and_gains_by_hand() -> None:
    counts = {TRUE: np.array([[2.0, 4], [4.0, 2]]), NONE: np.array([[6.0, 4], [6.0, 2]])}
    measure = Measure(PERPLEXITY, counts, perplexity_of)
    assert measure.score(TRUE) == pytest.approx(math.e)
    assert measure.score(NONE) == pytest.approx(math.e**2)
    assert measure.gain(TRUE, NONE) == pytest.approx(1 - 1 / math.e)
    assert measure.gain(NONE, TRUE) < 0
    right = Measure(ACCURACY, {TRUE: np.array([[3.0, 4]]), NONE: np.array([[1.0, 4]])}, share_of)
    assert right.gain(TRUE, NONE) == pytest.approx(0.5)


def test_cxmi_is_what_the_history_saves_in_bits() -> None:
    counts = {TRUE: np.array([[2.0, 4], [4.0, 2]]), NONE: np.array([[6.0, 4], [6.0, 2]])}
    found = cxmi(Measure(PERPLEXITY, counts, perplexity_of), [1.0, -1.0, 3.0, 2.0], **TESTS)
    assert found["unit"] == "bits"
    assert found["per_token"] == pytest.approx((12 - 6) / 6 / math.log(2))
    assert found["low"] <= found["per_token"] <= found["high"]
    assert (found["per_sentence"], found["share_above_0"], found["sentences_with_history"]) == (1.25, 0.75, 4)
    assert found["quantiles"]["50 %"] == 1.5
    assert cxmi(Measure(PERPLEXITY, counts, perplexity_of), [], **TESTS)["per_sentence"] is None


def test_conditions_and_steps_lead_from_none_to_the_whole_history() -> None:
    assert condition_names(3) == [TRUE, SHUFFLED, NONE, "nearest 1", "nearest 2"]
    assert condition_names(1) == [TRUE, SHUFFLED, NONE]
    assert history_steps(3) == [("nearest 1", NONE), ("nearest 2", "nearest 1"), (TRUE, "nearest 2")]
    assert history_steps(1) == [(TRUE, NONE)]


def test_the_gains_of_the_distances_belong_to_their_distances() -> None:
    measure = likelihoods({TRUE: 1.0, "nearest 2": 1.1, "nearest 1": 1.3, NONE: 1.31, SHUFFLED: 1.3}, noise=1e-4)
    rows = gains_by_distance(compare_all([measure], 3, **TESTS), PERPLEXITY, 3)
    assert [row["distance"] for row in rows] == [1, 2, 3]
    assert [row["gain"] for row in rows] == pytest.approx([1 - math.exp(-n) for n in (0.01, 0.2, 0.1)], abs=1e-3)


def test_comparisons_are_made_where_both_sides_were_measured() -> None:
    measure = likelihoods({TRUE: 1.0, NONE: 1.1, SHUFFLED: 1.1, AGAINST: 1.2})
    found = {(one.condition, one.baseline): one for one in compare_all([measure], 1, **TESTS)}
    assert set(found) == {(TRUE, NONE), (TRUE, SHUFFLED), (SHUFFLED, NONE), (TRUE, AGAINST), (NONE, AGAINST)}
    assert found[TRUE, NONE].difference < 0 < found[TRUE, NONE].gain
    assert found[TRUE, NONE].p == max(found[TRUE, NONE].p_bootstrap, found[TRUE, NONE].p_randomisation) < 0.01
    assert found[SHUFFLED, NONE].p > 0.05
    alone = Measure(PERPLEXITY, {name: table[:1] for name, table in measure.counts.items()}, perplexity_of)
    assert compare_all([alone], 1, **TESTS) == []


def test_both_tests_must_agree() -> None:
    numbers = {"gain": 0.1, "difference": -1.0, "low": -2.0, "high": 0.0}
    for one, other in ((0.01, 0.2), (0.2, 0.01)):
        assert ConditionComparison(PERPLEXITY, TRUE, NONE, **numbers, p_bootstrap=one, p_randomisation=other).p == 0.2


def test_right_answers_are_counted_by_document() -> None:
    found = count_right([True, False, True, True], ["b", "a", "b", None])
    assert found.tolist() == [[0, 1], [2, 2], [1, 1]]


def test_unigram_perplexity_is_that_of_the_entropy() -> None:
    assert unigram_perplexity(Counter({1: 5, 2: 5})) == pytest.approx(2)
    assert unigram_perplexity(Counter({1: 2, 2: 1, 3: 1})) == pytest.approx(2**1.5)


def test_seeds_are_pooled_and_compared_over_those_that_both_have() -> None:
    def table(*rows: tuple[float, float]) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
        return {"true": np.array(rows)}

    own = {1: table((2.0, 4.0), (6.0, 4.0)), 2: table((8.0, 8.0), (16.0, 8.0))}
    baseline = {2: table((9.0, 8.0), (17.0, 8.0)), 3: table((0.0, 1.0), (0.0, 1.0))}
    found = compare_likelihoods(own, baseline, draws=100, seed=1)["true"]
    assert found["perplexity"] == pytest.approx(np.exp(32 / 24))
    assert found["against"]["difference"] == pytest.approx(np.exp(24 / 16) - np.exp(26 / 16))
    assert compare_likelihoods(own, {3: baseline[3]}, draws=100, seed=1)["true"]["against"] is None


def test_a_single_document_is_not_tested() -> None:
    found = compare_likelihoods(
        {1: {"true": np.array([[2.0, 4.0]]), "none": np.array([[3.0, 4.0]])}}, {}, draws=9, seed=1
    )
    assert found == {
        "true": {"perplexity": pytest.approx(np.exp(0.5)), "against": None},
        "none": {"perplexity": pytest.approx(np.exp(0.75)), "against": None},
    }
