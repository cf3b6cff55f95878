"""Formats and contrastive sets of other packages: found by name and by content, never on import."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from tests.unit.corpus.installed import FOLDER, install_plugin

from docaps.config import plugins
from docaps.corpus.contrastive import SetOptions, read_set
from docaps.corpus.documents import Document
from docaps.corpus.formats import (
    FileFormat,
    format_translations,
    read_documents,
    write_documents,
    write_translations,
)
from docaps.corpus.formats.passages import Passage, fill, join_passages, replace_passages
from docaps.errors import ConfigError, CorpusError

TEXT = "Anna slept.\nIt was late.\n***\nTom came.\n"
DOCUMENTS = [Document(("Anna slept.", "It was late.")), Document(("Tom came.",))]
Add = Callable[..., None]


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch) -> Add:
    """Return a function that adds entry points: NAME=VALUE for a group."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def add(group: str = "docaps.formats", **values: str) -> None:
        found = {name: EntryPoint(name, value, group) for name, value in values.items()}
        monkeypatch.setattr(plugins, "entries", lambda asked: found if asked == group else {})

    return add


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "story.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_a_format_of_a_plugin_is_found_by_its_name_and_by_content(add: Add, text: Path) -> None:
    assert read_documents(text) == [Document(tuple(TEXT.splitlines()))]
    add(stars="docaps_stars:STARS")
    assert read_documents(text, format="stars") == read_documents(text) == DOCUMENTS
    assert [document.line for document in read_documents(text)] == [1, 4]


def test_translations_are_written_in_the_format_of_a_plugin(add: Add, text: Path, tmp_path: Path) -> None:
    add(stars="docaps_stars:STARS")
    translated = [(document, [word.upper() for word in document.sentences]) for document in read_documents(text)]
    assert "".join(format_translations(translated)) == TEXT.upper()
    write_documents(tmp_path / "copy", DOCUMENTS, "stars")
    assert (tmp_path / "copy").read_text(encoding="utf-8") == TEXT


def test_content_that_is_clear_is_not_given_to_plugins(add: Add, tmp_path: Path) -> None:
    add(stars="no_such_module:STARS")
    for number, content in enumerate(("<d>\nA.\n", '{"source": ["A."]}\n', "doc1\tA.\ndoc2\t***\n", "d ||| ***\n")):
        path = tmp_path / f"{number}.txt"
        path.write_text(content, encoding="utf-8")
        assert read_documents(path)


def test_a_plugin_may_read_markup_that_is_otherwise_refused(add: Add, tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text("<?xml version='1.0'?>\n<tei>\n***\n</tei>\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="XML that begins with <tei>"):
        read_documents(path)
    add(stars="docaps_stars:STARS")
    assert len(read_documents(path)) == 2


SLIDES = FileFormat(
    "slides",
    "a heading, then text",
    (".slides",),
    lambda start, name: start.startswith(b"SLIDES\0") or (name.endswith(".slides") and b"\0" not in start),
    lambda content, options: join_passages(
        [Passage(content.decode()[7:], start=7, end=len(content))], options, "slides", content=content
    ),
    lambda item, _: replace_passages(
        item.document.layout.details["content"] if item.document.layout else b"", item, lambda _, own: fill(own, str)
    ),
)


def test_a_plugin_may_read_whole_files(add: Add, tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"SLIDES\0Anna slept. It was late.")
    with pytest.raises(CorpusError, match="NUL"):
        read_documents(path, running_text=True)
    add(slides=f"{__name__}:SLIDES")
    for found in (read_documents(path, running_text=True), read_documents(path, format="slides")):
        assert found == [Document(("Anna slept.", "It was late."), paragraphs=(2,))]
        write_translations(tmp_path / "out", [(one, [text.upper() for text in one.sentences]) for one in found])
        assert (tmp_path / "out").read_bytes() == b"SLIDES\0ANNA SLEPT. IT WAS LATE."
    with pytest.raises(CorpusError, match="a 'slides' file is written only as the translation of one such file"):
        write_documents(tmp_path / "out", DOCUMENTS, "slides")


def test_an_unknown_format_is_refused_with_all_names(add: Add, text: Path) -> None:
    add(stars="docaps_stars:STARS")
    with pytest.raises(CorpusError, match=r"no format 'star'; did you mean 'stars'\? \(formats: lines, .*, stars\)"):
        read_documents(text, format="star")


def test_a_plugin_cannot_replace_a_built_in_format(add: Add, text: Path) -> None:
    add(blank="docaps_stars:STARS")
    assert len(read_documents(text, format="blank")) == 1
    with pytest.raises(ConfigError, match="adds a format 'blank', which is a built-in name: uninstall it"):
        read_documents(text)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "stars",
            "docaps_stars:MARK",
            r"must be a docaps.corpus.formats.Format or FileFormat with the name 'stars', found '\*\*\*'",
        ),
        ("other", "docaps_stars:STARS", "must be a docaps.corpus.formats.Format or FileFormat with the name 'other'"),
        ("stars", "docaps_stars:NOTHING", "'stars' .*cannot be loaded from 'docaps_stars:NOTHING'"),
    ],
)
def test_a_plugin_that_is_not_a_format_is_refused(add: Add, text: Path, name: str, value: str, message: str) -> None:
    add(**{name: value})
    with pytest.raises(ConfigError, match=message):
        read_documents(text, format=name)


