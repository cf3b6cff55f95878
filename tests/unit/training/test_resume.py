"""A stopped and resumed training equals an uninterrupted one: weights, optimiser, log, choice of the best."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.invariants import tiny
from tests.unit.training.tiny_training import CPU

from docaps import progress
from docaps.batches.prefetch import StepData
from docaps.config import SYSTEMS
from docaps.config.model_settings import ConcatSettings
from docaps.corpus.store import Store
from docaps.errors import CheckpointError, RunError
from docaps.files import sha256
from docaps.interruption import Interrupted
from docaps.model.checkpoint import read_tensors, read_weights, write_tensors
from docaps.runs.directory import Run, locked
from docaps.runs.training_log import read_metrics
from docaps.training import stages
from docaps.training.learner import Learner
from docaps.training.stages import Stage, train_recipe
from docaps.training.state import TRAINER_STATE, TrainerState, read_state

STEPS = 12


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


def recipe(**changes: Any) -> Any:
    defaults = {
        "steps": STEPS,
        "dropout": 0.3,
        "validate_every": 3,
        "save_every": 5,
        "log_every": 2,
        "system": "qcn+reg",
    }
    return tiny.recipe(**{f"stage__sentence__{key}": value for key, value in {**defaults, **changes}.items()})


class Killed(BaseException):
    """The end of a process: nothing is saved any more."""


def stop_at(step: int, fault: BaseException) -> Callable[[Learner, int, StepData], dict[str, float]]:
    compute = Learner.compute

    def stopping(self: Learner, number: int, data: StepData) -> dict[str, float]:
        if number == step:
            raise fault
        return compute(self, number, data)

    return stopping


def train(store: Store, out: Path, **changes: Any) -> Run:
    (run,) = train_recipe(recipe(**changes), store, out, stages=["sentence"])
    return run


def stop(store: Store, out: Path, step: int, fault: BaseException, **changes: Any) -> None:
    """Train until an error just before the end of a step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Learner, "compute", stop_at(step, fault))
        with pytest.raises(type(fault)):
            train(store, out, **changes)


def train_with_stops(store: Store, out: Path, stops: list[tuple[int, BaseException]], **changes: Any) -> Run:
    for step, fault in stops:
        stop(store, out, step, fault, **changes)
    return train(store, out, **changes)


def rows(run: Run) -> list[dict[str, Any]]:
    """The log without what the clock says."""
    clock = {"seconds", "tokens_per_second", "share_of_peak"}
    return [{key: value for key, value in row.items() if key not in clock} for row in read_metrics(run.metrics)]


@pytest.mark.parametrize(
    "stops",
    [
        [(1, Killed())],
        [(7, Interrupted(15))],
        [(8, Killed())],
        [(2, Interrupted(2)), (6, Killed()), (6, Interrupted(15)), (11, Killed()), (12, Interrupted(2))],
    ],
    ids=["killed before the first", "terminated", "killed", "again and again"],
)
@pytest.mark.parametrize("result", ["last", "best", "average"])
def test_stopped_and_continued_is_uninterrupted(
    store: Store, tmp_path: Path, stops: list[tuple[int, BaseException]], result: str
) -> None:
    settings = {"result": result, "averaged": 2}
    whole = train(store, tmp_path / "whole", **settings)
    pieces = train_with_stops(store, tmp_path / "pieces", stops, **settings)
    assert sha256(pieces.weights) == sha256(whole.weights)
    assert rows(pieces) == rows(whole)


