"""The lowest versions that `make test-lowest` installs are those of pyproject.toml."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.packaging.lowest import ROOT, lowest_versions

PROJECT = """
[project]
name = "docaps"
dependencies = ["numpy>=1.26", "torch>=2.6"]
[project.optional-dependencies]
docs = ["mkdocstrings[python]>=0.26,<2"]
serve = ["uvloop>=0.21; sys_platform != 'win32'"]
dev = ["docaps[docs,serve]"]
"""


def write(folder: Path, project: str) -> tuple[Path, Path]:
    (folder / "pyproject.toml").write_text(project, encoding="utf-8")
    (folder / "constraints.txt").write_text("# tested\nnumpy==2.4.6\ntorch==2.13.0\n", encoding="utf-8")
    return folder / "pyproject.toml", folder / "constraints.txt"


def test_every_dependency_gets_its_lowest_version(tmp_path: Path) -> None:
    found = [*lowest_versions(*write(tmp_path, PROJECT))]
    assert found == ["numpy==1.26", "torch==2.13.0", "mkdocstrings==0.26", "uvloop==0.21; sys_platform != 'win32'"]


@pytest.mark.parametrize("requirement", ["numpy", "numpy==1.26", "numpy<2"])
def test_a_dependency_without_a_lowest_version_is_reported(tmp_path: Path, requirement: str) -> None:
    paths = write(tmp_path, PROJECT.replace("numpy>=1.26", requirement))
    with pytest.raises(SystemExit, match=rf"pyproject.toml: '{requirement}' has no lowest version"):
        list(lowest_versions(*paths))


def test_the_project_itself_is_covered() -> None:
    script = [sys.executable, str(ROOT / "tests" / "packaging" / "lowest.py")]
    lines = subprocess.run(script, capture_output=True, text=True, check=True).stdout.splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ]
    assert len(lines) == sum(not one.startswith("docaps[") for one in declared)
    assert all("==" in line and ">" not in line for line in lines)
