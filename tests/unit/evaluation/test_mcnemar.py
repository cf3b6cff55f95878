"""The exact test of paired answers and its power, against plain loops, scipy and simulation."""

import numpy as np
import pytest
from scipy.stats import binomtest
from tests import diagnosis_oracles as oracles

from docaps.evaluation.mcnemar import (
    POWER,
    binomial,
    binomial_tails,
    least_gained,
    mcnemar,
    power_of_mcnemar,
    smallest_difference,
    smallest_gain,
)

CASES = [
    (items, discordance, gain, least)
    for items in (12, 40)
    for discordance, gain in ((0.5, 0.3), (0.3, 0.3))
    for least in (0.0, 0.2)
]


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (1, 0), (3, 3), (5, 0), (2, 9), (9, 2), (7, 4)])
def test_p_values_are_those_of_all_coin_tosses(gained: int, lost: int) -> None:
    assert mcnemar(gained, lost) == pytest.approx(oracles.mcnemar(gained, lost), rel=1e-12)


@pytest.mark.parametrize(("gained", "lost"), [(20, 4), (100, 130), (3000, 3200), (0, 9000)])
def test_p_values_of_many_items_are_those_of_scipy(gained: int, lost: int) -> None:
    assert mcnemar(gained, lost) == pytest.approx(binomtest(gained, gained + lost).pvalue, rel=1e-8)


def test_probabilities_add_up() -> None:
    for share in (0.0, 0.3, 1.0):
        assert binomial(7, share).sum() == pytest.approx(1.0)
    assert binomial_tails(2, 0.5).tolist() == pytest.approx([1.0, 0.75, 0.25, 0.0])


def test_the_least_gained_items_are_just_significant() -> None:
    for discordant in range(30):
        least = least_gained(discordant, 0.05)
        significant = [
            gained for gained in range(discordant + 1) if oracles.exact_p(gained, discordant - gained) < 0.05
        ]
        wanted = [gained for gained in significant if 2 * gained > discordant]
        assert least == min(wanted, default=discordant + 1)
    assert least_gained(20, 0.05, excess=13.0) == 17  # 17 - 3 = 14 more; 16 - 4 = 12 are not enough


@pytest.mark.parametrize(("items", "discordance", "gain", "least"), CASES)
def test_power_is_the_sum_over_all_outcomes(items: int, discordance: float, gain: float, least: float) -> None:
    expected = oracles.power_of_mcnemar(items, discordance, gain, 0.05, least)
    assert 0.01 < expected < 0.999
    assert power_of_mcnemar(items, discordance, gain, 0.05, least) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("items", "discordance", "gain", "level"), [(370, 0.1, 0.05, 0.05), (200, 0.3, 0.1, 0.0125)])
def test_power_is_that_of_simulated_answers(items: int, discordance: float, gain: float, level: float) -> None:
    rng, draws = np.random.default_rng(7), 4000
    shares = [(discordance + gain) / 2, (discordance - gain) / 2, 1 - discordance]
    outcomes = rng.multinomial(items, shares, size=draws)
    found = sum(gained > lost and mcnemar(gained, lost) < level for gained, lost, _ in outcomes.tolist())
    error = 4 * (0.25 / draws) ** 0.5
    assert power_of_mcnemar(items, discordance, gain, level) == pytest.approx(found / draws, abs=error)


@pytest.mark.parametrize(("items", "discordance"), [(370, 0.1), (370, 0.0), (206, 0.25), (1000, 0.02)])
def test_the_smallest_gain_is_just_found(items: int, discordance: float) -> None:
    gain = smallest_gain(items, discordance, 0.05)
    assert gain is not None
    assert power_of_mcnemar(items, max(discordance, gain), gain, 0.05) >= POWER
    less = gain - 0.002
    assert power_of_mcnemar(items, max(discordance, less), less, 0.05) < POWER


def test_more_items_find_less_and_too_few_find_nothing() -> None:
    gains = [smallest_gain(items, 0.2, 0.05) or 1.0 for items in (20, 50, 200, 1000)]
    assert gains == sorted(gains, reverse=True)
    assert len(set(gains)) == 4
    assert smallest_gain(5, 0.2, 0.05) is None  # all five gained: p = 0.06
    assert (smallest_gain(6, 0.2, 0.05) or 0) > 0.9  # all six must be gained
    assert (smallest_gain(5000, 0.001, 0.05, least=0.03) or 0) > 0.03


@pytest.mark.parametrize("least", [0.0, 0.15])
def test_the_smallest_difference_is_found_in_four_of_five_simulations(least: float) -> None:
    error, level = 0.04, 0.0125
    wanted = smallest_difference(0.3 - 1.959964 * error, 0.3 + 1.959964 * error, level, least=least)
    rng = np.random.default_rng(3)
    estimates = rng.normal(wanted, error, size=20_000)
    critical = np.quantile(np.abs(rng.normal(0, error, size=400_000)), 1 - level)  # of a true difference of 0
    found = (estimates > critical) & (estimates >= least)
    assert found.mean() == pytest.approx(POWER, abs=0.015)
