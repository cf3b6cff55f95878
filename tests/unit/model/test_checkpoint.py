"""Weights survive a file; a damaged file or one of another model is refused, and a failed save leaves the old one."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from tests.invariants import tiny

from docaps.errors import CheckpointError
from docaps.model import checkpoint
from docaps.model.builders import build_model, sketch_model
from docaps.model.checkpoint import (
    check_weights,
    fill,
    load_weights,
    read_shapes,
    read_weights,
    weights_of,
    write_tensors,
)
from docaps.model.interface import TranslationModel


def fresh(name: str = "qcn", *, vocabulary: int = 11, seed: int = 0, **settings: Any) -> TranslationModel:
    return build_model(tiny.settings(name, **settings), vocabulary=vocabulary, seed=seed)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_tensors(tmp_path / "model.safetensors", weights_of(fresh()))
    return tmp_path / "model.safetensors"


def header_length(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[:8], "little")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.999])
def test_a_truncated_file_is_refused(path: Path, share: float) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(CheckpointError, match="the weights are damaged") as caught:
        load_weights(fresh(), path)
    assert caught.value.path == path


def test_a_file_with_something_behind_its_end_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(CheckpointError, match="the weights are damaged"):
        load_weights(fresh(), path)


def test_a_bit_flipped_anywhere_in_the_header_is_noticed(path: Path) -> None:
    whole, model = path.read_bytes(), fresh()
    bits, notes = 8 * (8 + header_length(path)), 8 * whole.index(b"}")
    chosen = [*range(notes), *random.Random(1).sample(range(notes, bits), 150)]  # the digest and its name: every bit
    for bit in chosen:
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError):
            load_weights(model, path)


def test_a_file_of_another_program_has_no_digest(path: Path) -> None:
    weights = read_weights(path)
    save_file(weights, path, metadata={"format": "pt"})
    load_weights(fresh(seed=3), path)
    save_file(weights, path, metadata={"sha257": "damaged"})
    with pytest.raises(CheckpointError, match="not those that were written"):
        load_weights(fresh(), path)


def test_missing_weights_are_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no weights here") as caught:
        load_weights(fresh(), tmp_path / "none.safetensors")
    assert caught.value.path == tmp_path / "none.safetensors"


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"name": "transformer"}, r"not used \(context, encoder\)"),
        ({"name": "qcn+reg"}, r"2 new \(regulariser\)"),
        ({"vocabulary": 12}, r"1 of another shape \(embeddings\)"),
        ({"embeddings": "separate"}, r"2 new \(embeddings\)"),
        ({"capsules": 3}, r"1 of another shape \(context\)"),
    ],
)
def test_weights_of_another_model_are_refused(path: Path, other: dict[str, Any], message: str) -> None:
    with pytest.raises(CheckpointError, match=f"the weights belong to another model.*{message}"):
        load_weights(fresh(**other), path)


def test_shapes_are_compared_without_reading_the_weights(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("weights are read")

    monkeypatch.setattr(checkpoint, "read_tensors", refuse)
    sketch = sketch_model(tiny.settings("qcn"), vocabulary=11)
    assert all(weight.is_meta for weight in sketch.parameters())
    check_weights(sketch, path)
    for other in (sketch_model(tiny.settings("qcn"), vocabulary=12), sketch_model(tiny.settings("han"), vocabulary=11)):
        with pytest.raises(CheckpointError, match="the weights belong to another model"):
            check_weights(other, path)


@pytest.mark.parametrize("length", [0, 1, checkpoint.LARGEST_HEADER + 1, 2**63])
def test_the_length_of_a_header_has_bounds(tmp_path: Path, length: int) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(length.to_bytes(8, "little") + b"{}")
    os.truncate(path, 2**30)  # sparse: it takes no room on the disk
    with pytest.raises(CheckpointError, match=r"the weights are damaged: a header of .* bytes, expected 2 to"):
        read_shapes(path)


@pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "directory"])
def test_weights_are_a_regular_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "model.safetensors"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to(kind)
    with pytest.raises(CheckpointError, match=r"the weights are damaged: .*(expected a regular file|directory)"):
        load_weights(fresh(), path)


def test_weights_are_numbers_with_a_fraction(path: Path) -> None:
    write_tensors(path, {"embeddings.source.weight": torch.ones(3, dtype=torch.int64)})
    with pytest.raises(CheckpointError, match=r"not weights: 'embeddings.source.weight' is of the type torch.int64"):
        read_weights(path)


def test_taking_over_copies_what_fits_and_reports_the_rest(tmp_path: Path) -> None:
    earlier, later = fresh("transformer", seed=1), fresh("qcn+reg", seed=2)
    start = {name: weight.clone() for name, weight in later.named_parameters()}
    write_tensors(tmp_path / "model.safetensors", weights_of(earlier))
    report = fill(later, read_weights(tmp_path / "model.safetensors"))
    new = tiny.parameter_names(later, containing=["context", "regulariser"])
    assert set(report.new) == new
    assert set(report.taken) == dict(earlier.named_parameters()).keys()
    assert report.left == report.unfit == ()
    for name, weight in later.named_parameters():
        expected = start[name] if name in new else dict(earlier.named_parameters())[name]
        assert torch.equal(weight, expected)
    assert later.embeddings.output is later.embeddings.source


def test_a_shared_table_is_stored_once(path: Path) -> None:
    header = json.loads(path.read_bytes()[8 : 8 + header_length(path)])
    assert [name for name in header if name.startswith("embeddings")] == ["embeddings.source.weight"]


@pytest.mark.parametrize(
    ("fault", "told"),
    [(OSError("no space left on device"), CheckpointError), (KeyboardInterrupt(), KeyboardInterrupt)],
)
def test_when_saving_fails_midway_the_old_file_is_intact(
    path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException, told: type[BaseException]
) -> None:
    before = path.read_bytes()

    def fail(weights: object, place: Path, metadata: object) -> None:
        place.write_bytes(before[:100])
        raise fault

    monkeypatch.setattr(checkpoint, "save_file", fail)
    with pytest.raises(told):
        write_tensors(path, weights_of(fresh(seed=9)))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    assert read_weights(path).keys() == dict(fresh().named_parameters()).keys()


@pytest.mark.parametrize("fault", [SafetensorError, OSError, RuntimeError])
def test_a_file_that_is_replaced_while_it_is_read_is_read_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, fault: type[Exception]
) -> None:
    """As happens to the state of a training that another process reads; torch raises a RuntimeError."""
    opened: list[Path] = []

    def replace_first(place: Path, framework: str) -> object:
        opened.append(place)
        if len(opened) == 1:
            write_tensors(place, weights_of(fresh(seed=9)))
            raise fault("the file is smaller than it was")
        return safe_open(place, framework=framework)

    monkeypatch.setattr(checkpoint, "safe_open", replace_first)
    found = read_weights(path)
    assert len(opened) == 2
    assert all(torch.equal(found[name], weight) for name, weight in fresh(seed=9).named_parameters())
