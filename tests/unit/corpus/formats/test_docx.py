"""DOCX: the text of all paragraphs is translated, all else stays, and python-docx opens the result."""

import io
from collections import Counter
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.corpus.formats.marked_texts import translations
from tests.unit.corpus.formats.office_files import damaged, pack, unpack, upper
from tests.unit.corpus.formats.rewriting import grows_evenly

from docaps.corpus.documents import Document
from docaps.corpus.formats import OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.docx import BODY, is_docx, read_docx, write_docx
from docaps.errors import CorpusError

OPTIONS = ReadingOptions(Path("a.docx"))
EMPTY = docx.Document()


def save(document: Any) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def of_body(xml: str) -> bytes:
    """Return a file whose body is one paragraph with this content."""
    document = docx.Document()
    document.element.body.insert(0, parse_xml(f"<w:p {nsdecls('w', 'r', 'a')}>{xml}</w:p>"))
    return save(document)


def read(content: bytes) -> Document:
    return read_docx(content, OPTIONS)


def translated(content: bytes) -> Any:
    return docx.Document(io.BytesIO(write_docx(upper(read(content)), WritingOptions())))


def body(content: bytes) -> str:
    """Return the first paragraph of a translated file as XML."""
    text = unpack(write_docx(upper(read(content)), WritingOptions()))[BODY].decode()
    start = text.index("<w:p ")
    return text[text.index(">", start) + 1 : text.index("</w:p>")]


RUNS = st.lists(
    st.tuples(
        st.sampled_from(["Anna ", "bought a coat. ", "It was", " ", "warm &<", "", "ß 😀", "\t", "\n", "12"]),
        st.sampled_from([None, "bold", "italic"]),
    ),
    max_size=6,
)


@settings(max_examples=15)
@given(st.data(), st.lists(RUNS, max_size=4))
def test_paragraphs_keep_their_text_and_formatting(
    data: st.DataObject, paragraphs: list[list[tuple[str, str | None]]]
) -> None:
    document = docx.Document()
    for runs in paragraphs:
        paragraph = document.add_paragraph()
        for text, kind in runs:
            run = paragraph.add_run(text)
            if kind:
                setattr(run, kind, True)
    content = save(document)
    found = read(content)
    same = docx.Document(io.BytesIO(write_docx(OutputDocument(found), WritingOptions())))
    assert len(same.paragraphs) == len(paragraphs)
    for runs, paragraph in zip(paragraphs, same.paragraphs, strict=True):
        text = "".join(text for text, _ in runs)
        assert paragraph.text.split() == text.split()
        assert [letter for letter in paragraph.text if letter in "\t\n"] == [one for one in text if one in "\t\n"]
        for kind in ("bold", "italic"):
            expected = "".join(text for text, own in runs if own == kind)
            actual = "".join(run.text for run in paragraph.runs if getattr(run, kind))
            assert "".join(actual.split()) == "".join(expected.split())
    item = data.draw(translations(found))
    written = write_docx(item, WritingOptions())
    shown = [paragraph.text for paragraph in docx.Document(io.BytesIO(written)).paragraphs]
    assert len(shown) == len(paragraphs)
    assert Counter("".join("".join(item.text).split())) <= Counter("".join(shown))
    assert [letter for text in shown for letter in text if letter in "\t\n"] == [
        letter for runs in paragraphs for text, _ in runs for letter in text if letter in "\t\n"
    ]
    before, after = unpack(content), unpack(written)
    assert [*before] == [*after]
    assert all(before[name] == after[name] for name in before if name != BODY)


def test_all_parts_are_read_in_order() -> None:
    document = docx.Document()
    document.add_heading("A coat for Anna", 1)
    document.add_paragraph("It was warm. She liked it.")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Name", "17"
    document.sections[0].header.paragraphs[0].text = "Tales"
    content = save(document)
    assert read(content).sentences == ("A coat for Anna", "It was warm.", "She liked it.", "Name", "Tales")
    assert read(content).paragraphs == (1, 2, 1, 1)
    result = translated(content)
    assert [one.text for one in result.paragraphs] == ["A COAT FOR ANNA", "IT WAS WARM. SHE LIKED IT."]
    assert result.paragraphs[0].style.name == "Heading 1"
    assert [cell.text for cell in result.tables[0].rows[0].cells] == ["NAME", "17"]
    assert result.sections[0].header.paragraphs[0].text == "TALES"


