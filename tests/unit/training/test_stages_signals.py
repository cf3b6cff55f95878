"""Stages with signals: resumed bit for bit, another run with another file, and validation as it was."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.invariants import tiny
from tests.unit.training import long_sentences
from tests.unit.training.test_resume import Killed, stop_at

from docaps import progress
from docaps.batches.prefetch import StepData
from docaps.corpus.store import Store
from docaps.errors import ConfigError, RunError
from docaps.files import sha256
from docaps.runs.directory import Run
from docaps.runs.training_log import read_metrics
from docaps.training import stages
from docaps.training.learner import Learner
from docaps.training.stages import train_recipe


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return long_sentences.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def file(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("annotations") / "marks.jsonl"
    long_sentences.annotate(path, store)
    return path


ONE_BY_ONE: dict[str, tuple[str, ...]] = {
    "source_dropout": ("source_dropout",),
    "history_sampling": ("history_sampling",),
    "split": ("split",),
    "select": ("select", "select_share", "select_phenomena"),
    "emphasis": ("emphasis", "emphasis_weight"),
    "formality": ("formality", "formality_share"),
}


def settings_of(signal: str, file: Path) -> dict[str, Any]:
    """The settings of one signal, or of all."""
    if signal == "freeze_inherited_steps":
        return {"freeze_inherited_steps": 2}
    every = long_sentences.signals(file)
    return every if signal == "all" else {name: every[name] for name in ONE_BY_ONE[signal]}


@pytest.fixture(scope="module")
def sentence(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The sentence model that the document stage starts from."""
    out = tmp_path_factory.mktemp("sentence")
    return train_recipe(tiny.recipe(stage__sentence__steps=1), store, out, stages=["sentence"])[0]


def train(store: Store, sentence: Run, out: Path, *, steps: int = 4, **settings: Any) -> Run:
    """Train the document stage."""
    stage = {"steps": steps, "batch_tokens": 60, "dropout": 0.1, "save_every": 2, "result": "last", **settings}
    changes = {f"stage__document__{name}": value for name, value in {"system": "qcn", **stage}.items()}
    return train_recipe(tiny.recipe(**changes), store, out, stages=["document"], init_from=sentence.path)[0]


@pytest.mark.parametrize("signal", ["all", "freeze_inherited_steps", *ONE_BY_ONE])
def test_four_steps_are_two_and_two_more(store: Store, sentence: Run, file: Path, tmp_path: Path, signal: str) -> None:
    chosen = settings_of(signal, file)
    whole = train(store, sentence, tmp_path / "whole", **chosen)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Learner, "compute", stop_at(3, Killed()))
        with pytest.raises(Killed):
            train(store, sentence, tmp_path / "pieces", **chosen)
    pieces = train(store, sentence, tmp_path / "pieces", **chosen)
    assert sha256(pieces.weights) == sha256(whole.weights)
    rows = [[row["loss"] for row in read_metrics(run.metrics) if "loss" in row] for run in (whole, pieces)]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 4


def seen(store: Store, sentence: Run, out: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> list[StepData]:
    """The data that a stage learns from."""
    found: list[StepData] = []
    compute = Learner.compute

    def keep(self: Learner, step: int, data: StepData) -> dict[str, float]:
        found.append(data)
        return compute(self, step, data)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "compute", keep)
        train(store, sentence, out, **settings)
    return found


def test_a_stage_learns_from_what_its_signals_make(
    store: Store, sentence: Run, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = seen(store, sentence, tmp_path, monkeypatch, steps=12, **long_sentences.signals(file))
    parts = [part for step in data for part in step.batches]
    marks = store.codec.vocabulary.marks
    sources = torch.cat([part.batch.source.flatten() for part in parts])
    assert {mark: bool((sources == number).any()) for mark, number in marks.items()} == dict.fromkeys(marks, True)
    assert (sources == 3).any()
    assert any(part.batch.weights is not None and 4.0 in part.batch.weights for part in parts)
    histories = torch.cat([part.batch.history.flatten() for part in parts])
    assert not torch.isin(histories, torch.tensor([3, *marks.values()])).any()
    starts = [part.batch.translations[:, 0] for part in parts]
    assert any((start == store.codec.encode_target("und")[0]).any() for start in starts)  # a second half


def test_validation_is_not_affected(store: Store, sentence: Run, file: Path, tmp_path: Path) -> None:
    """At a learning rate too small to matter, all that could change a validation is its data and its loss."""
    still = {"learning_rate": 1e-30, "steps": 1}
    runs = [
        train(store, sentence, tmp_path / name, **still, **chosen)
        for name, chosen in (("plain", {}), ("all", settings_of("all", file)))
    ]
    losses = [[row["dev_loss"] for row in read_metrics(run.metrics) if "dev_loss" in row] for run in runs]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 1


def test_the_log_says_what_is_marked(
    store: Store, sentence: Run, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(progress, "say", said.append)
    train(store, sentence, tmp_path, steps=1, **settings_of("all", file))
    assert sum(line.startswith("select: 40.0% of each batch from 9 selected sentences of 27") for line in said) == 1
    assert sum(line.startswith("formality: 50% of the sources of 14 labelled") for line in said) == 1


def test_a_changed_file_is_another_run(store: Store, sentence: Run, tmp_path: Path) -> None:
    numbers = tmp_path / "numbers"
    numbers.write_text("3\n")
    chosen = {"select": str(numbers), "select_share": 0.5, "steps": 1}
    run = train(store, sentence, tmp_path / "runs", **chosen)
    assert run.read()["annotations"] == {"select": sha256(numbers)}
    train(store, sentence, tmp_path / "runs", **chosen)
    numbers.write_text("6\n")
    with pytest.raises(RunError, match="a finished run with other annotations is here"):
        train(store, sentence, tmp_path / "runs", **chosen)


def test_a_run_without_files_names_none(store: Store, sentence: Run, tmp_path: Path) -> None:
    run = train(store, sentence, tmp_path, steps=1)
    assert "annotations" not in run.path.joinpath("run.json").read_text()
    assert train(store, sentence, tmp_path, steps=1).read() == run.read()


@pytest.mark.parametrize(("selects", "kind"), [(False, "documents"), (True, "sentences")])
def test_a_system_that_trains_on_documents_selects_from_batches_of_sentences(
    store: Store,
    sentence: Run,
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    selects: bool,
    kind: str,
) -> None:
    def make(found: str, *_: object, **__: object) -> None:
        raise Killed(found)

    monkeypatch.setattr(stages, "make_sampler", make)
    with pytest.raises(Killed, match=kind):
        train(store, sentence, tmp_path, qcn={"reads": "states"}, **(settings_of("select", file) if selects else {}))


def test_a_stage_that_inherits_nothing_has_nothing_to_freeze(store: Store, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="freeze_inherited_steps: no weight that is trained is inherited"):
        train_recipe(tiny.recipe(stage__sentence__freeze_inherited_steps=1), store, tmp_path, stages=["sentence"])
