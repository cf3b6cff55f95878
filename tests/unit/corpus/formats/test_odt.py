"""ODT: the text of paragraphs, notes and tables is translated, all else stays, and odfpy opens the result."""

import io
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odf import teletype
from odf import text as elements
from odf.opendocument import OpenDocumentText, load
from odf.table import Table, TableCell, TableRow
from tests.unit.corpus.formats.marked_texts import translations
from tests.unit.corpus.formats.office_files import damaged, pack, unpack, upper

from docaps.corpus.documents import Document
from docaps.corpus.formats import OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.odt import is_odt, read_odt, write_odt
from docaps.errors import CorpusError

OPTIONS = ReadingOptions(Path("a.odt"))


def save(document: Any) -> bytes:
    file = io.BytesIO()
    document.write(file)
    return file.getvalue()


def of_body(xml: str) -> bytes:
    """Return a file whose body is this."""
    content = unpack(save(OpenDocumentText()))
    before, tag, after = content["content.xml"].decode().partition("<office:text/>")
    assert tag
    return pack({**content, "content.xml": f"{before}<office:text>{xml}</office:text>{after}"})


def read(content: bytes) -> Document:
    return read_odt(content, OPTIONS)


def body(content: bytes) -> str:
    """Return the body of the translated file; odfpy must open that."""
    written = write_odt(upper(read(content)), WritingOptions())
    load(io.BytesIO(written))
    found = re.search("<office:text>(.*)</office:text>", unpack(written)["content.xml"].decode(), re.DOTALL)
    assert found
    return found[1]


def note(text: str) -> str:
    return (
        '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
        f"<text:note-body><text:p>{text}</text:p></text:note-body></text:note>"
    )


@pytest.mark.parametrize(
    ("xml", "sentences", "expected"),
    [
        ("<text:h>A coat</text:h>", ["A coat"], "<text:h>A COAT</text:h>"),
        (
            '<text:p>a <text:span text:style-name="T1">b</text:span>c</text:p>',
            ["a bc"],
            '<text:p>A <text:span text:style-name="T1">BC</text:span></text:p>',
        ),
        (
            '<text:p>one<text:s text:c="3"/>two<text:tab/>three<text:line-break/>four</text:p>',
            ["one two three four"],
            '<text:p>ONE<text:s text:c="3"/>TWO<text:tab/>THREE<text:line-break/>FOUR</text:p>',
        ),
        (
            f"<text:p>Warm{note('It <text:span>was</text:span>.')}. Yes.</text:p>",
            ["Warm.", "Yes.", "It was."],
            f"<text:p>WARM{note('IT <text:span>WAS</text:span>.')}. YES.</text:p>",
        ),
        (
            "<text:p>so<office:annotation><text:p>a comment</text:p></office:annotation> it is</text:p>",
            ["so it is"],
            "<text:p>SO<office:annotation><text:p>a comment</text:p></office:annotation> IT IS</text:p>",
        ),
        (
            "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:p>a &amp; b</text:p>",
            ["a & b"],
            "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:p>A &amp; B</text:p>",
        ),
        ("<text:p>17</text:p><text:p/>", [], "<text:p>17</text:p><text:p/>"),
    ],
    ids=["heading", "span", "spaces", "note", "comment", "deleted", "no letters"],
)
def test_what_is_in_a_paragraph_comes_back(xml: str, sentences: list[str], expected: str) -> None:
    content = of_body(xml)
    assert list(read(content).sentences) == sentences
    assert body(content) == expected


PIECES = st.lists(
    st.tuples(st.sampled_from(["Anna ", "bought. ", "It was", " ", "warm &<", "ß 😀", "12"]), st.booleans()), max_size=6
)


@settings(max_examples=25)
@given(st.data(), st.lists(PIECES, max_size=4))
def test_generated_files_keep_their_structure(data: st.DataObject, paragraphs: list[list[tuple[str, bool]]]) -> None:
    document = OpenDocumentText()
    table = Table()
    for number, pieces in enumerate(paragraphs):
        paragraph = elements.P()
        for text, is_span in pieces:
            paragraph.addElement(elements.Span(text=text)) if is_span else paragraph.addText(text)
        if number % 2:
            row, cell = TableRow(), TableCell()
            cell.addElement(paragraph)
            row.addElement(cell)
            table.addElement(row)
        else:
            document.text.addElement(paragraph)
    document.text.addElement(table)
    content = save(document)
    item = data.draw(translations(read(content)))
    written = write_odt(item, WritingOptions())
    before, after = unpack(content), unpack(written)
    assert [*before] == [*after]
    assert all(before[name] == after[name] for name in before if name != "content.xml")
    tags = [re.findall(r"<[^>]*>", text["content.xml"].decode()) for text in (before, after)]
    assert sorted(tags[0]) == sorted(tags[1])
    shown = load(io.BytesIO(written)).text
    assert len(shown.getElementsByType(elements.P)) == len(paragraphs)
    words = re.sub(r"\s", "", "".join(map(teletype.extractText, shown.getElementsByType(elements.P))))
    assert Counter(re.sub(r"\s", "", "".join(item.text))) <= Counter(words)


def test_the_type_stays_the_first_member_and_unpacked() -> None:
    document = OpenDocumentText()
    document.text.addElement(elements.P(text="It was warm."))
    written = write_odt(upper(read(save(document))), WritingOptions())
    assert written[30:].startswith(b"mimetypeapplication/vnd.oasis.opendocument.text")
    first = zipfile.ZipFile(io.BytesIO(written)).infolist()[0]
    assert (first.filename, first.compress_type, first.header_offset) == ("mimetype", zipfile.ZIP_STORED, 0)
    document = OpenDocumentText()
    document.text.addElement(elements.P(text="It was warm."))
    content = save(document)
    assert is_odt(content[: 2**16], "")
    assert is_odt(write_odt(upper(read(content)), WritingOptions())[: 2**16], "")
    assert not is_odt(pack({"xl/workbook.xml": b""}), "table.ods")


@pytest.mark.parametrize(("damage", "message"), damaged("content.xml").values(), ids=damaged("content.xml").keys())
def test_damaged_files_are_refused(damage: Any, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read(damage(of_body("<text:p>Anna bought a coat.</text:p>" * 20)))


def test_without_a_translation_the_file_is_the_same() -> None:
    content = of_body("<text:p>a <text:span>b</text:span></text:p>")
    assert write_odt(OutputDocument(read(content)), WritingOptions()) == content
