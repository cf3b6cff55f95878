"""Every example of the page on file formats is read, and its translation written, as the page says."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from docaps.corpus.documents import Document
from docaps.corpus.formats import (
    FILE_FORMATS,
    FORMATS,
    NAMES,
    iterate_documents,
    read_documents,
    read_parallel,
    write_translations,
)

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "file-formats.md"
SECTION = re.compile(r"^## `(\w+)`: (.*?)$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STATEMENT = re.compile(
    r"^Read as `(?P<format>\w+)`: (?P<count>\d+) documents? of (?P<lengths>[\d +]+) sentences?, "
    r"(?:ids (?P<ids>.*?)|without ids)(?:, paragraphs (?P<paragraphs>[\d +]+))?(?P<both>, both sides)?\.$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Example:
    title: str
    format: str
    inputs: list[str]
    outputs: list[str]
    stated: re.Match[str]

    def place(self, folder: Path) -> Path:
        """Lay the example's files out as the page says."""
        path = folder / "tales.en"
        if self.format == "directory":
            path.mkdir()
            for name, text in zip(("bank.txt", "coat.txt"), self.inputs, strict=True):
                (path / name).write_text(text)
            return path
        if self.format in FILE_FORMATS:
            path = folder / f"tales{FILE_FORMATS[self.format].suffixes[0]}"
        path.write_text(self.inputs[0])
        if self.format == "starts":
            (folder / "tales.starts").write_text(self.inputs[1])
        return path


def examples() -> list[Example]:
    found = []
    for name, title, body in SECTION.findall(PAGE.read_text(encoding="utf-8")):
        stated = STATEMENT.search(body)
        assert stated, title
        inputs, outputs = BLOCK.findall(body[: stated.start()]), BLOCK.findall(body[stated.end() :])
        found.append(Example(title, name, inputs, outputs, stated))
    return found


EXAMPLES = examples()
every_example = pytest.mark.parametrize("example", EXAMPLES, ids=[example.title for example in EXAMPLES])


def numbers(text: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("+")) if text else ()


def test_the_page_shows_every_format() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert {example.format for example in EXAMPLES} >= {*FORMATS, "directory"}
    assert [name for name in NAMES if not re.search(rf"^## .*`{name}`", page, re.MULTILINE)] == []
    assert all(example.inputs and example.outputs for example in EXAMPLES)


@every_example
def test_an_example_is_read_as_stated(example: Example, tmp_path: Path) -> None:
    documents = read_documents(example.place(tmp_path), running_text=True)
    stated = example.stated
    assert stated["format"] == example.format
    assert {document.layout.format for document in documents if document.layout} == {example.format}
    assert len(documents) == int(stated["count"])
    assert tuple(len(document.sentences) for document in documents) == numbers(stated["lengths"])
    ids = stated["ids"].split(", ") if stated["ids"] else [None] * len(documents)
    assert [document.id for document in documents] == ids
    assert documents[0].paragraphs == numbers(stated["paragraphs"])


@every_example
def test_naming_the_format_gives_the_same_documents(example: Example, tmp_path: Path) -> None:
    path = example.place(tmp_path)
    assert read_documents(path, format=example.format) == read_documents(path, running_text=True)


@every_example
def test_a_translation_is_written_as_shown(example: Example, tmp_path: Path) -> None:
    documents = iterate_documents(example.place(tmp_path), running_text=True)
    out = tmp_path / "out"
    write_translations(out, ((document, capitals(document)) for document in documents))
    written = sorted(out.iterdir()) if out.is_dir() else [out]
    assert [path.read_text() for path in written] == example.outputs


def capitals(document: Document) -> list[str]:
    return [sentence.upper() for sentence in document.sentences]


@pytest.mark.parametrize("example", [example for example in EXAMPLES if example.stated["both"]], ids=lambda e: e.title)
def test_one_file_gives_both_sides(example: Example, tmp_path: Path) -> None:
    first = read_parallel(example.place(tmp_path))[0]
    assert first.source == ("Anna bought a coat.", "It was warm.")
    assert first.target == ("Anna kaufte einen Mantel.", "Er war warm.")
    assert first.id == "coat"