def test_a_state_is_written_after_the_rows_it_counts_on_are_on_the_disk(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, counted = [0], []
    save, sync = stages.save_state, os.fsync
    log = Run(tmp_path / "sentence").metrics

    def note_sync(handle: int) -> None:
        if log.exists() and os.path.samestat(os.fstat(handle), log.stat()):
            synced.append(log.stat().st_size)
        sync(handle)

    def note_save(path: Path, tensors: Any, state: TrainerState) -> None:
        counted.append((state.logged, synced[-1]))
        save(path, tensors, state)

    monkeypatch.setattr("os.fsync", note_sync)
    monkeypatch.setattr(stages, "save_state", note_save)
    train(store, tmp_path)
    assert [state for state, on_disk in counted if state > on_disk] == []
    assert max(state for state, _ in counted) > 0


@pytest.mark.parametrize("name", ["zhang", "han", "san", "san-decoder"])
def test_rivals_stopped_and_continued_are_uninterrupted(store: Store, tmp_path: Path, name: str) -> None:
    """Those that read other sentences with the weights of the sentence model still do so after a stop."""
    system, tables = tiny.MODES.get(name, (name, {}))
    changed = {"system": system, "steps": STEPS, "dropout": 0.3, "validate_every": 3, "save_every": 5, "result": "last"}
    chosen = tiny.recipe(stage__document={**tiny.recipe().stage["document"].model_dump(), **changed, **tables})
    (sentence,) = train_recipe(chosen, store, tmp_path / "whole", stages=["sentence"])
    shutil.copytree(sentence.path.parent, tmp_path / "pieces")
    (whole,) = train_recipe(chosen, store, tmp_path / "whole", stages=["document"])
    for step, fault in ((7, Killed()), (8, Interrupted(15))):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Learner, "compute", stop_at(step, fault))
            with pytest.raises(type(fault)):
                train_recipe(chosen, store, tmp_path / "pieces", stages=["document"])
    (pieces,) = train_recipe(chosen, store, tmp_path / "pieces", stages=["document"])
    assert sha256(pieces.weights) == sha256(whole.weights)
    assert rows(pieces) == rows(whole)


def test_the_weights_that_other_sentences_are_read_with_are_those_of_the_first_stage(
    store: Store, tmp_path: Path
) -> None:
    """At the beginning of the stage, and when it goes on with other weights."""
    chosen = tiny.recipe(
        stage__document={**tiny.recipe().stage["document"].model_dump(), "system": "san", "steps": STEPS}
    )
    (sentence,) = train_recipe(chosen, store, tmp_path, stages=["sentence"])
    expected = read_weights(sentence.weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Learner, "compute", stop_at(7, Interrupted(15)))
        with pytest.raises(Interrupted):
            train_recipe(chosen, store, tmp_path, stages=["document"])
    saved = read_state(Run(tmp_path / "document").state)
    for state in (None, saved):
        model = Stage("document", chosen, store, tmp_path)._make_learner(CPU, state).model.train()
        reader = dict(model._reader().named_parameters())
        assert all(torch.equal(reader[name], weight) for name, weight in expected.items())
    assert not any(torch.equal(weight, expected[name]) for name, weight in model.named_parameters() if name in expected)


def test_the_optimiser_is_the_same_too(store: Store, tmp_path: Path) -> None:
    stop(store, tmp_path / "whole", 11, Interrupted(2))
    for step, fault in ((7, Interrupted(2)), (9, Killed()), (11, Interrupted(15))):
        stop(store, tmp_path / "pieces", step, fault)
    whole, pieces = (read_state(Run(tmp_path / name / "sentence").state) for name in ("whole", "pieces"))
    assert whole.trainer.step == pieces.trainer.step == 10
    assert whole.tensors.keys() == pieces.tensors.keys()
    assert sum(name.endswith("/exp_avg_sq") for name in whole.tensors) > 10
    for name, tensor in whole.tensors.items():
        assert torch.equal(tensor, pieces.tensors[name]), name


