"""The pages about the code name files, functions and classes that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = ROOT / "src" / "docaps"
EXPLANATION = ROOT / "docs" / "explanation"
WALKTHROUGH = (EXPLANATION / "walkthrough.md").read_text(encoding="utf-8")
BY_HAND = (EXPLANATION / "by-hand.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/.]+\.py):([\w.]+)`", WALKTHROUGH)))
FILES = sorted(set(re.findall(r"`([\w/]+\.py)\b", WALKTHROUGH)))
PATHS = sorted(set(re.findall(r"`([\w/.-]+(?:/|\.py))`", BY_HAND)))


def definitions(path: Path) -> set[str]:
    """Return the functions and classes of a file, methods as `Class.method`."""
    return set(_names(ast.parse(path.read_text(encoding="utf-8")).body, prefix=""))


def _names(body: list[ast.stmt], prefix: str) -> list[str]:
    found = []
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(f"{prefix}{node.name}")
        if isinstance(node, ast.ClassDef):
            found += _names(node.body, prefix=f"{prefix}{node.name}.")
    return found


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda part: part)
def test_a_name_of_the_walk_is_defined_in_its_file(file: str, name: str) -> None:
    assert (CODE / file).is_file()
    assert name in definitions(CODE / file)


def test_every_file_of_the_walk_exists() -> None:
    known = {path.relative_to(CODE).as_posix() for path in CODE.rglob("*.py")}
    for file in FILES:
        assert file in known or any(path.endswith(f"/{file}") for path in known), file


def test_every_path_of_the_page_on_hand_written_code_exists() -> None:
    for path in PATHS:
        assert any((folder / path).exists() for folder in (CODE, ROOT, ROOT / "benchmarks")), path


def test_the_pages_name_enough_to_be_checked() -> None:
    assert len(NAMED) >= 40
    assert len(PATHS) >= 10
