"""An imported model is a run like any other, written whole or not at all."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.unit.exchange.published import Both

from docaps.errors import DocapsError
from docaps.exchange.hugging_face import read_folder
from docaps.exchange.importing import write_run
from docaps.model.builders import count_parameters
from docaps.runs.directory import Run, open_run


def test_a_run_says_where_it_is_from(published: Both, tmp_path: Path) -> None:
    run = write_run(read_folder(published.folder), tmp_path / "run", command="docaps import X --out run")
    found = open_run(run.path).read()
    assert (found["name"], found["system"], found["steps"]) == ("run", "transformer", 0)
    assert found["imported"]["from"] == "opus-mt-en-de"
    assert found["imported"]["files"].keys() > {"config.json", "model.safetensors", "vocab.json", "source.spm"}
    assert found["parameters"] == count_parameters(published.ours.model)
    card = run.card.read_text(encoding="utf-8")
    assert "`opus-mt-en-de`, a model in the form of Hugging Face MarianMT" in card
    assert "trained elsewhere" in card
    assert "docaps import X" in card


def test_an_imported_run_can_be_replaced_and_nothing_else(published: Both, tmp_path: Path) -> None:
    model, out = read_folder(published.folder), tmp_path / "run"
    write_run(model, out)
    with pytest.raises(DocapsError, match="run: exists already: give --overwrite to replace it"):
        write_run(model, out)
    write_run(model, out, overwrite=True)
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(DocapsError, match=r"holds something else \(notes.txt\)"):
        write_run(model, out, overwrite=True)
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(DocapsError, match="is not a run directory"):
        write_run(model, other, overwrite=True)
    with pytest.raises(DocapsError, match=r"notes.txt: is a file"):
        write_run(model, other / "notes.txt", overwrite=True)


def test_weights_that_are_no_numbers_are_refused_and_nothing_is_written(published: Both, tmp_path: Path) -> None:
    model = read_folder(published.folder)
    weights = {**model.weights, "embeddings.bias": torch.full_like(model.weights["embeddings.bias"], torch.nan)}
    with pytest.raises(DocapsError, match=r"the weights of 'embeddings.bias' are not all numbers"):
        write_run(replace(model, weights=weights), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_codec_is_refused(published: Both, tmp_path: Path) -> None:
    from docaps.corpus.text.codec import load_codec

    run = write_run(read_folder(published.folder), tmp_path / "run")
    codec = load_codec(run.text)
    assert codec.encode_source("The cat.") == published.ours.codec.encode_source("The cat.")
    shutil.copyfile(run.text / "source.spm", tmp_path / "kept")
    (run.text / "source.spm").write_bytes(b"spm")
    with pytest.raises(DocapsError, match="SentencePiece model cannot be read"):
        load_codec(run.text)
    shutil.copyfile(tmp_path / "kept", run.text / "source.spm")
    description = json.loads((run.text / "languages.json").read_text(encoding="utf-8"))
    for kind in ("other", ["marian"]):
        (run.text / "languages.json").write_text(json.dumps({**description, "subwords": kind}), encoding="utf-8")
        with pytest.raises(DocapsError, match="subwords are bpe, sentencepiece, marian, words, found"):
            load_codec(run.text)
    assert Run(run.path).finished
