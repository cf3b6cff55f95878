"""Files appear complete or not at all, whatever happens while they are written."""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from docaps import files
from docaps.errors import CorpusError, RunError
from docaps.files import read_json, replacing, replacing_directory, sha256, write_json, write_text_atomically

FAULTS = [ValueError("boom"), KeyboardInterrupt()]


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def fail_while_writing(block: AbstractContextManager[Path], fault: BaseException) -> None:
    with block as temporary:
        (temporary / "half" if temporary.is_dir() else temporary).write_text("half")
        raise fault


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_file_keeps_its_old_content_when_writing_fails(tmp_path: Path, fault: BaseException) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(type(fault)):
        fail_while_writing(replacing(path), fault)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_directory_keeps_its_old_content_when_writing_fails(tmp_path: Path, fault: BaseException) -> None:
    path = tmp_path / "store"
    path.mkdir()
    (path / "old").write_text("old")
    with pytest.raises(type(fault)):
        fail_while_writing(replacing_directory(path), fault)
    assert names(tmp_path) == ["store"]
    assert names(path) == ["old"]


def test_what_a_killed_process_was_writing_is_removed_when_the_file_is_written_again(tmp_path: Path) -> None:
    others = [".b.txt.abcd1234.partial", ".a.txt.old.partial", ".a.txt.abcd1234.old"]
    for name in (".a.txt.abcd1234.partial", *others):
        (tmp_path / name).write_text("half")
    (tmp_path / ".a.txt.abcd5678.partial").symlink_to("elsewhere")
    write_text_atomically(tmp_path / "a.txt", "new")
    assert names(tmp_path) == sorted([".a.txt.abcd5678.partial", *others, "a.txt"])


def test_what_another_process_is_writing_is_kept(tmp_path: Path) -> None:
    with replacing(tmp_path / "a") as slow:
        slow.write_text("slow")
        write_text_atomically(tmp_path / "a", "fast")
        assert slow.read_text() == "slow"
    assert (tmp_path / "a").read_text() == "slow"
    assert names(tmp_path) == ["a"]


def test_a_temporary_file_that_is_taken_for_a_leftover_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    make = files.tempfile.mkstemp

    def lose_the_first(**options: Any) -> tuple[int, str]:
        handle, name = make(**options)
        if not made:
            Path(name).unlink()  # by another process, before it was locked
        made.append(name)
        return handle, name

    monkeypatch.setattr(files.tempfile, "mkstemp", lose_the_first)
    write_text_atomically(tmp_path / "a", "new")
    assert (names(tmp_path), len(made)) == (["a"], 2)


def test_nothing_appears_under_the_name_before_the_end(tmp_path: Path) -> None:
    with replacing(tmp_path / "deep" / "a") as file, replacing_directory(tmp_path / "b") as directory:
        file.write_text("new")
        (directory / "c").write_text("new")
        assert not (tmp_path / "deep" / "a").exists()
        assert not (tmp_path / "b").exists()
        assert file.parent == tmp_path / "deep"  # the same disk, or the last move would copy
    assert (tmp_path / "deep" / "a").read_text() == "new"
    assert names(tmp_path) == ["b", "deep"]
    assert names(tmp_path / "deep") == ["a"]


def test_a_directory_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "store"
    path.mkdir()
    (path / "old").write_text("old")
    with replacing_directory(path, own=["old"]) as temporary:
        (temporary / "new").write_text("new")
    assert names(path) == ["new"]
    assert names(tmp_path) == ["store"]


@pytest.mark.parametrize("failing", ["old", "new"])
def test_a_failed_move_brings_the_old_directory_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "store"
    path.mkdir()
    (path / "content").write_text("old")
    move = Path.replace

    def replace(self: Path, target: Path) -> Path:
        if (Path(target).name == "old") == (failing == "old") and ".old" not in str(self):
            raise OSError("busy")
        return move(self, target)

    monkeypatch.setattr(files, "_exchange", lambda *_: False)
    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(OSError, match="busy"), replacing_directory(path, own=["content"]):
        pass
    assert names(tmp_path) == ["store"]
    assert (path / "content").read_text() == "old"


def test_permissions_follow_the_umask(tmp_path: Path, umask: None) -> None:
    write_text_atomically(tmp_path / "a", "text")
    with replacing_directory(tmp_path / "b"):
        pass
    assert mode(tmp_path / "a") == 0o640
    assert mode(tmp_path / "b") == 0o750


def test_json_survives_a_file_and_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    value = {"wörter": ["ß", 1, None], "tief": {"x": 0.1}}
    write_json(path, value)
    assert read_json(path, error=RunError) == value
    assert "wörter" in path.read_text(encoding="utf-8")


