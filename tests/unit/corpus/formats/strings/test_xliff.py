"""XLIFF: targets are created or filled and marked for review; all else stays as it was."""

import re
from collections import Counter
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from tests.unit.corpus.formats.rewriting import Rule, read, rules, sentences, translate, translate_bytes
from translate.storage import xliff as toolkit

from docaps.corpus.formats.strings.xliff import REVIEW
from docaps.errors import CorpusError

OLD = """<?xml version="1.0" encoding="utf-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file source-language="en" datatype="html" original="x" target-language="de">
    <body>
      <trans-unit id="1" approved="yes">
        <source>Good morning, Dr. Weber.</source>
        <target>Guten Morgen</target>
      </trans-unit>
      <trans-unit id="2">
        <source>Do you <g id="1" ctype="x-&gt;">have</g> a<x id="2"/> moment &amp; time, {name}?</source>
        <note>Asked politely</note>
      </trans-unit>
      <trans-unit id="3"><source>A <bpt rid="1">[</bpt>word<ept rid="1">]</ept>.</source><target/></trans-unit>
      <group translate="no"><trans-unit id="4"><source>Not this</source></trans-unit></group>
      <trans-unit id="5"><source>New.</source><target xml:lang="de" state='new'>New.</target></trans-unit>
      <trans-unit id="6"><source>12</source></trans-unit>
      <trans-unit id="7"><source>Last.</source><target state="translated">Zuletzt.</target></trans-unit>
      <trans-unit id="8"><source/></trans-unit>
    </body>
  </file>
</xliff>
"""
STATE = 'state="needs-review-translation" state-qualifier="mt-suggestion"'
DO_YOU = 'DO YOU <g id="1" ctype="x-&gt;">HAVE</g> A<x id="2"/> MOMENT &amp; TIME, {name}?'


def test_targets_are_made_and_filled() -> None:
    expected = (
        OLD.replace("        <note>", f"        <target {STATE}>{DO_YOU}</target>\n        <note>")
        .replace("<target/>", f'<target {STATE}>A <bpt rid="1">[</bpt>WORD<ept rid="1">]</ept>.</target>')
        .replace("state='new'>New.", f"{STATE}>NEW.")
        .replace("<source>12</source>", f"<source>12</source><target {STATE}>12</target>")
    )
    assert translate("xliff", OLD) == expected


def test_what_is_translated_is_context_and_notes_are() -> None:
    document = read("xliff", OLD)
    assert [document.sentences[number] for number in sorted(document.context_only)] == [
        "Good morning, Dr. Weber.",
        "Asked politely",
        "Last.",
    ]
    everything = read("xliff", OLD, everything=True)
    assert [everything.sentences[number] for number in sorted(everything.context_only)] == [
        "Good morning, Dr. Weber.",
        "Asked politely",
    ]
    assert '<target state="needs-review-translation" state-qualifier="mt-suggestion">LAST.' in translate(
        "xliff", OLD, everything=True
    )


