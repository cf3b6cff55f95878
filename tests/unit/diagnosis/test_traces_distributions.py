"""Numbers added in parts have the same distribution as all at once."""

import numpy as np
import pytest

from docaps.diagnosis.traces import Distribution


def test_distributions_added_in_parts_equal_the_whole() -> None:
    values = np.random.default_rng(1).normal(1e6, 1.0, 1000)
    whole, parts = Distribution(1e6 - 5, 1e6 + 5), Distribution(1e6 - 5, 1e6 + 5)
    whole.add(values)
    for part in np.split(values, [1, 10, 400]):
        parts.add(part)
    one, other = whole.as_dict(), parts.as_dict()
    assert one is not None
    assert other is not None
    for key in ("count", "mean", "deviation", "least", "most"):
        assert other[key] == pytest.approx(one[key], rel=1e-12)
    assert one["deviation"] == pytest.approx(values.std(), rel=1e-6)
    assert other["histogram"] == one["histogram"]


def test_non_finite_numbers_are_ignored_and_outliers_go_to_the_outermost_bins() -> None:
    found = Distribution(0.0, 1.0, bins=2)
    assert found.as_dict() is None
    found.add(np.array([np.nan, np.inf]))
    assert found.as_dict() is None
    found.add(np.array([np.nan, 0.1, 0.2, 5.0, -1.0]))
    known = found.as_dict()
    assert known is not None
    assert (known["count"], known["least"], known["most"]) == (4, -1.0, 5.0)
    assert known["histogram"] == {"low": 0.0, "high": 1.0, "counts": [3, 1]}
