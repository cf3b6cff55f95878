"""The store: sentences are read as written, from memory-mapped files."""

import mmap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.corpus.stored import write_part

from docaps.corpus.arrays import TokenArray
from docaps.corpus.store import Split, Store, open_store
from docaps.errors import CorpusError
from docaps.files import write_json

MANIFEST = {
    "version": 2,
    "settings": {},
    "inputs": {},
    "filters": {},
    "vocabulary": 10,
    "hash": "f00",
}


def make_store(folder: Path, source: list[list[int]], target: list[list[int]], lengths: list[int]) -> Store:
    write_part(folder, "train", source, target, lengths)
    counts = {"documents": len(lengths), "sentences": len(source), "usable": len(source)}
    write_json(folder / "manifest.json", {**MANIFEST, "counts": {"train": counts}})
    return open_store(folder)


def backed_by_file(array: np.ndarray | mmap.mmap | None) -> bool:
    while isinstance(array, np.ndarray):
        array = array.base  # type: ignore[assignment]
    return isinstance(array, mmap.mmap)


def test_sentences_come_back_as_written_without_being_read_into_memory(tmp_path: Path) -> None:
    source, target = [[5, 6, 2], [2], [7, 2]], [[8, 2], [9, 9, 2], [2]]
    store = make_store(tmp_path, source, target, [2, 1])
    split = store.split("train")
    assert [split.source[number].tolist() for number in range(3)] == source
    assert [split.target[number].tolist() for number in range(3)] == target
    assert (split.source.lengths.tolist(), split.target.lengths.tolist()) == ([3, 1, 2], [2, 3, 1])
    assert split.document_starts.tolist() == [0, 0, 2]
    assert len(split) == 3
    assert all(backed_by_file(array) for array in (split.source.tokens, split.target.tokens, split.source[0]))
    with pytest.raises(ValueError, match="read-only"):
        split.source.tokens[0] = 1
    assert store.hash == "f00"


@given(st.lists(st.lists(st.lists(st.integers(0, 99)), min_size=1), min_size=1))
def test_each_sentence_knows_where_its_document_begins(documents: list[list[list[int]]]) -> None:
    flat = [sentence for document in documents for sentence in document]
    tokens = np.array([token for sentence in flat for token in sentence], dtype=np.int32)
    starts = np.cumsum([0, *map(len, flat)])
    side = TokenArray(tokens, starts)
    split = Split(side, side, np.cumsum([0, *map(len, documents)]))
    assert [side[number].tolist() for number in range(len(side))] == flat
    number = 0
    for document in documents:
        first = number
        for _ in document:
            assert split.document_starts[number] == first
            number += 1


def test_a_directory_that_is_not_a_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"absent: no such prepared corpus\. Make one with: docaps prepare --help"):
        open_store(tmp_path / "absent")
    with pytest.raises(CorpusError, match="not a prepared corpus"):
        open_store(tmp_path)
    (tmp_path / "manifest.json").write_text("{\n{")
    with pytest.raises(CorpusError, match=r"manifest\.json:2: not valid JSON"):
        open_store(tmp_path)
    (tmp_path / "manifest.json").write_text('{"counts": {}, "settings": {}}')
    with pytest.raises(
        CorpusError,
        match=r"manifest\.json: does not describe .*: version, inputs, filters, vocabulary, hash",
    ):
        open_store(tmp_path)


@pytest.mark.parametrize("content", [None, b"", b"text", b"\x93NUMPY\x01\x00v\x00{'descr'"])
def test_a_damaged_array_is_reported_with_its_file(tmp_path: Path, content: bytes | None) -> None:
    store = make_store(tmp_path, [[2]], [[2]], [1])
    path = tmp_path / "train.target.npy"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CorpusError, match="the prepared corpus is damaged") as caught:
        store.split("train")
    assert caught.value.path == path
