"""Ranges for int8 are found on the first sentences, and kept only if translating with them is good."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.invariants import tiny

from docaps.corpus.documents import Document
from docaps.experiments import precision_check as precision
from docaps.experiments.precision_check import PrecisionResult, find_ranges

RANGES = {"encoder.0.attention.joint": torch.ones(3)}


@pytest.mark.parametrize(("loss", "kept"), [(0.3, True), (0.4, False)])
def test_ranges_that_lose_too_much_are_not_kept(loss: float, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(ranges: Mapping[str, torch.Tensor], *_: object) -> PrecisionResult:
        lost = loss if ranges else 0.2
        return PrecisionResult(30 - lost, lost, 1.0, lost <= precision.LARGEST_LOSS)

    monkeypatch.setattr(precision, "find_ranges", lambda *_: RANGES)
    monkeypatch.setattr(precision, "_with_int8", lambda _, ranges: ranges)
    monkeypatch.setattr(precision, "_measure", measure)
    plain: Any = None
    found, ranges = precision._measure_int8(plain, [], PrecisionResult(30, 0, 1.0, True))
    assert found.calibrated == kept
    assert found.loss == (loss if kept else 0.2)
    assert found.good
    assert ranges == (RANGES if kept else {})


def test_ranges_are_those_of_the_first_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = tiny.trained(tiny.prepared(tmp_path))
    plain = replace(trained, model=trained.model.float())
    documents = [Document(("the dog sat", "it was old")), Document(("a cat ran", "it slept here"))]
    monkeypatch.setattr(precision, "CALIBRATION", 2)
    first, alone = find_ranges(plain, documents), find_ranges(plain, documents[:1])
    assert all(torch.equal(first[name], alone[name]) for name in alone)
    monkeypatch.setattr(precision, "CALIBRATION", 4)
    both = find_ranges(plain, documents)
    assert both.keys() == first.keys()
    assert all(bool((both[name] + 1e-5 >= first[name]).all()) for name in both)
    assert any(bool((both[name] > 1.01 * first[name]).any()) for name in both)
