"""A division draws documents by their text alone, and keeps drawn ones apart from other text."""

import gzip
from pathlib import Path

import pytest

from docaps.corpus.division import DRAWN, LEFT_OUT, REST, DivisionOptions, divide
from docaps.corpus.documents import Document, ParallelDocument
from docaps.corpus.formats import read_parallel
from docaps.errors import CorpusError
from docaps.files import sha256

SHARED = "This sentence is so long that two documents hardly share it by chance."


def corpus(count: int = 400, first: int = 0) -> list[ParallelDocument]:
    return [
        ParallelDocument((f"Text {number}.", "", "Yes."), (f"Der Text {number}.", "", "Ja."))
        for number in range(first, first + count)
    ]


def divided(
    out: Path, documents: list[ParallelDocument], options: DivisionOptions, *others: list[Document]
) -> dict[str, list[ParallelDocument]]:
    readers = [lambda other=other: other for other in others]
    sizes = divide(lambda: documents, ("en", "de"), out, options, readers)
    found = {part: read_parallel(out / f"{part}.en.gz", out / f"{part}.de.gz") for part in (DRAWN, REST)}
    assert {part: size.documents for part, size in sizes.items() if part in found} == {
        part: len(some) for part, some in found.items()
    }
    assert sum(size.documents for size in sizes.values()) == len(documents)
    return found


def test_about_the_share_is_drawn_and_nothing_is_lost(tmp_path: Path) -> None:
    found = divided(tmp_path, corpus(), DivisionOptions(0.25))
    assert 70 < len(found[DRAWN]) < 130
    assert sorted([*found[DRAWN], *found[REST]], key=str) == sorted(corpus(), key=str)


def test_the_text_alone_decides_and_not_its_place(tmp_path: Path) -> None:
    some = divided(tmp_path / "some", corpus(100)[::-1], DivisionOptions())
    more = divided(tmp_path / "more", corpus(400), DivisionOptions())
    assert {one.source for one in some[DRAWN]} == {one.source for one in more[DRAWN] if one in corpus(100)}
    other = divided(tmp_path / "other", corpus(400), DivisionOptions(seed=2))
    assert {one.source for one in other[DRAWN]} != {one.source for one in more[DRAWN]}
    larger = divided(tmp_path / "larger", corpus(400), DivisionOptions(0.2))
    assert {one.source for one in larger[DRAWN]} > {one.source for one in more[DRAWN]}


def test_the_same_text_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        divided(tmp_path / name, corpus(), DivisionOptions())
    names = ("drawn.en.gz", "drawn.de.gz", "rest.en.gz", "rest.de.gz", "divided.json")
    assert [sha256(tmp_path / "one" / name) for name in names] == [sha256(tmp_path / "other" / name) for name in names]


@pytest.mark.parametrize("side", ["source", "target"])
def test_drawn_documents_that_share_a_long_sentence_are_left_out(tmp_path: Path, side: str) -> None:
    options = DivisionOptions(0.3, apart=True)
    plain = divided(tmp_path / "plain", corpus(), options)
    repeating = [*corpus(), *(_with(one, side, SHARED) for one in corpus(200, 1000))]
    found = divided(tmp_path / "apart", repeating, options)
    assert found[DRAWN] == plain[DRAWN]  # all with the sentence are left out; the short "Yes." is no reason
    assert len(found[REST]) > len(plain[REST])
    sizes = divide(lambda: repeating, ("en", "de"), tmp_path / "again", options)
    assert sizes[LEFT_OUT].sentences == 4 * sizes[LEFT_OUT].documents > 0
    together = divided(tmp_path / "together", repeating, DivisionOptions(0.3))
    assert len(together[DRAWN]) == len(found[DRAWN]) + sizes[LEFT_OUT].documents


def test_other_texts_are_kept_apart_too(tmp_path: Path) -> None:
    documents = [_with(one, "source", f"{SHARED} {one.source[0]}") for one in corpus(100)]
    options = DivisionOptions(0.3)
    drawn = divided(tmp_path / "plain", documents, options)[DRAWN]
    spaced = Document(("", drawn[0].source[-1].replace(" ", "  ")))
    assert divided(tmp_path / "apart", documents, options, [spaced])[DRAWN] == drawn[1:]
    short = DivisionOptions(0.3, long=200)
    assert divided(tmp_path / "short", documents, short, [spaced])[DRAWN] == drawn


def test_an_empty_part_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"nothing would be drawn .*rest: 3 documents"):
        divide(lambda: corpus(3), ("en", "de"), tmp_path / "out", DivisionOptions(0.0001))
    assert not list(tmp_path.iterdir())


def test_a_mark_in_the_text_stays_text(tmp_path: Path) -> None:
    documents = [ParallelDocument(("<d>", f"{number}"), ("<d>", f"{number}")) for number in range(50)]
    divide(lambda: documents, ("en", "de"), tmp_path, DivisionOptions(0.3))
    lines = gzip.decompress((tmp_path / "rest.en.gz").read_bytes()).decode().splitlines()
    assert lines.count("<d>") == lines.count("< d>") == sum(one.isdigit() for one in lines)


def _with(document: ParallelDocument, side: str, sentence: str) -> ParallelDocument:
    texts = {"source": (*document.source, "No."), "target": (*document.target, "Nein.")}
    texts[side] = (*texts[side][:-1], sentence)
    return ParallelDocument(**texts)
