"""Properties of single formats, beyond those that all formats share."""

import gzip
import io
import sys
from pathlib import Path

import pytest
import zstandard
from tests.unit.corpus.formats.rewriting import grows_evenly

from docaps.corpus.documents import Document
from docaps.corpus.formats import (
    format_translations,
    iterate_documents,
    iterate_parallel,
    read_documents,
    read_parallel,
    write_documents,
)
from docaps.corpus.formats.text import is_wrapped, split_sentences
from docaps.errors import CorpusError


def write(tmp_path: Path, text: str, name: str = "text") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def capitals(path: Path, **options: str) -> str:
    """Translate a file by capital letters, in its own format."""
    documents = read_documents(path, **options)  # type: ignore[arg-type]
    return "".join(format_translations((one, [text.upper() for text in one.sentences]) for one in documents))


TEXT = "<d>\nAnna left.\n\nÜber alles.\n"
DOCUMENTS = [Document(("Anna left.", "", "Über alles."))]
PACKED = zstandard.compress(TEXT.encode())


@pytest.mark.parametrize(
    "content",
    [
        PACKED,
        zstandard.compress(TEXT[:9].encode()) + zstandard.compress(TEXT[9:].encode()),
        zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compress(TEXT.encode("utf-8-sig")),
        gzip.compress(TEXT.encode()),
    ],
    ids=["zstd", "two frames", "no size, BOM", "gzip"],
)
def test_compressed_text_is_read_from_files_and_stdin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    path = tmp_path / "text.zst"
    path.write_bytes(content)
    assert read_documents(path) == DOCUMENTS
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read_documents(Path("-")) == DOCUMENTS


def test_many_frames_are_unpacked_whole(tmp_path: Path) -> None:
    lines = [f"sentence {number}" for number in range(30_000)]
    text = "".join(f"{line}\n" for line in lines).encode()
    path = tmp_path / "x"
    path.write_bytes(
        b"".join(zstandard.compress(text[start : start + 100_000]) for start in range(0, len(text), 100_000))
    )
    assert read_documents(path) == [Document(tuple(lines))]
    path.write_bytes(zstandard.compress(b""))
    with pytest.raises(CorpusError, match="the file is empty"):
        read_documents(path)


def test_documents_are_read_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"<d>\none\n<d>\ntwo\n<d>\n\xff\n")
    documents = iterate_documents(path)
    assert next(documents).sentences == ("one",)
    pairs = iterate_parallel(path, path)
    assert [next(pairs).target for _ in range(2)] == [("one",), ("two",)]
    with pytest.raises(CorpusError, match="x:6: not UTF-8 at byte 1"):
        next(pairs)


def test_blank_lines_between_documents_are_kept(tmp_path: Path) -> None:
    text = "\none\n\n\n\ntwo\nthree\n\nfour\n\n"
    path = write(tmp_path, text)
    assert [one.sentences for one in read_documents(path)] == [("one",), ("two", "three"), ("four",)]
    assert capitals(path) == text.upper()
    (document, *_) = read_documents(path)
    assert "".join(format_translations([(document, [""])])) == "\n\u200b\n\n"


def test_tag_lines_of_talks_are_kept_where_they_stand(tmp_path: Path) -> None:
    text = (
        '<doc docid="5" genre="lectures">\n<title>Two</title>\none\n\ntwo\n<reviewer href="x">R</reviewer>\n</doc>\n'
        '<doc docid="6">\nthree\n</doc>\n'
    )
    path = write(tmp_path, text)
    documents = read_documents(path)
    assert documents == [Document(("one", "", "two"), "5"), Document(("three",), "6")]
    assert capitals(path) == text.replace("one", "ONE").replace("\ntwo", "\nTWO").replace("three", "THREE")


SGML = """<SRCSET setid=old srclang=en>
<DOC docid="x" sysid="ref" origlang='en'>
<P>
<seg id=1>AT&T said "a < b" &#x41;&#66; &unknown; &amp;lt;</seg>
<seg id="2"/>
</P>
</DOC>
</SRCSET>
<refset setid="old" trglang="de">
<doc docid="x" sysid="ref"><seg id="1">eins</seg><seg id="2">zwei</seg></doc>
</refset>
"""


