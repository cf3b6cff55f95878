"""A small package adds a system, which is trained, translated with, scored, diagnosed and reported like the others."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.calling import docaps, settings, succeed
from tests.invariants import tiny
from tests.plugin.installing import PLUGIN, install, installed

from docaps.config import SYSTEMS, Recipe, load_recipe
from docaps.errors import ConfigError

ROOT = Path(__file__).parents[2]
RECIPE = """
precision = "float32"
[mean-words]
gate = true
[stage.sentence]
[stage.document]
system = "mean-words"
init_from = "sentence"
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(PLUGIN, tmp_path_factory.mktemp("site"))


@pytest.fixture(autouse=True)
def plugin(site: Path) -> Iterator[None]:
    with installed(site):
        yield


@pytest.fixture(scope="module")
def runs(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence model and a model of the plug-in that starts from it, each trained for two steps."""
    folder = tmp_path_factory.mktemp("plugin")
    corpus = tiny.prepared(folder).path
    recipe = folder / "mean.toml"
    recipe.write_text(RECIPE, encoding="utf-8")
    with installed(site):
        succeed("train", recipe, "--corpus", corpus, "--out", folder / "runs", *settings("history.sentences=3"))
    return folder / "runs"


def test_the_settings_of_the_plug_in_are_stored_with_the_run(runs: Path) -> None:
    stored = json.loads((runs / "document" / "run.json").read_text(encoding="utf-8"))["settings"]["system"]
    assert stored["name"] == "mean-words"
    assert stored["mean-words"] == {"gate": True, "bias": True}
    sentence = json.loads((runs / "sentence" / "run.json").read_text(encoding="utf-8"))["settings"]["system"]
    assert "mean-words" not in sentence
    assert sentence.keys() == stored.keys() - {"mean-words"}


def test_translate_and_score(runs: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "story.en", tmp_path / "story.de"
    source.write_text("<d>\nthe cat sat here\nit was old\n<d>\nthe dog came\n", encoding="utf-8")
    succeed("translate", runs / "document", source, "--out", target)
    assert len(target.read_text(encoding="utf-8").splitlines()) == 5
    reference = tmp_path / "reference.de"
    reference.write_text("<d>\ndie Katze saß hier\nsie war alt\n<d>\nder Hund kam\n", encoding="utf-8")
    with_context, without = (
        succeed("score", runs / "document", source, reference, *options).out.splitlines()[-1]
        for options in ((), ("--no-context",))
    )
    assert with_context != without


def test_diagnose_and_report(runs: Path, tmp_path: Path) -> None:
    found = json.loads(succeed("diagnose", runs / "document", "--limit", "2", "--json").out)
    assert len(found["conditions"]) > 2
    succeed("report", runs / "sentence", runs / "document", "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "mean of earlier words" in page


def test_variants_list_the_plug_in_after_the_built_in_systems(site: Path) -> None:
    """In a process of its own, as a user would see it."""
    path = os.pathsep.join((str(site), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")))
    command = [sys.executable, "-m", "docaps", "variants", "--json"]
    result = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True)
    last = json.loads(result.stdout)["variants"][-1]
    assert last == {
        "name": "mean-words",
        "title": "mean of earlier words",
        "context": "mean-words",
        "sees": "earlier source sentences",
        "regulariser": False,
        "table2": None,
    }


def test_all_faults_of_its_table_are_reported_like_those_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text('[mean-words]\ngat = true\nbias = 1\n[stage.a]\nsystem = "mean-word"\n', encoding="utf-8")
    with pytest.raises(ConfigError) as fault:
        load_recipe(path)
    assert set(str(fault.value).splitlines()) == {
        f"{path}:2: mean-words.gat: unknown key; did you mean 'gate'?",
        f"{path}:3: mean-words.bias: Input should be a valid boolean (found 1)",
        f"{path}:5: stage.a.system: unknown system; did you mean 'mean-words'? (found 'mean-word')",
    }


def test_a_stage_may_change_its_table(tmp_path: Path) -> None:
    path = tmp_path / "mean.toml"
    path.write_text(f"{RECIPE}[stage.document.mean-words]\ngate = false\n", encoding="utf-8")
    recipe = load_recipe(path)
    assert recipe.system("document").model_dump()["mean-words"] == {"gate": False, "bias": True}
    assert Recipe.model_validate(recipe.model_dump()) == recipe
    with pytest.raises(ConfigError, match=r"stage\.document\.mean-words\.gates: unknown key; did you mean 'gate'"):
        load_recipe(path, ["stage.document.mean-words.gates=true"])


def test_without_the_package_its_runs_and_recipes_are_refused_by_name(runs: Path, tmp_path: Path, site: Path) -> None:
    recipe = tmp_path / "mean.toml"
    recipe.write_text(RECIPE, encoding="utf-8")
    sys.path.remove(str(site))
    try:
        from docaps.config import plugins

        plugins.entries.cache_clear()
        SYSTEMS._loaded.clear()
        result = docaps("translate", runs / "document", stdin="a\n")
        assert result.code == 1
        assert "unknown system" in result.err
        assert "mean-words" in result.err
        with pytest.raises(ConfigError, match="unknown key"):
            load_recipe(recipe)
    finally:
        sys.path.insert(0, str(site))


@pytest.mark.stress
def test_the_invariants_hold_for_the_plug_in(site: Path) -> None:
    """The tests of the project, run as the author of a plug-in would run them."""
    path = os.pathsep.join((str(site), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")))
    tests = [ROOT / "tests" / "invariants" / f"test_{name}.py" for name in ("padding", "history", "decoding")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "mean-words", *map(str, tests)]
    result = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout  # it is 5 if no test has the name of the plug-in


def test_the_how_to_page_shows_the_package_as_it_is() -> None:
    page = (ROOT / "docs" / "how-to" / "add-a-system.md").read_text(encoding="utf-8")
    files = {
        "python": re.sub(r"  # noqa: \w+", "", (PLUGIN / "mean_words.py").read_text(encoding="utf-8")),
        "toml": (PLUGIN / "pyproject.toml").read_text(encoding="utf-8"),
    }
    blocks = re.findall(r"```(python|toml)\n(.*?)```", page, flags=re.DOTALL)
    assert [kind for kind, _ in blocks] == ["toml", *["python"] * 4]
    for kind, block in blocks:
        for part in block.strip().split("\n\n") if kind == "toml" else [block.strip()]:
            lines = part.splitlines()
            assert set(lines) <= set(files[kind].splitlines()), part
            assert kind == "toml" or part in files[kind]