def test_a_contrastive_set_of_a_plugin_is_found_by_its_name(add: Add, tmp_path: Path) -> None:
    path = tmp_path / "items.tsv"
    path.write_text("Here is a dog.\tIt barks.\tEr bellt.\tEs bellt.\n", encoding="utf-8")
    add("docaps.contrastive", pairs="docaps_stars:read_pairs", odd="docaps_stars:MARK", jsonl="docaps_stars:read_pairs")
    found = read_set("pairs", path)
    assert [(item.source, item.history) for item in found.items] == [("It barks.", ("Here is a dog.",))]
    assert read_set("pairs", path, SetOptions(without_history=True)).items[0].history == ()
    with pytest.raises(CorpusError, match=r"no contrastive set 'x': choose contrapro, .*jsonl, pairs, odd"):
        read_set("x", path)
    with pytest.raises(ConfigError, match=r"odd.* is not a function, found '\*\*\*'"):
        read_set("odd", path)
    with pytest.raises(CorpusError, match="not JSON"):
        read_set("jsonl", path)  # the built-in one


def run(site: Path, *arguments: str) -> str:
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_installed_package_adds_its_format_and_its_set(tmp_path: Path, text: Path) -> None:
    install_plugin(tmp_path / "site")
    for options in (["--format", "stars"], []):
        found = json.loads(run(tmp_path / "site", "-m", "docaps", "corpus", str(text), str(text), *options, "--json"))
        assert (found["documents"], found["sentences"]) == (2, 3)
    (tmp_path / "items").write_text("Here is a dog.\tIt barks.\tEr bellt.\tEs bellt.\n", encoding="utf-8")
    script = "import sys; from pathlib import Path; from docaps.corpus.contrastive import read_set; "
    script += "print(read_set('pairs', Path(sys.argv[1])).items[0].right)"
    assert run(tmp_path / "site", "-c", script, str(tmp_path / "items")) == "Er bellt.\n"


def test_plugins_are_not_searched_on_import(tmp_path: Path) -> None:
    path = tmp_path / "story.txt"
    path.write_text("<d>\nA.\n", encoding="utf-8")
    script = """
import sys
from pathlib import Path
import docaps.corpus.contrastive
import docaps.corpus.formats as formats
from docaps.config.plugins import entries
formats.read_documents(Path(sys.argv[1]))
print(entries.cache_info().misses)
"""
    assert run(tmp_path, "-c", script, str(path)) == "0\n"


def test_the_how_to_shows_the_package_as_it_is() -> None:
    page = (Path(__file__).parents[4] / "docs" / "how-to" / "add-a-format.md").read_text(encoding="utf-8")
    module = (FOLDER / "docaps_stars.py").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == 6
    assert [block for block in blocks if block not in module] == []
    (table,) = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    assert set(table.splitlines()) <= set((FOLDER / "pyproject.toml").read_text(encoding="utf-8").splitlines())
