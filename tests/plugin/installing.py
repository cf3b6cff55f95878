"""Install packages for tests: into a folder of their own, without the network and without a build tool."""

import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docaps.config import SYSTEMS, plugins

PLUGIN = Path(__file__).parents[1] / "fixtures" / "plugin-system"


def install(package: Path, site: Path) -> Path:
    """Copy the modules of a package and write its metadata, as installing its wheel would."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for module in package.glob("*.py"):
        (site / module.name).write_text(module.read_text(encoding="utf-8"), encoding="utf-8")
    entries = {group: dict(names) for group, names in project["entry-points"].items()}
    write_metadata(site, project["name"], project["version"], entries)
    return site


def write_metadata(site: Path, name: str, version: str, entries: dict[str, dict[str, str]]) -> None:
    """Write the dist-info folder of a package."""
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    lines = [line for group, own in entries.items() for line in (f"[{group}]", *(f"{k} = {v}" for k, v in own.items()))]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


@contextmanager
def installed(site: Path) -> Iterator[None]:
    """Let this process find the packages in a folder, and forget them afterwards."""
    modules = set(sys.modules)
    sys.path.insert(0, str(site))
    _forget()
    try:
        yield
    finally:
        sys.path.remove(str(site))
        for name in {path.stem for path in site.glob("*.py")} & (set(sys.modules) - modules):
            del sys.modules[name]
        _forget()


def _forget() -> None:
    plugins.entries.cache_clear()
    SYSTEMS._loaded.clear()
