"""Equivalent document files are read alike; an error names the file and the line."""

import gzip
import io
import re
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docaps.corpus.documents import Document, ParallelDocument
from docaps.corpus.formats import read_documents, read_parallel, write_documents, write_parallel
from docaps.corpus.formats.format import ReadingOptions
from docaps.corpus.formats.lines import DOCUMENT_MARK, read_marked
from docaps.corpus.formats.text_input import read_lines
from docaps.errors import CorpusError

TEXT = "<d>\nAnna left.\n\nIt rained.\n<d>\nÜber alles.\n"
DOCUMENTS = [Document(("Anna left.", "", "It rained.")), Document(("Über alles.",))]


def write(tmp_path: Path, content: bytes, name: str = "text") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def fault(path: Path) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        read_documents(path)
    return caught.value


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.encode().removesuffix(b"\n"),
        TEXT.encode("utf-8-sig"),
        gzip.compress(TEXT.encode()),
        gzip.compress(TEXT.replace("\n", "\r\n").encode("utf-8-sig")),
        gzip.compress(TEXT[:9].encode()) + gzip.compress(TEXT[9:].encode()),
        TEXT.replace("It rained.", "  It\t \u00a0rained.\u2028 ").replace("<d>\nÜ", " <d> \nÜ").encode(),
    ],
    ids=["LF", "CRLF", "no last LF", "BOM", "gzip", "gzip CRLF BOM", "gzip in two members", "odd space"],
)
def test_the_same_documents_are_read_however_they_are_stored(tmp_path: Path, content: bytes) -> None:
    assert read_documents(write(tmp_path, content)) == DOCUMENTS


def test_a_file_without_marks_is_one_document(tmp_path: Path) -> None:
    assert read_documents(write(tmp_path, b"one\ntwo\n")) == [Document(("one", "two"))]
    assert read_documents(write(tmp_path, b"one\n<d>\ntwo\n")) == [Document(("one",)), Document(("two",))]


def test_a_mark_within_a_line_is_text(tmp_path: Path) -> None:
    assert read_documents(write(tmp_path, b"one <d> two\n<d>x\n")) == [Document(("one <d> two", "<d>x"))]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"", None, "the file is empty: expected one sentence a line"),
        (gzip.compress(b""), None, "the file is empty"),
        (b"<d>\n", 1, "a document without sentences: remove this <d> line"),
        (b"<d>\none\n<d>\n<d>\ntwo\n", 3, "a document without sentences"),
        (b"<d>\none\n<d>\n", 3, "a document without sentences"),
        (b"one\ntwo\0\n", 2, "the line holds a NUL byte"),
        (b"one\ntwo \xff\n", 2, r"not UTF-8 at byte 5 of the line \(0xff\): convert it to UTF-8 first"),
        ("one\nzwö".encode("latin-1"), 2, r"not UTF-8 at byte 3 of the line \(0xf6\)"),
        ("one".encode("utf-16"), 1, r"not UTF-8 at byte 1"),
        (gzip.compress(TEXT.encode() * 9)[:-9], 1, "the compressed file is damaged"),
        (gzip.compress(TEXT.encode())[:-5] + b"12345", 7, "the compressed file is damaged"),
        (b"\x1f\x8b\x09" + gzip.compress(TEXT.encode())[3:], 1, "the compressed file is damaged"),
        (gzip.compress(TEXT.encode())[:10] + b"\xff" * 20, 1, "the compressed file is damaged"),
    ],
    ids=lambda part: "" if isinstance(part, bytes) else None,  # gzip holds the time of day
)
def test_a_bad_file_is_named_with_its_line(tmp_path: Path, content: bytes, line: int | None, message: str) -> None:
    path = write(tmp_path, content)
    error = fault(path)
    assert re.search(message, str(error))
    assert error.path == path
    if "compressed" not in message or line == 7:  # how much of a damaged file can be read is zlib's business
        assert error.line == line


