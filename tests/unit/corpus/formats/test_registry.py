"""Formats are detected by content, in a fixed order; ambiguous content is plain lines, or refused."""

import io
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docaps.corpus.documents import Document
from docaps.corpus.formats import FORMATS, format_documents, iterate_documents, read_documents, write_documents
from docaps.corpus.formats.reading import iterate_member
from docaps.corpus.formats.registry import SAMPLE_LINES, detect
from docaps.errors import CorpusError

PATH = Path("text")
DOCUMENTS = [Document(("Anna left.", "It rained."), "x"), Document(("He slept.", "She read."), "y")]


def detected(text: str, *, running_text: bool = False) -> str:
    return detect(iter(text.split("\n")), PATH, running_text=running_text)[0]


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("starts", "text")])
def test_written_formats_are_detected(name: str) -> None:
    assert detected(format_documents(DOCUMENTS, name).removesuffix("\n")) == name


def test_starts_and_directories_are_detected_by_their_files(tmp_path: Path) -> None:
    write_documents(tmp_path / "one", DOCUMENTS, "starts")
    write_documents(tmp_path / "two", DOCUMENTS, "directory")
    for path in (tmp_path / "one", tmp_path / "two"):
        assert [one.sentences for one in read_documents(path)] == [one.sentences for one in DOCUMENTS]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", "lines"),
        ("\n\n", "lines"),
        ("one", "lines"),
        ("one\ntwo\n", "lines"),  # a blank line at the end only
        ("\none\ntwo", "lines"),
        ("one\n\ntwo", "blank"),
        ("one\n\ntwo\n<d>\nthree", "lines"),
        ("\n<d>\none\n\ntwo", "lines"),
        ("<d>\na\tb\na\tc", "lines"),
        ("one <d>\n<d>x", "lines"),
        ("a ||| one\na ||| two", "bars"),
        ("a ||| one\na |||", "bars"),
        ("a ||| one\ntwo", "lines"),
        ("my talk ||| one\nmy talk ||| two", "lines"),
        ("a\tone\na\ttwo", "tsv"),
        ("a\tone\teins\nb\ttwo\tzwei", "tsv"),
        ("a\tone\teins\nb\ttwo", "lines"),
        ("a\tone\ttwo\tthree", "tsv"),  # whose reader says how many columns it expects
        ("I saw it.\tIch sah es.", "lines"),
        ("\tone\n\ttwo", "lines"),
        ("a\tone\n\na\ttwo\n", "tsv"),
        ("a ||| one\n\na ||| two\n", "bars"),
        ("Document ID\tsource\nmy talk\tone", "tsv"),
        ("target\tsrc\tdoc_id\neins\tone\tmy talk", "tsv"),
        ('{"source": ["a"]}', "jsonl"),
        ('  { "id": 1, "source": ["a"', "jsonl"),
        ('{"target": ["a"]}', "jsonl"),
        ('{"text": "a"}', "jsonl"),  # whose reader says what is missing
        ('[{"source": ["a"]}]', "jsonl"),
        ('{\n\n  "source": ["a"]\n}', "jsonl"),
        ("{", "lines"),
        ("{one}\ntwo", "lines"),
        ('one\n{"source": ["a"]}', "lines"),  # the first line decides
        ("{\none", "lines"),
        ('<dataset id="x">', "xml"),
        ("<?xml version='1.0'?>\n<!-- a\n<srcset> -->\n<dataset>", "xml"),
        ('<!DOCTYPE dataset [<!ENTITY a "b">]>\n<dataset>', "xml"),
        ('<SRCSET setid="x">', "sgml"),
        ("<?xml version='1.0'?>\n<mteval>", "sgml"),
        ('<refset setid="x" srclang="any">', "sgml"),
        ('<tstset trglang="de">', "sgml"),
        ('<doc docid="1">\n<url>x</url>\none', "tags"),
        ('<doc docid="1">\n<seg id="1">one</seg>', "sgml"),
        ("<url>http://a</url>\none", "tags"),
        ("<talkid>1</talkid>\none", "tags"),
        ("<b>bold</b> text\nand more", "lines"),
        ("<3 you\n<< left", "lines"),
    ],
)
def test_formats_are_detected_by_content(text: str, name: str) -> None:
    assert detected(text) == name


ARTICLE = "A coat\n\nAnna bought a coat. It was warm.\n\nThen it rained. She went home. \u201eNein!\u201c sagte er."
WRAPPED = "Anna bought a coat that was\nvery warm and she went\nhome with it in the rain\nbefore it was dark."


@pytest.mark.parametrize("text", [ARTICLE, WRAPPED, "Hello there. How are you?", "他来了。她走了。"])
def test_running_text_is_detected_only_if_allowed(text: str) -> None:
    assert detected(text, running_text=True) == "text"
    assert detected(text) in ("lines", "blank")