def test_concatenation_with_a_discounted_loss_and_vectors_of_segments_is_resumed_alike(
    store: Store, tmp_path: Path
) -> None:
    chosen = {"mode": "n-to-n", "discount": 0.1, "shift": 4, "segments": True}
    given = recipe(system="concat").model_copy(update={"concat": ConcatSettings(**chosen)})
    (whole,) = train_recipe(given, store, tmp_path / "whole", stages=["sentence"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Learner, "compute", stop_at(8, Killed()))
        with pytest.raises(Killed):
            train_recipe(given, store, tmp_path / "pieces", stages=["sentence"])
    (pieces,) = train_recipe(given, store, tmp_path / "pieces", stages=["sentence"])
    assert sha256(pieces.weights) == sha256(whole.weights)
    assert rows(pieces) == rows(whole)
    assert any(row["loss"] > row["cross_entropy"] for row in rows(whole) if "loss" in row)


def test_files_that_are_no_longer_needed_are_removed(store: Store, tmp_path: Path) -> None:
    stop(store, tmp_path, 11, Killed(), result="average", averaged=2)
    run = Run(tmp_path / "sentence")
    torn = run.path / ".state.safetensors.abc_1234.partial"
    torn.write_bytes(b"half a file")
    assert read_state(run.state).trainer.snapshots == (6, 9)
    assert sorted(path.name for path in run.snapshots.iterdir()) == [
        "step-00000006.safetensors",
        "step-00000009.safetensors",
    ]
    train(store, tmp_path, result="average", averaged=2)
    assert not torn.exists()
    assert not run.state.exists()
    assert not run.snapshots.exists()


def test_weights_are_kept_at_the_same_steps_however_training_is_cut(store: Store, tmp_path: Path) -> None:
    shares = (0.25, 0.5, 1.0)
    whole = train(store, tmp_path / "whole", keep_at=shares, result="last")
    for step, fault in ((4, Killed()), (7, Interrupted(2))):
        stop(store, tmp_path / "pieces", step, fault, keep_at=shares, result="last")
    pieces = train(store, tmp_path / "pieces", keep_at=shares, result="last")
    names = [f"step-{step:08d}.safetensors" for step in (3, 6, 12)]
    for run in (whole, pieces):
        assert sorted(path.name for path in run.checkpoints.iterdir()) == names
    assert [sha256(whole.checkpoints / name) for name in names] == [sha256(pieces.checkpoints / name) for name in names]
    assert sha256(whole.checkpoint(12)) == sha256(whole.weights) != sha256(whole.checkpoint(6))
    train(store, tmp_path / "none", steps=3)
    assert not Run(tmp_path / "none" / "sentence").checkpoints.exists()
    plain = train(store, tmp_path / "plain", result="last")
    assert sha256(plain.weights) == sha256(whole.weights)


def test_the_mean_is_of_the_last_validated_steps(store: Store, tmp_path: Path) -> None:
    run = train(store, tmp_path / "average", result="average", averaged=3)
    assert run.read()["weights"] == "the mean of steps 6, 9, 12"
    parts = [read_weights(train(store, tmp_path / str(step), result="last", steps=step).weights) for step in (6, 9, 12)]
    for name, weight in read_weights(run.weights).items():
        mean = torch.stack([part[name].double() for part in parts]).mean(dim=0).float()
        torch.testing.assert_close(weight, mean, rtol=0, atol=1e-7)


def test_the_best_is_the_validated_step_with_the_lowest_loss(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = iter([3.0, 2.0, 2.5, 2.0])  # at steps 3, 6, 9, 12
    monkeypatch.setattr("docaps.training.stages.validate", lambda *_, **__: {"dev_loss": next(losses)})
    run = train(store, tmp_path / "best", result="best")
    assert run.read()["weights"] == "step 6, the best by dev_loss"
    monkeypatch.undo()
    alone = train(store, tmp_path / "alone", result="last", steps=6)
    assert sha256(alone.weights) == sha256(run.weights)


def test_limits_may_change_when_training_is_resumed(store: Store, tmp_path: Path) -> None:
    stop(store, tmp_path, 7, Interrupted(2))
    run = train(store, tmp_path, steps=15, save_every=2, log_every=1)
    assert run.read()["steps"] == 15
    assert sha256(run.weights) == sha256(train(store, tmp_path / "whole", steps=15).weights)


@pytest.mark.parametrize(
    ("change", "what"), [({"dropout": 0.1}, "settings"), ({"batch_tokens": 77}, "settings"), ({"seed": 3}, "seed")]
)
def test_a_state_is_not_resumed_with_other_settings(
    store: Store, tmp_path: Path, change: dict[str, Any], what: str
) -> None:
    stop(store, tmp_path, 7, Interrupted(2))
    state = Run(tmp_path / "sentence").state
    before = sha256(state)
    seed = change.pop("seed", 1)
    other = recipe(**change).model_copy(update={"seed": seed})
    with pytest.raises(RunError, match=f"an unfinished run with other {what} is here.*--overwrite"):
        train_recipe(other, store, tmp_path, stages=["sentence"])
    assert sha256(state) == before
    (run,) = train_recipe(other, store, tmp_path, stages=["sentence"], overwrite=True)
    assert [event["event"] for event in run.read()["history"]] == ["started", "finished"]


def damage_by_truncation(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def damage_by_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1000] ^= 4
    path.write_bytes(content)


def damage_by_another_model(path: Path) -> None:
    tensors, notes = read_tensors(path)
    write_tensors(path, {name: value for name, value in tensors.items() if "encoder.1" not in name}, notes)


def damage_by_no_trainer_state(path: Path) -> None:
    write_tensors(path, read_tensors(path)[0], {TRAINER_STATE: '{"step": 3}'})


def change_tensor(path: Path, old: str, new: str, value: torch.Tensor | None = None) -> None:
    """Store a tensor of a state under another name, or with another value."""
    tensors, notes = read_tensors(path)
    name = next(one for one in tensors if one.endswith(old))
    found = tensors.pop(name)
    write_tensors(path, tensors | {name.replace(old, new): found if value is None else value}, notes)


def damage_by_a_moment_of_another_shape(path: Path) -> None:
    change_tensor(path, "/exp_avg", "/exp_avg", torch.ones(3))


def damage_by_a_moment_that_is_missing(path: Path) -> None:
    change_tensor(path, "/exp_avg_sq", "/exp_avg_cubed")


def damage_by_a_count_that_is_whole(path: Path) -> None:
    change_tensor(path, "/step", "/step", torch.tensor(3))


def damage_by_the_moments_of_another_weight(path: Path) -> None:
    change_tensor(path, "weight/exp_avg", "height/exp_avg")


def damage_by_emptiness(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_by_truncation, "the weights are damaged"),
        (damage_by_a_bit, "they are not those that were written"),
        (damage_by_another_model, "is the state of another model"),
        (damage_by_no_trainer_state, "not a saved training state"),
        (damage_by_emptiness, "the weights are damaged"),
        (damage_by_a_moment_of_another_shape, r"the optimiser's tensors of .* do not fit: found exp_avg \(3,\)"),
        (damage_by_a_moment_that_is_missing, r"the optimiser's tensors of .* do not fit: .*exp_avg_cubed"),
        (damage_by_a_count_that_is_whole, r"the optimiser's tensors of .* do not fit"),
        (damage_by_the_moments_of_another_weight, r"is the state of another model: '.*height' is not in it"),
    ],
)
def test_a_damaged_state_is_refused(store: Store, tmp_path: Path, damage: Callable[[Path], None], message: str) -> None:
    stop(store, tmp_path, 7, Interrupted(2))
    state = Run(tmp_path / "sentence").state
    damage(state)
    before = sha256(state)
    with pytest.raises(CheckpointError, match=message) as caught:
        train(store, tmp_path)
    assert caught.value.path == state
    assert sha256(state) == before
    train_recipe(recipe(), store, tmp_path, stages=["sentence"], overwrite=True)


