"""Every example of the page on contrastive sets is read as the page says."""

from pathlib import Path

import pytest
from tests.unit.corpus.contrastive.page import EXAMPLES, PAGE, Example

from docaps.corpus.contrastive.contrastive_set import FIELDS
from docaps.corpus.contrastive.sets import SETS

every_example = pytest.mark.parametrize("example", EXAMPLES, ids=[example.title for example in EXAMPLES])


def names(text: str | None) -> list[str]:
    return text.split(", ") if text else []


def test_the_page_shows_every_set() -> None:
    assert {example.set for example in EXAMPLES} == set(SETS)
    assert all(example.files for example in EXAMPLES)


def test_the_page_documents_every_field() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in FIELDS if f"`{name}`" not in text] == []


@every_example
def test_an_example_is_read_as_stated(example: Example, tmp_path: Path) -> None:
    items = example.read(tmp_path).items
    stated = example.stated
    assert len(items) == int(str(stated["items"]))
    assert list(dict.fromkeys(item.phenomenon for item in items)) == names(stated["phenomena"])
    distances = dict.fromkeys(str(item.distance) for item in items if item.distance is not None)
    assert list(distances) == names(stated["distances"])
    assert list(dict.fromkeys(item.pronoun for item in items if item.pronoun)) == names(stated["pronouns"])
    assert " + ".join(str(len(item.history)) for item in items) == stated["histories"]


@every_example
def test_every_item_of_every_file_is_counted(example: Example, tmp_path: Path) -> None:
    found = example.read(tmp_path)
    assert sum(found.files.values()) == len(found.items) > 1


@every_example
def test_every_file_of_a_set_leads_to_the_set(example: Example, tmp_path: Path) -> None:
    found = example.read(tmp_path)
    from docaps.corpus.contrastive import read_set

    if not example.stated["context"]:
        for name in example.files:
            assert read_set(example.set, tmp_path / name, example.options(tmp_path)) == found
