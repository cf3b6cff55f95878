"""Contrastive items survive a file, and a bad file is named with its line."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from docaps.corpus.contrastive import ContrastiveItem, read_items, write_items
from docaps.errors import CorpusError

ITEM = ContrastiveItem(
    id="pronoun-0001-m",
    phenomenon="pronoun",
    form="subject",
    distance=1,
    history=("Anna bought a coat.",),
    target_history=("Anna kaufte einen Mantel.",),
    source="It was too long.",
    right="Er war zu lang.",
    wrong=("Sie war zu lang.", "Es war zu lang."),
)


def test_chance_counts_the_right_translation() -> None:
    assert ITEM.chance == pytest.approx(1 / 3)


def test_items_survive_a_file(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    odd = ContrastiveItem(**asdict(ITEM) | {"id": "odd\u2028line", "wrong": ("ß",)})
    write_items(path, [ITEM, odd])
    assert read_items(path) == [ITEM, odd]
    assert "Er war zu lang." in path.read_text(encoding="utf-8")


def _file_with_second_line(tmp_path: Path, line: str) -> Path:
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps(asdict(ITEM)) + "\n" + line + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"distance": "near"}, "'distance' is \"near\", expected an integer"),
        ({"distance": True}, "'distance' is true"),
        ({"source": 3}, "'source' is 3, expected a string"),
        ({"history": ["one", 2]}, "'history' is"),
        ({"wrong": []}, "'wrong' is \\[\\], expected a non-empty list"),
        ({"history": []}, "0 sentences in 'history' and 1 in 'target_history'"),
    ],
)
def test_a_wrong_field_is_named_with_its_line(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = _file_with_second_line(tmp_path, json.dumps(asdict(ITEM) | change))
    with pytest.raises(CorpusError, match=message) as caught:
        read_items(path)
    assert (caught.value.path, caught.value.line) == (path, 2)


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    record = {name: value for name, value in asdict(ITEM).items() if name != "right"}
    with pytest.raises(CorpusError, match="'right' is missing"):
        read_items(_file_with_second_line(tmp_path, json.dumps(record)))


@pytest.mark.parametrize(("line", "message"), [("{", "not JSON"), ("[1]", "found a list"), ("7", "found 7")])
def test_a_line_that_is_no_object_is_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_items(_file_with_second_line(tmp_path, line))


def test_an_empty_or_missing_or_mangled_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    with pytest.raises(CorpusError, match="no such file"):
        read_items(path)
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="empty"):
        read_items(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(CorpusError, match="not UTF-8 at byte 1 of the line"):
        read_items(path)
