"""The documentation builds without warnings, asks no other host for anything, and covers the public API."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PUBLIC = [
    "docaps",
    "docaps.config.plugins",
    "docaps.corpus.contrastive",
    "docaps.corpus.documents",
    "docaps.corpus.formats",
    "docaps.errors",
    "docaps.web.client",
]
"""Modules of the public Python API, besides what `docaps.load` returns."""
RETURNED = ["DocumentTranslator", "Translation", "TranslatedSentence"]
ASSET = re.compile(r"<(?:script|img|iframe|source)[^>]+src=\"(?:https?:)?//|<link[^>]+href=\"(?:https?:)?//")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built strictly: a broken link or a page missing from the navigation fails."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_no_page_asks_another_host(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    assert [str(page.relative_to(site)) for page in pages if ASSET.search(page.read_text(encoding="utf-8"))] == []


def public_names(name: str) -> list[str]:
    """Return what a module says it offers, or else the classes and functions it defines."""
    module = importlib.import_module(name)
    offered = getattr(module, "__all__", None)
    defined = [key for key, value in vars(module).items() if getattr(value, "__module__", None) == name]
    return [one for one in (defined if offered is None else offered) if not one.startswith("_")]


def test_every_public_name_has_an_entry(site: Path) -> None:
    page = (site / "reference" / "python-api.html").read_text(encoding="utf-8")
    entries = {name.rsplit(".", 1)[-1] for name in re.findall(r'id="(docaps[\w.]*)"', page)}
    for module in PUBLIC:
        names = public_names(module)
        assert names
        assert [name for name in names if name not in entries] == [], module
    assert [name for name in RETURNED if name not in entries] == []


def test_every_command_and_setting_is_described(site: Path) -> None:
    from docaps.cli.main import COMMANDS
    from docaps.config import Recipe

    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f'id="docaps-{name}"' not in commands] == []
    settings = (site / "reference" / "settings.html").read_text(encoding="utf-8")
    assert [name for name in Recipe.model_fields if f">{name}<" not in settings and f"[{name}" not in settings] == []


def test_links_between_files_of_the_repository_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"


def test_the_notebook_has_the_output_of_every_cell() -> None:
    cells = json.loads((ROOT / "docs" / "tutorial" / "context.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 3
    assert [cell["id"] for cell in code if not cell["outputs"]] == []


@pytest.mark.stress
def test_the_notebook_runs(tiny_demo: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(ROOT / "docs" / "tutorial" / "context.ipynb", 4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tiny_demo)}}).execute()
