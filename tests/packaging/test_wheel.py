"""The wheel and the source distribution hold everything: `docaps demo` runs from the wheel in an empty folder."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.cli.calling import settings

ROOT = Path(__file__).parents[2]


def build(kind: str, folder: Path) -> Path:
    """Build a distribution with the project's own back end."""
    script = f"from hatchling.build import build_{kind} as build; print(build({str(folder)!r}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.strip().splitlines()[-1]


@pytest.mark.stress
def test_the_demo_runs_from_the_wheel(tmp_path: Path) -> None:
    package, empty = tmp_path / "package", tmp_path / "empty"
    empty.mkdir()
    with zipfile.ZipFile(build("wheel", tmp_path)) as wheel:
        wheel.extractall(package)
    environment = {**os.environ, "PYTHONPATH": str(package), "OMP_NUM_THREADS": "1"}
    where = [sys.executable, "-c", "import docaps; print(docaps.__file__)"]
    place = subprocess.run(where, cwd=empty, env=environment, capture_output=True, text=True, check=True).stdout
    assert place.startswith(str(package))
    command = [sys.executable, "-m", "docaps", "demo", "--documents", "60", *settings("history.sentences=3")]
    done = subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (empty / "runs" / "demo" / "report.html").is_file()


@pytest.mark.stress
def test_the_source_distribution_has_what_make_needs(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    needed = {
        "Makefile",
        "constraints.txt",
        "pyproject.toml",
        "mkdocs.yml",
        "README.md",
        "recipes/minidocs.toml",
        "deploy/nginx.conf",
    }
    assert needed - names == set()
