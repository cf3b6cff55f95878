"""The verdict on a phenomenon: every reason is reached, the words state the numbers, and what all tokens hide."""

import math
from typing import Any

import numpy as np
import pytest
from tests import diagnosis_oracles as oracles
from tests.unit.diagnosis.measured import evidence, likelihoods

from docaps.diagnosis.conditions import NONE, SHUFFLED, TRUE
from docaps.diagnosis.phenomenon_evidence import MarkedTokens, PairedAnswers, collect_phenomena
from docaps.diagnosis.phenomenon_verdict import judge_phenomena, weigh

FLAT = {TRUE: 1.1, SHUFFLED: 1.1, NONE: 1.1}
TESTS = {"draws": 400, "seed": 1}
CASES = {
    "content": ({TRUE: 1.0, SHUFFLED: 0.0, NONE: 0.0}, "used"),
    "noise": ({TRUE: 1.0, SHUFFLED: 1.0, NONE: 0.0}, "not_used"),
    "harmful": ({TRUE: -1.0, SHUFFLED: -1.0, NONE: 0.0}, "not_used"),
    "no_gain": ({TRUE: 0.0, SHUFFLED: -1.0, NONE: 0.0}, "not_used"),
    "ignored": ({TRUE: 0.0, SHUFFLED: 0.0, NONE: 0.0}, "not_used"),
}


def marked(bits: dict[str, float], documents: int = 40, noise: float = 0.05, others: float = 0.0) -> MarkedTokens:
    """Documents of two marked tokens that cost two bits less what a history gains; another gains a share of it."""
    rng, found = np.random.default_rng(4), MarkedTokens()
    for number in range(documents):
        scores = {
            name: [[(gain - 2 + noise * rng.normal()) * math.log(2)] * 2 + [(others * gain - 2) * math.log(2)]]
            for name, gain in bits.items()
        }
        found.add([((number, 0), {"pronoun": (0, 1)})], scores)
    return found


