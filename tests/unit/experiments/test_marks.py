"""A generated part takes the place between its marks; nothing else in the file moves."""

from pathlib import Path

import pytest

from docaps.errors import RunError
from docaps.experiments.marks import put_between_marks

BEGIN, END = b"<!-- begin routing -->", b"<!-- end routing -->"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"# Results\n\n", b"\n\nMore.\n"),
        (b"\xef\xbb\xbf# Ergebnisse \xc3\xbc\r\n", b"\r\nno newline at the end"),
        (b"latin \xe4\n", b""),
        (b"<!-- begin other -->1<!-- end other -->", b"<!-- begin routing -->"),
    ],
)
def test_the_rest_of_the_file_stays_byte_for_byte(tmp_path: Path, before: bytes, after: bytes) -> None:
    path = tmp_path / "results.md"
    path.write_bytes(before + BEGIN + b"\nold\n" + END + after)
    for text in ("| neü |\n| --- |", "\n| neü |\n| --- |\n\n"):
        put_between_marks(path, "routing", text)
        assert path.read_bytes() == before + BEGIN + "\n| neü |\n| --- |\n".encode() + END + after
    assert [file.name for file in tmp_path.iterdir()] == ["results.md"]


@pytest.mark.parametrize("content", [b"", BEGIN, END, END + b"\n" + BEGIN, b"<!-- begin other --><!-- end other -->"])
def test_a_file_without_both_marks_in_order_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "results.md"
    path.write_bytes(content)
    with pytest.raises(RunError, match="expected the lines <!-- begin routing --> and, after it, <!-- end routing"):
        put_between_marks(path, "routing", "new")
    assert path.read_bytes() == content


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.md"):
        with pytest.raises(RunError, match="no such file; it should hold the lines <!-- begin routing -->") as caught:
            put_between_marks(path, "routing", "new")
        assert caught.value.path == path
    assert list(tmp_path.iterdir()) == []