@pytest.mark.parametrize(
    "text",
    [
        "Anna left.\nIt rained.",
        "Anna left. It rained.\nHe slept.\nShe read.",
        "anna left .\nit rained .\nhe slept .",
        "He met Dr. Weber at 3.5 p.m. today.\nShe read.\nIt rained.",
        "<d>\nAnna left. It rained.\nHe slept. She read.",
        "a title\nanother title",
        "Anna left.\n\nIt rained.",
    ],
)
def test_lines_of_sentences_are_no_running_text(text: str) -> None:
    assert detected(text, running_text=True) in ("lines", "blank")


def test_other_xml_is_refused() -> None:
    with pytest.raises(
        CorpusError, match=r"text: XML that begins with <rss>: expected <dataset>, <mteval> or <srcset>"
    ):
        detected("<?xml version='1.0'?>\n<rss>")
    with pytest.raises(CorpusError, match="XML that begins with no element"):
        detected("<?xml version='1.0'?>")
    with pytest.raises(CorpusError, match=r"<html>: .* write the text in another format: lines, blank, "):
        detected("<!DOCTYPE html>\n<html>")


def test_columns_without_ids_are_refused_and_can_be_read_as_lines(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("I saw it.\tIch sah es.\nIt was there.\tEs war da.\n")
    with pytest.raises(CorpusError, match=r"text:1: tab-separated columns without a document id: .* format 'lines'"):
        read_documents(tmp_path / "text")
    assert len(read_documents(tmp_path / "text", format="lines")[0].sentences) == 2


def test_blank_lines_among_ids_are_passed_over(tmp_path: Path) -> None:
    for between in ("\t", " ||| "):
        (tmp_path / "text").write_text(f"\na{between}one\n\na{between}two\nb{between}three\n\n")
        assert read_documents(tmp_path / "text") == [Document(("one", "two"), "a"), Document(("three",), "b")]


def test_only_as_much_is_read_as_the_answer_needs() -> None:
    def endless(first: str) -> Iterator[str]:
        yield first
        yield from itertools.repeat("more")

    for first, taken in (("<d>", 1), ('{"source": []}', 1), ("plain", SAMPLE_LINES)):
        lines = endless(first)
        assert len(detect(lines, PATH)[1]) == taken
    long = itertools.repeat("x" * 2**19)
    assert len(detect(long, PATH)[1]) == 2


class Trickle(io.RawIOBase):
    """A pipe on which one line arrives at a time; it complains if more is asked for than was sent."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._lines:
            raise AssertionError("asked for more than was sent")
        line = self._lines.pop(0)
        buffer[: len(line)] = line
        return len(line)


@pytest.mark.parametrize(
    ("lines", "name", "first"),
    [
        ([b"<d>\n", b"one\n", b"two\n", b"<d>\n"], None, ("one", "two")),
        ([b"<d>\n", b"one\n", b"two\n", b"<d>\n"], "lines", ("one", "two")),
        ([b"one\n", b"two\n", b"\n"], "blank", ("one", "two")),
        ([b'{"source": ["one"]}\n'], None, ("one",)),
        ([b"a ||| one\n", b"b ||| two\n"], "bars", ("one",)),
        ([b"a\tone\n", b"b\ttwo\n"], "tsv", ("one",)),
    ],
)
def test_a_document_of_endless_stdin_is_given_when_it_ends(
    monkeypatch: pytest.MonkeyPatch, lines: list[bytes], name: str | None, first: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Trickle(list(lines)))))
    assert next(iterate_documents(Path("-"), format=name)).sentences == first


def test_a_named_format_is_not_questioned(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("a ||| one\n\nb\ttwo\n")
    assert read_documents(path, format="lines") == [Document(("a ||| one", "", "b two"))]
    assert read_documents(path, format="blank") == [Document(("a ||| one",)), Document(("b two",))]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.srt", "intro\n1\n00:00:01,000 --> 00:00:02,000\nHello.\n", "a.srt:1: expected a number, then times"),
        ("a.VTT", "00:01.000 --> 00:02.000\nHello.\n", "a.VTT:1: expected WEBVTT on the first line"),
        ("a.json", '// texts\n{"a": "Hello."}\n', "a.json:1: not JSON: expected a string"),
        ("a.docx", "Hello.\n", "a.docx: the zip archive is damaged"),
        ("a.properties", "a=Hello {0}\nb=Bye\n", "a.properties: a .properties file, which would be destroyed"),
        ("a.tex", "\\section{Hello}\n", "a.tex: a .tex file, which would be destroyed as plain text"),
    ],
)
def test_what_plain_text_would_destroy_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(CorpusError, match=message):
        read_documents(path, running_text=True)
    with pytest.raises(CorpusError, match=message):
        list(iterate_member(path))
    assert read_documents(path, format="lines", running_text=True)
    path.rename(tmp_path / "train.cs")
    assert read_documents(tmp_path / "train.cs", running_text=True)


def test_an_unknown_format_is_reported() -> None:
    with pytest.raises(CorpusError, match=r"no format 'jsonnl'; did you mean 'jsonl'\? \(formats: lines, blank, tags"):
        iterate_documents(PATH, format="jsonnl")
    with pytest.raises(CorpusError, match="no format 'word'"):
        format_documents([], "word")
