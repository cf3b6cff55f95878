"""Downloads: a file from an http or https address, complete and checked, or not at all.

A broken download is kept beside its destination (`NAME.partial`, and `NAME.partial.json`, which says what it is a part
of) and is resumed if the server confirms that the file is still the same. It is renamed only when it is complete.

This is done by hand because the library for it, pooch, cannot resume a download and knows no size before it has loaded
the whole file.
"""

import http.client
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from io import RawIOBase
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit

from docaps import __version__, progress
from docaps.errors import FetchError
from docaps.files import read_json, sha256, write_json

CHUNK = 1 << 16
SCHEMES = ("http", "https")
REDIRECTS = (301, 302, 303, 307, 308)
MOST_REDIRECTS = 5
TEMPORARY_STATUS = (408, 425, 429, 500, 502, 503, 504)
HEADERS = {"User-Agent": f"docaps/{__version__}", "Accept-Encoding": "identity"}  # no compression
UNRESERVED = "%/:=&?~#+!$,;'@()*[]"


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """The address of a file, and its SHA-256 and size if they are known."""

    url: str
    sha256: str | None = None
    size: int | None = None

    def mismatch(self, path: Path) -> str | None:
        """Return how a local file differs from the expected size or hash, if it does."""
        if self.size not in (None, path.stat().st_size):
            return f"has {path.stat().st_size:,} bytes, expected {self.size:,}"
        if self.sha256 is not None and (found := sha256(path)) != self.sha256:
            return f"its SHA-256 is {found}, expected {self.sha256}"
        return None


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often to try and how long to wait, in seconds; the pause doubles after each attempt."""

    attempts: int = 5
    timeout: float = 30.0
    pause: float = 1.0


class TemporaryError(Exception):
    """An error that another attempt may not have; `restart`: the next attempt has to start from the beginning."""

    def __init__(self, message: str, *, restart: bool = False) -> None:
        super().__init__(message)
        self.restart = restart


def check_url(url: str) -> None:
    """Refuse an address that is not http or https, or has a password in it."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as fault:
        raise FetchError(f"{url}: not an address: {fault}") from None
    if parts.scheme not in SCHEMES or not host:
        raise FetchError(f"{url}: not an address of a file on the network: it must begin with http:// or https://")
    if "@" in parts.netloc:
        raise FetchError(f"{parts.scheme}://...@{host}: an address must not hold a name and password")


def check_redirect(url: str, target: str) -> None:
    """Refuse a redirect to another scheme, or from https to http."""
    if urlsplit(target).scheme not in SCHEMES:
        raise FetchError(f"{url}: redirects to {target}, which is not on the network: refused")
    if url.startswith("https:") and not target.startswith("https:"):
        raise FetchError(f"{url}: redirects to {target}, an unencrypted connection: refused")
    check_url(target)


def open_url(url: str, headers: Mapping[str, str], timeout: float) -> http.client.HTTPResponse:
    """Open an address through the user's proxy, following a few redirects; only http and https are spoken."""
    opener = urllib.request.OpenerDirector()
    for handler in ("Proxy", "HTTP", "HTTPS", "HTTPDefaultError"):
        opener.add_handler(getattr(urllib.request, f"{handler}Handler")())
    opener.add_handler(urllib.request.HTTPErrorProcessor())
    location = url
    for _ in range(MOST_REDIRECTS + 1):
        try:
            request = urllib.request.Request(quote(location, safe=UNRESERVED), headers={**HEADERS, **headers})
            response: http.client.HTTPResponse = opener.open(request, timeout=timeout)
            return response
        except urllib.error.HTTPError as fault:
            with fault:
                location = _next_location(location, fault)
        except (OSError, http.client.HTTPException) as fault:
            raise _explain(location, fault) from None
    raise FetchError(f"{url}: redirected more than {MOST_REDIRECTS} times")


def _next_location(url: str, fault: urllib.error.HTTPError) -> str:
    """Return the target of a redirect; raise an error for any other status."""
    redirect = fault.headers.get("Location")
    if fault.code in REDIRECTS and redirect:
        target = urljoin(url, redirect)
        check_redirect(url, target)
        return target
    unfit = fault.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE  # the file is shorter than the partial download
    if unfit or fault.code in TEMPORARY_STATUS:
        raise TemporaryError(f"the server answered {fault.code} {fault.reason}", restart=unfit)
    raise FetchError(f"{url}: the server answered {fault.code} {fault.reason}: is the address right?")


