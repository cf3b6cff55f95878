"""The part of a download that has been received, and what it is a part of."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from docaps.files import write_json


@dataclass(frozen=True, slots=True)
class Origin:
    """The file that a part belongs to: its address, the server's mark of this version, and its size if known."""

    url: str
    validator: str | None
    total: int | None


class Partial:
    """A file beside its final place that grows until it is whole."""

    def __init__(self, final: Path) -> None:
        self.final = final
        self.path = final.with_name(final.name + ".partial")
        self._description = final.with_name(final.name + ".partial.json")

    @property
    def size(self) -> int:
        """Bytes received so far."""
        return self.path.stat().st_size if self.path.exists() else 0

    def origin(self, url: str) -> Origin | None:
        """Return what this is a part of, if it is a part of the file at `url` that can be completed."""
        try:
            found = Origin(**json.loads(self._description.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):  # absent, or not written by us: the download begins anew
            return None
        fits = found.total is None or (isinstance(found.total, int) and self.size <= found.total)
        return found if found.url == url and self.size and fits else None

    def begin(self, origin: Origin) -> None:
        """Start with an empty file."""
        self.discard()
        write_json(self._description, asdict(origin))
        self.path.touch()

    def finish(self) -> None:
        """Give the whole file its name."""
        self.path.replace(self.final)
        self._description.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove what was received."""
        self.path.unlink(missing_ok=True)
        self._description.unlink(missing_ok=True)
