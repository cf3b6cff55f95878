"""Every reason for a verdict is reached, and no other; the words state the numbers."""

import pytest
from tests.unit.diagnosis.measured import choices, evidence, likelihoods

from docaps.diagnosis.conditions import AGAINST, NONE, SHUFFLED, TRUE
from docaps.diagnosis.evidence import BLEU, Measure, Thresholds, find_reason, share_of
from docaps.diagnosis.verdict import NOT_USED, UNCLEAR, judge

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
    assert (verdict.reason, verdict.verdict_code) == (reason, code)
    assert (verdict.verdict == NOT_USED) is (code == "not_used")


def test_a_model_without_a_history_uses_none() -> None:
    verdict = judge(evidence([likelihoods(CASES["ignored"][0])], history=0))
    assert (verdict.verdict, verdict.verdict_code, verdict.reason) == (NOT_USED, "not_used", "no_history")
    (reason,) = verdict.explanation
    assert reason.startswith("this model sees one sentence at a time")


def test_a_model_above_the_unigram_perplexity_uses_no_context() -> None:
    measure = likelihoods(CASES["content"][0])
    verdict = judge(evidence([measure], frequencies=2.0))
    assert (verdict.verdict, verdict.reason) == (NOT_USED, "untrained")
    assert "2.7, is not below 2.0" in verdict.explanation[0]


def test_with_few_documents_a_gain_is_unclear_and_no_gain_is_none() -> None:
    few = Thresholds().documents - 1
    assert judge(evidence([likelihoods(CASES["content"][0], few, noise=1e-4)])).verdict == UNCLEAR
    assert find_reason(evidence([likelihoods(CASES["content"][0], few + 1, noise=1e-4)])) == "content"
    assert find_reason(evidence([likelihoods(CASES["noise"][0], few, noise=0.0)])) == "ignored"


def test_a_gain_below_the_threshold_does_not_count_however_significant() -> None:
    assert find_reason(evidence([likelihoods({TRUE: 1.0, SHUFFLED: 1.0005, NONE: 1.0005}, noise=0.0)])) == "ignored"
    assert find_reason(evidence([likelihoods({TRUE: 1.0, SHUFFLED: 1.0015, NONE: 1.0015}, noise=0.0)])) == "content"
    assert find_reason(evidence([likelihoods({TRUE: 1.0, SHUFFLED: 1.0005, NONE: 1.01}, noise=0.0)])) == "noise"


def test_choices_alone_can_show_that_context_is_used() -> None:
    flat = likelihoods({TRUE: 1.1, SHUFFLED: 1.1, NONE: 1.1})
    verdict = judge(evidence([flat, choices({TRUE: 0.9, SHUFFLED: 0.5, NONE: 0.5})], history=1))
    assert verdict.verdict_code == "used"
    assert "right choices rise from" in verdict.verdict
    assert judge(evidence([flat, choices({TRUE: 0.5, SHUFFLED: 0.5, NONE: 0.5})], history=1)).verdict_code == "not_used"
    assert judge(evidence([flat, choices({TRUE: 0.9, SHUFFLED: 0.9, NONE: 0.5})], history=1)).reason == "noise"


def test_bleu_does_not_decide_and_the_level_is_shared_by_those_that_do() -> None:
    flat = likelihoods({TRUE: 1.1, SHUFFLED: 1.1, NONE: 1.1})
    better = choices({TRUE: 0.9, SHUFFLED: 0.5, NONE: 0.5})
    shown = Measure(BLEU, better.counts, share_of)
    assert find_reason(evidence([flat, shown], history=1)) == "ignored"
    assert evidence([flat, shown]).level == 0.05
    assert evidence([flat, better]).level == 0.025


def test_the_words_state_the_numbers() -> None:
    nats = {TRUE: 1.0, SHUFFLED: 1.2, NONE: 1.1, "nearest 1": 1.1, AGAINST: 1.25}
    verdict = judge(evidence([likelihoods(nats, noise=1e-3)]))
    assert verdict.verdict == (
        "context lowers perplexity by 9.5 %, p = 0.0033; shuffled history hurts; gain comes from distance 2"
    )
    assert verdict.explanation == ["perplexity is 22.2 % below the sentence model's, p = 0.0033"]
    less = judge(evidence([likelihoods({**nats, SHUFFLED: 1.05, "nearest 1": 1.05}, noise=1e-3)]))
    assert "shuffled history helps less; gain comes from distances 1 and 2" in less.verdict
    same = judge(evidence([likelihoods({**nats, SHUFFLED: 1.1}, noise=1e-2)]))
    assert "shuffled history brings nothing" in same.verdict
    worse = judge(evidence([likelihoods({**nats, TRUE: 1.4, AGAINST: 1.3}, noise=1e-3)]))
    assert "above the sentence model's" in worse.explanation[-1]
    assert worse.explanation[1].startswith("perplexity: none 3.00")
