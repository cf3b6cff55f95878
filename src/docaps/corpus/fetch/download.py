"""Downloads: a file from an http or https address, whole and checked, or not at all.

A broken download is kept beside its place (`NAME.partial`, and `NAME.partial.json`, which says what it is a part of)
and goes on where it broke, if the server says that the file is still the same. Only then does it take its name.
"""

import http.client
import time
from collections.abc import Iterator
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path

from docaps import progress
from docaps.corpus.fetch.connection import Response, TemporaryError, check_url, open_url
from docaps.corpus.fetch.partial import Origin, Partial
from docaps.errors import FetchError
from docaps.files import sha256

CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Address:
    """Where a file is on the network, and what is known of it beforehand."""

    url: str
    sha256: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Patience:
    """How often, and how long, to try; the pause in seconds doubles after each attempt."""

    attempts: int = 5
    timeout: float = 30.0
    pause: float = 1.0


def download(address: Address, path: Path, patience: Patience) -> str:
    """Download a file to `path`, replacing what is there; return its SHA-256."""
    check_url(address.url)
    partial = Partial(path)
    for attempt in range(1, patience.attempts + 1):
        try:
            _transfer(address, partial, path.name, patience.timeout)
            break
        except TemporaryError as fault:
            if fault.anew:
                partial.discard()
            if attempt == patience.attempts:
                raise FetchError(_give_up(address.url, fault, attempt, partial)) from None
            seconds = patience.pause * 2 ** (attempt - 1)
            progress.say(f"{path.name}: {fault}; attempt {attempt + 1} in {seconds:.0f} s")
            time.sleep(seconds)
    found = _check(address, partial)
    partial.finish()
    return found


def _give_up(url: str, fault: TemporaryError, attempts: int, partial: Partial) -> str:
    """Say that all attempts failed, and what is left of them."""
    kept = f". {partial.size:,} bytes are kept: the same command goes on from there" if partial.size else ""
    return f"{url}: {fault} (attempt {attempts} of {attempts}){kept}"


def _transfer(address: Address, partial: Partial, name: str, timeout: float) -> None:
    """Receive the file, or what is missing of it."""
    known = partial.origin(address.url)
    if known and known.total == partial.size:
        return
    with open_url(address.url, _headers(known, partial), timeout) as response:
        offset = _check_offset(response, known, partial)
        origin = known if offset and known else _begin(address, response, partial)
        _check_size(address, origin.total, partial)
        with progress.start(f"fetch {name} (bytes)", origin.total) as task, partial.path.open("ab", 0) as file:
            task.advance(offset)
            for chunk in _chunks(response):
                _keep(chunk, file, partial)
                task.advance(len(chunk))
    if origin.total is not None and partial.size != origin.total:
        raise TemporaryError(f"the connection broke after {partial.size:,} of {origin.total:,} bytes")


def _headers(known: Origin | None, partial: Partial) -> dict[str, str]:
    """Ask for the rest of the file if it is still the same, else for all of it."""
    if not known or not known.validator:
        return {}
    return {"Range": f"bytes={partial.size}-", "If-Range": known.validator}


def _check_offset(response: Response, known: Origin | None, partial: Partial) -> int:
    """Return where the answer goes on: where we broke off, or at the beginning."""
    if response.status != http.client.PARTIAL_CONTENT:
        return 0
    first, total = response.content_range
    same = known is not None and total == known.total and response.validator in (None, known.validator)
    if not same or first != partial.size:
        raise TemporaryError("the server sent another part, or a part of another file, than was asked for", anew=True)
    return partial.size


def _begin(address: Address, response: Response, partial: Partial) -> Origin:
    """Start the file anew."""
    if response.is_page:
        message = "answers with a web page, not with a file: give the address of the file itself"
        raise FetchError(f"{address.url}: {message}")
    origin = Origin(address.url, response.validator, response.length)
    partial.begin(origin)
    return origin


def _check_size(address: Address, total: int | None, partial: Partial) -> None:
    """Refuse a file of another size before it is received."""
    if address.size is not None and total is not None and address.size != total:
        partial.discard()
        raise FetchError(f"{address.url}: has {total:,} bytes, expected {address.size:,}: nothing was kept")


def _chunks(response: Response) -> Iterator[bytes]:
    """Go through what the server sends."""
    while chunk := response.read(CHUNK):
        yield chunk


def _keep(chunk: bytes, file: RawIOBase, partial: Partial) -> None:
    """Write what was received at once, so that a full disk is noticed here and all before it is kept."""
    rest = memoryview(chunk)
    try:
        while rest:
            rest = rest[file.write(rest) or 0 :]
    except OSError as fault:
        kept = f"{partial.size:,} bytes are kept: the same command goes on from there"
        raise FetchError(f"cannot be written: {fault.strerror}. {kept}", path=partial.path) from None


def _check(address: Address, partial: Partial) -> str:
    """Return the file's SHA-256; refuse a file that is not the expected one, and keep nothing of it."""
    if address.size not in (None, partial.size):
        fault = f"has {partial.size:,} bytes, expected {address.size:,}"
    else:
        found = sha256(partial.path)
        if address.sha256 in (None, found):
            return found
        fault = f"its SHA-256 is {found}, expected {address.sha256}"
    partial.discard()
    raise FetchError(f"{address.url}: {fault}: nothing was kept")