def run(text: str, formatting: str = "") -> str:
    return f'<w:r>{formatting}<w:t xml:space="preserve">{text}</w:t></w:r>'


BOLD = "<w:rPr><w:b/></w:rPr>"
FIELD = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'


@pytest.mark.parametrize(
    ("xml", "sentences", "expected"),
    [
        (run("one ") + run("b", BOLD) + run("c", BOLD), ["one bc"], run("ONE ") + run("BC", BOLD)),
        (run("a") + '<w:proofErr w:type="spellStart"/>' + run("b"), ["ab"], run("AB")),
        (
            run("see ") + f'<w:hyperlink r:id="rId7">{run("this", BOLD)}</w:hyperlink>' + run("."),
            ["see this."],
            run("SEE ") + f'<w:hyperlink r:id="rId7">{run("THIS", BOLD)}</w:hyperlink>' + run("."),
        ),
        (
            run("page ")
            + FIELD.format("begin")
            + "<w:r><w:instrText> PAGE </w:instrText></w:r>"
            + FIELD.format("separate")
            + run("7")
            + FIELD.format("end")
            + run(" ends"),
            ["page ends"],
            run("PAGE ")
            + FIELD.format("begin")
            + "<w:r><w:instrText> PAGE </w:instrText></w:r>"
            + FIELD.format("separate")
            + run("7")
            + FIELD.format("end")
            + run(" ENDS"),
        ),
        (
            FIELD.format("begin")
            + '<w:r><w:instrText>HYPERLINK "x"</w:instrText></w:r>'
            + FIELD.format("separate")
            + run("link")
            + FIELD.format("end"),
            ["link"],
            FIELD.format("begin")
            + '<w:r><w:instrText>HYPERLINK "x"</w:instrText></w:r>'
            + FIELD.format("separate")
            + run("LINK")
            + FIELD.format("end"),
        ),
        (
            run("old ") + f'<w:del w:id="1"><w:r><w:delText>gone</w:delText></w:r></w:del>'
            f'<w:ins w:id="2">{run("new")}</w:ins>',
            ["old new"],
            run("OLD ") + f'<w:del w:id="1"><w:r><w:delText>gone</w:delText></w:r></w:del>'
            f'<w:ins w:id="2">{run("NEW")}</w:ins>',
        ),
        (
            "<w:r>" + BOLD + '<w:t>word</w:t><w:footnoteReference w:id="1"/><w:br/><w:t> next</w:t></w:r>',
            ["word next"],
            run("WORD", BOLD)
            + "<w:r>"
            + BOLD
            + '<w:footnoteReference w:id="1"/></w:r><w:r>'
            + BOLD
            + "<w:br/></w:r>"
            + run("NEXT", BOLD),
        ),
        (
            f"<w:sdt><w:sdtPr><w:id w:val='5'/></w:sdtPr><w:sdtContent>{run('choose')}</w:sdtContent></w:sdt>",
            ["choose"],
            f'<w:sdt><w:sdtPr><w:id w:val="5"/></w:sdtPr><w:sdtContent>{run("CHOOSE")}</w:sdtContent></w:sdt>',
        ),
        (
            run("a ") + "<w:r><w:drawing><a:t><w:txbxContent><w:p>" + run("box") + "</w:p></w:txbxContent></a:t>"
            "</w:drawing></w:r>" + run("b"),
            ["a b", "box"],
            run("A ") + "<w:r><w:drawing><a:t><w:txbxContent><w:p>" + run("BOX"),
        ),
    ],
    ids=["merged runs", "spelling", "link", "field", "link field", "tracked", "in a run", "control", "text box"],
)
def test_what_is_in_a_paragraph_comes_back(xml: str, sentences: list[str], expected: str) -> None:
    content = of_body(xml)
    assert list(read(content).sentences) == sentences
    assert body(content) == expected
    assert translated(content)


