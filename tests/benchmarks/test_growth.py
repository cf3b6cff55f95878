"""The growth of costs: its exponents are those of a line through logarithms, and no cost grows faster than its size."""

import importlib

import pytest
from tests.benchmarks.test_benchmarks import ROOT, run


def test_the_exponent_of_a_power_is_that_power(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    growth = importlib.import_module("growth")
    assert growth.exponent([1, 2, 8, 40], [3.0, 12.0, 192.0, 4800.0]) == pytest.approx(2)
    assert growth.exponent([10, 100], [5.0, 5.0]) == pytest.approx(0)


def test_growth_is_printed_and_drawn(tmp_path) -> None:
    figure = tmp_path / "growth.svg"
    ratios = run("growth.py", "--curves", "document", "--most", "100", "--figure", str(figure), threads=1)
    assert ratios.keys() == {"document_exponent"}
    assert "sentences of the document" in figure.read_text(encoding="utf-8")


@pytest.mark.stress
def test_no_cost_grows_faster_than_its_size() -> None:
    ratios = run("growth.py")
    assert ratios.pop("two_threads_speedup") > 1.2
    assert ratios.keys() == {f"{name}_exponent" for name in ("history", "capsules", "vocabulary", "document")}
    assert {name: value for name, value in ratios.items() if value > 1.1} == {}
