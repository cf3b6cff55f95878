"""Downloads: a file from an http or https address, complete and checked, or not at all.

A broken download is kept beside its destination (`NAME.partial`, and `NAME.partial.json`, which says what it is a part
of) and is resumed if the server confirms that the file is still the same. It is renamed only when it is complete.

This is done by hand because the library for it, pooch, cannot resume a download and knows no size before it has loaded
the whole file.
"""

import http.client
import json
import time
from dataclasses import asdict, dataclass
from io import RawIOBase
from pathlib import Path

from docaps import progress
from docaps.corpus.fetch.connection import HttpResponse, TemporaryError, check_url, open_url
from docaps.errors import FetchError
from docaps.files import sha256, write_json

CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """The address of a file, and its SHA-256 and size if they are known."""

    url: str
    sha256: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often to try and how long to wait, in seconds; the pause doubles after each attempt."""

    attempts: int = 5
    timeout: float = 30.0
    pause: float = 1.0


@dataclass(frozen=True, slots=True)
class DownloadOrigin:
    """The file that a partial download belongs to: address, validator of this version, size if known."""

    url: str
    validator: str | None
    total: int | None


class PartialDownload:
    """A partial download beside its destination."""

    def __init__(self, final: Path) -> None:
        self.final = final
        self.path = final.with_name(final.name + ".partial")
        self._description = final.with_name(final.name + ".partial.json")

    @property
    def size(self) -> int:
        """Bytes received so far."""
        return self.path.stat().st_size if self.path.exists() else 0

    def origin(self, url: str) -> DownloadOrigin | None:
        """Return what this is a part of, if it belongs to the file at `url` and can be completed."""
        try:
            found = DownloadOrigin(**json.loads(self._description.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):  # absent, or not written by docaps: the download starts over
            return None
        fits = found.total is None or (isinstance(found.total, int) and self.size <= found.total)
        return found if found.url == url and self.size and fits else None

    def begin(self, origin: DownloadOrigin) -> None:
        """Start an empty file."""
        self.discard()
        write_json(self._description, asdict(origin))
        self.path.touch()

    def finish(self) -> None:
        """Rename the complete file to its destination."""
        self.path.replace(self.final)
        self._description.unlink(missing_ok=True)

    def discard(self) -> None:
        """Delete the partial download."""
        self.path.unlink(missing_ok=True)
        self._description.unlink(missing_ok=True)


def download(address: RemoteFile, path: Path, retries: RetryPolicy) -> str:
    """Download a file to `path`, replacing an existing one; return its SHA-256."""
    check_url(address.url)
    partial = PartialDownload(path)
    for attempt in range(1, retries.attempts + 1):
        try:
            _transfer(address, partial, path.name, retries.timeout)
            break
        except TemporaryError as fault:
            if fault.restart:
                partial.discard()
            if attempt == retries.attempts:
                kept = f". {partial.size:,} bytes are kept: the same command goes on from there" if partial.size else ""
                raise FetchError(f"{address.url}: {fault} (attempt {attempt} of {attempt}){kept}") from None
            seconds = retries.pause * 2 ** (attempt - 1)
            progress.say(f"{path.name}: {fault}; attempt {attempt + 1} in {seconds:.0f} s")
            time.sleep(seconds)
    found = _check(address, partial)
    partial.finish()
    return found


def _transfer(address: RemoteFile, partial: PartialDownload, name: str, timeout: float) -> None:
    """Receive the file, or the missing rest of it."""
    known = partial.origin(address.url)
    if known and known.total == partial.size:
        return
    with open_url(address.url, _headers(known, partial), timeout) as response:
        offset = _check_offset(response, known, partial)
        origin = known if offset and known else _begin(address, response, partial)
        _check_size(address, origin.total, partial)
        with progress.start(f"fetch {name} (bytes)", origin.total) as task, partial.path.open("ab", 0) as file:
            task.advance(offset)
            while chunk := response.read(CHUNK):
                _keep(chunk, file, partial)
                task.advance(len(chunk))
    if origin.total is not None and partial.size != origin.total:
        raise TemporaryError(f"the connection broke after {partial.size:,} of {origin.total:,} bytes")


def _headers(known: DownloadOrigin | None, partial: PartialDownload) -> dict[str, str]:
    """Return the headers that ask for the rest of the file if it is still the same, else for all of it."""
    if not known or not known.validator:
        return {}
    return {"Range": f"bytes={partial.size}-", "If-Range": known.validator}


def _check_offset(response: HttpResponse, known: DownloadOrigin | None, partial: PartialDownload) -> int:
    """Return the offset of the response: the end of the partial download, or 0."""
    if response.status != http.client.PARTIAL_CONTENT:
        return 0
    first, total = response.content_range
    same = known is not None and total == known.total and response.validator in (None, known.validator)
    if not same or first != partial.size:
        raise TemporaryError(
            "the server sent another part, or a part of another file, than was asked for", restart=True
        )
    return partial.size


def _begin(address: RemoteFile, response: HttpResponse, partial: PartialDownload) -> DownloadOrigin:
    """Start the download from the beginning."""
    if response.is_page:
        message = "answers with a web page, not with a file: give the address of the file itself"
        raise FetchError(f"{address.url}: {message}")
    origin = DownloadOrigin(address.url, response.validator, response.length)
    partial.begin(origin)
    return origin


def _check_size(address: RemoteFile, total: int | None, partial: PartialDownload) -> None:
    """Refuse a file of an unexpected size before it is received."""
    if address.size is not None and total is not None and address.size != total:
        partial.discard()
        raise FetchError(f"{address.url}: has {total:,} bytes, expected {address.size:,}: nothing was kept")


def _keep(chunk: bytes, file: RawIOBase, partial: PartialDownload) -> None:
    """Write received bytes unbuffered, so that a full disk is noticed here and everything before is kept."""
    rest = memoryview(chunk)
    try:
        while rest:
            rest = rest[file.write(rest) or 0 :]
    except OSError as fault:
        kept = f"{partial.size:,} bytes are kept: the same command goes on from there"
        raise FetchError(f"cannot be written: {fault.strerror}. {kept}", path=partial.path) from None


def _check(address: RemoteFile, partial: PartialDownload) -> str:
    """Return the file's SHA-256; refuse and delete a file that is not the expected one."""
    if address.size not in (None, partial.size):
        fault = f"has {partial.size:,} bytes, expected {address.size:,}"
    else:
        found = sha256(partial.path)
        if address.sha256 in (None, found):
            return found
        fault = f"its SHA-256 is {found}, expected {address.sha256}"
    partial.discard()
    raise FetchError(f"{address.url}: {fault}: nothing was kept")
