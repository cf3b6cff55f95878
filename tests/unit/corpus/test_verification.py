"""A prepared corpus that is not as it was written is refused before it is trained on."""

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docaps.corpus import verification
from docaps.corpus.store import Store
from docaps.corpus.verification import RECORD, verify_files
from docaps.errors import CorpusError
from docaps.files import read_json, write_json

FIXTURE = Path(__file__).parents[2] / "fixtures" / "run-0.1" / "prepared"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURE, tmp_path / "prepared"))


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are hashed."""
    names: list[str] = []

    def record(path: Path) -> str:
        names.append(path.name)
        return sha256(path)

    sha256 = verification.sha256
    monkeypatch.setattr(verification, "sha256", record)
    return names


def change(path: Path, **changes: Any) -> None:
    """Change entries of an array without changing the size of its file."""
    array = np.load(path)
    array[changes["at"]] = changes["to"]
    np.save(path, array)


def refused(read: Callable[[], object], path: Path, reason: str) -> None:
    with pytest.raises(CorpusError, match=reason) as caught:
        read()
    assert caught.value.path == path


def test_an_id_overwritten_by_another_valid_one_is_noticed(folder: Path) -> None:
    change(folder / "train.source.npy", at=3, to=7)
    store = Store(folder)
    store.split("train")  # the ranges are right
    refused(store.verify, folder / "train.source.npy", "the prepared corpus is damaged: its SHA-256 is .*, expected")


def test_every_file_of_the_manifest_is_verified(folder: Path) -> None:
    files = Store(folder).manifest["files"]
    assert {"train.target.npy", "dev.source.txt", "text/bpe.codes", "contrastive.jsonl"} <= files.keys()
    for name in files:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        refused(Store(folder).verify, folder / name, "its SHA-256 is")
        (folder / name).unlink()
        refused(Store(folder).verify, folder / name, "No such file")
        (folder / name).write_bytes(content)
    Store(folder).verify()


def test_hashes_in_the_manifest_cannot_be_exchanged(folder: Path) -> None:
    manifest = read_json(folder / "manifest.json", error=CorpusError)
    change(folder / "train.source.npy", at=3, to=7)
    manifest["files"]["train.source.npy"] = verification.sha256(folder / "train.source.npy")
    write_json(folder / "manifest.json", manifest)
    refused(Store(folder).verify, folder / "manifest.json", "its hashes are not those that were written")


def test_a_file_is_hashed_once_and_again_when_it_was_touched(folder: Path, hashed: list[str]) -> None:
    Store(folder).verify()
    assert len(hashed) == len(Store(folder).manifest["files"])
    hashed.clear()
    Store(folder).verify()
    assert hashed == []
    os.utime(folder / "train.source.npy")
    Store(folder).verify()
    assert hashed == ["train.source.npy"]


def test_damage_after_a_verification_is_noticed_too(folder: Path) -> None:
    Store(folder).verify()
    before = (folder / "train.source.npy").stat()
    change(folder / "train.source.npy", at=3, to=7)
    os.utime(folder / "train.source.npy", ns=(before.st_atime_ns, before.st_mtime_ns))  # as some tools leave it
    refused(Store(folder).verify, folder / "train.source.npy", "its SHA-256 is")


@pytest.mark.parametrize("record", ["{", "[]", "null", '{"train.source.npy": 3}', "[" * 100_000])
def test_a_damaged_record_counts_for_nothing(folder: Path, record: str) -> None:
    (folder / RECORD).write_text(record)
    change(folder / "train.source.npy", at=3, to=7)
    refused(Store(folder).verify, folder / "train.source.npy", "its SHA-256 is")


def test_a_corpus_that_cannot_be_written_to_is_hashed_each_time(
    folder: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(verification, "write_json", refuse)
    for _ in range(2):
        hashed.clear()
        Store(folder).verify()
        assert hashed
    assert not (folder / RECORD).exists()


@pytest.mark.parametrize("name", ["/etc/passwd", "../outside", "text/../../outside"])
def test_files_outside_of_the_corpus_are_not_read(folder: Path, name: str, hashed: list[str]) -> None:
    (folder.parent / "outside").write_text("secret")
    refused(lambda: verify_files(folder, {name: "0"}), folder / "manifest.json", "which is outside of the corpus")
    assert hashed == []


def test_a_name_with_a_nul_is_refused(folder: Path) -> None:
    with pytest.raises(CorpusError, match="the prepared corpus is damaged"):
        verify_files(folder, {"a\0b": "0"})


RANGES = [
    ("train.source.npy", {"at": 3, "to": -1}, "the id -1 is not in the vocabulary of"),
    ("train.source.npy", {"at": 3, "to": 2**31 - 1}, "the id 2147483647 is not in the vocabulary of"),
    ("train.target.npy", {"at": -1, "to": 5}, "a sentence does not end with the end symbol"),
    ("train.source.starts.npy", {"at": 1, "to": 0}, "the offsets do not rise from 0 to the number of ids"),
    ("train.source.starts.npy", {"at": 0, "to": -4}, "the offsets do not rise from 0"),
    ("train.target.starts.npy", {"at": -1, "to": 2**40}, "the offsets do not rise from 0"),
    ("train.documents.npy", {"at": 1, "to": 10**6}, "the offsets do not rise from 0 to the number of sentences"),
    ("train.documents.npy", {"at": 0, "to": 1}, "the offsets do not rise from 0"),
]


@pytest.mark.parametrize(("file", "changes", "reason"), RANGES)
def test_numbers_out_of_range_are_refused_without_hashes_too(
    folder: Path, file: str, changes: dict[str, int], reason: str
) -> None:
    change(folder / file, **changes)
    refused(lambda: Store(folder).split("train"), folder / file, reason)


def with_type(path: Path, kind: str) -> None:
    np.save(path, np.load(path).astype(kind))


def shorter(path: Path) -> None:
    np.save(path, np.load(path)[:-1])


def as_column(path: Path) -> None:
    np.save(path, np.load(path).reshape(-1, 1))


def as_number(path: Path) -> None:
    np.save(path, np.load(path).flat[0])


SHAPES: list[tuple[str, Callable[[Path], None], str]] = [
    ("train.source.npy", lambda path: with_type(path, "int64"), "expected a row of int32"),
    ("train.source.npy", as_column, "2-dimensional int32, expected a row"),
    ("train.source.starts.npy", lambda path: with_type(path, "float64"), "expected a row of int64"),
    ("train.documents.npy", as_number, "the offsets are 0-dimensional"),
    ("train.documents.npy", as_column, "the offsets are 2-dimensional"),
    ("train.usable.npy", shorter, "expected a flag for each of"),
    ("train.usable.npy", lambda path: with_type(path, "int8"), "it holds int8 of shape"),
]


@pytest.mark.parametrize(("file", "damage", "reason"), SHAPES)
def test_arrays_of_another_kind_are_refused(
    folder: Path, file: str, damage: Callable[[Path], None], reason: str
) -> None:
    damage(folder / file)
    refused(lambda: Store(folder).split("train"), folder / file, reason)


@pytest.mark.parametrize("damage", [shorter, as_number])
def test_an_array_that_is_too_short_for_its_offsets_is_refused(folder: Path, damage: Callable[[Path], None]) -> None:
    damage(folder / "train.source.npy")
    refused(lambda: Store(folder).split("train"), folder / "train.source.starts.npy", "the number of ids")


def test_a_byte_that_is_no_flag_is_refused(folder: Path) -> None:
    path = folder / "train.usable.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x02")
    refused(lambda: Store(folder).split("train"), path, "bytes that are no flags")


def test_fewer_sentences_or_documents_than_the_manifest_says_are_refused(folder: Path) -> None:
    manifest = read_json(folder / "manifest.json", error=CorpusError)
    for what, file in (("sentences", "train.source.starts.npy"), ("documents", "train.documents.npy")):
        other = {**manifest["counts"]["train"], what: manifest["counts"]["train"][what] + 1}
        write_json(folder / "manifest.json", {**manifest, "counts": {**manifest["counts"], "train": other}})
        refused(lambda: Store(folder).split("train"), folder / file, f"{what}, expected")


def test_two_sides_of_different_lengths_are_refused(folder: Path) -> None:
    starts = np.load(folder / "train.target.starts.npy")
    np.save(folder / "train.target.starts.npy", np.delete(starts, -2))
    refused(lambda: Store(folder).split("train"), folder / "train.target.starts.npy", "sentences, expected")


def test_raw_text_that_lost_a_sentence_or_is_no_file_is_refused(folder: Path) -> None:
    for side in ("source", "target"):
        path = folder / f"test.{side}.txt"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    refused(lambda: Store(folder).raw("test"), folder / "test.source.txt", "documents and .* sentences, expected")
    path.unlink()
    os.mkfifo(path)
    refused(lambda: Store(folder).raw("test"), path, "it is a named pipe")


def test_an_array_or_items_that_are_no_file_are_refused(folder: Path) -> None:
    for name, read in (("train.source.npy", Store.split), ("contrastive.jsonl", lambda store, _: store.contrastive)):
        (folder / name).unlink()
        os.mkfifo(folder / name)
        refused(partial(read, Store(folder), "train"), folder / name, "it is a named pipe")


def test_another_vocabulary_is_refused(folder: Path) -> None:
    pieces = read_json(folder / "text" / "vocabulary.json", error=CorpusError)
    write_json(folder / "text" / "vocabulary.json", pieces[:-1])
    refused(lambda: Store(folder).codec, folder / "text", "a vocabulary of .*, expected")
