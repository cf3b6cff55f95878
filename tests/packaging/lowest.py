"""Print the lowest declared version of every dependency, extras included, as constraints for pip.

torch keeps the version of constraints.txt: older builds for CPUs are not on PyPI.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEWEST = ("torch",)
"""Dependencies whose lowest version is not tested."""
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,-]+\])?>=(?P<lowest>[\w.]+)(?:,<[\w.]+)?\s*(?P<marker>;.*)?")


def lowest_versions(project: Path, constraints: Path) -> Iterator[str]:
    """Yield `name==version` for each dependency of a project and its extras."""
    described = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    name = described["name"]
    pins = dict(line.split("==") for line in constraints.read_text(encoding="utf-8").splitlines() if "==" in line)
    extras = described["optional-dependencies"].values()
    for requirement in (*described["dependencies"], *(one for extra in extras for one in extra)):
        if requirement.startswith(f"{name}["):  # its own extras, which are listed anyway
            continue
        found = REQUIREMENT.fullmatch(requirement)
        if found is None:
            raise SystemExit(f"{project}: {requirement!r} has no lowest version: write NAME>=VERSION")
        version = pins[found["name"]] if found["name"] in NEWEST else found["lowest"]
        yield f"{found['name']}=={version}{found['marker'] or ''}"


if __name__ == "__main__":
    print("\n".join(lowest_versions(ROOT / "pyproject.toml", ROOT / "constraints.txt")))
