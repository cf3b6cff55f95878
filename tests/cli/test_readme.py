"""The README's commands run as they stand there."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```bash\n(.*?)```", README, flags=re.DOTALL)
TINY = ["model.size=16", "model.feed_forward=32", "model.heads=2", "stage.sentence.steps=3", "stage.document.steps=3"]
TINY += ["stage.sentence.warmup=1", "stage.document.warmup=1"]


def commands(start: str) -> list[str]:
    """Return the commands of all blocks that begin with `start`, with continued lines joined."""
    lines = [line.strip() for block in BLOCKS for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if start in line and not line.startswith("#")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a demo in it that was trained for three steps only."""
    path = tmp_path_factory.mktemp("readme")
    sets = [word for setting in TINY for word in ("--set", setting)]
    run_shell(f"docaps demo --documents 60 {' '.join(sets)}", path)
    return path


def run_shell(command: str, folder: Path) -> str:
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        ["bash", "-ec", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_first_two_commands_are_make_demo_and_make_test() -> None:
    assert BLOCKS[0].split("\n")[0].startswith("make demo")
    assert BLOCKS[0].split("\n")[1].startswith("make test")
    for target in ("demo", "test"):
        subprocess.run([shutil.which("make") or "make", "-n", target], cwd=ROOT, check=True, capture_output=True)


def test_every_docaps_command_of_the_readme_runs(folder: Path) -> None:
    found = [command for command in commands("docaps ") if "docaps demo" not in command]
    assert len(found) >= 6
    for command in found:
        run_shell(command.split("  #")[0], folder)


def test_the_readme_names_every_command() -> None:
    from docaps.cli.main import COMMANDS

    for name in COMMANDS:
        assert f"docaps {name}" in README, name


def test_the_map_of_the_code_is_true() -> None:
    for path in re.findall(r"^\s{4}(src/docaps/\S+)", README, flags=re.MULTILINE):
        assert (ROOT / path).exists(), path