def test_broken_json_is_reported_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{\n  "a": 1,\n  "b": oops\n}\n')
    with pytest.raises(CorpusError) as caught:
        read_json(path, error=CorpusError)
    assert str(caught.value).startswith(f"{path}:3: not valid JSON: ")
    assert (caught.value.path, caught.value.line) == (path, 3)


@pytest.mark.parametrize("error", [RunError, CorpusError])
def test_unreadable_json_raises_the_error_asked_for(tmp_path: Path, error: type[CorpusError | RunError]) -> None:
    with pytest.raises(error, match=r"absent.json: no such file"):
        read_json(tmp_path / "absent.json", error=error)
    with pytest.raises(error, match="cannot be read"):
        read_json(tmp_path, error=error)
    (tmp_path / "a").write_bytes(b'"\xff"')
    with pytest.raises(error, match="cannot be read"):
        read_json(tmp_path / "a", error=error)


@pytest.mark.parametrize("text", ["9" * 5000, "[" * 65 + "]" * 65, "[" * 10**5, '{"a":' * 65 + "1" + "}" * 65])
def test_huge_numbers_and_deep_nesting_are_no_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(RunError, match=r"not valid JSON: (a number of thousands of digits|nested more than 64 levels)"):
        read_json(tmp_path / "a.json", error=RunError)


def test_what_docaps_writes_is_not_too_deep(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[" * 64 + "]" * 64)
    assert read_json(tmp_path / "a.json", error=RunError)


def test_only_so_much_of_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert files.read_bytes(path, error=RunError, limit=5) == b"12345"
    with pytest.raises(RunError, match="cannot be read: it has more than 4 bytes"):
        files.read_bytes(path, error=RunError, limit=4)
    os.truncate(path, 2**40)  # sparse: it takes no room on the disk
    with pytest.raises(RunError, match="it has more than 4,194,304 bytes"):
        read_json(path, error=RunError, limit=files.LARGEST_DESCRIPTION)
    with pytest.raises(RunError, match="it has more than 5 bytes"):  # a device says that it has none
        files.read_bytes(Path("/dev/zero"), error=RunError, limit=5, regular=False)


KINDS = [("pipe", "a named pipe"), ("/dev/zero", "a device"), ("/dev/full", "a device"), ("socket", "a socket")]


@pytest.mark.parametrize(("kind", "named"), KINDS)
def test_what_may_block_or_never_end_is_not_read(tmp_path: Path, kind: str, named: str) -> None:
    path = tmp_path / "a"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        os.mknod(path, stat.S_IFSOCK | 0o600)
    else:
        path.symlink_to(kind)
    for read in (lambda: read_json(path, error=RunError), lambda: sha256(path)):
        with pytest.raises((RunError, OSError), match=f"it is {named}, expected a regular file"):
            read()


def test_a_pipe_that_takes_the_place_of_a_file_at_the_last_moment_does_not_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_text("{}")
    os.mkfifo(tmp_path / "pipe")
    checked: list[int] = []

    def check(found: os.stat_result, path: Path) -> None:
        if not checked:
            (tmp_path / "pipe").replace(path)
        checked.append(found.st_mode)
        whole(found, path)

    whole = files._check_regular
    monkeypatch.setattr(files, "_check_regular", check)
    with pytest.raises(RunError, match="it is a named pipe"):
        read_json(path, error=RunError)
    assert len(checked) == 2


def test_a_directory_with_files_of_others_is_not_replaced(tmp_path: Path) -> None:
    done.clear()
    path = tmp_path / "store"
    (path / "text").mkdir(parents=True)
    (path / "text" / "notes").write_text("mine")
    with pytest.raises(RunError, match=r"store: the directory holds something else \(text/notes\): move it away"):
        replace_by_nothing(path, ["manifest.json", "text/*.json"])
    (path / "text" / "notes").rename(path / "text" / "a.json")
    replace_by_nothing(path, ["manifest.json", "text/*.json"])
    assert names(path) == []
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(RunError, match="is a file, expected a directory"):
        replace_by_nothing(file, ["a"])
    assert file.read_text() == "mine"
    assert done == ["store"]  # refused before the work, not after it


def test_a_file_of_others_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "store"
    path.mkdir()
    with pytest.raises(RunError, match="holds something else"), replacing_directory(path, own=["a"], error=RunError):
        (path / "notes").write_text("mine")
    assert (path / "notes").read_text() == "mine"
    assert names(tmp_path) == ["store"]


@pytest.mark.parametrize("exchange", [True, False])
def test_a_link_is_replaced_and_its_target_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    if not exchange:
        monkeypatch.setattr(files, "_exchange", lambda *_: False)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "notes").write_text("mine")
    (tmp_path / "store").symlink_to("elsewhere")
    replace_by_nothing(tmp_path / "store", ["a"])
    assert not (tmp_path / "store").is_symlink()
    assert (tmp_path / "elsewhere" / "notes").read_text() == "mine"
    assert names(tmp_path) == ["elsewhere", "store"]


