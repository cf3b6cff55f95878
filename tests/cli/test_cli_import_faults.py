"""Bad folders: `docaps import` says what is wrong, ends with exit code 1, and writes nothing."""

import json
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.cli.calling import docaps
from tests.unit.exchange.published import make_folder

MARIAN = Path(__file__).parents[1] / "fixtures" / "marian"
Harm = Callable[[Path], object]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("published") / "opus-mt-en-de")


class Harmful:
    """Something whose unpickling would run code."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


def without(name: str) -> Harm:
    return lambda folder: (folder / name).unlink()


def cut(name: str) -> Harm:
    def harm(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])

    return harm


def with_values(name: str, **values: Any) -> Harm:
    def harm(folder: Path) -> None:
        found = json.loads((folder / name).read_text(encoding="utf-8"))
        (folder / name).write_text(json.dumps({**found, **values}), encoding="utf-8")

    return harm


def with_weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Harm:
    def harm(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    return harm


def pickle_code(write: Callable[[Any, Path], object]) -> Harm:
    def harm(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        write({"final_logits_bias": Harmful(folder / "harm")}, folder / "pytorch_model.bin")

    return harm


PUBLISHED: dict[str, tuple[Harm, str]] = {
    **{f"without {name}": (without(name), name) for name in ("vocab.json", "source.spm", "target.spm")},
    "without weights": (without("model.safetensors"), "expected model.safetensors or pytorch_model.bin"),
    "without config": (without("config.json"), "no model here: expected a folder with config.json"),
    **{
        f"truncated {name}": (cut(name), name)
        for name in ("config.json", "vocab.json", "source.spm", "target.spm", "model.safetensors")
    },
    "another width": (with_values("config.json", d_model=32), "has the shape (114, 16), config.json says (114, 32)"),
    "more layers": (with_values("config.json", encoder_layers=3), "lack 'model.encoder.layers.2"),
    "fewer layers": (with_values("config.json", decoder_layers=1), "weights belong to no part of the model"),
    "too many layers": (with_values("config.json", encoder_layers=10**8), "encoder_layers: Input should be less"),
    "too few rows": (with_weights(lambda found: found.update(final_logits_bias=torch.zeros(1, 5))), "has 5 numbers"),
    "no numbers": (
        with_weights(lambda found: found["final_logits_bias"].fill_(torch.nan)),
        "the weights of 'embeddings.bias' are not all numbers",
    ),
    "code": (pickle_code(torch.save), "holds more than tensors, which could run code"),
    "plain code": (pickle_code(lambda value, path: path.write_bytes(pickle.dumps(value))), "which could run code"),
    "another vocabulary": (with_values("vocab.json", more=114), "the vocabulary does not fit: it has 115 entries"),
    "no unknown": (with_values("tokenizer_config.json", unk_token="none"), "it has no entry 'none' for unknown words"),
    "a list as unknown": (with_values("tokenizer_config.json", unk_token=["<unk>"]), "has no entry ['<unk>']"),
    "a number as unknown": (with_values("tokenizer_config.json", unk_token=1), "it has no entry 1 for unknown"),
    "a wide beam": (with_values("generation_config.json", num_beams=10**6), "beam: Input should be less than or"),
    "a mark without a name": (with_values("tokenizer_config.json", unk_token={"content": []}), "it has no entry []"),
}


def np_save(folder: Path) -> None:
    with (folder / "model.npz").open("wb") as file:
        np.save(file, np.zeros(3, np.float32))


def np_pickle(folder: Path) -> None:
    settings = np.array([Harmful(folder / "harm")])
    np.savez(folder / "model.npz", **{"special:model.yml": settings})  # type: ignore[arg-type]


def damage_deflated(folder: Path) -> None:
    """Spoil a compressed array, behind its header."""
    with np.load(folder / "model.npz") as found:
        np.savez_compressed(folder / "model.npz", **dict(found))
    with zipfile.ZipFile(folder / "model.npz") as found:
        place = max(found.infolist(), key=lambda one: one.compress_size)
    content = bytearray((folder / "model.npz").read_bytes())
    start = place.header_offset + 30 + len(place.filename)
    content[start : start + 200] = b"\xff" * 200
    (folder / "model.npz").write_bytes(content)


def mark_entries(place: int, value: int) -> Harm:
    """Change a number in the description of each entry of a zip file: its flags or its method."""

    def harm(folder: Path) -> None:
        content = bytearray((folder / "model.npz").read_bytes())
        for start, shift in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
            found = content.find(start)
            while found >= 0:
                content[found + place + shift] = value
                found = content.find(start, found + 4)
        (folder / "model.npz").write_bytes(content)

    return harm


def write_lines(name: str, text: str) -> Harm:
    return lambda folder: (folder / name).write_text(text, encoding="utf-8")


ORIGINAL: dict[str, tuple[Harm, str]] = {
    "no archive": (np_save, "model.npz: the weights are damaged"),
    "pickled": (np_pickle, "Object arrays cannot be loaded"),
    "truncated": (cut("model.npz"), "the weights are damaged: File is not a zip file"),
    "damaged inside": (damage_deflated, "model.npz: the weights are damaged"),
    "encrypted": (mark_entries(6, 1), "password required"),
    "compressed otherwise": (mark_entries(8, 99), "compression method is not supported"),
    "without weights": (without("model.npz"), "model.npz: no weights here"),
    "without vocabulary": (without("vocab.yml"), "vocab.yml: no such file"),
    "another vocabulary": (write_lines("vocab.yml", '"</s>": 0\n'), "the vocabulary does not fit: it has 1 entries"),
    "a wide beam": (write_lines("decoder.yml", "vocabs: [vocab.yml]\nbeam-size: 100000\n"), "beam: Input should be"),
    "no beam": (write_lines("decoder.yml", "vocabs: [vocab.yml]\nbeam-size: wide\n"), "beam: Input should be"),
    "an ensemble": (write_lines("decoder.yml", "models: [a.npz, b.npz]\n"), "an ensemble of 2 models"),
}


def assert_refused(folder: Path, message: str) -> None:
    before = sorted(folder.parent.rglob("*"))
    found = docaps("import", folder, "--out", folder.parent / "run")
    assert (found.code, found.out) == (1, "")
    assert message in found.err
    assert "pydantic" not in found.err
    assert sorted(folder.parent.rglob("*")) == before


@pytest.mark.parametrize("name", PUBLISHED)
def test_bad_folders_of_hugging_face_are_refused(published: Path, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(published, tmp_path / "opus-mt-en-de"))
    harm, message = PUBLISHED[name]
    harm(folder)
    assert_refused(folder, message)


@pytest.mark.parametrize("name", ORIGINAL)
def test_bad_folders_of_marian_are_refused(tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(MARIAN, tmp_path / "marian-en-de"))
    harm, message = ORIGINAL[name]
    harm(folder)
    assert_refused(folder, message)
