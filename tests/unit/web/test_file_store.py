"""Stored files have clean names, expire, and leave no trace."""

from collections.abc import Iterator

import pytest

from docaps.web import file_store
from docaps.web.file_store import FileRequest, FileStore, clean_name, result_name, suffix_of
from docaps.web.http_errors import HttpError


@pytest.fixture
def store() -> Iterator[FileStore]:
    found = FileStore(10)
    found.open()
    yield found
    found.close()


@pytest.mark.parametrize(
    ("given", "name", "suffix", "result"),
    [
        ("story.txt", "story.txt", ".txt", "story.de.txt"),
        ("../../etc/passwd", "passwd", "", "passwd.de"),
        ("C:\\a\\b.DOCX", "b.DOCX", ".docx", "b.de.DOCX"),
        ("a.b/", "document", "", "document.de"),
        ("a\r\nb.srt", "a\\r\\nb.srt", ".srt", "a\\r\\nb.de.srt"),
        ("", "document", "", "document.de"),
        ("x" * 300 + ".md", "x" * 197 + ".md", ".md", "x" * 197 + ".de.md"),
        ("a.not a suffix", "a.not a suffix", "", "a.not a suffix.de"),
    ],
)
def test_names_are_shown_and_never_paths(given: str, name: str, suffix: str, result: str) -> None:
    assert clean_name(given) == name
    assert suffix_of(name) == suffix
    assert result_name(name, "de") == result


def test_files_expire(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.create("../a.txt") as upload:
        upload.write(b"text")
        file = upload.finish(FileRequest("model"))
    assert store.find(file.number) is file
    assert store.find(file.number, file.key) is file
    with pytest.raises(HttpError):
        store.find(file.number, "key")
    assert file.path.name == "document.txt"
    assert file.path.read_bytes() == b"text"
    monkeypatch.setattr(file_store, "KEEP_SECONDS", -1.0)
    file.status = "translating"
    assert store.find(file.number) is file
    file.status = "done"
    with pytest.raises(HttpError, match="no such file"):
        store.find(file.number)
    assert not file.folder.exists()


def add(store: FileStore, size: int = 4) -> file_store.StoredFile:
    with store.create("a.txt") as upload:
        upload.write(b"x" * size)
        return upload.finish(FileRequest("model"))


def test_files_that_were_fetched_make_room(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_store, "MOST_FILES", 2)
    one, two = add(store), add(store)
    with pytest.raises(HttpError, match="at most 2 files are kept"):
        store.create("b")
    two.seen = True
    three = add(store)
    assert (one in store, two in store, three in store) == (True, False, True)
    monkeypatch.setattr(file_store, "MOST_BYTES", 10)
    with pytest.raises(HttpError, match="may have 10 bytes"):
        store.grow(three, 3)
    store.grow(three, 2)  # what was refused is not counted
    store.discard_upload(one)
    assert (one.size, one.path.exists()) == (0, False)
    store.discard_upload(one)
    one.seen = True
    store.grow(three, 4)
    with pytest.raises(HttpError):
        store.grow(three, 1)
    assert one not in store


def test_a_name_may_come_last(store: FileStore) -> None:
    with store.create("file") as upload:
        upload.write(b"text")
        file = upload.finish(FileRequest("model"), name="../b.yaml")
    assert (file.name, file.path.name, file.path.read_bytes()) == ("b.yaml", "document.yaml", b"text")


def test_an_upload_that_fails_leaves_nothing(store: FileStore) -> None:
    upload = store.create("a")
    upload.write(b"text")
    assert upload.file.folder.exists()
    with pytest.raises(HttpError):
        store.find(upload.file.number)  # it is not complete
    other = store.create("b")
    with pytest.raises(HttpError, match="the file is empty"), other:
        other.finish(FileRequest("model"))
    with pytest.raises(ZeroDivisionError), upload:
        raise ZeroDivisionError
    assert not other.file.folder.exists()
    assert not upload.file.folder.exists()
    assert upload.file not in store