@pytest.mark.parametrize("folder", ["text", "snapshots", "checkpoints", "tensorboard"])
def test_a_link_in_place_of_a_folder_is_refused_on_resuming(store: Store, tmp_path: Path, folder: str) -> None:
    stop(store, tmp_path, 7, Interrupted(2))
    run = Run(tmp_path / "sentence")
    elsewhere = tmp_path / "elsewhere"
    shutil.rmtree(run.path / folder, ignore_errors=True)
    elsewhere.mkdir()
    (elsewhere / "step-00000009.safetensors").write_text("mine")
    (run.path / folder).symlink_to(elsewhere)
    with pytest.raises(RunError, match=f"{folder}: is a symbolic link: put the folder itself here"):
        train(store, tmp_path)
    assert [path.name for path in elsewhere.iterdir()] == ["step-00000009.safetensors"]


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_log_that_is_no_file_of_its_own_is_refused(store: Store, tmp_path: Path, kind: str) -> None:
    stop(store, tmp_path, 7, Interrupted(2))
    run = Run(tmp_path / "sentence")
    run.metrics.rename(tmp_path / "log")
    before = (tmp_path / "log").read_bytes() + b"mine"
    (tmp_path / "log").write_bytes(before)
    run.metrics.symlink_to(tmp_path / "log") if kind == "link" else os.mkfifo(run.metrics)
    with pytest.raises(OSError, match=r"Too many levels of symbolic links|it is a named pipe"):
        train(store, tmp_path)
    assert (tmp_path / "log").read_bytes() == before