def test_what_repeats_a_text_box_for_old_programs_stays() -> None:
    def box(name: str) -> str:
        return f"<mc:{name}><w:txbxContent><w:p>{run('box')}</w:p></w:txbxContent></mc:{name}>"

    space = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    content = of_body(f"<w:r><mc:AlternateContent {space}>{box('Choice')}{box('Fallback')}</mc:AlternateContent></w:r>")
    assert read(content).sentences == ("box",)
    written = unpack(write_docx(upper(read(content)), WritingOptions()))[BODY].decode()
    assert (written.count(run("BOX")), written.count(run("box"))) == (1, 1)
    assert written.index(run("BOX")) < written.index(run("box"))


BOX = "<w:drawing><a:t><w:txbxContent><w:p>{}</w:p></w:txbxContent></a:t></w:drawing>"


def test_text_in_the_run_of_a_text_box_is_translated() -> None:
    content = of_body(
        "<w:r><w:t>before the</w:t>" + BOX.format(run("in it")) + '<w:t xml:space="preserve"> box</w:t></w:r>'
    )
    assert read(content).sentences == ("before the box", "in it")
    written = unpack(write_docx(upper(read(content)), WritingOptions()))[BODY].decode()
    assert run("BEFORE THE") + "<w:r>" + BOX.format(run("IN IT")) + "</w:r>" + run(" BOX") in written
    deep = of_body(f"<w:r>{BOX.format(run('one') + '<w:r>' + BOX.format(run('two')) + '</w:r>')}<w:t>three</w:t></w:r>")
    assert read(deep).sentences == ("three", "one", "two")
    again = read(write_docx(upper(read(deep)), WritingOptions()))
    assert again.sentences == ("THREE", "ONE", "TWO")


def test_notes_come_after_the_paragraph_that_refers_to_them() -> None:
    def part(name: str, notes: dict[int, str]) -> str:
        found = "".join(f'<w:{name} w:id="{key}"><w:p>{run(text)}</w:p></w:{name}>' for key, text in notes.items())
        return f"<w:{name}s {nsdecls('w')}>{found}</w:{name}s>"

    def reference(name: str, number: int) -> str:
        return f'<w:r><w:{name}Reference w:id="{number}"/></w:r>'

    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "head"
    document.sections[0].footer.paragraphs[0].text = "foot"
    texts = (run("one") + reference("footnote", 3) + reference("endnote", 1), run("two") + reference("footnote", 2))
    for number, xml in enumerate(texts):
        document.element.body.insert(number, parse_xml(f"<w:p {nsdecls('w')}>{xml}</w:p>"))
    members = unpack(save(document)) | {
        "word/footnotes.xml": part("footnote", {2: "second", 3: "first", 4: "alone"}).encode(),
        "word/endnotes.xml": part("endnote", {1: "end"}).encode(),
    }
    content = pack(members)
    assert read(content).sentences == ("one", "first", "end", "two", "second", "alone", "head", "foot")
    written = unpack(write_docx(upper(read(content)), WritingOptions()))
    assert written["word/footnotes.xml"].decode() == part("footnote", {2: "SECOND", 3: "FIRST", 4: "ALONE"})
    assert written["word/endnotes.xml"].decode() == part("endnote", {1: "END"})


def test_fields_that_end_in_another_paragraph_are_kept() -> None:
    begin = FIELD.format("begin")
    content = of_body(begin * 300 + run("word"))
    assert read(content).sentences == ("word",)
    assert body(content) == begin * 300 + run("WORD")
    assert grows_evenly(lambda size: read(of_body(begin * size + run("word"))), 300)


def test_text_without_letters_and_empty_files_stay() -> None:
    content = of_body(run("12.5 %"))
    assert read(content).sentences == ()
    assert write_docx(OutputDocument(read(content), ()), WritingOptions()) == content


@pytest.mark.parametrize(("damage", "message"), damaged(BODY).values(), ids=damaged(BODY).keys())
def test_damaged_files_are_refused(damage: Any, message: str) -> None:
    document = docx.Document()
    document.add_paragraph("Anna bought a coat. " * 20)
    with pytest.raises(CorpusError, match=message):
        read(damage(save(document)))


def test_a_file_is_known_by_its_content() -> None:
    content = save(EMPTY)
    assert is_docx(content[: 2**16], "")
    assert not is_docx(pack({"xl/workbook.xml": b""}), "table.xlsx")
    assert not is_docx(b"text about word/", "a.docx")
