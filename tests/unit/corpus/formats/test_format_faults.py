"""Bad input of every kind ends in a message with file, line, what was found and what to do."""

import bz2
import gzip
import lzma
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from docaps.corpus.documents import Document, ParallelDocument
from docaps.corpus.formats import (
    format_documents,
    format_translations,
    read_documents,
    read_parallel,
    write_documents,
    write_parallel,
    write_translations,
)
from docaps.corpus.formats import text_input as module
from docaps.corpus.formats.format import Side
from docaps.corpus.formats.text_input import LONGEST_SENTENCE
from docaps.corpus.preparation import CorpusFiles
from docaps.errors import CorpusError

BILLION_LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE dataset [
<!ENTITY ha "ha">
<!ENTITY haha "&ha;&ha;&ha;&ha;&ha;&ha;&ha;&ha;">
]>
<dataset id="x"><doc id="1"><src><p><seg id="1">&haha;</seg></p></src></doc></dataset>
"""
OUTSIDE = BILLION_LAUGHS.replace('<!ENTITY ha "ha">', '<!ENTITY secret SYSTEM "file:///etc/hostname">')
XML = '<dataset>\n<doc id="a">\n<src><p><seg id="1">one</seg></p></src>\n</doc>\n</dataset>\n'
SGML = '<srcset setid="s">\n<doc docid="a">\n<seg id="1">one</seg>\n</doc>\n</srcset>\n'


def fault(path: Path, **options: str) -> str:
    with pytest.raises(CorpusError) as caught:
        read_documents(path, **options)  # type: ignore[arg-type]
    assert caught.value.path == path
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        ("one\n\n<d>\ntwo\n", "blank", "3: a <d> mark among documents with blank lines between them: name the format"),
        ("\n\n", "blank", " the file is empty: expected one sentence a line and a blank line between documents"),
        ("", "bars", " the file is empty: expected lines such as: docid ||| sentence"),
        ("a ||| x\nb - y\n", "bars", "2: expected a line such as: docid ||| sentence, found 'b - y'"),
        ("||| x\n", "bars", "1: expected a line such as: docid ||| sentence, found '||| x'"),
        ("a ||| x\nb ||| y\na ||| z\n", None, "3: a second document 'a' (the first: line 1): give each document its"),
        ("a\tx\nb\n", "tsv", "2: 1 tab-separated columns, expected document id, source: 'b'"),
        ("a\tx\ty\na\tz\n", "tsv", "2: 2 tab-separated columns, expected document id, source and target: 'a z'"),
        ("a\tx\n\ty\n", "tsv", "2: no document id before 'y'"),
        ("a\tx\n\t\n", "tsv", "2: no document id before ''"),
        ("a\t1\tx\ty\n", None, "1: 4 tab-separated columns, expected document id, source and target: 'a 1 x y'"),
        ('{"src": ["a"]}\n', None, '1: "source" must be a list of sentences, found null'),
        ('[{"source": ["a"]}]\n', None, '1: expected an object with "source", found [{"source": ["a"]}]'),
        ('{\n  "source": ["a"]\n}\n', None, "1: not a JSON object on one line: Expecting property name"),
        ("doc\tsource\n", None, " the file is empty: expected lines of tab-separated columns"),
        ("a\tx\nb\ty\na\tz\n", None, "3: a second document 'a' (the first: line 1)"),
        ('{"source": ["a"]}\n{"source": ["b"}\n', None, "2: not a JSON object on one line: Expecting ',' delimiter"),
        ('{"source": "a"}\n', None, '1: "source" must be a list of sentences, found "a"'),
        ('{"source": ["a", 5]}\n', None, "1: expected a sentence, found 5"),
        ('{"source": []}\n', None, "1: a document without sentences: remove it"),
        ('{"id": "x", "source": []}\n', None, "1: document 'x' without sentences: remove it"),
        ('{"id": [1], "source": ["a"]}\n', None, '1: "id" must be a text, found [1]'),
        ('{"source": ["a\\u0000b"]}\n', None, "1: a sentence holds the character U+0000, which is no text: remove it"),
        ('{"source": ["a\\ud800b"]}\n', None, "1: a sentence holds the character U+D800"),
        ('{"source": ["a", "b"], "paragraphs": [1]}\n', None, '1: "paragraphs" must be numbers that add up to 2'),
        ('{"source": ["a"], "paragraphs": "1"}\n', None, '1: "paragraphs" must be numbers that add up to 1, found "1"'),
        (
            '{"id": 7, "source": ["a"]}\n{"id": "7", "source": ["b"]}\n',
            None,
            "2: a second document '7' (the first: line 1)",
        ),
        ('[1, "source"]\n', "jsonl", '1: expected an object with "source", found [1, "source"]'),
        ("\n", "jsonl", " the file is empty: expected lines such as: {"),
        ('{"source": ' + "[" * 100_000, None, "1: not "),
        ("<url>x</url>\n<talkid>7</talkid>\n", None, "2: talk '7' has no sentences: remove it"),
        ("<talkid>7</talkid>\n<talkid>8</talkid>\none\n", None, "1: talk '7' has no sentences: remove it"),
        ("<talkid>7</talkid>\na\n<talkid>7</talkid>\nb\n", None, "3: a second document '7' (the first: line 1)"),
        ("", "tags", " the file is empty: expected lines of tags"),
        (SGML.replace("</doc>\n", ""), None, "2: document 'a' is not closed: </doc> missing"),
        (SGML.replace("</doc>", '<doc docid="b">'), None, "4: document 'a' is not closed: </doc> missing before this"),
        (SGML.replace("</seg>", ""), None, "3: a <seg> is not closed: </seg> missing"),
        (SGML.replace('<seg id="1">', ""), None, "3: a </seg> without its <seg>"),
        (SGML.replace('<doc docid="a">', "<p>"), None, "2: a <p> outside of any <doc>"),
        (SGML.replace('<seg id="1">one</seg>', ""), None, "2: document 'a' without sentences: remove it"),
        (SGML + SGML.replace("srcset", "refset"), None, None),
        (
            SGML.replace("</srcset>", "") + SGML[SGML.index("<doc") :],
            None,
            "6: a second document 'a' (the first: line 2)",
        ),
        ("<srcset>\n</srcset>\n", None, " holds only a <srcset> or empty sets: expected a <refset> or <tstset>"),
        ("", "sgml", " the file is empty: expected <doc> elements with <seg> in them"),
        (XML.replace("</src>", "</scr>"), None, "3: not well-formed XML: mismatched tag (column 36)"),
        (XML.replace("one", "one & two"), None, "3: not well-formed XML: not well-formed (invalid token)"),
        (XML.replace("one", "&nbsp;"), None, "3: not well-formed XML: undefined entity (column 21)"),
        (XML.replace("</dataset>\n", ""), None, "not well-formed XML: no element found"),
        (XML.replace("src", "ref"), None, "2: document 'a' has no <src>"),
        (XML.replace('<seg id="1">one</seg>', ""), None, "2: document 'a' without sentences: remove it"),
        ("<dataset>\n</dataset>\n", None, " the file is empty: expected <dataset> with <doc> elements in it"),
        (XML.replace("</dataset>", XML[XML.index("<doc") :]), None, "5: a second document 'a' (the first: line 2)"),
        (BILLION_LAUGHS, None, "3: defines the entity 'ha': write the text itself, entities are not expanded"),
        (OUTSIDE, None, "3: defines the entity 'secret'"),
        ("\n \n", "text", " the file is empty: expected running text"),
        ("one\n", "directory", " not a directory: expected one with a file for each document"),
        ("one\n", "starts", " no file of document starts: give one with --starts, or as text.starts beside it"),
    ],
)
def test_broken_content_is_reported_with_its_line(
    tmp_path: Path, content: str, name: str | None, expected: str | None
) -> None:
    path = tmp_path / "text"
    path.write_text(content)
    options = {"format": name} if name else {}
    if expected is None:
        assert read_documents(path) == [Document(("one",), "a")]
        return
    message = fault(path, **options)
    assert expected in message
    assert message.startswith(f"{path}:")
    if expected[0].isdigit():
        assert message.startswith(f"{path}:{expected}")


@pytest.mark.parametrize(
    ("content", "side", "expected"),
    [
        (SGML, "target", "holds only a <srcset> or empty sets"),
        (XML, "target", "2: document 'a' has no <ref> or <hyp>"),
        ('{"id": "x", "source": ["a"]}\n', "target", '1: "target" must be a list of sentences, found null'),
        ("a\tone\n", "hypothesis", "1: no target column: expected document id, source, target"),
    ],
)
def test_a_missing_side_is_reported(tmp_path: Path, content: str, side: Side, expected: str) -> None:
    path = tmp_path / "text"
    path.write_text(content)
    assert expected in fault(path, side=side)


@pytest.mark.parametrize(
    ("starts", "expected"),
    [
        ("", "1: the first document must start at line 0, found nothing"),
        ("1\n2\n", "1: the first document must start at line 0, found 1"),
        ("0\n2\n1\n", "3: start 1 after start 2: they must grow"),
        ("0\n2\n2\n", "3: start 2 after start 2: they must grow"),
        ("0\n-1\n", "2: expected a line number, found '-1'"),
        ("0\nx\n", "2: expected a line number, found 'x'"),
        ("0\n3\n", "2: a document starts at line 3, but "),
        ("0\n1\n9\n", "3: a document starts at line 9, but "),
    ],
)
def test_wrong_document_starts_are_reported(tmp_path: Path, starts: str, expected: str) -> None:
    (tmp_path / "text").write_text("a\nb\nc\n")
    place = tmp_path / "text.starts"
    place.write_text(starts)
    with pytest.raises(CorpusError, match=re.escape(f"{place}:{expected}")):
        read_documents(tmp_path / "text")


def test_starts_go_with_plain_lines_alone(tmp_path: Path) -> None:
    path, place = tmp_path / "text", tmp_path / "numbers"
    path.write_text("a\n<d>\nb\n")
    place.write_text("0\n")
    with pytest.raises(CorpusError, match=re.escape(f"{path}:2: a <d> mark, but {place} says where documents start")):
        read_documents(path, starts=place)
    with pytest.raises(CorpusError, match="document starts go with plain lines, not with the format 'lines'"):
        read_documents(path, starts=place, format="lines")
    with pytest.raises(CorpusError, match="absent: no such file"):
        read_documents(path, starts=tmp_path / "absent")


PACKED = zstandard.compress(b"<d>\nAnna left.\nIt rained.\n" * 2000)


@pytest.mark.parametrize(
    "content",
    [
        PACKED[:-3],
        PACKED[:20],
        PACKED[:6],
        PACKED[:30] + b"\xff" * 30 + PACKED[60:],
        PACKED + b"rubbish",
        gzip.compress(b"one\n" * 999)[:-4],
    ],
    ids=["cut at the end", "cut in the middle", "cut at the start", "changed", "more after it", "gzip cut"],
)
def test_a_damaged_compressed_file_is_reported(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "text.zst"
    path.write_bytes(content)
    assert "the compressed file is damaged" in fault(path)
    assert "Get or compress it again" in fault(path)


FOREIGN = {
    "a zip archive": b"PK\x03\x04rest",
    "a 7z archive": b"7z\xbc\xaf\x27\x1crest",
    "a RAR archive": b"Rar!\x1a\x07rest",
    "an xz file": lzma.compress(b"one\n"),
    "a bzip2 file": bz2.compress(b"one\n"),
    "a PDF": b"%PDF-1.7\n",
    "a tar archive": b"name".ljust(257, b"\0") + b"ustar\0",
    "compressed twice": gzip.compress(b"one\n"),
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gzip", "zstd"])
@pytest.mark.parametrize("name", FOREIGN)
def test_what_holds_no_text_is_named(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "text"
    path.write_bytes(pack(FOREIGN[name]))
    if pack is bytes and name == "compressed twice":
        assert read_documents(path) == [Document(("one",))]
        return
    assert fault(path) == f"{path}: this is {name}, not a text file: unpack or convert it first"


def test_lines_that_end_in_cr_alone_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"<d>\rone\rtwo\r")
    assert fault(path) == f"{path}:1: its lines end in CR alone: convert them to LF first"
    path.write_bytes(b"<d>\r\none\rtwo\r")
    assert read_documents(path) == [Document(("one two",))]


def test_byte_order_marks_within_a_joined_file_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbf<d>\none\n" * 2)
    assert read_documents(path) == [Document(("one",))] * 2


MEGABYTE = "word " * 220_000 + "end"


@pytest.mark.parametrize(
    ("content", "name", "line"),
    [
        (f"<d>\none\n{MEGABYTE}\n", "lines", 3),
        (f"one\n\n{MEGABYTE}\n", "blank", 3),
        (f"<talkid>1</talkid>\n{MEGABYTE}\n", "tags", 2),
        (f"a ||| one\na ||| {MEGABYTE}\n", "bars", 2),
        (f"a\tone\na\t{MEGABYTE}\n", "tsv", 2),
        (f'\n{{"source": ["one", "{MEGABYTE}"]}}\n', "jsonl", 2),
        (SGML.replace("one", MEGABYTE), "sgml", 2),
        (XML.replace("one", MEGABYTE), "xml", 2),
        (MEGABYTE, "text", 1),
        (MEGABYTE, "starts", 1),
    ],
)
def test_a_sentence_of_a_megabyte_is_reported(tmp_path: Path, content: str, name: str, line: int) -> None:
    path = tmp_path / "text"
    path.write_text(content)
    (tmp_path / "text.starts").write_text("0\n") if name == "starts" else None
    message = fault(path, format=name)
    assert message.startswith(f"{path}:{line}: a sentence of 1,100,0")
    assert message.endswith("at most 20,000: split or remove it (running text: name the format 'text')")


def test_the_longest_sentence_is_read_and_so_is_a_long_paragraph(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("x" * LONGEST_SENTENCE + "\n")
    assert len(read_documents(path)[0].sentences[0]) == LONGEST_SENTENCE
    path.write_text("It rained. " * 200_000)
    assert len(read_documents(path, format="text")[0].sentences) == 200_000
    assert "1: a sentence of 2,200,000 characters" in fault(path)
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory" / "a.txt").write_text(f"one\n{MEGABYTE}\n")
    with pytest.raises(CorpusError, match=r"a\.txt:2: a sentence of 1,100,003 characters"):
        read_documents(tmp_path / "directory")


def test_an_endless_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "text"
    path.write_text(f"<d>\n{MEGABYTE}\n")
    monkeypatch.setattr(module, "LONGEST_LINE", 2**20)
    assert fault(path) == f"{path}:2: a line of more than 1,048,576 bytes: expected a text file with line ends"
    path.write_bytes(gzip.compress(b"\n" + b"x" * (2**20 + 1)))
    assert f"{path}:2: a line of more than 1,048,576 bytes" in fault(path)


@pytest.mark.parametrize("content", [b"a ||| x\nb ||| \xff\n", b"a ||| x\nb ||| \0\n"], ids=["not UTF-8", "NUL"])
def test_bad_bytes_are_reported_in_every_format(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "text"
    path.write_bytes(content)
    for name in ("lines", "blank", "bars", "text"):
        assert fault(path, format=name).startswith(f"{path}:2: ")
    assert fault(path).startswith(f"{path}:2: ")


def test_a_bad_directory_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "b.txt").write_text("one\n<d>\ntwo\n")
    with pytest.raises(CorpusError, match=r"b\.txt:2: a <d> mark in a directory of documents"):
        read_documents(tmp_path)
    (tmp_path / "b.txt").write_text("")
    with pytest.raises(CorpusError, match=r"b\.txt: the file is empty: expected one sentence a line"):
        read_documents(tmp_path)
    for name in ("lines", "jsonl"):
        expected = f"a directory, which is not read as '{name}': name the format 'directory' or 'text', or a file"
        assert fault(tmp_path, format=name) == f"{tmp_path}: {expected}"
    (tmp_path / "b.txt").unlink()
    (tmp_path / "a.md").write_text("one\n")
    with pytest.raises(CorpusError, match="a second document 'a'"):
        read_documents(tmp_path)
    (tmp_path / "c").mkdir()
    with pytest.raises(CorpusError, match=f"{tmp_path}/c: not a file: expected one file for each document"):
        read_documents(tmp_path)


def test_system_errors_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests may run as a user who may read everything, so the refusal is made up."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "text").write_text("one\n")
    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "iterdir", refuse)
    monkeypatch.setattr(os, "open", refuse)
    assert fault(tmp_path / "text") == f"{tmp_path}/text: cannot be opened: Permission denied"
    assert fault(tmp_path) == f"{tmp_path}: the directory cannot be read: Permission denied"
    with pytest.raises(CorpusError, match="text: cannot be read: Permission denied"):
        CorpusFiles({"train": (tmp_path / "text", tmp_path / "text")}).hashes()


def test_two_sides_that_differ_are_reported(tmp_path: Path) -> None:
    def sides(one: str, other: str) -> str:
        (tmp_path / "s").write_text(one)
        (tmp_path / "t").write_text(other)
        with pytest.raises(CorpusError) as caught:
            read_parallel(tmp_path / "s", tmp_path / "t")
        return str(caught.value).replace(f"{tmp_path}/", "")

    assert "t:1: document 1 is 'a' in s, but 'b' in t" in sides("a ||| x\n", "b ||| X\n")
    assert "t:1: document 1 (near line 1) has 1 sentences in s, but 2 in t" in sides("a ||| x\n", "a ||| X\na ||| Y\n")
    assert "both sides need the same documents and sentences" in sides("a ||| x\n", "a ||| X\na ||| Y\n")
    assert "they were read as 'blank' and 'lines'; name the format" in sides("x\n\ny\n", "X\nY\nZ\n")
    assert "t:5: 2 documents in s, but 3 in t: the one that begins here has no partner" in sides(
        "<d>\nx\n<d>\ny\n", "<d>\nX\n<d>\nY\n<d>\nZ\n"
    )
    assert "s:2: 3 documents in s, but 1 in t: the one that begins here has no partner" in sides(
        "x\n<d>\ny\n<d>\nz\n", "X\n"
    )
    found = sides(SGML, SGML.replace("srcset", "refset").replace('id="1"', 'id="2"'))
    assert "document 1 has the sentence ids '1' in s, but '2' in t" in found


def test_a_document_without_partner_is_reported(tmp_path: Path) -> None:
    for name in ("s/a.en", "s/b.en", "t/a.de"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("one\n")
    source, target = tmp_path / "s", tmp_path / "t"
    with pytest.raises(CorpusError, match=f"{source}/b.en: no document of this name in {target}: add it there"):
        read_parallel(source, target)
    with pytest.raises(CorpusError, match=f"{source}/b.en: no document of this name in {target}"):
        read_parallel(target, source)
    (target / "b.de").write_text("zwei\n")
    assert [(pair.id, pair.target) for pair in read_parallel(source, target)] == [("a", ("one",)), ("b", ("zwei",))]


def test_both_sides_cannot_come_from_stdin() -> None:
    with pytest.raises(CorpusError, match="-: both sides cannot be read from stdin: give two files"):
        read_parallel(Path("-"))


def test_a_failed_write_is_reported(tmp_path: Path) -> None:
    pairs = [ParallelDocument(("a",), ("b",))]
    with pytest.raises(CorpusError, match="the format 'lines' holds one side: name two files"):
        write_parallel(tmp_path / "x", tmp_path / "x", pairs)
    with pytest.raises(CorpusError, match="a directory of documents cannot be written as one text"):
        format_documents([Document(("a",))], "directory")
    with pytest.raises(CorpusError, match=r"two documents would be called a_b\.txt: give them other ids"):
        write_documents(tmp_path / "x", [Document(("a",), "a/b"), Document(("a",), "a:b")], "directory")
    with pytest.raises(CorpusError, match="there is nothing to write"):
        write_translations(tmp_path / "x", [])
    with pytest.raises(ValueError, match="1 sentences, but 0 translations"):
        list(format_translations([(Document(("a",)), ())]))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("x")
    with pytest.raises(
        CorpusError, match=r"the directory holds something else \(notes\): move it away or choose another one"
    ):
        write_documents(tmp_path / "mine", [Document(("a",))], "directory")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert (tmp_path / "mine" / "notes").read_text() == "x"