def test_sgml_need_not_be_well_formed(tmp_path: Path) -> None:
    path = write(tmp_path, SGML)
    first = ('AT&T said "a < b" AB &unknown; &lt;', "")
    assert read_documents(path) == [Document(first, "x", (2,))]
    assert read_documents(path, side="target") == [Document(("eins", "zwei"), "x")]
    assert [(pair.source, pair.target) for pair in read_parallel(path)] == [(first, ("eins", "zwei"))]
    found = capitals(path).splitlines()
    assert found[0] == '<tstset setid="old" srclang="en" trglang="de">'
    assert found[3] == '<seg id=1>AT&amp;T SAID "A &lt; B" AB &amp;UNKNOWN; &amp;LT;</seg>'
    assert found[4] == '<seg id="2"></seg>'


def test_a_system_is_named_once_in_sgml(tmp_path: Path) -> None:
    path = write(tmp_path, SGML.replace("DOC", "doc"))
    assert """<doc sysid="docaps" docid="x" origlang='en'>""" in capitals(path)
    (tmp_path / "out").write_text(capitals(path))
    again = read_documents(tmp_path / "out", side="hypothesis")
    assert again[0].sentences == tuple(text.upper() for text in read_documents(path)[0].sentences)


@pytest.mark.parametrize("piece", ["<!-- ", "<![CDATA[", "<seg   ", '<p "', "<!DOCTYPE [", "&#"])
def test_hostile_markup_costs_no_more_than_its_length(tmp_path: Path, piece: str) -> None:
    def read(size: int) -> None:
        body = f'<seg id="1">one {piece * size}</seg>'
        path = write(tmp_path, f'<srcset setid="x">\n<doc docid="a">\n{body}\n</doc>\n</srcset>\n')
        with pytest.raises(CorpusError, match="a sentence of"):
            read_documents(path)

    assert grows_evenly(read, 10_001)


XML = """<?xml version="1.0"?>
<dataset id="d"><!-- <doc id="no"> -->
<collection id="one"><doc id="a" domain="x>y"
  origlang="en">
<src lang="en"><p><seg id="1">a &lt; b</seg><seg id="2"><![CDATA[x & <y>]]></seg></p><p><seg id="3"/></p></src>
<ref lang="de" translator="A"><p><seg id="1">A</seg><seg id="2">A2</seg></p><p><seg id="3">A3</seg></p></ref>
<ref lang="de" translator="B"><p><seg id="1">B</seg><seg id="2">B2</seg></p><p><seg id="3">B3</seg></p></ref>
<hyp system="old"><p><seg id="1">o</seg><seg id="2">o</seg></p><p><seg id="3">o</seg></p></hyp>
</doc></collection><collection id="two"><doc id="b"><src><p><seg id="1">c</seg></p></src></doc></collection>
</dataset>
"""


def test_wmt_xml_keeps_all_versions(tmp_path: Path) -> None:
    path = write(tmp_path, XML)
    documents = read_documents(path)
    assert documents == [Document(("a < b", "x & <y>", ""), "a", (2, 1)), Document(("c",), "b", (1,))]
    out = write(tmp_path, capitals(path), "out")
    assert "A3</seg></p></ref>" in out.read_text()
    assert [one.sentences for one in read_documents(out)] == [one.sentences for one in documents]
    found = read_documents(out, side="hypothesis")
    assert [one.sentences for one in found] == [("A < B", "X & <Y>", ""), ("C",)]
    assert [one.paragraphs for one in found] == [one.paragraphs for one in documents]
    first = write(tmp_path, XML.replace('<doc id="b"><src><p><seg id="1">c</seg></p></src></doc>', ""), "first")
    assert read_documents(first, side="target")[0].sentences == ("A", "A2", "A3")
    assert read_documents(first, side="hypothesis")[0].sentences == ("o", "o", "o")


def test_json_lines_keep_other_keys_and_blank_lines_are_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, '{"source": ["a"], "year": 1900}\n\n{"id": 3, "source": ["b", "c"], "paragraphs": [1, 1]}\n')
    assert read_documents(path) == [Document(("a",)), Document(("b", "c"), "3", (1, 1))]
    assert capitals(path).splitlines() == [
        '{"source": ["a"], "target": ["A"], "year": 1900}',
        '{"id": "3", "source": ["b", "c"], "target": ["B", "C"], "paragraphs": [1, 1]}',
    ]