def replace_by_nothing(path: Path, own: list[str]) -> None:
    with replacing_directory(path, own=own, error=RunError):
        done.append(path.name)


done: list[str] = []
"""The directories whose content was written, whatever became of them."""


def test_a_link_is_removed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.json").write_text("mine")
    (tmp_path / "link").symlink_to("elsewhere")
    files.remove(tmp_path / "link")
    assert not (tmp_path / "link").is_symlink()
    (tmp_path / "it").mkdir()
    (tmp_path / "it" / "text").symlink_to(tmp_path / "elsewhere")
    files.remove_files(tmp_path / "it", ["text/a.json"])
    assert names(tmp_path / "it") == []
    (tmp_path / ".it.x_012345.partial").symlink_to("elsewhere")
    files.remove_leftovers(tmp_path / "it")
    assert (tmp_path / "elsewhere" / "a.json").read_text() == "mine"


def test_the_hash_is_that_of_the_bytes(tmp_path: Path) -> None:
    content = b"\r\n\0" * 100_000
    (tmp_path / "a").write_bytes(content)
    assert sha256(tmp_path / "a") == hashlib.sha256(content).hexdigest()


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that cannot be read")
def test_a_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(OSError, match="Input/output error") as caught:
        sha256(Path("/proc/self/mem"))
    assert caught.value.filename == "/proc/self/mem"


def test_a_directory_is_replaced_in_one_step_where_the_system_can(tmp_path: Path) -> None:
    """So a process killed at any moment leaves the old directory or the new one."""
    one, other = tmp_path / "one", tmp_path / "other"
    for path in (one, other):
        path.mkdir()
        (path / path.name).touch()
    if not files._exchange(one, other):
        pytest.skip("this system cannot")
    assert [path.name for path in one.iterdir()] == ["other"]
    assert [path.name for path in other.iterdir()] == ["one"]


def test_without_that_it_is_moved_aside_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_exchange", lambda *_: False)
    path = tmp_path / "it"
    for name in ("old", "new"):
        with files.replacing_directory(path, own=["old"]) as directory:
            (directory / name).touch()
        assert [found.name for found in path.iterdir()] == [name]
    assert [found.name for found in tmp_path.iterdir()] == ["it"]


def test_a_directory_of_a_living_process_is_no_leftover(tmp_path: Path) -> None:
    others = [tmp_path / f".it{name}.partial" for name in (".old_0123", "[1].x_012345", ".file_012", ".my backup")]
    others[0].mkdir()
    (others[0] / "half").touch()
    others[1].mkdir()
    others[2].touch()
    others[3].mkdir()
    with replacing_directory(tmp_path / "it") as first, replacing_directory(tmp_path / "it") as second:
        assert not others[0].exists()  # its maker is gone
        assert others[1].exists()  # it was to be something else
        assert not others[2].exists()  # nor does its maker live
        assert others[3].exists()  # and this is not a name that docaps makes
        for directory in (first, second):
            (directory / "file").touch()
        files.remove_leftovers(tmp_path / "it")
        assert names(first) == names(second) == ["file"]
    assert names(tmp_path / "it") == ["file"]
    files.remove_leftovers(tmp_path / "it[1]")
    assert not others[1].exists()


def test_a_directory_taken_for_a_leftover_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, taken = files._locked, []

    def lock_late(directory: Path, *, wait: bool) -> AbstractContextManager[bool]:
        if wait and not taken:
            taken.extend(tmp_path.iterdir())
            files.remove_leftovers(tmp_path / "it")
        return lock(directory, wait=wait)

    monkeypatch.setattr(files, "_locked", lock_late)
    with replacing_directory(tmp_path / "it") as directory:
        assert directory not in taken
        (directory / "file").touch()
    assert names(tmp_path) == ["it"]
    assert names(tmp_path / "it") == ["file"]


def test_without_locks_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int, **__: bool) -> bool:
        raise OSError(errno.ENOSYS, "no locks")

    monkeypatch.setattr(files, "lock_descriptor", refuse)
    (tmp_path / ".it.x_012345.partial").mkdir()
    with replacing_directory(tmp_path / "it"):
        pass
    assert names(tmp_path) == [".it.x_012345.partial", "it"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as caught:
        write_to_full_disk(tmp_path / "a")
    assert caught.value.filename == str(tmp_path / "a")
    assert names(tmp_path) == []


def write_to_full_disk(path: Path) -> None:
    with replacing(path) as temporary:
        temporary.unlink()
        temporary.symlink_to("/dev/full")
        temporary.write_text("text")
