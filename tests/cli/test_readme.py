"""The commands in the README and the tutorials run as they are written: lines with `docaps` in blocks marked `bash`."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorial").glob("*.md"))]


def blocks(page: Path) -> list[str]:
    """Return the code blocks of a page that are marked `bash`; blocks marked otherwise are not run."""
    return re.findall(r"```bash\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def commands(page: Path) -> list[str]:
    """Return the docaps commands of a page, with continued lines joined and comments removed."""
    lines = [line.strip() for block in blocks(page) for line in block.replace("\\\n", " ").splitlines()]
    found = [line.split("  #")[0] for line in lines if not line.startswith("#")]
    return [line for line in found if "docaps " in line and "docaps demo" not in line]


def run_shell(command: str, folder: Path) -> str:
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        ["bash", "-ec", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_first_two_commands_are_make_demo_and_make_test() -> None:
    first, second, *_ = blocks(ROOT / "README.md")[0].split("\n")
    assert first.startswith("make demo")
    assert second.startswith("make test")
    for target in ("demo", "test"):
        subprocess.run([shutil.which("make") or "make", "-n", target], cwd=ROOT, check=True, capture_output=True)


def test_the_demo_installs_no_test_tools() -> None:
    """The first command stays quick however much the second needs."""
    make = shutil.which("make") or "make"
    demo, test = (
        subprocess.run(
            [make, "-n", "--always-make", target], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout
        for target in ("demo", "test")
    )
    assert "[dev]" not in demo
    assert "npm" not in demo
    assert "[dev]" in test


def test_a_dry_run_of_make_prepares_trains_and_reports_nothing() -> None:
    make = [shutil.which("make") or "make", "-n", "europarl", "DATA=data"]
    usual, dry, estimate = (
        subprocess.run([*make, *more], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for more in ([], ["ARGS=--dry-run"], ["ARGS=--estimate"])
    )
    commands = ("docaps prepare", "docaps experiment", "docaps diagnose", "docaps report")
    assert [name for name in commands if name in usual] == [*commands]
    assert [name for name in commands if name in dry] == ["docaps experiment"]
    assert [name for name in commands if name in estimate] == ["docaps prepare", "docaps experiment"]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_every_docaps_command_of_a_page_runs(page: Path, tiny_demo: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_demo, tmp_path, dirs_exist_ok=True)
    for command in commands(page):
        run_shell(command, tmp_path)


def test_the_readme_has_commands_to_run() -> None:
    assert len(commands(ROOT / "README.md")) >= 6


def test_the_readme_names_every_command() -> None:
    from docaps.cli.main import COMMANDS

    for name in COMMANDS:
        assert f"docaps {name}" in README, name


def test_the_map_of_the_code_is_true() -> None:
    for path in re.findall(r"^\s{4}(src/docaps/\S+)", README, flags=re.MULTILINE):
        assert (ROOT / path).exists(), path
