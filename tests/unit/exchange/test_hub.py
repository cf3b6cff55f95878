"""Models by name, from a stand-in for the hub: downloads, the cache, no network, uploads."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tests.cli.calling import docaps as call
from tests.cli.calling import succeed
from tests.unit.exchange.hub_server import Models, serving
from tests.unit.exchange.published import Both

import docaps
from docaps.errors import DocapsError, FetchError, RunError
from docaps.exchange.hub import fetch_marian, is_hub_name, push_run
from docaps.exchange.hugging_face import read_folder
from docaps.exchange.importing import write_run
from docaps.model.checkpoint import read_weights
from docaps.runs.directory import Run

constants = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed (docaps[hub])").constants

MARIAN = Path(__file__).parents[2] / "fixtures" / "marian"
NAME = "Helsinki-NLP/opus-mt-en-de"


@pytest.fixture
def models(published: Both, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Models]:
    """The models of a hub that serves them here, with an empty cache."""
    found: Models = {NAME: {file.name: file.read_bytes() for file in published.folder.iterdir() if file.is_file()}}
    with serving(found) as address:
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}"
        )
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", True)
        monkeypatch.chdir(tmp_path)
        yield found


def test_a_model_is_imported_by_name(models: Models, published: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    models[NAME]["tf_model.h5"] = b"not for us"
    folder = fetch_marian(NAME)
    assert not (folder / "tf_model.h5").exists()
    found = read_folder(folder, name=NAME)
    assert found.name == NAME
    expected = dict(published.ours.model.named_parameters())
    assert found.weights.keys() == expected.keys()
    assert all(torch.equal(found.weights[key], weight) for key, weight in expected.items())
    models.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert fetch_marian(NAME) == folder  # from the cache


def test_commands_fetch_and_push(models: Models, published: Both, tmp_path: Path) -> None:
    imported = json.loads(succeed("import", NAME, "--out", tmp_path / "run", "--json").out)
    assert (imported["form"], imported["source_language"]) == ("Hugging Face MarianMT", "en")
    weights = read_weights(tmp_path / "run" / "model.safetensors")
    assert all(torch.equal(weights[key], one) for key, one in published.ours.model.named_parameters())
    assert Run(tmp_path / "run").read()["imported"]["from"] == NAME
    shown = succeed("push", tmp_path / "run", "anna/opus")
    assert "/anna/opus/commit/" in shown.out
    assert 'load it with docaps.load("anna/opus")' in shown.out
    pushed = json.loads(succeed("push", tmp_path / "run", "anna/other", "--private", "--json").out)
    assert (pushed["name"], pushed["run"]) == ("anna/other", str(tmp_path / "run"))
    assert models["anna/other"]["model.safetensors"] == (tmp_path / "run" / "model.safetensors").read_bytes()
    wrong = call("push", tmp_path / "run", "anna")
    assert (wrong.code, "'anna' is not a name on the hub" in wrong.err) == (1, True)


def test_an_original_model_is_imported_by_name(models: Models, tmp_path: Path) -> None:
    own = {name: (MARIAN / name).read_bytes() for name in ("model.npz", "vocab.yml", "decoder.yml")}
    models["anna/marian-en-de"] = {**own, "model.optimizer.npz": b"large", "notes.txt": b"not for us"}
    folder = fetch_marian("anna/marian-en-de")
    assert sorted(path.name for path in folder.iterdir()) == sorted(own)
    found = json.loads(succeed("import", "anna/marian-en-de", "--out", tmp_path / "run", "--json").out)
    assert (found["form"], found["target_language"]) == ("Marian", "de")


def test_without_a_network_a_run_is_not_pushed(
    models: Models, published: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(read_folder(published.folder), tmp_path / "run")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(
        FetchError, match=r"the hub cannot be reached.*/run is as it was: push it when there is a"
    ) as found:
        push_run(run.path, "anna/opus")
    assert "hf download" not in str(found.value)


def test_a_full_disk_is_not_a_missing_network(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "model.safetensors")

    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    with pytest.raises(OSError, match="No space left on device"):
        fetch_marian(NAME)
    found = call("import", NAME, "--out", "run")
    assert (found.code, "No space left on device" in found.err, "network" in found.err) == (1, True, False)


def test_pickled_weights_come_if_there_are_no_others(models: Models) -> None:
    models[NAME]["pytorch_model.bin"] = models[NAME].pop("model.safetensors")
    assert (fetch_marian(NAME) / "pytorch_model.bin").exists()


def test_without_a_network_the_error_says_what_to_do(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FetchError, match=r"no model 'Helsinki-NLP/opus-mt-en-xx' on the hub"):
        fetch_marian("Helsinki-NLP/opus-mt-en-xx")
    advice = rf"hf download {NAME} --local-dir opus-mt-en-de.*copy the folder here, and docaps import opus-mt-en-de"
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(FetchError, match=advice):
        fetch_marian(NAME)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(FetchError, match=advice):
        fetch_marian(NAME)


def test_without_the_library_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(FetchError, match=r"pip install 'docaps\[hub\]'"):
        fetch_marian(NAME)


def test_a_run_is_pushed_and_loaded(models: Models, published: Both, tmp_path: Path) -> None:
    run = write_run(read_folder(published.folder), tmp_path / "run")
    run.metrics.write_text("{}\n", encoding="utf-8")
    address = push_run(run.path, "anna/opus")
    assert "/anna/opus/commit/" in address
    assert models["anna/opus"].keys() >= {"run.json", "model.safetensors", "text/source.spm", "README.md"}
    assert "metrics.jsonl" not in models["anna/opus"]
    assert models["anna/opus"]["README.md"] == run.card.read_bytes()
    sentences = ["The old cat saw the river."]
    loaded = docaps.load("anna/opus").translate(sentences, beam=1).texts
    assert loaded == docaps.load(run.path).translate(sentences, beam=1).texts
    with pytest.raises(RunError, match=f"import it first: docaps import {NAME} --out RUN"):
        docaps.load(NAME)
    with pytest.raises(FetchError, match="'opus' is not a name on the hub: expected USER/MODEL"):
        push_run(run.path, "opus")
    with pytest.raises(DocapsError, match="no such run"):
        push_run(tmp_path / "none", "anna/none")


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        (NAME, True),
        ("user/model.v2", True),
        ("model", False),
        ("a/b/c", False),
        ("../model", False),
        ("src/model", False),
    ],
)
def test_paths_and_names_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_one: bool
) -> None:
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path)
    assert is_hub_name(name) is is_one


@pytest.mark.stress
def test_the_variables_of_the_library_are_honoured(published: Both, tmp_path: Path) -> None:
    found: Models = {NAME: {file.name: file.read_bytes() for file in published.folder.iterdir() if file.is_file()}}
    command = [sys.executable, "-m", "docaps", "import", NAME, "--out"]
    with serving(found) as address:
        own = {**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home")}
        subprocess.run([*command, "one"], env=own, cwd=tmp_path, check=True, capture_output=True)
    offline = {**own, "HF_HUB_OFFLINE": "1"}
    subprocess.run([*command, "two"], env=offline, cwd=tmp_path, check=True, capture_output=True)
    nowhere = {**offline, "HF_HOME": str(tmp_path / "empty")}
    third = subprocess.run([*command, "three"], env=nowhere, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert (third.returncode, "is not in the cache" in third.stderr) == (1, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "one", "two"]
