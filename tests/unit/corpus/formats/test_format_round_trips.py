"""What is written in a format is read back unchanged, whatever the sentences hold."""

import gzip
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from docaps.corpus.documents import Document, ParallelDocument
from docaps.corpus.formats import (
    FORMATS,
    format_documents,
    read_documents,
    read_parallel,
    write_documents,
    write_parallel,
    write_translations,
)
from docaps.corpus.formats.lines import TAG_LINE
from docaps.corpus.formats.markup import NOT_XML

ANY_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
MARKUP_LIKE = st.sampled_from(
    [
        *("<seg>", "</seg>", "<seg/>", "</doc>", "<doc docid='x'>", "<d", "<d>", "<p>", "</src>", "<hl>", "<dataset>"),
        *(
            "&amp;",
            "&lt;b&gt;",
            "&#65;",
            "&#x41;",
            "&nbsp;",
            "a & b",
            "&",
            "]]>",
            "<![CDATA[",
            "<!-- x",
            "-->",
            "<?xml",
        ),
        *("||| x", "a ||| b", '"', "'", "\\", "\\n", "\\u0041", '{"source":', "0", "id", "<talkid>", "<url>x</url>"),
    ]
)
WHITE = st.text(st.sampled_from(" \t\n\r\x0b\x0c\x1c\x85\xa0\u2028\u2029\u3000"), max_size=2)
SENTENCES = st.lists(st.one_of(ANY_TEXT, MARKUP_LIKE), max_size=3).map(lambda parts: " ".join(" ".join(parts).split()))
XML_SENTENCES = SENTENCES.filter(lambda text: not NOT_XML.search(text))
NAMES_OF_DOCUMENTS = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
WITH_PARAGRAPHS, WITH_IDS = {"sgml", "xml", "jsonl"}, {"tags", "sgml", "xml", "jsonl", "tsv", "bars"}
TWO_SIDED = [name for name, found in FORMATS.items() if found.two_sided]
LINE_LIKE = [name for name in FORMATS if name != "text"]


def sentences_for(name: str) -> st.SearchStrategy[str]:
    """Sentences that the format can distinguish from its own marks."""
    if name in ("lines", "blank", "starts", "directory"):
        return SENTENCES.filter(lambda text: text not in ("<d>", "\u200b") and not text.startswith("\ufeff"))
    if name == "tags":
        return SENTENCES.filter(lambda text: not TAG_LINE.match(text))
    return XML_SENTENCES if name in ("sgml", "xml") else SENTENCES


@st.composite
def documents_for(draw: st.DrawFn, name: str) -> list[Document]:
    texts = draw(st.lists(st.lists(sentences_for(name), min_size=1, max_size=5), min_size=1, max_size=4))
    ids: list[str | None] = [None] * len(texts)
    if name in WITH_IDS:
        count = len(texts)
        ids = list(draw(st.lists(NAMES_OF_DOCUMENTS, min_size=count, max_size=count, unique=True)))
    return [
        Document(tuple(text), identity, draw(paragraphs(len(text))) if name in WITH_PARAGRAPHS else ())
        for text, identity in zip(texts, ids, strict=True)
    ]


@st.composite
def paragraphs(draw: st.DrawFn, total: int) -> tuple[int, ...]:
    ends = sorted(draw(st.sets(st.integers(1, total))) | {total})
    return tuple(end - start for start, end in zip([0, *ends], ends, strict=False))


@pytest.mark.parametrize("name", LINE_LIKE)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_documents_survive_every_format(name: str, data: st.DataObject) -> None:
    documents = data.draw(documents_for(name))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        write_documents(path, documents, name)
        assert read_documents(path, format=name) == documents


PACKERS: dict[str, Callable[[bytes], bytes]] = {"plain": bytes, "gzip": gzip.compress, "zstd": zstandard.compress}


