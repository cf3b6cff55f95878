"""Counts become perplexities, gains and CXMI worked by hand; every reason for a verdict is reached, and no other."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from docaps.diagnosis.evidence import Evidence, Thresholds, find_reason
from docaps.diagnosis.measures import (
    ACCURACY,
    AGAINST,
    BLEU,
    NONE,
    PERPLEXITY,
    SHUFFLED,
    TRUE,
    Contest,
    Measure,
    by_distance,
    conditions,
    contests,
    count_right,
    cxmi,
    frequency_perplexity,
    perplexity_of,
    share_of,
    steps,
)
from docaps.diagnosis.verdict import NOT_USED, UNCLEAR, judge

TESTS = {"draws": 300, "seed": 1}


def likelihoods(per_token: Mapping[str, float], documents: int = 40, noise: float = 0.02) -> Measure:
    """Documents of 50 tokens, each token costing about so many nats under each condition."""
    rng = np.random.default_rng(5)
    counts = {
        name: np.stack([50 * (nats + noise * rng.standard_normal(documents)), np.full(documents, 50.0)], axis=1)
        for name, nats in per_token.items()
    }
    return Measure(PERPLEXITY, counts, perplexity_of, lower_is_better=True)


def choices(right: Mapping[str, float], documents: int = 40) -> Measure:
    """Documents of 10 items, about so many of them right under each condition."""
    rng = np.random.default_rng(6)
    counts = {
        name: np.stack([rng.binomial(10, share, documents).astype(float), np.full(documents, 10.0)], axis=1)
        for name, share in right.items()
    }
    return Measure(ACCURACY, counts, share_of)


def evidence(measures: Sequence[Measure], history: int = 2, frequencies: float = 100.0) -> Evidence:
    return Evidence(measures, contests(measures, history, **TESTS), history, frequencies)


def test_scores_and_gains_by_hand() -> None:
    counts = {TRUE: np.array([[2.0, 4], [4.0, 2]]), NONE: np.array([[6.0, 4], [6.0, 2]])}
    measure = Measure(PERPLEXITY, counts, perplexity_of, lower_is_better=True)
    assert measure.score(TRUE) == pytest.approx(math.e)
    assert measure.score(NONE) == pytest.approx(math.e**2)
    assert measure.gain(TRUE, NONE) == pytest.approx(1 - 1 / math.e)
    assert measure.gain(NONE, TRUE) < 0
    right = Measure(ACCURACY, {TRUE: np.array([[3.0, 4]]), NONE: np.array([[1.0, 4]])}, share_of)
    assert right.gain(TRUE, NONE) == pytest.approx(0.5)


def test_cxmi_is_what_the_history_saves_in_bits() -> None:
    counts = {TRUE: np.array([[2.0, 4], [4.0, 2]]), NONE: np.array([[6.0, 4], [6.0, 2]])}
    found = cxmi(Measure(PERPLEXITY, counts, perplexity_of, lower_is_better=True), [1.0, -1.0, 3.0, 2.0], **TESTS)
    assert found["unit"] == "bits"
    assert found["per_token"] == pytest.approx((12 - 6) / 6 / math.log(2))
    assert found["low"] <= found["per_token"] <= found["high"]
    assert (found["per_sentence"], found["share_above_0"], found["sentences_with_history"]) == (1.25, 0.75, 4)
    assert found["quantiles"]["50 %"] == 1.5
    assert cxmi(Measure(PERPLEXITY, counts, perplexity_of), [], **TESTS)["per_sentence"] is None


def test_conditions_and_steps_lead_from_none_to_the_whole_history() -> None:
    assert conditions(3) == [TRUE, SHUFFLED, NONE, "nearest 1", "nearest 2"]
    assert conditions(1) == [TRUE, SHUFFLED, NONE]
    assert steps(3) == [("nearest 1", NONE), ("nearest 2", "nearest 1"), (TRUE, "nearest 2")]
    assert steps(1) == [(TRUE, NONE)]


def test_the_gains_of_the_distances_belong_to_their_distances() -> None:
    measure = likelihoods({TRUE: 1.0, "nearest 2": 1.1, "nearest 1": 1.3, NONE: 1.31, SHUFFLED: 1.3}, noise=1e-4)
    rows = by_distance(contests([measure], 3, **TESTS), PERPLEXITY, 3)
    assert [row["distance"] for row in rows] == [1, 2, 3]
    assert [row["gain"] for row in rows] == pytest.approx([1 - math.exp(-n) for n in (0.01, 0.2, 0.1)], abs=1e-3)


def test_comparisons_are_made_where_both_sides_were_measured() -> None:
    measure = likelihoods({TRUE: 1.0, NONE: 1.1, SHUFFLED: 1.1, AGAINST: 1.2})
    found = {(one.condition, one.baseline): one for one in contests([measure], 1, **TESTS)}
    assert set(found) == {(TRUE, NONE), (TRUE, SHUFFLED), (SHUFFLED, NONE), (TRUE, AGAINST), (NONE, AGAINST)}
    assert found[TRUE, NONE].difference < 0 < found[TRUE, NONE].gain
    assert found[TRUE, NONE].p == max(found[TRUE, NONE].p_bootstrap, found[TRUE, NONE].p_randomisation) < 0.01
    assert found[SHUFFLED, NONE].p > 0.05
    alone = Measure(PERPLEXITY, {name: table[:1] for name, table in measure.counts.items()}, perplexity_of)
    assert contests([alone], 1, **TESTS) == []


def test_both_tests_must_agree() -> None:
    numbers = {"gain": 0.1, "difference": -1.0, "low": -2.0, "high": 0.0}
    for one, other in ((0.01, 0.2), (0.2, 0.01)):
        assert Contest(PERPLEXITY, TRUE, NONE, **numbers, p_bootstrap=one, p_randomisation=other).p == 0.2


def test_right_answers_are_counted_by_document() -> None:
    found = count_right([True, False, True, True], ["b", "a", "b", None])
    assert found.tolist() == [[0, 1], [2, 2], [1, 1]]


def test_word_frequencies_have_the_perplexity_of_their_entropy() -> None:
    assert frequency_perplexity(Counter({1: 5, 2: 5})) == pytest.approx(2)
    assert frequency_perplexity(Counter({1: 2, 2: 1, 3: 1})) == pytest.approx(2**1.5)


CASES = {
    "content": ({TRUE: 1.0, SHUFFLED: 1.2, NONE: 1.1, "nearest 1": 1.05}, "used"),
    "noise": ({TRUE: 1.0, SHUFFLED: 1.0, NONE: 1.1, "nearest 1": 1.05}, "not_used"),
    "harmful": ({TRUE: 1.2, SHUFFLED: 1.2, NONE: 1.1, "nearest 1": 1.15}, "not_used"),
    "no_gain": ({TRUE: 1.1, SHUFFLED: 1.2, NONE: 1.1, "nearest 1": 1.1}, "not_used"),
    "ignored": ({TRUE: 1.1, SHUFFLED: 1.1, NONE: 1.1, "nearest 1": 1.1}, "not_used"),
}


@pytest.mark.parametrize("reason", CASES)
def test_every_reason_is_found(reason: str) -> None:
    nats, code = CASES[reason]
    verdict = judge(evidence([likelihoods(nats)]))
    assert (verdict.reason, verdict.code) == (reason, code)
    assert (verdict.text == NOT_USED) is (code == "not_used")
    assert verdict.as_dict()["verdict_code"] == code


def test_a_model_that_knows_less_than_word_frequencies_uses_nothing() -> None:
    measure = likelihoods(CASES["content"][0])
    verdict = judge(evidence([measure], frequencies=2.0))
    assert (verdict.text, verdict.reason) == (NOT_USED, "untrained")
    assert "2.7, is not below 2.0" in verdict.explanation[0]


def test_with_few_documents_a_gain_is_unclear_and_no_gain_is_none() -> None:
    few = Thresholds().documents - 1
    assert judge(evidence([likelihoods(CASES["content"][0], few, noise=1e-4)])).text == UNCLEAR
    assert find_reason(evidence([likelihoods(CASES["content"][0], few + 1, noise=1e-4)])) == "content"
    assert find_reason(evidence([likelihoods(CASES["noise"][0], few, noise=0.0)])) == "ignored"


def test_a_trifle_does_not_count_however_sure_it_is() -> None:
    assert find_reason(evidence([likelihoods({TRUE: 1.0, SHUFFLED: 1.0005, NONE: 1.0005}, noise=0.0)])) == "ignored"
    assert find_reason(evidence([likelihoods({TRUE: 1.0, SHUFFLED: 1.0015, NONE: 1.0015}, noise=0.0)])) == "content"
    assert find_reason(evidence([likelihoods({TRUE: 1.0, SHUFFLED: 1.0005, NONE: 1.01}, noise=0.0)])) == "noise"


def test_choices_alone_can_show_that_context_is_used() -> None:
    flat = likelihoods({TRUE: 1.1, SHUFFLED: 1.1, NONE: 1.1})
    verdict = judge(evidence([flat, choices({TRUE: 0.9, SHUFFLED: 0.5, NONE: 0.5})], history=1))
    assert verdict.code == "used"
    assert "right choices rise from" in verdict.text
    assert judge(evidence([flat, choices({TRUE: 0.5, SHUFFLED: 0.5, NONE: 0.5})], history=1)).code == "not_used"
    assert judge(evidence([flat, choices({TRUE: 0.9, SHUFFLED: 0.9, NONE: 0.5})], history=1)).reason == "noise"


def test_bleu_does_not_decide_and_the_level_is_shared_by_those_that_do() -> None:
    flat = likelihoods({TRUE: 1.1, SHUFFLED: 1.1, NONE: 1.1})
    better = choices({TRUE: 0.9, SHUFFLED: 0.5, NONE: 0.5})
    shown = Measure(BLEU, better.counts, share_of)
    assert find_reason(evidence([flat, shown], history=1)) == "ignored"
    assert evidence([flat, shown]).level == 0.05
    assert evidence([flat, better]).level == 0.025


def test_the_words_say_what_the_numbers_say() -> None:
    nats = {TRUE: 1.0, SHUFFLED: 1.2, NONE: 1.1, "nearest 1": 1.1, AGAINST: 1.25}
    verdict = judge(evidence([likelihoods(nats, noise=1e-3)]))
    assert verdict.text == (
        "context lowers perplexity by 9.5 %, p = 0.0033; shuffled history hurts; gain comes from distance 2"
    )
    assert verdict.explanation == ("perplexity is 22.2 % below the sentence model's, p = 0.0033",)
    less = judge(evidence([likelihoods({**nats, SHUFFLED: 1.05, "nearest 1": 1.05}, noise=1e-3)]))
    assert "shuffled history helps less; gain comes from distances 1 and 2" in less.text
    same = judge(evidence([likelihoods({**nats, SHUFFLED: 1.1}, noise=1e-2)]))
    assert "shuffled history brings nothing" in same.text
    worse = judge(evidence([likelihoods({**nats, TRUE: 1.4, AGAINST: 1.3}, noise=1e-3)]))
    assert "above the sentence model's" in worse.explanation[-1]
    assert worse.explanation[1].startswith("perplexity: none 3.00")
