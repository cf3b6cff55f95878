"""Members of an archive are changed, and every other byte stays; archives that are too large or damaged are refused."""

import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.corpus.formats.office_files import pack, unpack

from docaps.corpus.formats import ReadingOptions
from docaps.corpus.formats import zip_archive as zip_module
from docaps.corpus.formats.zip_archive import ZipArchive, replace_members
from docaps.errors import CorpusError

OPTIONS = ReadingOptions(Path("a.zip"))
NAMES = st.sampled_from(["a", "dir/b.xml", "ü.txt", "c"])


@given(st.dictionaries(NAMES, st.binary(max_size=200), max_size=4), st.dictionaries(NAMES, st.binary(max_size=50)))
def test_members_are_replaced(members: dict[str, bytes], changed: dict[str, bytes]) -> None:
    content = pack(members)
    known = {name: new for name, new in changed.items() if name in members}
    assert unpack(replace_members(content, known)) == {**members, **known}
    assert replace_members(content, {}) == content


def test_other_members_keep_their_bytes_times_rights_and_comments() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.comment = b"mine"
        for name, packing in (
            ("mimetype", zipfile.ZIP_STORED),
            ("text", zipfile.ZIP_DEFLATED),
            ("b", zipfile.ZIP_BZIP2),
        ):
            info = zipfile.ZipInfo(name, (1999, 12, 31, 23, 59, 58))
            info.external_attr, info.comment, info.extra = 0o640 << 16, b"note", b"\x99\x99\x02\x00ab"
            archive.writestr(info, name.encode() * 100, packing)
    with zipfile.ZipFile(io.BytesIO(replace_members(file.getvalue(), {"text": b"new"}))) as archive:
        assert archive.comment == b"mine"
        assert archive.testzip() is None
        assert [info.compress_type for info in archive.infolist()] == [0, 8, 12]
        for info in archive.infolist():
            assert (info.date_time, info.external_attr, info.comment) == (
                (1999, 12, 31, 23, 59, 58),
                0o640 << 16,
                b"note",
            )
        assert archive.read("text") == b"new"


def test_an_archive_of_a_stream_is_read_and_changed() -> None:
    class Stream(io.RawIOBase):  # not seekable: sizes come after the content
        content = b""

        def writable(self) -> bool:
            return True

        def write(self, data: bytes) -> int:  # type: ignore[override]
            self.content += bytes(data)
            return len(data)

    stream = Stream()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"one" * 50)
        archive.writestr("b", b"two" * 50)
    found = replace_members(stream.content, {"a": b"new"})
    assert unpack(found) == {"a": b"new", "b": b"two" * 50}
    assert (stream.content[6] & 8, found[6] & 8) == (8, 0)  # whether the sizes come after the content


def test_an_encrypted_member_is_refused() -> None:
    content = bytearray(pack({"a": b"secret"}))
    content[6] |= 1
    content[content.index(b"PK\1\2") + 8] |= 1
    with pytest.raises(CorpusError, match="a is encrypted: save the file without a password"):
        ZipArchive(bytes(content), OPTIONS).read("a")


def test_archives_with_odd_members_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a", b"1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a", b"2")
    with pytest.raises(CorpusError, match="two members of the same name"):
        ZipArchive(file.getvalue(), OPTIONS)
    monkeypatch.setattr(zip_module, "MOST_MEMBERS", 1)
    with pytest.raises(CorpusError, match="more than 1 members"):
        ZipArchive(pack({"a": b"", "b": b""}), OPTIONS)


def test_many_members_are_refused_before_they_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_module, "LARGEST_TOTAL", 25)
    archive = ZipArchive(pack({"a": b"a" * 10, "b": b"b" * 10, "c": b"c" * 10}), OPTIONS)
    assert archive.read("a") + archive.read("b") == b"a" * 10 + b"b" * 10
    with pytest.raises(CorpusError, match="its text would unpack to more than 25 bytes"):
        archive.read("c")


def test_a_directory_that_names_a_place_outside_of_the_archive_is_refused() -> None:
    content = bytearray(pack({"a": b"1", "b": b"2"}))
    place = content.rindex(b"PK\1\2") + 42
    content[place : place + 4] = (10_000).to_bytes(4, "little")
    with pytest.raises(CorpusError, match="its directory names places outside of it"):
        ZipArchive(bytes(content), OPTIONS)


def test_a_member_that_lies_about_its_size_is_refused() -> None:
    content = bytearray(pack({"a": b" " * 10_000_000}))
    place = content.index(b"PK\1\2") + 24
    content[place : place + 4] = (100).to_bytes(4, "little")
    with pytest.raises(CorpusError, match="damaged: a"):
        ZipArchive(bytes(content), OPTIONS).read("a")