def test_a_file_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    assert str(fault(tmp_path / "absent")) == f"{tmp_path / 'absent'}: no such file"
    assert str(fault(tmp_path)) == f"{tmp_path}: the directory is empty: expected one file for each document"


@pytest.mark.parametrize("content", [TEXT.encode(), gzip.compress(TEXT.encode())], ids=["plain", "gzip"])
def test_a_dash_is_stdin_which_stays_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes) -> None:
    with write(tmp_path, content).open("rb") as file, io.TextIOWrapper(file) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert read_documents(Path("-")) == DOCUMENTS
        assert str(fault(Path("-"))) == "-: the file is empty: expected one sentence a line"
    monkeypatch.setattr(sys, "stdin", None)
    assert str(fault(Path("-"))) == "-: stdin is closed"


def test_lines_are_read_one_by_one(tmp_path: Path) -> None:
    lines = read_lines(write(tmp_path, b"fine\n\xff\n"))
    assert next(lines) == "fine"
    with pytest.raises(CorpusError, match="not UTF-8"):
        next(lines)


def test_unequal_sides_are_reported_with_the_place(tmp_path: Path) -> None:
    source = write(tmp_path, b"<d>\na\nb\n<d>\nc\n", "s")
    target = write(tmp_path, b"<d>\nA\nB\n<d>\nC\nD\n", "t")
    with pytest.raises(CorpusError) as caught:
        read_parallel(source, target)
    expected = f"{target}:4: document 2 (near line 4) has 1 sentences in {source}, but 2 in {target}"
    assert str(caught.value).startswith(expected)
    shifted = write(tmp_path, b"<d>\nA\n<d>\nB\nC\n", "u")
    with pytest.raises(CorpusError, match=r"u:1: document 1 .* has 2 sentences in .*, but 1 in"):
        read_parallel(source, shifted)
    shorter = write(tmp_path, b"<d>\nA\nB\n", "v")
    with pytest.raises(
        CorpusError, match=f"s:4: 2 documents in {source}, but 1 in {shorter}: the one that begins here has no"
    ):
        read_parallel(source, shorter)


def test_two_sides_survive_two_files(tmp_path: Path) -> None:
    pairs = [ParallelDocument(("a", ""), ("A", "B")), ParallelDocument(("c",), ("",))]
    write_parallel(tmp_path / "s", tmp_path / "t", pairs)
    assert read_parallel(tmp_path / "s", tmp_path / "t") == pairs
    assert (tmp_path / "t").read_bytes() == b"<d>\nA\nB\n<d>\n\n"


SENTENCES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])).map(
    lambda s: " ".join(s.split())
)


@given(st.lists(st.lists(SENTENCES.filter(lambda s: s != DOCUMENT_MARK), min_size=1), min_size=1))
def test_documents_survive_a_file(sentences: list[list[str]]) -> None:
    documents = [Document(tuple(document)) for document in sentences]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        write_documents(path, documents)
        found = read_documents(path)
    assert found == documents


@given(st.lists(st.sampled_from(["<d>", "a", ""]), min_size=1).filter(lambda lines: "<d> <d>" not in " ".join(lines)))
def test_no_sentence_is_lost_or_moved_in_splitting(lines: list[str]) -> None:
    if lines[-1] == DOCUMENT_MARK:
        lines = [*lines, "end"]
    documents = read_marked(lines, ReadingOptions(Path("x")))
    flat = [line for document in documents for line in (DOCUMENT_MARK, *document.sentences)]
    assert flat == (lines if lines[0] == DOCUMENT_MARK else [DOCUMENT_MARK, *lines])


def test_a_sentence_with_line_ends_stays_one_line(tmp_path: Path) -> None:
    write_documents(tmp_path / "x", [Document(("one\ntwo\r\n",)), Document(("three",))])
    assert (tmp_path / "x").read_text() == "<d>\none two\n<d>\nthree\n"
