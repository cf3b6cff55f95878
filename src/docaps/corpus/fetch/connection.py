"""HTTP connections: open an address, follow a few redirects, and distinguish temporary from permanent errors."""

import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.message import Message
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from docaps import __version__
from docaps.errors import FetchError

SCHEMES = ("http", "https")
REDIRECTS = (301, 302, 303, 307, 308)
MOST_REDIRECTS = 5
TEMPORARY_STATUS = (408, 425, 429, 500, 502, 503, 504)
HEADERS = {"User-Agent": f"docaps/{__version__}", "Accept-Encoding": "identity"}  # no compression
UNRESERVED = "%/:=&?~#+!$,;'@()*[]"


class TemporaryError(Exception):
    """An error that another attempt may not have; `restart`: the next attempt has to start from the beginning."""

    def __init__(self, message: str, *, restart: bool = False) -> None:
        super().__init__(message)
        self.restart = restart


class HttpResponse:
    """A response: a few headers, then the bytes."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self._headers: Message = answer.headers
        self.status: int = answer.status

    @property
    def length(self) -> int | None:
        """Number of bytes that follow, if the server gives it."""
        text = self._headers.get("Content-Length", "")
        return int(text) if text.isdecimal() else None

    @property
    def content_range(self) -> tuple[int | None, int | None]:
        """The first byte that follows, and the size of the whole file."""
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", self._headers.get("Content-Range", ""))
        return (int(found[1]), int(found[2])) if found else (None, None)

    @property
    def validator(self) -> str | None:
        """The validator of this version of the file; a weak ETag does not guarantee equal bytes and is ignored."""
        tag: str | None = self._headers.get("ETag")
        return tag if tag and not tag.startswith("W/") else self._headers.get("Last-Modified")

    @property
    def is_page(self) -> bool:
        """Whether this is a web page."""
        return self._headers.get_content_type() in ("text/html", "application/xhtml+xml")

    def read(self, count: int) -> bytes:
        """Return the next bytes, none at the end."""
        try:
            found: bytes = self._answer.read(count)
        except (OSError, http.client.HTTPException) as fault:
            raise TemporaryError(f"the connection broke ({_reason(fault)})") from None
        return found

    def close(self) -> None:
        """Close the connection."""
        self._answer.close()

    def __enter__(self) -> "HttpResponse":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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


def open_url(url: str, headers: Mapping[str, str], timeout: float) -> HttpResponse:
    """Open an address, following redirects."""
    location = url
    for _ in range(MOST_REDIRECTS + 1):
        try:
            request = urllib.request.Request(quote(location, safe=UNRESERVED), headers={**HEADERS, **headers})
            return HttpResponse(_opener().open(request, timeout=timeout))
        except urllib.error.HTTPError as fault:
            with fault:
                location = _next_location(location, fault)
        except (OSError, http.client.HTTPException) as fault:
            raise _explain(location, fault) from None
    raise FetchError(f"{url}: redirected more than {MOST_REDIRECTS} times")


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener for http and https only, through the user's proxy; redirects are handled here."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener


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
    broken = ConnectionResetError, ConnectionAbortedError, BrokenPipeError, http.client.HTTPException
    if isinstance(inner, TimeoutError):
        return TemporaryError("the server did not answer in time")
    if isinstance(inner, broken):
        return TemporaryError(f"the connection broke ({_reason(inner)})")
    return FetchError(f"{url}: cannot be reached ({_reason(inner)})")


def _reason(fault: object) -> str:
    """Return the message of a system error."""
    return str(getattr(fault, "strerror", None) or fault or type(fault).__name__)
