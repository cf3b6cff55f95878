"""Training on top of an imported model: every system that reads context, and only corpora of the model's own words."""

import json
from pathlib import Path

import pytest
import torch
from tests.cli.calling import docaps, succeed
from tests.fixtures.marian.make import WORDS, sentences

from docaps.config import SYSTEMS
from docaps.model.checkpoint import read_weights
from docaps.runs.directory import Run

FIXTURE = Path(__file__).parents[1] / "fixtures" / "marian"
CONTEXT = [name for name, system in SYSTEMS.items() if system.context != "none"]
FEW = {"steps": 2, "warmup": 0, "freeze_inherited_steps": 1, "batch_tokens": 100}
TABLES = ["history.sentences=2", "qcn.capsules=2", "qcn.rounds=2", *(f"stage.document.{k}={v}" for k, v in FEW.items())]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An imported model (run/), documents, a corpus in its words (prepared/) and another one in words of its own."""
    found = tmp_path_factory.mktemp("training")
    succeed("import", FIXTURE, "--out", found / "run", "--source-language", "en", "--target-language", "de")
    for part, seed in (("train", 1), ("dev", 2)):
        lines = sentences(12, seed)
        targets = [" ".join(WORDS[word] for word in line.split()) for line in lines]
        for code, side in (("en", lines), ("de", targets)):
            text = "\n".join(["<d>", *side[:6], "<d>", *side[6:]])
            (found / f"{part}.{code}").write_text(f"{text}\n", encoding="utf-8")
    for name, codec in (("prepared", ["--codec", found / "run"]), ("other", [])):
        succeed("prepare", *codec, *parts(found), "--out", found / name)
    return found


def parts(folder: Path) -> list[str | Path]:
    return ["--train", folder / "train.en", folder / "train.de", "--dev", folder / "dev.en", folder / "dev.de"]


def train(folder: Path, corpus: str, out: Path, *settings: str) -> list[str | Path]:
    changed = [f"--set={one}" for one in (*TABLES, *settings)]
    return ["train", "opus-qcn", "--corpus", folder / corpus, "--init-from", folder / "run", "--out", out, *changed]


@pytest.mark.parametrize("system", CONTEXT)
def test_every_system_is_trained_on_top_of_an_imported_model(folder: Path, tmp_path: Path, system: str) -> None:
    changes = ["learning_rate=1e-9", f"system={system}"]
    if system == "concat":  # it has no weights of its own
        changes.append("freeze_inherited_steps=0")
    succeed(*train(folder, "prepared", tmp_path, *(f"stage.document.{one}" for one in changes)))
    run = Run(tmp_path / "document")
    before, after = read_weights(folder / "run" / "model.safetensors"), read_weights(run.weights)
    assert before.keys() <= after.keys()
    assert all(torch.allclose(before[name], after[name], atol=1e-6) for name in before)
    assert run.read()["system"] == system
    translated = succeed("translate", run.path, "--precision", "float32", stdin="<d>\nthe old cat\nthe dog\n").out
    assert len(translated.splitlines()) == 3


@pytest.mark.parametrize("start", ["run", "document"])
def test_a_corpus_in_other_words_is_refused(folder: Path, tmp_path: Path, start: str) -> None:
    """The vocabulary of this model is a plain list; what was trained on top of it has the same."""
    command = train(folder, "other", tmp_path / "new")
    if start == "document":
        succeed(*train(folder, "prepared", tmp_path / "trained"))
        command[command.index(folder / "run")] = tmp_path / "trained" / "document"
    found = docaps(*command)
    assert (found.code, "prepare it with --codec" in found.err) == (1, True)
    assert not (tmp_path / "new" / "document" / "model.safetensors").exists()


def test_a_diagnosis_compares_with_the_imported_model(folder: Path, tmp_path: Path) -> None:
    succeed(*train(folder, "prepared", tmp_path))
    options = ["--against", folder / "run", "--draws", "100", "--no-bleu", "--json"]
    found = json.loads(succeed("diagnose", tmp_path / "document", *options).out)
    rows = {row["condition"]: row["perplexity"] for row in found["conditions"]}
    alone = json.loads(succeed("diagnose", folder / "run", "--corpus", folder / "prepared", *options[2:]).out)
    assert alone["reason"] == "no_history"
    assert rows["against"] == pytest.approx(alone["conditions"][0]["perplexity"], rel=1e-6)
