"""Probes of a model in training: contrastive choices."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from tests.invariants import tiny

from docaps.corpus.contrastive import ContrastiveItem, write_items
from docaps.corpus.minidocs import generate_corpus
from docaps.errors import RunError
from docaps.evaluation.contrastive import accuracy
from docaps.experiments import measure
from docaps.experiments.measure import PROBED_ITEMS, steps_to_learn, watch_choices
from docaps.training.objective import Device
from docaps.translation.scoring import score_contrastive
from docaps.translation.trained_model import TrainedModel

CPU = Device(torch.device("cpu"), torch.float32)


@pytest.mark.parametrize(
    ("curve", "steps"),
    [
        ([], None),
        ([(100, 0.5), (200, 0.8999)], None),
        ([(100, 0.5), (200, 0.9), (300, 1.0)], 200),
        ([(100, 0.95), (200, 0.1)], 100),
    ],
)
def test_a_model_has_learnt_when_nine_of_ten_choices_were_right(
    curve: list[tuple[int, float]], steps: int | None
) -> None:
    assert steps_to_learn(curve) == steps


def test_another_share_may_count_as_learnt() -> None:
    assert steps_to_learn([(100, 0.5), (200, 0.7), (300, 0.8)], learnt=0.6) == 200


def kind(item: ContrastiveItem) -> tuple[object, ...]:
    return (item.phenomenon, item.form, item.distance, item.id.rsplit("-", 1)[1])


def test_the_probed_items_hold_every_kind_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = generate_corpus(documents=1, seed=1, dev=1, test=1).contrastive
    write_items(tmp_path / "items.jsonl", items)
    store = tiny.prepared(tmp_path, tmp_path / "items.jsonl")
    seen: list[ContrastiveItem] = []

    def choose_right(trained: TrainedModel, items: Sequence[ContrastiveItem]) -> list[list[float]]:
        seen.extend(items)
        return [[0.0, -1.0]] * len(items)

    monkeypatch.setattr(measure, "score_contrastive", choose_right)
    trained = tiny.trained(store)
    assert watch_choices(store, trained.decoding)(trained.model, CPU) == {"choices": 1.0}
    found = Counter(map(kind, seen))
    for name, count in Counter(map(kind, items)).items():
        assert found[name] == pytest.approx(count / PROBED_ITEMS, abs=2), name  # some kinds come twice in a round


def test_the_choices_are_those_of_the_model_without_dropout(tmp_path: Path) -> None:
    items = generate_corpus(documents=1, seed=1, dev=1, test=1, items=60).contrastive
    write_items(tmp_path / "items.jsonl", items)
    store = tiny.prepared(tmp_path, tmp_path / "items.jsonl")
    system, vocabulary = tiny.settings("qcn"), len(store.codec.vocabulary)
    model = tiny.build(system, vocabulary=vocabulary, dropout=0.9)
    decoding = tiny.trained(store).decoding
    probed = items[::PROBED_ITEMS]
    scores = score_contrastive(TrainedModel(model.eval(), store.codec, decoding, CPU.place, CPU.precision), probed)
    probe = watch_choices(store, decoding)
    assert probe(model.train(), CPU) == {"choices": accuracy(probed, scores).all}


def test_a_corpus_without_contrastive_items_is_refused(tmp_path: Path) -> None:
    store = tiny.prepared(tmp_path)
    with pytest.raises(RunError, match="the corpus has no contrastive items") as caught:
        watch_choices(store, tiny.trained(store).decoding)
    assert caught.value.path == store.path
