"""Intervals of shares: Wilson's against numbers worked elsewhere, and a bootstrap that draws whole documents."""

import numpy as np
import pytest
from scipy import stats

from docaps.evaluation.intervals import bootstrap_share, mean_over_seeds, share_interval, wilson


@pytest.mark.parametrize(("right", "count"), [(0, 10), (3, 7), (332, 598), (1100, 1100)])
def test_wilsons_interval_is_that_of_scipy(right: int, count: int) -> None:
    found, expected = wilson(right, count), stats.binomtest(right, count).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert found.method == "wilson"


def clustered(rng: np.random.Generator, documents: int, size: int) -> tuple[list[float], list[str]]:
    """Documents whose items are all right or all wrong."""
    right = rng.random(documents) < 0.6
    return np.repeat(right, size).astype(float).tolist(), [str(n) for n in range(documents) for _ in range(size)]


def test_items_of_one_document_count_as_much_as_one() -> None:
    right, names = clustered(np.random.default_rng(3), 200, 10)
    found, of_documents = bootstrap_share(right, names), wilson(sum(right[::10]), 200)
    assert found.method == "bootstrap over documents"
    assert (found.low, found.high) == pytest.approx((of_documents.low, of_documents.high), abs=0.015)
    assert found.high - found.low > 2.5 * (wilson(sum(right), 2000).high - wilson(sum(right), 2000).low)


def test_independent_items_of_documents_are_as_wide_as_wilsons() -> None:
    right = (np.random.default_rng(4).random(2000) < 0.3).astype(float).tolist()
    found, expected = bootstrap_share(right, [str(n // 10) for n in range(2000)]), wilson(sum(right), 2000)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.01)


def test_the_interval_holds_the_true_share_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    tries = [bootstrap_share(*clustered(rng, 60, 3), seed=number) for number in range(100)]
    held = sum(found.low <= 0.6 <= found.high for found in tries)
    assert 88 <= held <= 100


def test_a_document_of_many_items_weighs_as_many() -> None:
    right, names = [1.0] * 90 + [0.0] * 10, ["long"] * 90 + ["a", "b"] * 5
    found = bootstrap_share(right, names)
    assert (found.low, found.high) == (0.0, 1.0)  # the long document is drawn, or it is not
    assert bootstrap_share(right, names) == found


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_interval_has_a_width_even_if_all_documents_agree(share: float) -> None:
    pair = {0.0: [0.0, 0.0], 0.5: [1.0, 0.0], 1.0: [1.0, 1.0]}[share]
    found, expected = bootstrap_share(pair * 20, [str(n // 2) for n in range(40)]), wilson(20 * share, 20)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.method == "wilson over documents"


def test_unknown_documents_or_single_items_are_wilsons() -> None:
    right = [1.0, 0.0, 1.0]
    assert share_interval(right, [None, "a", "a"]).method == "wilson"
    assert share_interval(right, ["a", "b", "c"]).method == "wilson"
    assert share_interval(right, ["a", "a", "b"]).method == "bootstrap over documents"


def test_means_over_seeds_have_students_interval() -> None:
    values, many = [31.0, 33.5, 32.2, 30.9], [float(value) for value in range(40)]
    found, expected = mean_over_seeds(values), stats.t.interval(0.95, 3, loc=np.mean(values), scale=stats.sem(values))
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-3)
    assert mean_over_seeds([5.0]).low is None
    expected = stats.t.interval(0.95, 39, np.mean(many), stats.sem(many))
    assert mean_over_seeds(many).high == pytest.approx(expected[1], abs=0.3)
