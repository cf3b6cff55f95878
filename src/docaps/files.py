"""Files and directories: written atomically, read within limits, removed by name.

A file or directory appears under its name complete, or not at all. What is read back may have been damaged or made by
others: only regular files are read, since a pipe or a device may block or never end, and only up to a size. What is
removed is named: other files in the same directory stay, and links are removed, never followed.
"""

import contextlib
import ctypes
import errno
import hashlib
import io
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from filelock import lock_descriptor

from docaps.errors import DocapsError, printable

LARGEST_FILE, LARGEST_DESCRIPTION = 2**26, 2**22
"""Bytes of the largest file that is read whole, and of one that describes a run or a corpus."""
DEEPEST_JSON = 64
"""Levels of nesting; what docaps writes has ten at most."""
_LEFTOVER = re.compile(r"\.(.+)\.[a-z0-9_]{8}\.partial", re.DOTALL)
"""The name of a temporary file or directory, as `tempfile` makes it."""
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


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
def replacing_directory(
    path: Path, *, own: Collection[str] = (), error: type[DocapsError] = DocapsError
) -> Iterator[Path]:
    """Yield a temporary directory beside `path`, which replaces `path` if the block succeeds.

    No file is lost that is neither in the new directory nor named in `own` (see `foreign_files`): `error` is raised.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if own:
        _refuse_foreign_files(path, own, error)
    remove_leftovers(path)
    with _own_directory(path) as temporary:
        try:
            yield temporary
            temporary.chmod(0o777 & ~_umask())
            _refuse_foreign_files(path, [*own, *_names_below(temporary)], error)
            _swap_directory(temporary, path)
        finally:
            remove(temporary)


def _names_below(directory: Path) -> list[str]:
    """List the files below a directory, as patterns."""
    names = [str(path.relative_to(directory)) for path in directory.rglob("*") if not path.is_dir()]
    return [re.sub(r"([*?[])", r"[\1]", name) for name in names]


def _refuse_foreign_files(path: Path, own: Collection[str], error: type[DocapsError]) -> None:
    """Refuse to replace a file, or a directory that holds other files than these; a link is replaced, not followed."""
    if path.is_symlink() or not path.exists():
        return
    if not path.is_dir():
        raise error("is a file, expected a directory: move it away or choose another name", path=path)
    if found := next(foreign_files(path, own), None):
        name = printable(found, one_line=True)
        raise error(f"the directory holds something else ({name}): move it away or choose another one", path=path)


def foreign_files(directory: Path, own: Collection[str]) -> Iterator[str]:
    """Yield what a directory holds besides its own files, given as patterns such as `text/*.json`.

    Temporary files of those names, which killed processes left, are own files too.
    """
    for path in sorted(directory.iterdir()):
        rest = _below(path.name, own)
        if path.is_dir() and not path.is_symlink() and any(rest):
            yield from (f"{path.name}/{name}" for name in foreign_files(path, [*filter(None, rest)]))
        elif "" not in rest or (path.is_dir() and not path.is_symlink()):
            yield path.name


def _below(name: str, patterns: Collection[str]) -> list[str]:
    """Return what remains of the patterns that begin with this name; nothing remains of one that ends with it."""
    leftover = _LEFTOVER.fullmatch(name)
    names = (name, leftover[1]) if leftover else (name,)
    parts = (pattern.partition("/") for pattern in patterns)
    return [rest for first, _, rest in parts if any(fnmatchcase(one, first) for one in names)]


def leftovers_of(own: Collection[str]) -> list[str]:
    """Return patterns of the temporary files that killed processes leave when they write files of these names."""
    parts = (pattern.rpartition("/") for pattern in own)
    return [f"{folder}{slash}.{name}.????????.partial" for folder, slash, name in parts]


def remove_files(directory: Path, own: Collection[str]) -> None:
    """Remove the files that are named by patterns (see `foreign_files`), and folders that are empty then."""
    for path in sorted(directory.iterdir()) if directory.is_dir() else ():
        rest = _below(path.name, own)
        if path.is_symlink() or not path.is_dir():
            if "" in rest or (rest and path.is_symlink()):
                path.unlink(missing_ok=True)
        elif inside := [*filter(None, rest)]:
            remove_files(path, inside)
            with contextlib.suppress(OSError):  # it holds something else
                path.rmdir()


def remove(path: Path) -> None:
    """Remove a file, a link or a whole directory that this process made; report no error."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def remove_leftovers(path: Path) -> None:
    """Remove temporary directories of `path` that killed processes left behind."""
    for directory in path.parent.iterdir() if path.parent.is_dir() else ():
        found = _LEFTOVER.fullmatch(directory.name)
        if found and found[1] == path.name and not directory.is_symlink():
            with _locked(directory, wait=False) as acquired:
                if acquired:
                    remove(directory)


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


