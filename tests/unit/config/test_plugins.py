"""Entry points of other packages: read when asked for, and each fault names the package."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.plugin.installing import installed, write_metadata

from docaps.config import SYSTEMS, Recipe, SystemSettings
from docaps.config.plugins import entries, load
from docaps.errors import ConfigError

SYSTEM = "from docaps.config import System\nsystem = System(name={name!r}, title='t', builder='m:b')\n"


def add(site: Path, package: str, *, name: str = "new", module: str = SYSTEM) -> None:
    """Install a package with one system."""
    site.mkdir(exist_ok=True)
    own = package.replace("-", "_")
    (site / f"{own}.py").write_text(module.replace("{name!r}", repr(name)), encoding="utf-8")
    write_metadata(site, package, "2.5", {"docaps.systems": {name: f"{own}:system"}})


def test_entry_points_are_found_by_group_and_name(tmp_path: Path) -> None:
    add(tmp_path, "first-package")
    with installed(tmp_path):
        found = entries("docaps.systems")
        assert found["new"].value == "first_package:system"
        assert entries("docaps.systems") is found  # once per process
        assert load(found["new"]).name == "new"
    assert "new" not in entries("docaps.systems")


def test_two_packages_with_one_name_are_refused(tmp_path: Path) -> None:
    add(tmp_path, "first-package")
    add(tmp_path, "second-package")
    with installed(tmp_path), pytest.raises(ConfigError, match=r"two packages add 'new' to docaps\.systems") as fault:
        entries("docaps.systems")
    assert "first-package 2.5" in str(fault.value)
    assert "second-package 2.5" in str(fault.value)


def test_a_broken_package_is_named_only_when_it_is_used_or_listed(tmp_path: Path) -> None:
    add(tmp_path, "broken-package", module="import nothing_of_this_name\n")
    with installed(tmp_path):
        assert SystemSettings(name="qcn").name == "qcn"
        assert "new" in SYSTEMS
        with pytest.raises(ConfigError, match=r"'new' of the package broken-package 2\.5 cannot be loaded") as fault:
            SystemSettings.model_validate({"name": "new"})
        assert "No module named 'nothing_of_this_name'" in str(fault.value)
        with pytest.raises(ConfigError, match="broken-package"):
            dict(SYSTEMS)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("system = 3\n", "'broken_package:system' is int; expected docaps.config.System"),
        (SYSTEM.replace("{name!r}", "'other'"), "the system calls itself 'other'"),
        (
            SYSTEM.replace("title=", "settings=dict, title="),
            "dict must be a subclass of docaps.config.Settings",
        ),
    ],
)
def test_what_is_no_system_is_refused(tmp_path: Path, module: str, message: str) -> None:
    add(tmp_path, "broken-package", module=module)
    with installed(tmp_path), pytest.raises(ConfigError, match=message) as fault:
        SYSTEMS["new"]
    assert "broken-package 2.5" in str(fault.value)


def test_a_built_in_system_cannot_be_replaced(tmp_path: Path) -> None:
    add(tmp_path, "bold-package", name="qcn")
    with installed(tmp_path):
        assert SYSTEMS["qcn"].title == "Transformer + QCN"
        with pytest.raises(ConfigError, match=r"bold-package 2\.5 adds a system 'qcn', which is built in"):
            list(SYSTEMS)


def test_a_system_cannot_be_called_like_a_key_of_recipes(tmp_path: Path) -> None:
    module = SYSTEM.replace("import System", "import Settings, System").replace("title=", "settings=Settings, title=")
    add(tmp_path, "bold-package", name="history", module=module)
    with installed(tmp_path), pytest.raises(ConfigError, match=r"bold-package 2\.5 adds a system 'history', but"):
        SystemSettings.model_validate({"name": "history"})


def test_a_system_cannot_be_called_like_a_key_of_stages(tmp_path: Path) -> None:
    module = SYSTEM.replace("import System", "import Settings, System").replace("title=", "settings=Settings, title=")
    add(tmp_path, "bold-package", name="steps", module=module)
    with installed(tmp_path), pytest.raises(ConfigError, match=r"bold-package 2\.5 adds a system 'steps', but"):
        Recipe.model_validate({"stage": {"a": {"system": "steps"}}})


def test_importing_docaps_reads_no_entry_points() -> None:
    script = (
        "import importlib.metadata as metadata\n"
        "read, asked = metadata.entry_points, []\n"
        "metadata.entry_points = lambda **options: asked.append(options.get('group')) or read(**options)\n"
        "import docaps.config, docaps.cli.main\n"
        "docaps.config.SystemSettings.model_validate({'name': 'qcn'})\n"
        "docaps.config.load_recipe(docaps.config.bundled_recipes()['paper'])\n"
        "assert not [group for group in asked if group.startswith('docaps')], asked\n"
        "list(docaps.config.SYSTEMS)\n"
        "assert 'docaps.systems' in asked, asked\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
