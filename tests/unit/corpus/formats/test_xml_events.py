"""Events cover every byte of an XML file once, in order; what could expand is refused."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.corpus.formats.office_files import BOMB

from docaps.corpus.formats import ReadingOptions
from docaps.corpus.formats import xml_events as xml_module
from docaps.corpus.formats.xml_events import encode_xml, find_elements, scan_xml
from docaps.errors import CorpusError

OPTIONS = ReadingOptions(Path("a.xml"))
PIECES = st.sampled_from(
    [
        "text",
        "ü€😀",
        "&amp;",
        "&#x41;",
        "\n",
        "<b>x</b>",
        "<c d='1>'/>",
        "<!-- <p> -->",
        "<?x y?>",
        "<![CDATA[<p>]]>",
        " ",
    ]
)
TREES = st.recursive(
    PIECES, lambda inner: st.lists(inner, max_size=4).map(lambda parts: f'<p a="é">{"".join(parts)}</p>')
)


@pytest.mark.parametrize("chunk", [3, 2**16])
@settings(deadline=None)
@given(tree=TREES)
def test_events_cover_the_file(chunk: int, tree: str) -> None:
    content = f'<?xml version="1.0" encoding="utf-8"?>\n<r>{tree}</r>\n'.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xml_module, "CHUNK", chunk)
        events = list(scan_xml(content, OPTIONS))
    assert b"".join(content[event.start : event.end] for event in events).strip() == content.strip()
    assert [event.end for event in events[:-1]] == [event.start for event in events[1:]]
    for event in events:
        raw = content[event.start : event.end].decode()
        if event.kind == "start":
            assert raw.startswith(f"<{event.name}")
            assert raw.endswith(">")
        elif event.kind == "end":
            assert raw.strip() in (f"</{event.name}>", "")


def test_elements_are_found_with_all_that_is_in_them() -> None:
    content = b"<r><x><p>one<p>two</p></p></x><skip><skip/><p>no</p></skip><p/></r>"
    found = list(find_elements(scan_xml(content, OPTIONS), {"p"}, {"skip"}))
    assert [content[one.start : one.end] for one in found] == [b"<p>one<p>two</p></p>", b"<p/>"]
    assert found[0].text == "one"
    assert [one.text for one in found[0].elements] == ["two"]
    assert (found[1].content_start, found[1].content_end) == (found[1].end, found[1].end)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (BOMB, r"a.xml:1: XML with a document type \(<!DOCTYPE ...>\), which may define entities, is not read"),
        (b"<a>\n<b></a>", "a.xml:2: not well-formed XML: mismatched tag"),
        (b"<a>&x;</a>", "a.xml:1: not well-formed XML: undefined entity"),
        (b"<a>\xff</a>", r"a.xml:1: not well-formed XML: not well-formed \(invalid token\)"),
        (b"<?xml version='1.0' encoding='klingon'?><a/>", "a.xml: XML that cannot be read: unknown encoding: klingon"),
        (b"<a>" * 201, "a.xml:1: XML with more than 200 elements within each other is not read"),
        (b"", "a.xml:1: not well-formed XML: no element found"),
    ],
)
def test_bad_xml_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        list(scan_xml(content, OPTIONS))


def test_text_is_encoded_for_xml() -> None:
    assert encode_xml('a < b & \x01 "c"') == 'a &lt; b &amp; \ufffd "c"'
