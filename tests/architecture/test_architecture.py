"""The architecture: layers, and which heavy packages an import loads. File names and sizes are in test_house.py."""

import ast
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import docaps
import docaps.config
from docaps.config import SYSTEMS

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "docaps").rglob("*.py"))
LIGHT_PACKAGES = {"config", "corpus", "evaluation", "report", "runs"}
LIGHT_MODULES = {"docaps", "docaps.cli.diagnose", "docaps.cli.evaluate", "docaps.diagnosis.verdict"}
HOME = re.compile(r"(?<!\w)/(?:home|Users|root|work)/\w|[A-Z]:\\Users")


@pytest.mark.parametrize("folder", ["batches", "evaluation", "training", "translation"])
def test_no_system_is_known_by_its_name(folder: str) -> None:
    """What a model looks at, it says itself (`TranslationModel.view`)."""
    names = {*SYSTEMS, *(system.context for system in SYSTEMS.values())} - {"none"}
    for path in (ROOT / "src" / "docaps" / folder).rglob("*.py"):
        words = {node.value for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant)}
        assert words & names == set(), path


def test_layers_import_only_what_lies_below_them() -> None:
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
    assert " 0 broken" in found.stdout


def test_light_modules_do_not_import_torch() -> None:
    modules = [path.relative_to(ROOT / "src").with_suffix("").parts for path in SOURCES]
    names = [".".join(parts) for parts in modules if parts[1] in LIGHT_PACKAGES and parts[-1] != "__init__"]
    assert len(names) > 80
    light = sorted({*names, *LIGHT_MODULES})
    script = f"import importlib, sys, json\nfor name in {light}:\n    importlib.import_module(name)\n"
    script += "print(json.dumps([name for name in ('torch', 'safetensors.torch') if name in sys.modules]))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(found.stdout) == []


def test_an_evaluation_runs_without_torch(tmp_path: Path) -> None:
    text = tmp_path / "story.de"
    text.write_text("<d>\nDas Haus am Fluss ist alt.\n<d>\nEs ist kalt hier.\n", encoding="utf-8")
    options = ["evaluate", "--hypothesis", str(text), "--reference", str(text), "--source", str(text), "--json"]
    options += ["--source-language", "en"]
    script = f"import sys, json, docaps.cli.main as main\nsys.argv = ['docaps', *{options!r}]\n"
    script += "try:\n    main.main()\nexcept SystemExit as end:\n    assert not end.code\n"
    script += "print(json.dumps('torch' in sys.modules), file=sys.stderr)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(found.stderr.splitlines()[-1]) is False
    assert json.loads(found.stdout)["systems"][0]["bleu"] > 99


def test_an_evaluation_imports_no_slow_package(tmp_path: Path) -> None:
    """A time limit would fail on a busy machine; the time is spent importing a few packages."""
    text = tmp_path / "story.de"
    text.write_text("<d>\nDr. Weber ist z.B. am Fluss.\n<d>\nEs ist kalt hier.\n", encoding="utf-8")
    options = ["evaluate", "--hypothesis", str(text), "--reference", str(text)]
    script = f"import sys, json, docaps.cli.main as main\nsys.argv = ['docaps', *{options!r}]\n"
    script += "try:\n    main.main()\nexcept SystemExit as end:\n    assert not end.code\n"
    slow = ("torch", "sacremoses", "joblib", "tqdm", "sentencepiece", "sentencex", "jaxtyping", "scipy", "sklearn")
    script += f"print(json.dumps([name for name in {slow} if name in sys.modules]), file=sys.stderr)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(found.stderr.splitlines()[-1]) == []


def project_texts() -> Iterator[Path]:
    for folder in ("src", "docs", "recipes", "benchmarks", "tests"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".py", ".md", ".toml", ".js", ".css", ".html"}:
                yield path
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml", "CITATION.cff"):
        if (ROOT / name).exists():
            yield ROOT / name


def test_no_text_of_the_project_names_a_home_directory() -> None:
    texts = [path for path in project_texts() if path != Path(__file__)]
    assert len(texts) > 60
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in texts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if HOME.search(line)
    ]
    assert found == []


def test_the_pattern_of_home_directories_finds_them() -> None:
    for path in (*(f"/{home}/x" for home in ("home/anna", "root")), "/Users/anna", "C:\\Users\\anna"):
        assert HOME.search(f"see {path}")
    assert not HOME.search("docs/home/page and runs/place/x")


def test_dir_shows_only_the_api() -> None:
    """Of the package and of every documented module; a submodule that is imported is not part of it."""
    page = (ROOT / "docs" / "reference" / "python-api.md").read_text(encoding="utf-8")
    documented = [pkgutil.resolve_name(name) for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE)]
    modules = [module for module in documented if isinstance(module, ModuleType)]
    assert {"docaps.errors", "docaps.corpus.formats"} < {module.__name__ for module in modules}
    for module in (docaps, docaps.config, *modules):
        assert dir(module) == sorted(module.__all__)
        assert {"Any", "Path", "os"}.isdisjoint(dir(module))
    assert dir(docaps) == ["__version__", "load"]


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"].get("version", docaps.__version__) == docaps.__version__
    assert project["project"].get("dynamic") == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/docaps/__init__.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.?\w+)?", docaps.__version__)


@pytest.mark.parametrize("name", ["CHANGELOG.md", "CITATION.cff"])
def test_readers_find_the_version(name: str) -> None:
    if not (ROOT / name).exists():
        pytest.skip(f"no {name} yet")
    assert docaps.__version__ in (ROOT / name).read_text(encoding="utf-8")
