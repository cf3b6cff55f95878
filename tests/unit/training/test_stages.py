"""Stages: each leaves a run directory; finished runs are kept, other runs refused, interrupted ones resumed."""

import errno
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.invariants import tiny

from docaps import progress
from docaps.batches.batch import collate
from docaps.batches.prefetch import StepBatch, StepData
from docaps.batches.sampling import StreamPosition
from docaps.batches.windows import window_of
from docaps.corpus.store import Store, open_store
from docaps.errors import ConfigError, CorpusError, RunError, TrainingError
from docaps.files import sha256, write_json
from docaps.interruption import Interrupted
from docaps.model.checkpoint import read_weights
from docaps.runs.directory import Run, open_run
from docaps.runs.training_log import read_metrics
from docaps.training import stages
from docaps.training.learner import Learner
from docaps.training.objective import Device, Objective, validate
from docaps.training.resume import RunRecord
from docaps.translation.trained_model import load_trained


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def trained(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with both stages finished; tests that change it take a copy or put things back."""
    out = tmp_path_factory.mktemp("runs")
    stages.train_recipe(tiny.recipe(), store, out)
    return out


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(progress, "say", lines.append)
    return lines


def test_a_corpus_that_was_changed_is_not_trained_on(store: Store, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(store.path, tmp_path / "prepared"))
    ids = np.load(copy / "train.source.npy")
    ids[0] = ids[-2]  # in the vocabulary, so that only the hash tells
    np.save(copy / "train.source.npy", ids)
    with pytest.raises(CorpusError, match=r"train\.source\.npy: the prepared corpus is damaged: its SHA-256 is"):
        stages.train_recipe(tiny.recipe(), open_store(copy), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_process_that_was_killed_when_it_had_just_finished_leaves_nothing(
    trained: Path, store: Store, tmp_path: Path
) -> None:
    run = Run(Path(shutil.copytree(trained, tmp_path / "runs")) / "sentence")
    run.snapshots.mkdir()
    for path in (run.state, run.snapshots / "step-00000002.safetensors"):
        shutil.copy(run.weights, path)
    stages.train_recipe(tiny.recipe(), store, tmp_path / "runs", stages=["sentence"])
    assert not run.state.exists()
    assert not run.snapshots.exists()
    assert sha256(run.weights) == sha256(trained / "sentence" / "model.safetensors")


def test_a_finished_run_describes_itself_and_can_be_loaded(trained: Path, store: Store) -> None:
    run = open_run(trained / "document")
    description = run.read()
    assert (description["status"], description["system"], description["steps"]) == ("finished", "qcn+reg", 3)
    assert description["corpus"]["hash"] == store.hash
    assert (description["seed"], description["parameters"]) == (
        tiny.recipe().seed,
        sum(weight.numel() for weight in read_weights(run.weights).values()),
    )
    assert {"python", "torch", "numpy"} <= description["versions"].keys()
    assert [event["event"] for event in description["history"]] == ["started", "finished"]
    assert description["settings"]["stage"]["init_from"] == "sentence"
    rows = list(read_metrics(run.metrics))
    assert [row["step"] for row in rows if "loss" in row] == [1, 2, 3]
    assert [row["step"] for row in rows if "dev_loss" in row] == [2, 3]
    assert load_trained(run.path).model.history == tiny.K


def test_a_finished_stage_is_kept(trained: Path, store: Store, said: list[str]) -> None:
    files = [path for path in trained.rglob("*") if path.is_file()]
    before = {path: (path.stat().st_mtime_ns, sha256(path)) for path in files}
    runs = stages.train_recipe(tiny.recipe(), store, trained)
    assert [run.path.name for run in runs] == ["sentence", "document"]
    assert {path: (path.stat().st_mtime_ns, sha256(path)) for path in files} == before
    assert [line.endswith("finished already, kept") for line in said] == [True, True]


@pytest.mark.parametrize(
    ("change", "what"),
    [({"stage__sentence__steps": 4}, "settings"), ({"model__heads": 4}, "settings"), ({"seed": 2}, "seed")],
)
def test_a_finished_stage_with_other_settings_is_refused(
    trained: Path, store: Store, change: dict[str, int], what: str
) -> None:
    with pytest.raises(RunError, match=f"other {what} is here: choose another --out or give --overwrite") as caught:
        stages.train_recipe(tiny.recipe(**change), store, trained)
    assert caught.value.path == trained / "sentence"


@pytest.mark.parametrize("table", [("system", "han"), ("system", "regulariser"), ("stage",), ("decoding",)])
def test_settings_unknown_to_an_earlier_version_have_their_defaults(
    store: Store, trained: Path, tmp_path: Path, table: tuple[str, ...], said: list[str]
) -> None:
    run = Run(Path(shutil.copytree(trained, tmp_path / "runs")) / "sentence")
    description = run.read()
    place = description["settings"]
    for name in table:
        place = place[name]
    removed = {"han": "distances", "regulariser": "negatives", "stage": "clip", "decoding": "length_penalty"}
    del place[removed[table[-1]]]
    write_json(run.description, description)
    stages.train_recipe(tiny.recipe(), store, run.path.parent, stages=["sentence"])
    assert said[-1].endswith("finished already, kept")
    place["of a later version"] = 1
    write_json(run.description, description)
    with pytest.raises(RunError, match="other settings is here"):
        stages.train_recipe(tiny.recipe(), store, run.path.parent, stages=["sentence"])


def test_a_finished_stage_of_another_corpus_is_refused(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="other corpus is here"):
        stages.train_recipe(tiny.recipe(), tiny.prepared(tmp_path, merges=10), trained)


def test_with_overwrite_a_stage_is_trained_again(store: Store, tmp_path: Path) -> None:
    (run,) = stages.train_recipe(tiny.recipe(), store, tmp_path, stages=["sentence"])
    before = sha256(run.weights)
    stages.train_recipe(tiny.recipe(), store, tmp_path, stages=["sentence"], overwrite=True)
    assert sha256(run.weights) == before  # the same seed
    stages.train_recipe(tiny.recipe(seed=2), store, tmp_path, stages=["sentence"], overwrite=True)
    assert sha256(run.weights) != before
    assert run.read()["seed"] == 2


def test_the_whole_chain_twice_gives_the_same_weights(trained: Path, store: Store, tmp_path: Path) -> None:
    for run in stages.train_recipe(tiny.recipe(), store, tmp_path):
        assert sha256(run.weights) == sha256(trained / run.path.name / run.weights.name)


def test_a_stage_starts_from_the_weights_of_another(trained: Path, store: Store, said: list[str]) -> None:
    model, inherited = stages.Stage("document", tiny.recipe(), store, trained)._build_model()
    earlier = read_weights(trained / "sentence" / "model.safetensors")
    own = dict(model.named_parameters())
    assert set(inherited) == earlier.keys()
    assert all(torch.equal(own[name], weight) for name, weight in earlier.items())
    new = tiny.parameter_names(model, containing=["context", "regulariser"])
    assert own.keys() - earlier.keys() == new
    (line,) = said
    assert line == (
        f"document starts from sentence: {len(earlier)} tensors taken over, "
        f"{len(new)} new (context, encoder, regulariser)"
    )


COPIED = {"context__start": "copied", "stage__document__steps": 1, "stage__document__learning_rate": 1e-9}


@pytest.mark.parametrize("attends", ["encoder", "decoder", "both", "zhang"])
def test_copied_context_sublayers_start_as_trained_attention(
    trained: Path, store: Store, tmp_path: Path, said: list[str], attends: str
) -> None:
    shutil.copytree(trained / "sentence", tmp_path / "sentence")
    zhang = attends == "zhang"  # has gated sub-layers in all layers
    recipe = tiny.recipe(**COPIED, **({"stage__document__system": "zhang"} if zhang else {"qcn__attends": attends}))
    stages.train_recipe(recipe, store, tmp_path, stages=["document"])
    old, new = (read_weights(tmp_path / name / "model.safetensors") for name in ("sentence", "document"))
    layers = {
        f"{side}.{number}": other
        for side, other in (("encoder", "attention"), ("decoder", "source"))
        if attends in (side, "both", "zhang")
        for number in range(2)
    }
    for layer, other in layers.items():
        for part in ("query", "key", "value", "output"):
            for kind in ("weight", "bias"):
                copy, original = new[f"{layer}.context.attention.{part}.{kind}"], old[f"{layer}.{other}.{part}.{kind}"]
                torch.testing.assert_close(copy, original, atol=1e-7, rtol=0)
        copy, original = new[f"{layer}.context.residual.norm.weight"], old[f"{layer}.{other}_residual.norm.weight"]
        torch.testing.assert_close(copy, original, atol=1e-7, rtol=0)
    assert {name.split(".context.")[0] for name in new if ".context." in name} == layers.keys()
    assert any(line.endswith(f", {len(layers)} context sub-layers start as copies of attention") for line in said)


def test_copies_are_made_once_not_in_a_later_stage(trained: Path, store: Store, tmp_path: Path) -> None:
    recipe = tiny.recipe(**COPIED)
    stages.train_recipe(recipe, store, tmp_path, stages=["document"], init_from=trained / "document")
    old, new = (read_weights(path / "document" / "model.safetensors") for path in (trained, tmp_path))
    name = "encoder.0.context.attention.query.weight"
    torch.testing.assert_close(new[name], old[name], atol=1e-7, rtol=0)


READINGS = {
    "copied": {"context__start": "copied"},
    "states": {"qcn__reads": "states", "qcn__gradient_to_states": True, "qcn__sides": "both", "qcn__attends": "both"},
    "target": {"qcn__sides": "target", "qcn__distances": True, "qcn__sharpness": "learned"},
    "current": {"qcn__current": True, "qcn__reads": "states", "context__start": "copied", "qcn__start": "identity"},
}


@pytest.mark.parametrize("reading", READINGS)
def test_a_resumed_stage_equals_an_uninterrupted_one_and_does_not_copy_again(
    trained: Path, store: Store, tmp_path: Path, reading: str
) -> None:
    changes = {**READINGS[reading], "stage__document__save_every": 1, "stage__document__steps": 4}
    (whole,) = stages.train_recipe(
        tiny.recipe(**changes), store, tmp_path / "whole", stages=["document"], init_from=trained / "sentence"
    )
    first, calls = Learner.apply, []

    def failing(learner: Learner, step: int) -> float:
        calls.append(step)
        if step == 3:
            raise OSError("stopped")
        return first(learner, step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Learner, "apply", failing)
        with pytest.raises(TrainingError):
            stages.train_recipe(
                tiny.recipe(**changes), store, tmp_path / "parts", stages=["document"], init_from=trained / "sentence"
            )
    (parts,) = stages.train_recipe(
        tiny.recipe(**changes), store, tmp_path / "parts", stages=["document"], init_from=trained / "sentence"
    )
    assert calls == [1, 2, 3]
    assert sha256(whole.weights) == sha256(parts.weights)


def test_without_an_earlier_stage_there_is_nothing_to_copy(store: Store, tmp_path: Path) -> None:
    recipe = tiny.recipe(context__start="copied", stage__document__init_from=None)
    with pytest.raises(ConfigError, match=r'stage.document: context.start = "copied" needs init_from'):
        stages.train_recipe(recipe, store, tmp_path, stages=["document"])
    stages.train_recipe(recipe, store, tmp_path, stages=["sentence"])  # a sentence model has no context


def test_inherited_rate_0_freezes_what_was_taken_over(trained: Path, store: Store, tmp_path: Path) -> None:
    recipe = tiny.recipe(stage__document__inherited_rate=0.0)
    sentence, document = stages.train_recipe(recipe, store, tmp_path)
    earlier, later = read_weights(sentence.weights), read_weights(document.weights)
    assert all(torch.equal(later[name], weight) for name, weight in earlier.items())
    free = read_weights(trained / "document" / "model.safetensors")
    assert not any(torch.equal(free[name], weight) for name, weight in earlier.items())


def test_a_stage_may_change_its_system_and_inherits_what_both_have(
    trained: Path, store: Store, tmp_path: Path, said: list[str]
) -> None:
    """As HAN is trained: the encoder's side first, then both; the decoder's weights are new."""
    sentence = shutil.copytree(trained / "sentence", tmp_path / "sentence")
    first = {**tiny.recipe().stage["document"].model_dump(), "system": "han", "han": {"side": "encoder"}}
    recipe = tiny.recipe(stage__document=first, stage__joint={**first, "init_from": "document", "han": None})
    encoder, joint = stages.train_recipe(recipe, store, sentence.parent, stages=["document", "joint"])
    assert [run.read()["settings"]["system"]["han"]["side"] for run in (encoder, joint)] == ["encoder", "joint"]
    assert "han" not in encoder.read()["settings"]["stage"]
    assert [load_trained(run.path).model.translations for run in (encoder, joint)] == [False, True]
    (line,) = [line for line in said if line.startswith("joint starts from")]
    earlier, later = read_weights(encoder.weights), read_weights(joint.weights)
    new = {name for name in later if name.startswith("decoder_context.")}
    assert later.keys() - earlier.keys() == new
    assert line == f"joint starts from document: {len(earlier)} tensors taken over, {len(new)} new (decoder_context)"
    stages.train_recipe(recipe, store, sentence.parent, stages=["document", "joint"])
    assert [line.endswith("finished already, kept") for line in said[-2:]] == [True, True]


def test_the_same_system_written_in_the_recipe_or_in_the_stage_is_the_same_run(
    trained: Path, store: Store, said: list[str]
) -> None:
    recipe = tiny.recipe(stage__document__qcn={"rounds": tiny.R}, qcn={"capsules": tiny.M})
    stages.train_recipe(recipe, store, trained, stages=["document"])
    assert said[-1].endswith("finished already, kept")
    with pytest.raises(RunError, match="other settings is here"):
        stages.train_recipe(tiny.recipe(stage__document__qcn={"rounds": tiny.R + 1}), store, trained)


def test_a_stage_may_change_the_weight_of_the_regulariser(store: Store, tmp_path: Path) -> None:
    recipe = tiny.recipe(stage__document__regulariser={"weight": 0.0})
    stage = stages.Stage("document", recipe, store, tmp_path)
    stages.train_recipe(recipe, store, tmp_path, stages=["sentence"])
    learner = stage._make_learner(Device(torch.device("cpu"), torch.float32), None)
    metrics = learner.step(1, collate([window_of(store.split("train"), 1, tiny.K)], tiny.K))
    assert metrics["loss"] == metrics["cross_entropy"]


def test_a_system_that_reads_initial_weights_needs_some(store: Store, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        stages.train_recipe(tiny.recipe(stage__sentence__system="san"), store, tmp_path, stages=["sentence"])
    assert str(caught.value) == (
        "stage.sentence: san reads other sentences with the weights that the stage starts from: set init_from, or "
        'san.memory = "current"'
    )
    own = {"stage__sentence__system": "san", "stage__sentence__san": {"memory": "current"}}
    stages.train_recipe(tiny.recipe(**own), store, tmp_path, stages=["sentence"])


def test_a_stage_whose_beginning_is_not_there_is_refused(store: Store, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no such run") as caught:
        stages.train_recipe(tiny.recipe(), store, tmp_path, stages=["document"])
    assert caught.value.path == tmp_path / "sentence"


@pytest.mark.parametrize("fault", [Interrupted(2), RuntimeError("a bug")])
def test_an_interrupted_run_is_unfinished_and_can_be_resumed(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str], fault: BaseException
) -> None:
    compute = Learner.compute

    def stop(self: Learner, step: int, data: StepData) -> dict[str, float]:
        if step == 3:
            raise fault
        return compute(self, step, data)

    run = Run(tmp_path / "sentence")
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "compute", stop)
        with pytest.raises(type(fault)):
            stages.train_recipe(tiny.recipe(), store, tmp_path)
    assert run.read()["status"] == "interrupted"
    assert not run.weights.exists()
    assert not (tmp_path / "document").exists()
    with pytest.raises(RunError, match="not finished \\(status: interrupted\\)"):
        open_run(run.path)
    stages.train_recipe(tiny.recipe(), store, tmp_path, stages=["sentence"])
    assert f"{run.path}: resumes after step 2" in said
    assert run.finished
    assert [row["step"] for row in read_metrics(run.metrics) if "loss" in row] == [1, 2, 3]
    events = [event["event"] for event in run.read()["history"]]
    assert events == ["started", "interrupted", "continued", "finished"]
    left = {path.name for path in run.path.iterdir()} - {"tensorboard"}
    assert left == {"metrics.jsonl", "model.safetensors", "run.json", "text"}


def test_a_directory_without_a_run_is_not_touched(store: Store, tmp_path: Path) -> None:
    precious = tmp_path / "sentence" / "thesis.tex"
    precious.parent.mkdir()
    precious.write_text("ten years of work")
    for overwrite in (False, True):
        with pytest.raises(RunError, match="exists and is not a run directory"):
            stages.train_recipe(tiny.recipe(), store, tmp_path, overwrite=overwrite)
    assert precious.read_text() == "ten years of work"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_directory_with_the_run_of_another_program_is_not_touched(
    store: Store, tmp_path: Path, overwrite: bool
) -> None:
    folder = tmp_path / "sentence"
    folder.mkdir()
    (folder / "run.json").write_text('{"tool": "other"}')
    (folder / "text").write_text("ten years of work")
    with pytest.raises(RunError, match="exists and is not a run directory"):
        stages.train_recipe(tiny.recipe(), store, tmp_path, overwrite=overwrite)
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "run.json": '{"tool": "other"}',
        "text": "ten years of work",
    }


def test_overwriting_a_run_keeps_the_files_of_others_and_the_targets_of_links(store: Store, tmp_path: Path) -> None:
    (run,) = stages.train_recipe(tiny.recipe(), store, tmp_path, stages=["sentence"])
    (run.path / "notes.md").write_text("mine")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("mine too")
    run.assessment.symlink_to(elsewhere)
    run.card.write_text("of the old run")
    stages.train_recipe(tiny.recipe(), store, tmp_path, stages=["sentence"], overwrite=True)
    assert (run.path / "notes.md").read_text() == "mine"
    assert (elsewhere / "kept").read_text() == "mine too"
    assert not run.assessment.is_symlink()
    assert not run.card.exists()


def test_killed_at_its_very_beginning_a_stage_can_be_begun_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """run.json must be written first: a folder without it would not count as a run."""
    folder = tmp_path / "sentence"
    folder.mkdir()
    (folder / ".run.json.x7_0abcd.partial").write_text("{")

    def die(*arguments: object) -> None:
        raise SystemExit(9)

    with monkeypatch.context() as patch:
        patch.setattr(type(store.codec), "save", die)
        with pytest.raises(SystemExit):
            stages.train_recipe(tiny.recipe(), store, tmp_path, stages=["sentence"])
    assert Run(folder).read()["status"] == "training"
    (run,) = stages.train_recipe(tiny.recipe(), store, tmp_path, stages=["sentence"])
    assert run.finished
    assert not list(folder.glob(".*.partial"))


def test_an_unknown_stage_is_named_with_the_known_ones(store: Store, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no stage 'dokument' in the recipe: it has sentence, document"):
        stages.train_recipe(tiny.recipe(), store, tmp_path, stages=["dokument"])


@pytest.mark.parametrize("budget", [1, 30, 1000])
def test_validation_is_the_mean_over_all_target_tokens(store: Store, budget: int) -> None:
    model = tiny.trained(store).model
    data = store.split("dev")
    total, tokens = 0.0, 0
    for number in range(len(data)):
        window = window_of(data, number, tiny.K)
        if len(window.source) > 1:
            total -= tiny.log_probabilities(model, collate([window], tiny.K))[0]
            tokens += len(data.target[number])
    device = Device(torch.device("cpu"), torch.float32)
    objective = Objective(model.train(), label_smoothing=0.1, regulariser_weight=1.0, device=device)
    found = validate(objective, data, budget=budget)
    assert found["dev_loss"] == pytest.approx(total / tokens, abs=1e-5)
    assert found["dev_perplexity"] == pytest.approx(math.exp(total / tokens), rel=1e-4)
    assert tokens < sum(len(data.target[number]) for number in range(len(data)))  # the empty pair does not count


def test_metrics_are_json_lines(trained: Path) -> None:
    lines = (trained / "sentence" / "metrics.jsonl").read_text().splitlines()
    assert all(isinstance(json.loads(line), dict) for line in lines)


def test_sentences_are_named_by_number_and_document(store: Store) -> None:
    data = store.split("train")
    batch = collate([window_of(data, number, tiny.K) for number in (0, 1)], tiny.K)
    second = int(data.documents[1])
    few = StepData((StepBatch(0, batch, np.array([0, second]), 9),), 9, StreamPosition(2, 17))
    assert stages.describe_data(data, few) == (
        f", up to batch 17 of epoch 3, on the training sentences 1 (document 1), {second + 1} (document 2)"
    )
    many = StepData((StepBatch(0, batch, np.arange(7), 9),), 9, StreamPosition(2, 0))
    assert stages.describe_data(data, many).startswith(", up to the end of epoch 2, on")
    assert stages.describe_data(data, many).endswith(" and 2 more")


def test_a_non_finite_loss_names_the_sentences(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Learner, "compute", lambda *_: {"loss": math.nan})
    with pytest.raises(
        TrainingError, match=r"the last of them 10, up to .*epoch \d+, on the training sentences \d+ \("
    ):
        stages.train_recipe(tiny.recipe(stage__sentence__steps=20), store, tmp_path, stages=["sentence"])


def test_the_error_that_ended_training_is_raised_even_if_it_cannot_be_recorded(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Learner, "compute", lambda *_: {"loss": math.nan})
    monkeypatch.setattr(RunRecord, "interrupt", refuse)
    with pytest.raises(TrainingError, match="the last of them 10"):
        stages.train_recipe(tiny.recipe(stage__sentence__steps=20), store, tmp_path, stages=["sentence"])