def test_an_unfinished_run_can_be_copied_and_resumed(store: Store, tmp_path: Path) -> None:
    stop(store, tmp_path / "one", 7, Interrupted(2))
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    assert sha256(train(store, tmp_path / "one").weights) == sha256(train(store, tmp_path / "other").weights)


def test_a_document_stage_begun_from_other_weights_is_not_taken_for_this_one(store: Store, tmp_path: Path) -> None:
    train_recipe(tiny.recipe(), store, tmp_path)
    train_recipe(tiny.recipe(), store, tmp_path, stages=["sentence"], overwrite=True)
    Run(tmp_path / "sentence").write({**Run(tmp_path / "sentence").read(), "created": "some other time"})
    with pytest.raises(RunError, match="other initial weights is here"):
        train_recipe(tiny.recipe(), store, tmp_path)


def test_two_processes_do_not_train_in_one_directory(store: Store, tmp_path: Path) -> None:
    with locked(Run(tmp_path / "sentence")), pytest.raises(RunError, match="another process is training here"):
        train(store, tmp_path)
    train(store, tmp_path)


def test_a_stage_may_start_from_any_run(store: Store, tmp_path: Path) -> None:
    (first,) = train_recipe(tiny.recipe(), store, tmp_path / "first", stages=["sentence"])
    frozen = tiny.recipe(stage__document__inherited_rate=0.0)
    (second,) = train_recipe(frozen, store, tmp_path / "second", stages=["document"], init_from=first.path)
    later = read_weights(second.weights)
    assert all(torch.equal(later[name], weight) for name, weight in read_weights(first.weights).items())


OFF = {"dropout_attention": 0.0, "dropout_feed_forward": 0.0}


def make_older(run: Run) -> None:
    """Remove from run.json what an older version did not write."""
    description = run.read()
    stage = {key: value for key, value in description["settings"]["stage"].items() if key not in OFF}
    run.write({**description, "settings": {**description["settings"], "stage": stage}})


FEW = {"steps": 6, "save_every": 2}


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(progress, "say", lines.append)
    return lines


