"""Connections: open an http or https address, follow a few redirects, and tell passing faults from lasting ones."""

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
PASSING = (408, 425, 429, 500, 502, 503, 504)
UNRESERVED = "%/:=&?~#+!$,;'@()*[]"


class TemporaryError(Exception):
    """A fault that may be gone at the next attempt; `anew` says that the next one has to begin at the beginning."""

    def __init__(self, message: str, *, anew: bool = False) -> None:
        super().__init__(message)
        self.anew = anew


class Response:
    """What a server sends: a few facts, then the bytes."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self._headers: Message = answer.headers
        self.status: int = answer.status

    @property
    def length(self) -> int | None:
        """Number of bytes that follow, if the server says it."""
        text = self._headers.get("Content-Length", "")
        return int(text) if text.isdecimal() else None

    @property
    def content_range(self) -> tuple[int | None, int | None]:
        """The first byte that follows, and the size of the whole file."""
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", self._headers.get("Content-Range", ""))
        return (int(found[1]), int(found[2])) if found else (None, None)

    @property
    def validator(self) -> str | None:
        """The server's mark of this version of the file; a weak one vouches for no single byte, so it is none."""
        tag: str | None = self._headers.get("ETag")
        return tag if tag and not tag.startswith("W/") else self._headers.get("Last-Modified")

    @property
    def is_page(self) -> bool:
        """Say whether this is a web page."""
        return self._headers.get_content_type() in ("text/html", "application/xhtml+xml")

    def read(self, count: int) -> bytes:
        """Return the next bytes, none at the end."""
        try:
            found: bytes = self._answer.read(count)
        except (OSError, http.client.HTTPException) as fault:
            raise TemporaryError(f"the connection broke ({_reason(fault)})") from None
        return found

    def close(self) -> None:
        """Hang up."""
        self._answer.close()

    def __enter__(self) -> "Response":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_url(url: str) -> None:
    """Refuse an address that is not on the network."""
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
    """Refuse to be led off the network, or from a safe connection to an open one."""
    if urlsplit(target).scheme not in SCHEMES:
        raise FetchError(f"{url}: redirects to {target}, which is not on the network: refused")
    if url.startswith("https:") and not target.startswith("https:"):
        raise FetchError(f"{url}: redirects to {target}, an unencrypted connection: refused")
    check_url(target)


def open_url(url: str, headers: Mapping[str, str], timeout: float) -> Response:
    """Open an address, going where it leads."""
    place = url
    for _ in range(MOST_REDIRECTS + 1):
        try:
            request = urllib.request.Request(quote(place, safe=UNRESERVED), headers=_identify(headers))
            return Response(_opener().open(request, timeout=timeout))
        except urllib.error.HTTPError as fault:
            with fault:
                place = _next_place(place, fault)
        except (OSError, http.client.HTTPException) as fault:
            raise _explain(place, fault) from None
    raise FetchError(f"{url}: redirected more than {MOST_REDIRECTS} times")


def _identify(headers: Mapping[str, str]) -> dict[str, str]:
    """Say who asks, and that the bytes are wanted as they are."""
    return {"User-Agent": f"docaps/{__version__}", "Accept-Encoding": "identity", **headers}


def _opener() -> urllib.request.OpenerDirector:
    """Build what opens addresses: http and https only, through a proxy if the user has one; redirects are ours."""
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


def _next_place(url: str, fault: urllib.error.HTTPError) -> str:
    """Return where a redirect leads; raise what any other answer means."""
    location = fault.headers.get("Location")
    if fault.code in REDIRECTS and location:
        target = urljoin(url, location)
        check_redirect(url, target)
        return target
    unfit = fault.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE  # their file is shorter than our part of it
    if unfit or fault.code in PASSING:
        raise TemporaryError(f"the server answered {fault.code} {fault.reason}", anew=unfit)
    raise FetchError(f"{url}: the server answered {fault.code} {fault.reason}: is the address right?")


def _explain(url: str, fault: Exception) -> Exception:
    """Say in words why there was no answer, and whether to try again."""
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
    """Name a fault of the system."""
    return str(getattr(fault, "strerror", None) or fault or type(fault).__name__)
