"""Installing the package of `tests/fixtures/plugin-format` by hand: its module and a dist-info folder on a path."""

import shutil
import tomllib
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "fixtures" / "plugin-format"


def install_plugin(site: Path) -> None:
    """Copy the module to a folder, with the metadata that an installer would write."""
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    groups = project["entry-points"].items()
    text = "".join(f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items()) for group, names in groups)
    (info / "entry_points.txt").write_text(text, encoding="utf-8")
    shutil.copy(FOLDER / "docaps_stars.py", site)