def test_a_run_begun_before_attention_had_dropout_goes_on_without(
    store: Store, tmp_path: Path, said: list[str]
) -> None:
    whole, older = train(store, tmp_path / "whole", **OFF, **FEW), Run(tmp_path / "older" / "sentence")
    stop(store, tmp_path / "older", 3, Interrupted(2), **OFF, **FEW)
    make_older(older)
    assert not any("older version" in line for line in said)
    stop(store, tmp_path / "older", 5, Interrupted(2), **FEW)  # resumes with a recipe that says nothing of the two
    train(store, tmp_path / "older", **FEW)
    assert sha256(older.weights) == sha256(whole.weights)
    line = f"{older.path}: begun by an older version, with dropout_attention = 0.0 and dropout_feed_forward = 0.0"
    assert said.count(line) == 2
    assert not older.read()["settings"]["stage"].keys() & OFF.keys()
    train(store, tmp_path / "older", **FEW)
    assert said[-1] == f"{older.path}: finished already, kept"
    (new,) = train_recipe(recipe(**FEW), store, tmp_path / "older", stages=["sentence"], overwrite=True)
    assert sha256(new.weights) != sha256(whole.weights)
    assert said.count(line) == 3


def test_a_run_begun_before_attention_had_dropout_may_have_had_none_at_all(
    store: Store, tmp_path: Path, said: list[str]
) -> None:
    stop(store, tmp_path, 3, Interrupted(2), dropout=0.0, **FEW)
    make_older(Run(tmp_path / "sentence"))
    run = train(store, tmp_path, dropout=0.0, **FEW)
    assert said[0] == f"{run.path}: resumes after step 2"
    assert run.read()["settings"]["stage"]["dropout_attention"] is None


def test_an_older_run_that_saved_no_state_starts_anew_with_all_dropouts(store: Store, tmp_path: Path) -> None:
    stop(store, tmp_path, 2, Killed(), **OFF, **FEW)
    make_older(Run(tmp_path / "sentence"))
    run = train(store, tmp_path, **FEW)
    assert sha256(run.weights) == sha256(train(store, tmp_path / "new", **FEW).weights)


@pytest.mark.parametrize("name", ["zhang", *(pytest.param(name, marks=pytest.mark.stress) for name in ["han", "san"])])
def test_a_rival_begun_before_the_published_forms_goes_on_in_its_own(
    store: Store, tmp_path: Path, said: list[str], name: str
) -> None:
    """All its settings that the version did not know stay as they were; only those of its own table are named."""
    tables = {key: dict(SYSTEMS[key].settings.EARLIER) for key in ("zhang", "han", "san")}  # type: ignore[union-attr]
    changed = {"system": name, "steps": STEPS, "save_every": 5, "result": "last"}
    stage = {**tiny.recipe().stage["document"].model_dump(), **changed}
    before, today = tiny.recipe(stage__document=stage, **tables), tiny.recipe(stage__document=stage)
    (sentence,) = train_recipe(before, store, tmp_path / "whole", stages=["sentence"])
    shutil.copytree(sentence.path.parent, tmp_path / "older")
    (whole,) = train_recipe(before, store, tmp_path / "whole", stages=["document"])
    older = Run(tmp_path / "older" / "document")
    for step, recipes in ((6, before), (8, today)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Learner, "compute", stop_at(step, Interrupted(15)))
            with pytest.raises(Interrupted):
                train_recipe(recipes, store, tmp_path / "older", stages=["document"])
        description = older.read()
        for table, earlier in tables.items():
            for key in earlier:
                description["settings"]["system"][table].pop(key, None)
        older.write(description)
    train_recipe(today, store, tmp_path / "older", stages=["document"])
    assert sha256(older.weights) == sha256(whole.weights)
    were = [line for line in said if "begun by an older version" in line]
    assert len(were) == 2
    assert [f"{name}.{key} = {value}" in were[0] for key, value in tables[name].items()] == [True] * len(tables[name])
    assert not any(f"{other}." in were[0] for other in tables.keys() - {name})
    train_recipe(today, store, tmp_path / "older", stages=["document"])
    assert said[-1] == f"{older.path}: finished already, kept"
    assert not older.read()["settings"]["system"][name].keys() & tables[name].keys()
