"""House rules: unique names, no scattered small modules, short files and functions, tests that mirror the source."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "docaps"
UNIT = ROOT / "tests" / "unit"
MAX_FILE_LINES, MAX_FUNCTION_LINES, SMALL_FILE_LINES = 400, 50, 50
MANY_OPTIONS = ("cli.translate", "translate")
"""A command whose options and help alone are longer than a function may be."""
OWN_MODULES = {"training.schedule"}
"""Small modules with one importer that name a concept of their own."""
PLUGINS = ("cli.", "model.context.", "corpus.formats.", "corpus.contrastive.", "corpus.minidocs.phenomena.")
"""Packages whose modules are alternatives behind one interface: each stays a file, however small."""
SOURCES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts): ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(PACKAGE.rglob("*.py"))
}
"""Modules by dotted name without `docaps.`, as syntax trees."""


def lines_of(module: str) -> int:
    return len((PACKAGE / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8").splitlines())


def functions_of(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            yield node.name, node.end_lineno - node.lineno + 1


def importers() -> dict[str, set[str]]:
    """Return which modules import a module, at the top or within a function."""
    found = defaultdict[str, set[str]](set)
    for module, tree in SOURCES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("docaps"):
                package = node.module.removeprefix("docaps").removeprefix(".")
                for name in (package, *(f"{package}.{alias.name}".removeprefix(".") for alias in node.names)):
                    found[name].add(module)
    return found


def repeated(names: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the names that occur in more than one module."""
    found = defaultdict[str, list[str]](list)
    for name, module in names:
        found[name].append(module)
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def test_files_and_functions_are_short() -> None:
    assert len(SOURCES) > 100
    assert {module: lines_of(module) for module in SOURCES if lines_of(module) > MAX_FILE_LINES} == {}
    found = [(module, *function) for module, tree in SOURCES.items() for function in functions_of(tree)]
    long = [entry for entry in found if entry[2] > MAX_FUNCTION_LINES and entry[:2] != MANY_OPTIONS]
    assert long == []


def test_no_two_modules_share_a_file_name() -> None:
    names = ((module.rpartition(".")[2], module) for module in SOURCES)
    assert repeated((name, module) for name, module in names if name not in {"__init__", "__main__"}) == {}


def test_no_two_public_classes_share_a_name() -> None:
    classes = (
        (node.name, module)
        for module, tree in SOURCES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert repeated(classes) == {}


def test_a_small_module_has_more_than_one_importer() -> None:
    """A module below 50 lines that one other module imports belongs into that one."""
    users = importers()
    candidates = [name for name in SOURCES if not name.endswith("__init__") and not name.startswith(PLUGINS)]
    small = [name for name in candidates if lines_of(name) < SMALL_FILE_LINES and len(users[name]) == 1]
    assert set(small) - OWN_MODULES == set()
    assert set(small) >= OWN_MODULES  # no exception without a cause


def test_every_module_has_a_docstring() -> None:
    assert [module for module, tree in SOURCES.items() if not ast.get_docstring(tree)] == []


def test_no_two_test_files_share_a_name() -> None:
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def subject_of(path: Path) -> Path | None:
    """Return the module or package that a unit test is about: `test_X[_aspect].py` at the path of `X`."""
    folder = PACKAGE / path.parent.relative_to(UNIT)
    words = path.stem.removeprefix("test_").split("_")
    for count in range(len(words), 0, -1):
        for subject in (folder / f"{'_'.join(words[:count])}.py", folder / "_".join(words[:count])):
            if subject.exists():
                return subject
    # `test_PACKAGE_aspect.py` inside the folder of the package is about the package as a whole.
    return folder if folder != PACKAGE and path.stem.startswith(f"test_{folder.name}") else None


@pytest.mark.parametrize("path", sorted(UNIT.rglob("test_*.py")), ids=lambda path: str(path.relative_to(UNIT)))
def test_unit_tests_mirror_the_source(path: Path) -> None:
    assert subject_of(path) is not None, "expected test_X[_aspect].py at the path of src/docaps/**/X.py"
