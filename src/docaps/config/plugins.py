"""Plug-ins: what other packages add to docaps through entry points.

Groups: `docaps.systems`, `docaps.formats`, `docaps.contrastive`. Installed packages are searched when a group is first
asked for, never on import; the code of a plug-in is imported by `load` only.
"""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from docaps.errors import ConfigError

__all__ = ["entries", "load", "package"]


def __dir__() -> list[str]:
    """List the public API only."""
    return __all__


@cache
def entries(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; nothing of the packages is imported."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        other = found.setdefault(entry.name, entry)
        if other is not entry:
            raise ConfigError(
                f"two packages add {entry.name!r} to {group}: {package(other)} and {package(entry)}; uninstall one"
            )
    return found


def load(entry: EntryPoint) -> Any:
    """Import what an entry point names."""
    try:
        return entry.load()
    except Exception as fault:  # Whatever the import of foreign code raises is reported as that package's fault.
        raise ConfigError(
            f"{entry.name!r} of the package {package(entry)} cannot be loaded from {entry.value!r}: "
            f"{type(fault).__name__}: {fault}; repair or uninstall the package"
        ) from fault


def package(entry: EntryPoint) -> str:
    """Return the name and version of an entry point's package; of its top-level module if these are unknown."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.module.partition(".")[0]
