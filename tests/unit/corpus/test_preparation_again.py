"""Preparing again: the same request is a no-op; whatever differs, or is damaged, is built again."""

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docaps.config import PreparationSettings
from docaps.config.settings import CleaningSettings
from docaps.corpus import preparation as module
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.corpus.store import Store
from docaps.errors import CorpusError
from docaps.files import read_json, write_json

SETTINGS = PreparationSettings(merges=9)
CLEANING = {"longest": 40, "ratio": 3.0, "copies": True, "duplicates": True}
CHANGES: dict[str, Any] = {
    "source_language": "fr",
    "target_language": "en",
    "subwords": "sentencepiece",
    "truecase": False,
    "merges": 8,
    "minimum_frequency": 3,
    "pieces": 300,
    "marks": ("formal",),
    **{f"cleaning.{name}": value for name, value in CLEANING.items()},
}


@pytest.fixture
def inputs(tmp_path: Path) -> CorpusFiles:
    parts = {}
    for part in ("train", "dev", "test", "extra"):
        parts[part] = (tmp_path / f"{part}.en", tmp_path / f"{part}.de")
        parts[part][0].write_text(f"<d>\nA man saw the {part}.\nIt was old.\n")
        parts[part][1].write_text(f"<d>\nEin Mann sah {part}.\nEs war alt.\n")
    return CorpusFiles(parts)


@pytest.fixture
def store(inputs: CorpusFiles, tmp_path: Path) -> Store:
    return prepare(inputs, SETTINGS, tmp_path / "store")[0]


class RebuildError(Exception):
    """The corpus would be built."""


@pytest.fixture
def noticing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a corpus, and building one is noticed."""

    def build(*_: Any, **__: Any) -> None:
        raise RebuildError

    monkeypatch.setattr(module, "build", build)


def changed(name: str, value: Any) -> PreparationSettings:
    if name.startswith("cleaning."):
        return SETTINGS.model_copy(update={"cleaning": CleaningSettings(**{name.removeprefix("cleaning."): value})})
    return SETTINGS.model_copy(update={name: value})


def test_every_setting_has_a_change() -> None:
    names = {name for name in PreparationSettings.model_fields if name != "cleaning"}
    assert CHANGES.keys() == names | {f"cleaning.{name}" for name in CleaningSettings.model_fields}
    assert all(changed(name, value) != SETTINGS for name, value in CHANGES.items())


@pytest.mark.usefixtures("noticing")
@pytest.mark.parametrize("name", CHANGES)
def test_every_setting_rebuilds(inputs: CorpusFiles, store: Store, name: str) -> None:
    assert not prepare(inputs, SETTINGS, store.path)[1]
    with pytest.raises(RebuildError):
        prepare(inputs, changed(name, CHANGES[name]), store.path)
    assert not prepare(inputs, SETTINGS, store.path)[1]


@pytest.mark.usefixtures("noticing")
def test_a_corpus_of_a_version_without_marks_is_up_to_date(inputs: CorpusFiles, store: Store) -> None:
    manifest = read_json(store.path / "manifest.json", error=CorpusError)
    del manifest["settings"]["marks"]
    write_json(store.path / "manifest.json", manifest)
    assert not prepare(inputs, SETTINGS, store.path)[1]
    with pytest.raises(RebuildError):
        prepare(inputs, changed("marks", ("formal",)), store.path)


@pytest.mark.usefixtures("noticing")
@pytest.mark.parametrize("part", ["train", "dev", "test", "extra"])
@pytest.mark.parametrize("side", [0, 1])
def test_every_changed_byte_of_an_input_rebuilds(inputs: CorpusFiles, store: Store, part: str, side: int) -> None:
    path = inputs.parts[part][side]
    text = path.read_text()
    path.write_text(text.replace("old", "new").replace("alt", "neu"))
    with pytest.raises(RebuildError):
        prepare(inputs, SETTINGS, store.path)
    path.write_text(text)
    assert not prepare(inputs, SETTINGS, store.path)[1]


@pytest.mark.usefixtures("noticing")
def test_other_inputs_rebuild(inputs: CorpusFiles, store: Store, tmp_path: Path) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text("")
    packed = tmp_path / "packed.en.gz"
    packed.write_bytes(gzip.compress(inputs.parts["train"][0].read_bytes()))
    others = [
        {name: pair for name, pair in inputs.parts.items() if name != "test"},
        {name: pair for name, pair in inputs.parts.items() if name != "extra"},
        inputs.parts | {"dev": inputs.parts["test"]},
        inputs.parts | {"dev": inputs.parts["dev"][::-1]},
        inputs.parts | {"train": (packed, inputs.parts["train"][1])},
    ]
    for parts in others:
        with pytest.raises(RebuildError):
            prepare(replace(inputs, parts=parts), SETTINGS, store.path)
    with pytest.raises(RebuildError):
        prepare(replace(inputs, format="lines"), SETTINGS, store.path)


@pytest.mark.usefixtures("noticing")
def test_the_same_files_elsewhere_are_the_same(inputs: CorpusFiles, store: Store, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    parts = {name: (moved / pair[0].name, moved / pair[1].name) for name, pair in inputs.parts.items()}
    for name, pair in inputs.parts.items():
        for old, new in zip(pair, parts[name], strict=True):
            new.write_bytes(old.read_bytes())
    assert not prepare(CorpusFiles(parts), SETTINGS, store.path)[1]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def change_a_byte(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + bytes([path.read_bytes()[-1] ^ 1]))


@pytest.mark.usefixtures("noticing")
@pytest.mark.parametrize("damage", [truncate, change_a_byte, Path.unlink], ids=lambda damage: damage.__name__)
def test_damage_to_any_file_rebuilds(inputs: CorpusFiles, store: Store, damage: Callable[[Path], None]) -> None:
    assert len(store.manifest["files"]) > 20
    for name in store.manifest["files"]:
        before = (store.path / name).read_bytes()
        if not before and damage is not Path.unlink:
            continue  # no word is frequent enough to be listed
        damage(store.path / name)
        with pytest.raises(RebuildError):
            prepare(inputs, SETTINGS, store.path)
        (store.path / name).write_bytes(before)
    assert not prepare(inputs, SETTINGS, store.path)[1]


def test_leftovers_of_killed_processes_are_removed(inputs: CorpusFiles, store: Store) -> None:
    leftover = store.path.with_name(".store.abc_0123.partial")
    for settings in (SETTINGS, SETTINGS.model_copy(update={"merges": 2})):
        leftover.mkdir()
        (leftover / "manifest.json").write_text("{")
        prepare(inputs, settings, store.path)
        assert not leftover.exists()