def test_columns_stand_where_the_heading_says(tmp_path: Path) -> None:
    path = write(tmp_path, 'Target\tDoc-ID\tSource\n"x\ta\ty"\n\ta\tz\n')
    assert read_documents(path) == [Document(('y"', "z"), "a")]
    assert read_documents(path, side="target") == [Document(('"x', ""), "a")]
    assert capitals(path) == 'Target\tDoc-ID\tSource\nY"\ta\ty"\nZ\ta\tz\n'
    two = write(tmp_path, "docid\tsource\na\tx\n")
    assert capitals(two) == "docid\tsource\ttarget\na\tx\tX\n"
    assert capitals(write(tmp_path, "a\tx\nb\ty\n")) == "a\tx\tX\nb\ty\tY\n"


@pytest.mark.parametrize("name", ["train.en.gz.starts", "train.en.starts", "train.starts"])
def test_document_starts_are_found_beside_the_text(tmp_path: Path, name: str) -> None:
    (tmp_path / "train.en.gz").write_bytes(gzip.compress(b"a\nb\nc\n"))
    (tmp_path / "train.de").write_text("A\nB\nC\n")
    write(tmp_path, "0\n1\n", name)
    documents = [Document(("a",)), Document(("b", "c"))]
    assert read_documents(tmp_path / "train.en.gz") == documents
    (tmp_path / name).rename(tmp_path / "elsewhere")
    assert read_documents(tmp_path / "train.en.gz", starts=tmp_path / "elsewhere") == documents
    found = read_parallel(tmp_path / "train.en.gz", tmp_path / "train.de", starts=tmp_path / "elsewhere")
    assert [pair.target for pair in found] == [("A",), ("B", "C")]


def test_a_directory_may_hold_running_text_and_compressed_files(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "b.txt").write_text("One. Two.\n\nThree.\n")
    (folder / "a.txt.gz").write_bytes(gzip.compress(b"Four. Five.\n"))
    (folder / ".hidden").write_text("x")
    assert read_documents(folder) == [Document(("Four. Five.",), "a"), Document(("One. Two.", "", "Three."), "b")]
    running = [Document(("Four.", "Five."), "a", (2,)), Document(("One.", "Two.", "Three."), "b", (2, 1))]
    assert read_documents(folder, format="text") == running


def test_ids_become_file_names(tmp_path: Path) -> None:
    documents = [Document(("a",), "../x/y"), Document(("b",), ".."), Document(("c",))]
    write_documents(tmp_path / "out", documents, "directory")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["000003.txt", "_.txt", "_x_y.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["Dr. Smith met Mr. Jones on Jan. 5 at 3 p.m. in St. Louis.", "He was late."]),
        ("en", ["The U.S. economy grew by 3.5 percent, e.g. in steel.", '"Why?" she asked.', "Nobody knew..."]),
        ("de", ["Am 3. Oktober kam Dr. Müller z. B. nach Berlin.", "Er blieb bis ca. 1995."]),
        ("de", ["Im 19. Jahrhundert lebte er u.a. in Köln.", "Der 1. FC Köln verlor.", "Es war der 5. Mai."]),
        ("de", ["„Kommst du?“, fragte sie.", "„Nein!“, sagte er.", "Das gilt d.h. bzw. usw. nicht."]),
        ("de", ["Er hatte 3.", "Sie hatte mehr."]),
        ("xx", ["Ora parte.", "Poi resta."]),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(language: str, sentences: list[str]) -> None:
    assert [piece.strip() for piece in split_sentences(" ".join(sentences), language)] == sentences


def test_a_long_paragraph_is_split_quickly() -> None:
    assert len(split_sentences("It rained on us. " * 20_000, "en")) == 20_000


@pytest.mark.parametrize(
    ("block", "wrapped"),
    [
        (["Anna bought a coat that was very", "warm, and she went home."], True),
        (["Anna kaufte einen sehr warmen", "Mantel und ging damit nach", "Hause, bevor es dunkel wurde."], True),
        (["A coat for Anna and her sister", "By Karl Berg"], False),
        (["“Come in,” she said.", "“No.”"], False),
        (["A coat", "Anna bought a coat, and it was very warm."], False),
        (["One line only"], False),
    ],
)
def test_lines_broken_at_a_width_are_one_paragraph(block: list[str], wrapped: bool) -> None:
    assert is_wrapped(block) is wrapped
