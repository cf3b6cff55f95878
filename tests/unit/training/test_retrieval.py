"""Retrieval among development pairs: distinct pairs with words, the same ones each time, found by the highest PCC."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tests import oracles
from tests.invariants import tiny
from tests.unit.training.tiny_training import CPU

from docaps.batches.prefetch import collate_sentences
from docaps.corpus.arrays import join_sentences
from docaps.corpus.store import Split
from docaps.corpus.text.vocabulary import EOS
from docaps.model.builders import build_model
from docaps.runs.training_log import read_metrics
from docaps.training.objective import Objective
from docaps.training.retrieval import PAIRS, choose_pairs, measure_retrieval
from docaps.training.stages import train_recipe


def split(pairs: list[tuple[list[int], list[int]]]) -> Split:
    sides = (join_sentences([[*pair[side], EOS] for pair in pairs]) for side in (0, 1))
    return Split(*sides, documents=np.array([0, len(pairs)]))


def numbered(count: int) -> Split:
    """Pairs that all differ."""
    return split([([5 + i // 10, 6 + i % 10], [7 + i % 10, 8, 5 + i // 10]) for i in range(count)])


def objective(system: str = "qcn+reg", **regulariser: str) -> Objective:
    model = build_model(tiny.settings(system, regulariser=regulariser), vocabulary=40, seed=5)
    return Objective(model, label_smoothing=0.0, regulariser_weight=1.0, device=CPU)


def test_pairs_have_words_and_no_sentence_occurs_twice() -> None:
    found = choose_pairs(
        split(
            [
                ([5, 6], [7]),
                ([], [8]),  # nothing but an end mark
                ([5, 6], [9]),  # its source was there
                ([7], []),
                ([8], [7]),  # its target was there
                ([8], [9]),  # of the pairs left out, nothing counts as seen
                ([5], [6]),
            ]
        )
    )
    assert found.tolist() == [0, 5, 6]


def test_pairs_that_cleaning_removed_are_left_out() -> None:
    data = numbered(4)
    usable = Split(data.source, data.target, data.documents, np.array([True, False, True, True]))
    assert choose_pairs(usable).tolist() == [0, 2, 3]


@pytest.mark.parametrize(("count", "expected"), [(3, 3), (PAIRS, PAIRS), (PAIRS + 1, PAIRS), (300, PAIRS)])
def test_at_most_64_pairs_at_even_distances(count: int, expected: int) -> None:
    found = choose_pairs(numbered(count)).tolist()
    assert len(set(found)) == expected
    distances = np.diff(found)
    assert distances.max() - distances.min() <= 1
    assert found[0] == 0
    assert found[-1] >= count - count / expected - 1


@pytest.mark.parametrize("reading", [{}, {"centre": "batch"}, {"negatives": "infonce", "marks": False}], ids=str)
def test_the_numbers_equal_those_of_the_loops(reading: dict[str, str]) -> None:
    data, one = numbered(100), objective(**reading)
    found = measure_retrieval(one, data)
    batch = collate_sentences(data, choose_pairs(data), 0)
    with torch.no_grad():
        pairs = one.model.correlate_pairs(batch).tolist()
    assert found["retrieval"] == pytest.approx(oracles.retrieval(pairs))
    assert found["retrieval_chance"] == 1 / PAIRS
    assert found["dev_pcc"] == pytest.approx(sum(pairs[i][i] for i in range(PAIRS)) / PAIRS, abs=1e-6)
    others = [pairs[i][k] for i in range(PAIRS) for k in range(PAIRS) if i != k]
    assert found["dev_pcc_mismatched"] == pytest.approx(sum(others) / len(others), abs=1e-6)
    assert measure_retrieval(one, data) == found


def test_the_same_sentences_on_both_sides_are_all_found() -> None:
    """With the same capsule networks, positions and embeddings; marks would differ."""
    one = objective(marks=False, positions=False)
    one.model.regulariser.target.load_state_dict(one.model.regulariser.source.state_dict())
    found = measure_retrieval(one, split([([5 + i, 6], [5 + i, 6]) for i in range(8)]))
    assert (found["retrieval"], found["retrieval_chance"]) == (1.0, 0.125)
    assert found["dev_pcc"] == pytest.approx(1.0)


def test_without_a_regulariser_or_pairs_nothing_is_measured() -> None:
    assert measure_retrieval(objective("qcn"), numbered(10)) == {}
    assert measure_retrieval(objective(), numbered(1)) == {}
    assert measure_retrieval(objective(), split([([], [])])) == {}


def test_validation_measures_and_the_log_has_the_numbers(tmp_path: Path) -> None:
    store = tiny.prepared(tmp_path)
    plain, document = train_recipe(tiny.recipe(), store, tmp_path / "runs")
    names = {"retrieval", "retrieval_chance", "dev_pcc", "dev_pcc_mismatched"}
    rows = [row for row in read_metrics(document.metrics) if "dev_loss" in row]
    assert [row["step"] for row in rows] == [2, 3]
    assert all(names < row.keys() and row["retrieval_chance"] == 1 / 6 for row in rows)
    assert all(not names & row.keys() for row in read_metrics(plain.metrics))
