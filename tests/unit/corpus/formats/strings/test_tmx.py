"""TMX: units without the target language get a variant; all else stays as it was."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.corpus.formats.rewriting import Rule, read, rules, sentences, translate, translate_bytes
from translate.storage import tmx as toolkit

from docaps.errors import CorpusError

MEMORY = """<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-US"/><body>
  <tu tuid="1">
    <tuv xml:lang="en-US"><seg>Hello <bpt i="1">&lt;b></bpt>world<ept i="1">&lt;/b></ept>.</seg></tuv>
    <tuv xml:lang="fr"><seg>Bonjour</seg></tuv>
  </tu>
  <tu><tuv xml:lang="EN"><seg>Hi.</seg></tuv><tuv xml:lang="de-DE"><seg>Hallo.</seg></tuv></tu>
  <tu><tuv xml:lang="EN"><seg>Ho.</seg></tuv><tuv xml:lang="de-DE"><seg/></tuv></tu>
  <tu><tuv lang="en"><seg>Old.</seg></tuv></tu>
  <tu><tuv xml:lang="fr"><seg>Seul</seg></tuv></tu>
</body></tmx>
"""


def test_a_unit_gets_the_variant_it_lacks() -> None:
    opening = '<tuv xml:lang="de" creationid="docaps"><seg>'
    marked = 'HELLO <bpt i="1">&lt;b></bpt>WORLD<ept i="1">&lt;/b></ept>.'
    expected = (
        MEMORY.replace("Bonjour</seg></tuv>", f"Bonjour</seg></tuv>\n    {opening}{marked}</seg></tuv>")
        .replace("<seg/>", "<seg>HO.</seg>")
        .replace("Old.</seg></tuv>", 'Old.</seg></tuv><tuv lang="de" creationid="docaps"><seg>OLD.</seg></tuv>')
    )
    assert translate("tmx", MEMORY) == expected
    assert translate("tmx", MEMORY, everything=True) == expected.replace("Hallo.", "HI.")


def test_a_file_in_utf16_with_a_document_type_is_read() -> None:
    content = (
        '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE tmx SYSTEM "tmx14.dtd">'
        '<tmx version="1.4"><body><tu><tuv xml:lang="en"><seg>Hi é</seg></tuv></tu></body></tmx>'
    )
    result = translate_bytes("tmx", content.encode("utf-16")).decode("utf-16")
    assert result.replace('<tuv xml:lang="de" creationid="docaps"><seg>HI É</seg></tuv>', "") == content


def test_notes_are_context() -> None:
    content = MEMORY.replace('<tu tuid="1">', '<tu tuid="1"><note>Said to all.</note>')
    document = read("tmx", content)
    assert document.sentences[:2] == ("Said to all.", "Hello world.")
    assert document.context_only == {0, 2}
    assert translate("tmx", content).replace("<note>Said to all.</note>", "") == translate("tmx", MEMORY)


def test_what_is_translated_is_context() -> None:
    document = read("tmx", MEMORY)
    assert document.sentences == ("Hello world.", "Hi.", "Ho.", "Old.")
    assert document.context_only == {1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            MEMORY.replace('"en', '"it').replace('"EN', '"it'),
            r"no <tu> .* 'en' \(languages in it: de-DE, fr, it, it-US\)",
        ),
        ("<tmx>", "not well-formed"),
        (MEMORY.replace('"tmx14.dtd"', '"tmx14.dtd" [<!ENTITY a "b">]'), "document type"),
    ],
)
def test_broken_files_are_refused(content: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read("tmx", content)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(sentences(), st.sampled_from(["", "fr", "de"])), min_size=1, max_size=5), rules)
def test_only_variants_are_added(found: list[tuple[str, str]], rule: Rule) -> None:
    units = "".join(
        f'  <tu>\n    <tuv xml:lang="en"><seg>{text}</seg></tuv>\n'
        + (f'    <tuv xml:lang="{other}"><seg>x</seg></tuv>\n' if other else "")
        + "  </tu>\n"
        for text, other in found
    )
    content = f'<tmx version="1.4"><header srclang="en"/><body>\n{units}</body></tmx>'
    result = translate("tmx", content, rule)
    assert re.sub(r'\n    <tuv xml:lang="de" creationid.*', "", result) == content
    for (text, other), unit in zip(found, toolkit.tmxfile.parsestring(result.encode()).units, strict=True):
        assert unit.source == text
        assert [node.get("{http://www.w3.org/XML/1998/namespace}lang") for node in unit.xmlelement] == [
            "en",
            *filter(None, [other]),
            *(["de"] if other != "de" else []),
        ]