def _explain(url: str, fault: Exception) -> Exception:
    """Return the error for a failed connection: temporary or permanent."""
    inner = fault.reason if isinstance(fault, urllib.error.URLError) else fault
    if isinstance(inner, http.client.InvalidURL):
        return FetchError(f"{url}: not an address: {inner}")
    if isinstance(inner, TimeoutError):
        return TemporaryError("the server did not answer in time")
    if isinstance(inner, ConnectionResetError | ConnectionAbortedError | BrokenPipeError | http.client.HTTPException):
        return TemporaryError(f"the connection broke ({_reason(inner)})")
    return FetchError(f"{url}: cannot be reached ({_reason(inner)})")


def _reason(fault: object) -> str:
    """Return the message of a system error."""
    return str(getattr(fault, "strerror", None) or fault or type(fault).__name__)


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
            found = DownloadOrigin(**read_json(self._description, error=FetchError))
        except (FetchError, TypeError):  # absent, or not written by docaps: the download starts over
            return None
        fits = found.total is None or (isinstance(found.total, int) and self.size <= found.total)
        return found if found.url == url and self.size and fits and not self.path.is_symlink() else None

    def begin(self, origin: DownloadOrigin) -> None:
        """Start an empty file."""
        self.discard()
        write_json(self._description, asdict(origin))
        self.path.touch()

    def finish(self) -> None:
        """Rename the complete file to its destination."""
        self.path.replace(self.final)
        self.discard()

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
            _transfer(address, partial, retries.timeout)
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
    if mismatch := address.mismatch(partial.path):
        partial.discard()
        raise FetchError(f"{address.url}: {mismatch}: nothing was kept")
    partial.finish()
    return sha256(path)


def _transfer(address: RemoteFile, partial: PartialDownload, timeout: float) -> None:
    """Receive the file, or the rest of it if it is still the same; refuse an unexpected size before receiving."""
    known = partial.origin(address.url)
    if known and known.total == partial.size:
        return
    resumes = known and known.validator
    headers = {"Range": f"bytes={partial.size}-", "If-Range": resumes} if resumes else {}
    with open_url(address.url, headers, timeout) as response:
        offset = _check_offset(response, known, partial)
        origin = known if offset and known else _begin(address, response, partial)
        if address.size is not None and origin.total not in (None, address.size):
            partial.discard()
            raise FetchError(f"{address.url}: has {origin.total:,} bytes, expected {address.size:,}: nothing was kept")
        task_name = f"fetch {partial.final.name} (bytes)"
        with progress.start(task_name, origin.total) as task, partial.path.open("ab", 0) as file:
            task.advance(offset)
            for count in _receive(response, file, partial):
                task.advance(count)
    if origin.total is not None and partial.size != origin.total:
        raise TemporaryError(f"the connection broke after {partial.size:,} of {origin.total:,} bytes")


def _check_offset(response: http.client.HTTPResponse, known: DownloadOrigin | None, partial: PartialDownload) -> int:
    """Return the offset of the response: the end of the partial download, or 0."""
    if response.status != http.client.PARTIAL_CONTENT:
        return 0
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", ""))
    part = found and (int(found[1]), int(found[2]))
    if not known or part != (partial.size, known.total) or _validator(response) not in (None, known.validator):
        message = "the server sent another part, or a part of another file, than was asked for"
        raise TemporaryError(message, restart=True)
    return partial.size


def _validator(response: http.client.HTTPResponse) -> str | None:
    """Return the validator of this version of the file; a weak ETag does not guarantee equal bytes and is ignored."""
    tag = response.headers.get("ETag")
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified")


def _begin(address: RemoteFile, response: http.client.HTTPResponse, partial: PartialDownload) -> DownloadOrigin:
    """Start the download from the beginning; refuse a web page."""
    if response.headers.get_content_type() in ("text/html", "application/xhtml+xml"):
        message = "answers with a web page, not with a file: give the address of the file itself"
        raise FetchError(f"{address.url}: {message}")
    length = response.headers.get("Content-Length", "")
    origin = DownloadOrigin(address.url, _validator(response), int(length) if length.isdecimal() else None)
    partial.begin(origin)
    return origin


def _receive(response: http.client.HTTPResponse, file: RawIOBase, partial: PartialDownload) -> Iterator[int]:
    """Append a response to a file, unbuffered so that a full disk costs nothing received before; yield byte counts."""
    while True:
        try:
            chunk = response.read(CHUNK)
        except (OSError, http.client.HTTPException) as fault:
            raise TemporaryError(f"the connection broke ({_reason(fault)})") from None
        if not chunk:
            return
        rest = memoryview(chunk)
        try:
            while rest:
                rest = rest[file.write(rest) or 0 :]
        except OSError as fault:
            kept = f"{partial.size:,} bytes are kept: the same command goes on from there"
            raise FetchError(f"cannot be written: {fault.strerror}. {kept}", path=partial.path) from None
        yield len(chunk)