@contextlib.contextmanager
def locking(path: Path) -> Iterator[bool]:
    """Wait for the lock of a file, which is created and stays, and hold it; yield False if the system has none."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    with _locked(path, wait=True) as acquired:
        yield acquired


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file; without locks in the system, none does."""
    with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        stack.callback(os.close, handle)
        return not lock_descriptor(handle, blocking=False)
    return False


def _swap_directory(new: Path, path: Path) -> None:
    """Replace `path` by `new`: atomically if the system can, else after moving the old directory aside."""
    if not (path.exists() or path.is_symlink()):
        new.replace(path)
        return
    if _exchange(new, path):  # `new` is now the old directory, and is removed with the temporary one
        return
    aside = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".old"))
    try:
        path.replace(aside / "old")
        try:
            new.replace(path)
        except BaseException:
            (aside / "old").replace(path)
            raise
    except BaseException:
        with contextlib.suppress(OSError):  # it still holds the old directory
            aside.rmdir()
        raise
    remove(aside)


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
    """Write a UTF-8 text file atomically; surrogates, as in JSON of others, are escaped."""
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode("utf-8", errors="backslashreplace"))


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically."""
    write_text_atomically(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file for reading; refuse at once what could block or never end, such as a pipe or a device."""
    _check_regular(path.stat(), path)
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _check_regular(os.fstat(handle), path)  # it may have been replaced since
    except OSError:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def _check_regular(found: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, expected a regular file", str(path))


def read_bytes(path: Path, *, error: type[DocapsError], limit: int = LARGEST_FILE, regular: bool = True) -> bytes:
    """Read a file of at most `limit` bytes; `regular=False` is for files that the user names, which may be pipes."""
    try:
        with open_regular(path) if regular else path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read(limit + 1) if size <= limit else b""
    except FileNotFoundError:
        raise error("no such file", path=path) from None
    except (OSError, ValueError) as fault:  # ValueError: a name with a NUL
        raise error(f"cannot be read: {getattr(fault, 'strerror', None) or fault}", path=path) from None
    if size > limit or len(content) > limit:
        raise error(f"cannot be read: it has more than {limit:,} bytes", path=path)
    return content


def read_text(path: Path, *, error: type[DocapsError], limit: int = LARGEST_FILE, regular: bool = True) -> str:
    """Read a UTF-8 file as `read_bytes` does; a byte order mark is dropped."""
    content = read_bytes(path, error=error, limit=limit, regular=regular)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        raise error(f"cannot be read: not UTF-8 (0x{content[fault.start]:02x})", path=path, line=line) from None


def read_json(path: Path, *, error: type[DocapsError], limit: int = LARGEST_FILE) -> Any:
    """Read a JSON file; raise `error` with file and line if it is missing or broken."""
    text = read_text(path, error=error, limit=limit)
    try:
        return parse_json(text)
    except json.JSONDecodeError as fault:
        raise error(f"not valid JSON: {fault.msg}", path=path, line=fault.lineno) from None
    except ValueError as fault:
        raise error(f"not valid JSON: {fault}", path=path) from None


def parse_json(text: str) -> Any:
    """Parse JSON; raise `ValueError` also for a number of thousands of digits and for very deep nesting."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise ValueError(f"nested more than {DEEPEST_JSON} levels deep") from None
    except ValueError:
        raise ValueError("a number of thousands of digits") from None
    check_depth(value)
    return value


def check_depth(value: Any) -> None:
    """Refuse nesting so deep that functions which follow it would fail."""
    level = [value]
    for _ in range(DEEPEST_JSON):
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [child for children in inner for child in children if isinstance(child, dict | list)]
        if not level:
            return
    raise ValueError(f"nested more than {DEEPEST_JSON} levels deep")


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with naming(path), open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
