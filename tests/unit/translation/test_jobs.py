"""Documents of the input are collected into windows: full ones, prompt ones, and whole documents where needed."""

import io
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.unit.runs.hostile import odd_bytes, odd_json

from docaps.corpus.documents import TextLayout
from docaps.corpus.formats.text_input import Arrival
from docaps.errors import DocapsError
from docaps.files import read_json
from docaps.interruption import Interrupted
from docaps.translation.input_files import InputDocument
from docaps.translation.jobs import FileOutput, StreamOutput, gather, partial

REQUEST = {"run": "f00", "input": {"story": "ba7"}}


def documents(*sizes: int, continuing: tuple[int, ...] = ()) -> list[InputDocument]:
    return [
        InputDocument(("x",) * size, layout=TextLayout("lines", continues=number in continuing))
        for number, size in enumerate(sizes)
    ]


def sizes(windows: list[list[InputDocument]]) -> list[list[int]]:
    return [[len(one.sentences) for one in window] for window in windows]


def test_a_window_ends_when_it_is_full_or_the_input_pauses() -> None:
    class Pausing(Arrival):
        def enough(self, sentences: int) -> bool:
            return sentences > 4

    assert sizes(list(gather(documents(1, 2, 3, 4, 1), Arrival(3)))) == [[1, 2], [3], [4], [1]]
    assert sizes(list(gather(documents(1, 2, 3, 4, 1), Pausing(100)))) == [[1, 2, 3], [4, 1]]


@pytest.mark.parametrize(("whole", "expected"), [(False, [[2], [2], [1, 2], [2]]), (True, [[2, 2, 1], [2], [2]])])
def test_a_window_of_whole_documents_ends_with_a_document(whole: bool, expected: list[list[int]]) -> None:
    found = gather(documents(2, 2, 1, 2, 2, continuing=(1, 2)), Arrival(2), whole=whole)
    assert sizes(list(found)) == expected


def write(out: Path, *texts: str, resume: bool = False, stop: bool = False) -> None:
    """Write a text for each window; with `stop`, be interrupted then."""
    output = FileOutput(out, REQUEST, directory=False)
    output.resume() if resume else output.start()
    with output:
        output.begin("")
        for number, text in enumerate(texts, start=output.windows + 1):
            output.write(text.encode())
            output.commit(number)
        if stop:
            raise KeyboardInterrupt
        output.end()


@pytest.mark.parametrize(
    ("name", "is_terminal", "refused"), [("docx", True, True), ("docx", False, False), ("html", True, False)]
)
def test_a_terminal_is_not_sent_a_binary_file(name: str, is_terminal: bool, refused: bool) -> None:
    class Stream(io.BytesIO):
        def isatty(self) -> bool:
            return is_terminal

    output, window = StreamOutput(Stream()), [InputDocument(("x",), layout=TextLayout(name))]
    if refused:
        with pytest.raises(DocapsError, match="the translation is a 'docx' file, not text for a terminal: name one"):
            output.checked(window)
    else:
        assert output.checked(window) == window


def stop(out: Path) -> None:
    with pytest.raises(Interrupted):
        write(out, "one\n", stop=True)


def test_a_stopped_job_goes_on_where_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    stop(out)
    with partial(out).open("a") as file:
        file.write("of a window that was not recorded")
    write(out, "two\n", resume=True)
    assert out.read_text() == "one\ntwo\n"
    assert list(tmp_path.iterdir()) == [out]


def link(path: Path) -> None:
    (path.parent / "precious").write_text("mine, and long enough")
    path.symlink_to("precious")


@pytest.mark.parametrize("make", [link, os.mkfifo, Path.touch])
def test_a_new_file_is_not_written_into_what_has_its_temporary_name(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    out = tmp_path / "out"
    make(partial(out))
    write(out, "one\n")
    assert (out.read_text(), out.is_symlink()) == ("one\n", False)
    assert make is not link or (tmp_path / "precious").read_text() == "mine, and long enough"


@pytest.mark.parametrize("make", [link, os.mkfifo, Path.mkdir])
def test_an_unfinished_file_that_was_exchanged_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    out = tmp_path / "out"
    stop(out)
    partial(out).unlink()
    make(partial(out))
    with pytest.raises(DocapsError, match=r"out\.partial: is not what the journal says"):
        write(out, "two\n", resume=True)
    assert make is not link or (tmp_path / "precious").read_text() == "mine, and long enough"


def test_an_odd_journal_is_refused_or_followed(tmp_path: Path) -> None:
    out, random = tmp_path / "out", Random(1)
    refused = 0
    stop(out)
    kept = {path: path.read_bytes() for path in tmp_path.iterdir()}
    journal = kept[FileOutput(out, REQUEST, directory=False).journal]
    for content in (*odd_json(journal, random, 150), *odd_bytes(journal, random, 50)):
        for path, before in kept.items():
            path.write_bytes(content if path.suffix == ".json" else before)
        try:
            write(out, "two\n", resume=True)
        except DocapsError:
            refused += 1
        out.unlink(missing_ok=True)
    assert 100 < refused < 200


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs the names of open files")
def test_files_and_their_names_are_on_the_disk_before_the_journal_counts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def note(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)

    monkeypatch.setattr(os, "fsync", note)
    output = FileOutput(tmp_path / "out", REQUEST, directory=True)
    output.start()
    with output:
        for name in ("a", "b", "c"):  # three files of one window
            output.begin(name)
            output.write(b"x")
            if name == "c":
                output.commit(1)
                assert synced == ["a.partial", "b.partial", "c.partial", "out"]
            output.end()
    assert synced[4:] == ["c.partial", "out"]


def test_the_journal_has_the_request(tmp_path: Path) -> None:
    stop(tmp_path / "out")
    found: dict[str, Any] = read_json(tmp_path / "out.journal.json", error=DocapsError)
    assert found == {"windows": 1, "name": "", "size": 4, "request": REQUEST}