def answered(shares: dict[str, float], items: int = 200) -> PairedAnswers:
    """So many items, two a document; of the first ones, the given share is right."""
    right = {name: np.array([[float(n < share * items) for n in range(items)]]) for name, share in shares.items()}
    rng = np.random.default_rng(1).permutation(items)
    documents = [str(number // 2) for number in rng.tolist()]
    return PairedAnswers(right, documents, ["pronoun"] * items)


def judge(tokens: MarkedTokens, answers: PairedAnswers | None = None, size: int = 100_000, **overall: Any) -> Any:
    (found,) = judge_phenomena(
        collect_phenomena(tokens, answers, level=0.05, **TESTS), evidence([likelihoods(FLAT)], **overall), size
    )
    return found


@pytest.mark.parametrize("reason", CASES)
def test_every_reason_is_found(reason: str) -> None:
    bits, code = CASES[reason]
    found = judge(marked(bits))
    assert (found["reason"], found["verdict_code"]) == (reason, code)
    assert found["verdict"] == f"context {code.replace('_', ' ')}"


def test_few_documents_are_unclear() -> None:
    found = judge(marked(CASES["content"][0], documents=7))
    assert (found["reason"], found["verdict_code"]) == ("too_few_documents", "unclear")
    assert judge(marked(CASES["ignored"][0], documents=7, noise=0.0))["verdict_code"] == "not_used"


def test_a_small_gain_of_tokens_does_not_count_however_certain() -> None:
    assert judge(marked({TRUE: 0.014, SHUFFLED: 0.0, NONE: 0.0}, noise=0.0))["reason"] == "ignored"
    assert judge(marked({TRUE: 0.016, SHUFFLED: 0.0, NONE: 0.0}, noise=0.0))["reason"] == "content"


def test_a_gain_that_other_tokens_share_is_none_of_the_phenomenon() -> None:
    bits = CASES["content"][0]
    assert judge(marked(bits, others=0.5))["reason"] == "content"
    found = judge(marked(bits, others=1.0))
    assert (found["reason"], found["verdict_code"]) == ("unspecific", "not_used")
    assert "no more than the others of their sentences" in found["explanation"][0]
    choices = answered({TRUE: 0.7, SHUFFLED: 0.5, NONE: 0.5})
    assert judge(marked(bits, others=1.0), choices)["reason"] == "content"


def test_an_untrained_model_uses_context_for_nothing() -> None:
    found = judge(marked(CASES["content"][0]), frequencies=2.0)
    assert (found["reason"], found["verdict_code"]) == ("untrained", "not_used")


def test_items_alone_decide_too() -> None:
    used = judge(MarkedTokens(), answered({TRUE: 0.7, SHUFFLED: 0.5, NONE: 0.5}))
    assert (used["verdict_code"], used["tokens"]) == ("used", None)
    assert used["choices"]["items"] == 200
    rows = {row["baseline"]: row for row in used["choices"]["comparisons"] if row["condition"] == TRUE}
    assert (rows[NONE]["gained"], rows[NONE]["lost"]) == (40, 0)
    assert rows[NONE]["p_mcnemar"] == pytest.approx(2 / 2**40)
    assert judge(MarkedTokens(), answered({TRUE: 0.7, SHUFFLED: 0.7, NONE: 0.5}))["reason"] == "noise"
    assert judge(MarkedTokens(), answered({TRUE: 0.5, SHUFFLED: 0.5, NONE: 0.5}))["reason"] == "ignored"


def test_the_words_state_the_numbers() -> None:
    found = judge(marked(CASES["content"][0], noise=0.0), answered({TRUE: 0.7, SHUFFLED: 0.5, NONE: 0.6}))
    said = ". ".join(found["explanation"])
    assert "80 tokens in 40 documents: +1.000 bits per token against none (p = 0.0025)" in said
    assert "200 items: right with the history true 70.0 %, another's 50.0 %, none 60.0 %" in said
    assert "20 gained and 0 lost against none" in said
    points = 100 * found["choices"]["smallest_gain"]
    assert 3 < points < 20
    assert f"with 200 items a gain of {points:.1f} points would be found with probability 0.8" in said
    few = judge(MarkedTokens(), answered({TRUE: 1.0, SHUFFLED: 0.5, NONE: 0.5}, items=4))
    assert "4 items are too few to find any gain with probability 0.8" in few["explanation"]


def test_what_the_verdict_over_all_tokens_cannot_see_is_said() -> None:
    """80 tokens that cost two bits each: 0.1 % of perplexity is 0.05 bits of each in 3,000 tokens, 1.80 in 100,000."""
    bits = CASES["content"][0]
    seen = judge(marked(bits), size=2_000)
    assert seen["tokens"]["over_all"]["needed"] < seen["tokens"]["smallest_gain"]
    assert "verdict over all" not in ". ".join(seen["explanation"])
    hidden = judge(marked(bits), size=100_000)
    assert "sees nothing below a gain of 1.80 bits per token, which is 0.1 % of perp" in hidden["explanation"][-1]
    assert "these are 0.08 % of all tokens" in hidden["explanation"][-1]
    assert "not even certainty is worth 0.1 % of perplexity" in judge(marked(bits), size=200_000)["explanation"][-1]


def test_a_gain_is_weighed_against_all_tokens_as_plain_loops_do() -> None:
    found = weigh(50, 10_000, 0.4, 3.0, 0.001)
    assert found["share"] == 0.005
    assert found["lowers_perplexity"] == pytest.approx(oracles.weighted_fall([0.4] * 50, 10_000))
    assert oracles.weighted_fall([found["needed"]] * 50, 10_000) == pytest.approx(0.001)
    assert (found["visible"], found["possible"]) == (True, True)
    assert (weigh(50, 10_000, 0.2, 3.0, 0.001)["visible"], weigh(5, 10_000, 2.0, 2.0, 0.001)["possible"]) == (
        False,
        False,
    )