NEW = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en">
 <file id="f"><unit id="u"><notes><note>A note</note></notes>
  <segment id="s1"><source>Hello <pc id="1">big</pc> <ph id="2"/>world.</source></segment>
  <ignorable><source> </source></ignorable>
  <segment id="s2" state="final"><source>Done.</source><target>Fertig.</target></segment>
  <segment id="s3" state="initial">
    <source>How are <sc id="3"/>you<ec startRef="3"/>?</source>
  </segment>
 </unit></file></xliff>"""


def test_segments_of_version_2_have_the_state() -> None:
    expected = (
        NEW.replace('srcLang="en"', 'srcLang="en" trgLang="de"')
        .replace('<segment id="s1">', '<segment id="s1" state="translated" subState="docaps:mt">')
        .replace("world.</source>", 'world.</source><target>HELLO <pc id="1">BIG</pc> <ph id="2"/>WORLD.</target>')
        .replace('state="initial"', 'state="translated" subState="docaps:mt"')
        .replace("?</source>\n", '?</source>\n    <target>HOW ARE <sc id="3"/>YOU<ec startRef="3"/>?</target>\n')
    )
    assert translate("xliff", NEW) == expected


def test_segmented_sources_and_encodings() -> None:
    unit = '<seg-source><mrk mtype="seg" mid="1">One.</mrk> <mrk mtype="seg" mid="2">Two é.</mrk></seg-source>'
    content = OLD.replace("<source>12</source>", f"<source>One. Two é.</source>{unit}")
    marked = '<mrk mtype="seg" mid="1">ONE.</mrk> <mrk mtype="seg" mid="2">TWO É.</mrk></target>'
    assert f"{unit}<target {STATE}>{marked}" in translate("xliff", content)
    for encoding in ("utf-16", "iso-8859-1"):
        named = content.replace('"utf-8"', f'"{encoding}"')
        expected = translate("xliff", content).replace('"utf-8"', f'"{encoding}"')
        assert translate_bytes("xliff", named.encode(encoding)) == expected.encode(encoding)
    found = translate_bytes("xliff", content.replace('"utf-8"', '"ascii"').replace("é", "e").encode(), lambda _: "ж")
    assert b">&#1078;<" in found


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<xliff version='1.2'><file></xliff>", r"file\.xliff:1: not well-formed XML: mismatched tag"),
        ("<html/>", r"file\.xliff:1: expected <xliff> of version 1\.2 or 2, found <html>"),
        ("<xliff version='3.0'/>", r"found <xliff> of version '3\.0'"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]>\n<xliff version='1.2'/>", "document type"),
        (OLD.replace("<source>12</source>", ""), r"file\.xliff:16: <trans-unit> without <source>"),
        (OLD.replace('"utf-8"', '"klingon"'), "not KLINGON"),
        (OLD.replace("12", "&nosuch;"), r"file\.xliff:16: not well-formed XML: undefined entity"),
    ],
)
def test_broken_files_are_refused_with_the_line(content: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read("xliff", content)


INLINE = st.sampled_from(
    [
        '<x id="1"/>',
        '<g id="2">{}</g>',
        '<ph id="3">&lt;br/></ph>',
        '<bpt id="4" rid="7">b</bpt>',
        '<ept id="5" rid="7"/>',
        '<mrk mtype="protected">Name {}</mrk>',
        "&amp;",
        "&lt;b&gt;",
        "%s",
        "{{ n }}",
        "<!-- c -->",
    ]
)
TARGET = re.compile(r"\s*<target(?:[^<>]*/>|.*?</target>)", re.DOTALL)
contents = st.lists(st.one_of(sentences(), INLINE), max_size=6)
units = st.lists(
    st.tuples(contents, st.sampled_from(["", "<target/>", "<target>x</target>", '<target state="new">x</target>']),
              st.sampled_from(["", ' approved="yes"', ' translate="no"'])),
    min_size=1, max_size=4,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(units, rules)
def test_only_targets_change(found: list[tuple[list[str], str, str]], rule: Rule) -> None:
    rows = "".join(
        f'<trans-unit id="{n}"{state}>\n  <source>{" ".join(parts).replace("{}", "ab")}</source>{target}</trans-unit>\n'
        for n, (parts, target, state) in enumerate(found)
    )
    head, _, tail = OLD.partition("      <trans-unit")
    content = head + rows + "</body>" + tail.rpartition("</body>")[2]
    result = translate("xliff", content, rule)
    assert TARGET.sub("", result) == TARGET.sub("", content)
    for old, new in zip(*(toolkit.xlifffile.parsestring(one.encode()).units for one in (content, result)), strict=True):
        assert old.source == new.source
        one, other = (ElementTree.fromstring(etree.tostring(unit.xmlelement)) for unit in (old, new))
        source, target, before = one[0], other.find("{*}target"), one.find("{*}target")
        touched = (
            one.get("approved") is None
            and one.get("translate") is None
            and (before is None or not before.text or before.get("state") == "new")
        )
        if touched and (len(source) or (source.text or "").strip()):
            assert target is not None
            assert {name: target.get(name) for name in REVIEW} == REVIEW
            assert inline_of(source) == inline_of(target)
        else:
            assert (target is None) == (before is None)
            assert target is None or target.text == before.text  # type: ignore[union-attr]


def inline_of(element: ElementTree.Element) -> Counter[tuple[str, str | None, str | None]]:
    return Counter((one.tag, one.get("id"), one.text if "ph" in one.tag else None) for one in element.iter()) - Counter(
        [(element.tag, None, None)]
    )
