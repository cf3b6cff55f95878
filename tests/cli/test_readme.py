"""The README's commands run as they stand there."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```bash\n(.*?)```", README, flags=re.DOTALL)


def commands(start: str) -> list[str]:
    """Return the commands of all blocks that begin with `start`, with continued lines joined."""
    lines = [line.strip() for block in BLOCKS for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if start in line and not line.startswith("#")]


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


def test_every_docaps_command_of_the_readme_runs(tiny_demo: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_demo, tmp_path, dirs_exist_ok=True)
    found = [command for command in commands("docaps ") if "docaps demo" not in command]
    assert len(found) >= 6
    for command in found:
        run_shell(command.split("  #")[0], tmp_path)


def test_the_readme_names_every_command() -> None:
    from docaps.cli.main import COMMANDS

    for name in COMMANDS:
        assert f"docaps {name}" in README, name


def test_the_map_of_the_code_is_true() -> None:
    for path in re.findall(r"^\s{4}(src/docaps/\S+)", README, flags=re.MULTILINE):
        assert (ROOT / path).exists(), path