@pytest.mark.parametrize("name", LINE_LIKE)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_documents_survive_compression_and_other_line_ends(name: str, data: st.DataObject) -> None:
    documents = data.draw(documents_for(name))
    mark = data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"]), "byte order mark")
    end = data.draw(st.sampled_from([b"\n", b"\r\n"]), "line end")
    pack = PACKERS[data.draw(st.sampled_from([*PACKERS]), "compression")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        write_documents(path, documents, name)
        for place in Path(folder).iterdir():  # the document starts too
            place.write_bytes(pack(mark + place.read_bytes().replace(b"\n", end)))
        assert read_documents(path, format=name) == documents


@pytest.mark.parametrize("name", [*LINE_LIKE, "directory"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_white_space_of_any_kind_is_one_space(name: str, data: st.DataObject) -> None:
    documents = data.draw(documents_for(name))
    untidy = [
        replace(one, id=one.id or f"{number}", sentences=tuple(data.draw(spread(text)) for text in one.sentences))
        for number, one in enumerate(documents)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        write_documents(path, untidy, name)
        assert [one.sentences for one in read_documents(path, format=name)] == [one.sentences for one in documents]


@st.composite
def spread(draw: st.DrawFn, text: str) -> str:
    """Put white space before, after and between the words of a sentence."""
    words = "".join(f" {word} {draw(WHITE)}" for word in text.split(" "))
    return draw(WHITE) + words


@pytest.mark.parametrize("name", LINE_LIKE)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_translation_has_the_shape_of_its_source(name: str, data: st.DataObject) -> None:
    documents = data.draw(documents_for(name))
    translated = [
        tuple(data.draw(st.lists(sentences_for(name), min_size=size, max_size=size)))
        for size in (len(document.sentences) for document in documents)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "text", Path(folder) / "out"
        write_documents(path, documents, name)
        write_translations(out, zip(read_documents(path, format=name), translated, strict=True))
        (Path(folder) / "text.starts").rename(f"{out}.starts") if name == "starts" else None
        found = read_documents(out, format=name, side="hypothesis")
    assert [document.sentences for document in found] == translated
    assert [(one.id, one.paragraphs) for one in found] == [(one.id, one.paragraphs) for one in documents]


@settings(max_examples=15, deadline=None)
@given(documents=documents_for("directory"))
def test_documents_survive_a_directory(documents: list[Document]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "here", Path(folder) / "there"
        write_documents(path, documents, "directory")
        found = read_documents(path)
        assert [one.sentences for one in found] == [one.sentences for one in documents]
        write_translations(out, [(one, one.sentences) for one in found])
        assert read_documents(out) == found


@pytest.mark.parametrize("name", TWO_SIDED)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_both_sides_survive_one_file(name: str, data: st.DataObject) -> None:
    pairs = [
        ParallelDocument(
            one.sentences,
            tuple(data.draw(st.lists(XML_SENTENCES, min_size=len(one.sentences), max_size=len(one.sentences)))),
            one.id,
            one.paragraphs,
        )
        for one in data.draw(documents_for(name))
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        write_parallel(path, path, pairs, name)
        assert read_parallel(path, format=name) == pairs
        assert read_parallel(path, path, format=name) == pairs


@pytest.mark.parametrize("name", ["tags", "sgml", "bars", "xml", "jsonl", "lines", "blank"])
def test_both_sides_survive_two_files(name: str, tmp_path: Path) -> None:
    pairs = [ParallelDocument(("a", "b"), ("A", "B"), "x"), ParallelDocument(("c",), ("",), "y")]
    write_parallel(tmp_path / "s", tmp_path / "t", pairs, name)
    found = read_parallel(tmp_path / "s", tmp_path / "t", format=name)
    assert [(pair.source, pair.target) for pair in found] == [(("a", "b"), ("A", "B")), (("c",), ("",))]


WORDS = st.lists(st.sampled_from(["Anna", "saw", "it", "once", "coat"]), min_size=1, max_size=9).map(" ".join)
SIMPLE = st.builds(lambda words, end: words[0].upper() + words[1:] + end, WORDS, st.sampled_from([".", "!", "?"]))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(SIMPLE, min_size=1, max_size=4), min_size=1, max_size=5))
def test_running_text_keeps_its_paragraphs(written: list[list[str]]) -> None:
    document = Document(
        tuple(sentence for paragraph in written for sentence in paragraph),
        paragraphs=tuple(len(paragraph) for paragraph in written),
    )
    text = format_documents([document], "text")
    assert text == "\n\n".join(" ".join(paragraph) for paragraph in written) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "text", Path(folder) / "out"
        path.write_text(text)
        found = read_documents(path, format="text")
        assert found == [document]
        write_translations(out, [(one, one.sentences) for one in found])
        assert out.read_text() == text


def ends_in_cr_alone(text: str) -> bool:
    """Such a file is refused, with a message that has its own test."""
    return "\r" in text and "\n" not in text


@settings(max_examples=25, deadline=None)
@given(st.lists(ANY_TEXT, min_size=1).map("\n".join).filter(lambda text: text.strip() and not ends_in_cr_alone(text)))
def test_no_word_of_running_text_is_lost(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "text", Path(folder) / "out"
        path.write_text(text, encoding="utf-8", newline="")
        found = read_documents(path, format="text")
        write_translations(out, [(one, one.sentences) for one in found])
        assert out.read_text(encoding="utf-8").split() == text.removeprefix("\ufeff").split()


@pytest.mark.parametrize("name", LINE_LIKE)
def test_tabs_and_line_ends_in_a_sentence_become_spaces(name: str, tmp_path: Path) -> None:
    write_documents(tmp_path / "x", [Document(("one\ttwo\r\nthree ", "four"), "x")], name)
    assert [one.sentences for one in read_documents(tmp_path / "x", format=name)] == [("one two three", "four")]


def test_a_sentence_that_looks_like_a_mark_does_not_become_one(tmp_path: Path) -> None:
    for name in ("lines", "blank", "starts"):
        write_documents(tmp_path / "x", [Document(("<d>", "\ufeff<d>", "a"))], name)
        assert read_documents(tmp_path / "x", format=name) == [Document(("< d>", "< d>", "a"))]
    write_documents(tmp_path / "directory", [Document(("<d>",), "1")], "directory")
    assert read_documents(tmp_path / "directory") == [Document(("< d>",), "1")]
    write_documents(tmp_path / "y", [Document(("<url>x</url>", "a"), "1")], "tags")
    assert read_documents(tmp_path / "y") == [Document(("< url>x</url>", "a"), "1")]
