"""An endless document is read in parts: when a part is large enough, or when the next line is late."""

import io
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from docaps.corpus.documents import Document
from docaps.corpus.formats import format_translations, iterate_documents, read_documents, write_documents
from docaps.corpus.formats.registry import FORMATS
from docaps.corpus.formats.text_input import Arrival

IN_PARTS = ("lines", "blank", "tsv", "bars", "starts", "text", "directory")
DOCUMENTS = [
    Document(("One two.", "Three four.", "", "Five.", "Six."), "a"),
    Document(("Seven.",), "b"),
    Document(("Eight.", "Nine."), "c"),
]


def write(path: Path, name: str) -> None:
    documents = DOCUMENTS
    if name == "text":
        documents = [Document(("One two.", "Three four.", "Five.", "Six.", "Seven."), paragraphs=(2, 1, 2))]
    write_documents(path, documents, name)


@pytest.mark.parametrize("name", IN_PARTS)
@pytest.mark.parametrize("most", [1, 2, 3, 5, 100])
def test_parts_make_up_the_documents_and_are_written_as_they_were(tmp_path: Path, name: str, most: int) -> None:
    path = tmp_path / "story"
    write(path, name)
    whole = read_documents(path, format=name)
    parts = list(iterate_documents(path, format=name, arrival=Arrival(most)))
    assert all(0 < len(part.sentences) <= most + (name == "text") for part in parts)
    again: list[Document] = []
    for part in parts:
        assert part.layout is not None
        if part.layout.continues:
            again[-1] = Document(again[-1].sentences + part.sentences, again[-1].id)
        else:
            again.append(Document(part.sentences, part.id))
    assert again == [Document(one.sentences, one.id) for one in whole]
    if name != "directory":
        assert "".join(format_translations((one, one.sentences) for one in parts)) == "".join(
            format_translations((one, one.sentences) for one in whole)
        )


@pytest.mark.parametrize("name", sorted(set(FORMATS) - set(IN_PARTS)))
def test_other_formats_hold_a_whole_document(tmp_path: Path, name: str) -> None:
    write(tmp_path / "story", name)
    parts = list(iterate_documents(tmp_path / "story", format=name, arrival=Arrival(1)))
    assert [len(part.sentences) for part in parts] == [5, 1, 2]


class Stdin:
    """Stands in for stdin: the reading end of a pipe."""

    def __init__(self, descriptor: int) -> None:
        self.buffer = io.BufferedReader(io.FileIO(descriptor))

    def fileno(self) -> int:
        return self.buffer.fileno()


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    reader, writer = os.pipe()
    stdin = Stdin(reader)
    monkeypatch.setattr("sys.stdin", stdin)
    yield writer
    stdin.buffer.close()


def test_a_pause_hands_over_what_is_there(pipe: int) -> None:
    os.write(pipe, b"one\ntwo\n")
    documents = iterate_documents(Path("-"), format="lines", arrival=Arrival(100, seconds=0.05))
    first = next(documents)
    assert first.sentences == ("one", "two")
    os.write(pipe, b"three\n")
    os.close(pipe)
    (last,) = documents
    assert last.sentences == ("three",)
    assert last.layout is not None
    assert last.layout.continues


def test_slow_lines_do_not_delay_a_part_longer_than_allowed(pipe: int) -> None:
    def type_slowly() -> None:
        for number in range(20):
            os.write(pipe, f"{number}\n".encode())
            time.sleep(0.05)
        os.close(pipe)

    writer = threading.Thread(target=type_slowly)
    writer.start()
    documents = list(iterate_documents(Path("-"), format="lines", arrival=Arrival(100, seconds=0.2)))
    writer.join()
    assert len(documents) > 2
    assert [word for one in documents for word in one.sentences] == [str(number) for number in range(20)]


def test_lines_that_are_there_are_taken_together(pipe: int) -> None:
    os.write(pipe, b"one\n" * 250)
    os.close(pipe)
    documents = list(iterate_documents(Path("-"), arrival=Arrival(100, seconds=0.0)))
    assert [len(one.sentences) for one in documents] == [100, 100, 50]


def test_pauses_may_be_disregarded(pipe: int) -> None:
    arrival = Arrival(100, seconds=0.0)
    arrival.disregard()
    os.write(pipe, b"one\n")
    threading.Timer(0.2, lambda: (os.write(pipe, b"two\n"), os.close(pipe))).start()
    (document,) = iterate_documents(Path("-"), format="lines", arrival=arrival)
    assert document.sentences == ("one", "two")


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n\n\n\n"])
def test_blank_lines_at_the_end_are_written_again(end: str, tmp_path: Path) -> None:
    path = tmp_path / "story"
    path.write_text("\nOne.\nTwo.\n\n\nThree.\n" + end)
    parts = list(iterate_documents(path, format="blank", arrival=Arrival(4000)))
    written = format_translations(((part, part.sentences) for part in parts), language="en", target_language="de")
    assert "".join(written) == path.read_text()
    assert [len(document.sentences) for document in iterate_documents(path, format="blank")] == [2, 1]


def test_more_is_handed_over_each_time_up_to_a_limit() -> None:
    arrival, handed = Arrival(2), []
    for _ in range(4):
        handed.append(next(count for count in range(1, 100) if arrival.enough(count)))
        arrival.grow(7)
    assert handed == [2, 4, 7, 7]
