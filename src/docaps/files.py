"""Atomic files and directories: each appears under its name complete, or not at all."""

import contextlib
import ctypes
import glob
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filelock import lock_descriptor

from docaps.errors import DocapsError


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`, which replaces `path` if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftover_files(path)
    with _own_file(path) as temporary:
        try:
            with naming(path):
                yield temporary
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def _remove_leftover_files(path: Path) -> None:
    """Remove temporary files of `path` that killed processes left behind."""
    with os.scandir(path.parent) as found:
        names = [one.name for one in found if one.name.endswith(".partial") and one.is_file(follow_symlinks=False)]
    for name in names:
        if name.startswith(f".{path.name}.") and len(name) == len(f".{path.name}.12345678.partial"):
            with _locked(path.parent / name, wait=False) as acquired:
                if acquired:
                    (path.parent / name).unlink(missing_ok=True)


@contextlib.contextmanager
def _own_file(path: Path) -> Iterator[Path]:
    """Make a temporary file beside `path`, locked as long as this process lives."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
        os.close(handle)
        with _locked(Path(name), wait=True):
            if Path(name).exists():  # else another process removed it as a leftover before it was locked
                yield Path(name)
                return


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the file name to an OS error that lacks one, such as that of a full disk."""
    try:
        yield
    except OSError as fault:
        if fault.errno is not None and fault.filename is None:
            fault.filename = str(path)
        raise


@contextlib.contextmanager
def replacing_directory(path: Path) -> Iterator[Path]:
    """Yield a temporary directory beside `path`, which replaces `path` if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path)
    with _own_directory(path) as temporary:
        try:
            yield temporary
            temporary.chmod(0o777 & ~_umask())
            _swap_directory(temporary, path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def remove_leftovers(path: Path) -> None:
    """Remove temporary directories of `path` that killed processes left behind."""
    for directory in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        with _locked(directory, wait=False) as acquired:
            if acquired:
                shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def _own_directory(path: Path) -> Iterator[Path]:
    """Make a temporary directory beside `path`, locked as long as this process lives."""
    while True:
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial"))
        with _locked(temporary, wait=True):
            if temporary.exists():  # else another process removed it as a leftover before it was locked
                yield temporary
                return


@contextlib.contextmanager
def _locked(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold a lock on a directory or file, which ends with the process at the latest; yield whether it was acquired.

    It is not if the path is gone, if another process holds the lock, or if the system has no such locks. Windows has
    none here: it could not rename what is open.
    """
    acquired = False
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            if os.name == "posix":
                handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                stack.callback(os.close, handle)
                acquired = lock_descriptor(handle, blocking=wait)
        yield acquired


def _swap_directory(new: Path, path: Path) -> None:
    """Replace `path` by `new`: atomically if the system can, else after moving the old directory aside."""
    if not path.exists():
        new.replace(path)
        return
    if _exchange(new, path):  # `new` is now the old directory, and is removed with the temporary one
        return
    aside = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".old"))
    try:
        path.replace(aside / "old")
        new.replace(path)
    except BaseException:
        if (aside / "old").exists():
            (aside / "old").replace(path)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two directories atomically; return False if the system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


def _umask() -> int:
    """Return the process's umask, which can be read only by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text_atomically(path: Path, text: str) -> None:
    """Write a UTF-8 text file atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically."""
    write_text_atomically(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def read_json(path: Path, *, error: type[DocapsError]) -> Any:
    """Read a JSON file; raise `error` with file and line if it is missing or broken."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise error("no such file", path=path) from None
    except json.JSONDecodeError as fault:
        raise error(f"not valid JSON: {fault.msg}", path=path, line=fault.lineno) from None
    except (UnicodeDecodeError, OSError) as fault:
        raise error(f"cannot be read: {fault}", path=path) from None


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
