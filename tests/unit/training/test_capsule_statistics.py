"""Cosines of capsules and entropy of the coupling, measured on the same development sentences each time."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.invariants import tiny
from tests.unit.training.tiny_training import CPU

from docaps.batches.prefetch import collate_sentences
from docaps.corpus.arrays import join_sentences
from docaps.corpus.store import Split, Store
from docaps.corpus.text.vocabulary import EOS
from docaps.model.builders import build_model
from docaps.runs.training_log import read_metrics
from docaps.training.capsule_statistics import SENTENCES, choose_sentences, describe_one_capsule, measure_capsules
from docaps.training.objective import Objective
from docaps.training.stages import train_recipe

KEYS = {"capsule_cosine", "capsule_overlap", "coupling_entropy"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


def split(lengths: list[int]) -> Split:
    """Documents of so many sentences, each of one word."""
    count = sum(lengths)
    side = join_sentences([[4 + number % 10, EOS] for number in range(count)])
    return Split(side, side, documents=np.cumsum([0, *lengths]))


def objective(name: str = "qcn", **qcn: object) -> Objective:
    model = build_model(tiny.mode(name, **qcn), vocabulary=200, seed=5)
    return Objective(model, label_smoothing=0.0, regulariser_weight=1.0, device=CPU)


def test_chosen_sentences_have_a_history() -> None:
    assert choose_sentences(split([1, 3, 1, 2])).tolist() == [2, 3, 6]
    assert choose_sentences(split([1, 1])).tolist() == []
    many = choose_sentences(split([101]))
    assert len(many) == SENTENCES
    assert many[0] == 1
    assert set(np.diff(many)) <= {1, 2}


@pytest.mark.parametrize("name", ["transformer", "zhang", "han", "concat", "qcn-noise"])
def test_systems_without_capsules_have_no_such_statistics(store: Store, name: str) -> None:
    assert measure_capsules(objective(name), store.split("dev")) == {}


def test_without_histories_nothing_is_measured() -> None:
    assert measure_capsules(objective(), split([1, 1])) == {}


@pytest.mark.parametrize("name", ["qcn", "capsnet", "qcn-states", "qcn-target", "qcn-current"])
def test_the_means_are_those_of_the_traces(store: Store, name: str) -> None:
    chosen, data = objective(name), store.split("dev")
    found = measure_capsules(chosen, data)
    assert found.keys() == KEYS
    batch = collate_sentences(data, choose_sentences(data), chosen.model.view)
    with torch.no_grad():
        traces = {trace.name: trace.values for trace in chosen.model.eval().trace(batch)}
    for name in ("capsule_cosine", "capsule_overlap"):
        values = traces[name][traces[name].isfinite()]
        assert found[name] == pytest.approx(values.mean().item())
    entropy = traces["coupling_entropy"][-1]
    assert found["coupling_entropy"] == pytest.approx(entropy[entropy.isfinite()].mean().item())


def test_one_capsule_has_no_cosine(store: Store) -> None:
    assert measure_capsules(objective(capsules=1), store.split("dev")).keys() == {"coupling_entropy"}


def test_sharp_routing_decides(store: Store) -> None:
    data = store.split("dev")
    plain, sharp = (measure_capsules(objective(sharpness=one), data) for one in (1.0, 1000.0))
    assert plain["coupling_entropy"] > 0.999
    assert sharp["coupling_entropy"] < 0.9
    assert sharp["capsule_overlap"] < plain["capsule_overlap"]


def test_validations_log_them(store: Store, tmp_path: Path) -> None:
    _, document = train_recipe(tiny.recipe(), store, tmp_path)
    rows = [row for row in read_metrics(document.metrics) if "dev_loss" in row]
    assert rows
    assert all(row.keys() >= KEYS for row in rows)


def test_capsules_that_are_one_are_described() -> None:
    told = describe_one_capsule({"capsule_cosine": 0.012, "capsule_overlap": 0.9996, "coupling_entropy": 0.99999})
    assert told.startswith("warning: the capsules of a sentence hold the same: cosine 0.012 between capsules, 1.000 ")
    assert "entropy of the coupling 1.0000" in told
    assert "qcn.sharpness" in told
