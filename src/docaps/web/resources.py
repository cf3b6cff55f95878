"""The page: files of the package, read once, known by their addresses; no request ever names a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
_PACKAGES: Mapping[str, tuple[str, str]] = {
    "/": ("docaps.web.static", "index.html"),
    "/static/house.css": ("docaps.report", "page.css"),  # the page looks like the report
    "/static/page.css": ("docaps.web.static", "page.css"),
    "/static/page.js": ("docaps.web.static", "page.js"),
    "/static/differences.js": ("docaps.web.static", "differences.js"),
    "/static/routing.js": ("docaps.web.static", "routing.js"),
    "/static/service.js": ("docaps.web.static", "service.js"),
    "/static/downloads.js": ("docaps.web.static", "downloads.js"),
    "/static/example.txt": ("docaps.web.static", "example.txt"),
    "/favicon.ico": ("docaps.web.static", "icon.svg"),
}


@dataclass(frozen=True, slots=True)
class Resource:
    """A file of the page."""

    content: bytes
    type: str


def load_resources() -> dict[str, Resource]:
    """Read all files of the page."""
    return {
        address: Resource(files(package).joinpath(name).read_bytes(), _TYPES[name.rpartition(".")[2]])
        for address, (package, name) in _PACKAGES.items()
    }
