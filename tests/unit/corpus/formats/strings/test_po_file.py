"""PO files: untranslated entries get translations marked fuzzy; all else stays as it was."""

import re
from collections import Counter

import polib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.corpus.formats.rewriting import Rule, read, rules, sentences, translate, translate_bytes

from docaps.errors import CorpusError

HEADER = r"""# Shop
msgid ""
msgstr ""
"Language: \n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

"""
ENTRIES = r"""#: a.c:1
msgid "Good morning, Dr. Weber."
msgstr "Guten Morgen, Herr Dr. Weber."

#. TRANSLATORS: Shown in a dialog.
#: a.c:2
#, c-format
#| msgid "Deleted %d file"
msgctxt "menu bar"
msgid "Deleted %d files from <b>%s</b>. See https://example.org/a."
msgstr ""

#, fuzzy
msgid "Do you have a moment?"
msgstr "Alt"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

msgid ""
"This text is wrapped\n"
"within a sentence.\n"
"A \"second\" line.\n"
msgstr ""

#, fuzzy
#~ msgid "old"
#~ msgstr "alt"
"""


def test_untranslated_and_fuzzy_entries_are_translated_and_marked_fuzzy() -> None:
    expected = (
        (HEADER + ENTRIES)
        .replace(r'"Language: \n"', r'"Language: de\n"')
        .replace("#, c-format", "#, fuzzy, c-format")
        .replace('a."\nmsgstr ""', 'a."\nmsgstr "DELETED %d FILES FROM <b>%s</b>. SEE https://example.org/a."')
        .replace('"Alt"', '"DO YOU HAVE A MOMENT?"')
        .replace('msgid "%d file"', '#, fuzzy\nmsgid "%d file"')
        .replace('msgstr[0] ""', 'msgstr[0] "%d FILE"')
        .replace('msgstr[1] ""', 'msgstr[1] "%d FILES"')
        .replace('msgid ""\n"This', '#, fuzzy\nmsgid ""\n"This')
        .replace(
            'line.\\n"\nmsgstr ""\n',
            'line.\\n"\nmsgstr ""\n"THIS TEXT IS WRAPPED\\n"\n"WITHIN A SENTENCE.\\n"\n"A \\"SECOND\\" LINE.\\n"\n',
        )
    )
    assert translate("po", HEADER + ENTRIES) == expected


def test_translated_entries_and_notes_are_context() -> None:
    document = read("po", HEADER + ENTRIES)
    context = [document.sentences[number] for number in sorted(document.context_only)]
    assert context == ["Good morning, Dr. Weber.", "menu bar", "Shown in a dialog."]
    assert document.sentences[3:5] == ("Deleted files from.", "See.")
    everything = read("po", HEADER + ENTRIES, everything=True)
    assert [everything.sentences[number] for number in everything.context_only] == context[1:]
    assert "GOOD MORNING" in translate("po", HEADER + ENTRIES, everything=True)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("nplurals=1; plural=0", ["FILES"]),
        ("nplurals=2; plural=(n != 1)", ["FILE", "FILES"]),
        ("nplurals=3; plural=(n==1 ? 1 : n==0 ? 0 : 2)", ["FILES", "FILE", "FILES"]),
    ],
)
def test_the_header_says_which_forms_there_are(formula: str, expected: list[str]) -> None:
    entry = 'msgid "file"\nmsgid_plural "files"\nmsgstr[0] ""\n'
    content = HEADER.replace("nplurals=2; plural=(n != 1)", formula) + entry
    forms = polib.pofile(translate("po", content))[0].msgstr_plural
    assert [forms[number] for number in range(len(expected))] == expected


def test_an_entry_follows_one_with_context_without_a_comment_between() -> None:
    content = 'msgctxt "menu"\nmsgid "Open"\nmsgstr ""\n\nmsgid "Close"\nmsgstr ""\n'
    assert read("po", content).sentences == ("Open", "Close")
    assert [(one.msgctxt, one.msgid, one.msgstr) for one in polib.pofile(translate("po", content))] == [
        ("menu", "Open", "OPEN"),
        (None, "Close", "CLOSE"),
    ]


def test_what_a_program_fills_in_by_order_keeps_its_order() -> None:
    content = 'msgid "Deleted %d files from %s or %(name)s now."\nmsgstr ""\n'
    (entry,) = polib.pofile(translate("po", content, lambda text: " ".join(reversed(text.split()))))
    assert entry.msgstr.index("%d") < entry.msgstr.index("%s")
    assert entry.msgstr.index("%(name)s") < entry.msgstr.index("%d")  # it went with its word


def test_a_placeholder_among_several_spaces_brings_no_other_character() -> None:
    content = 'msgid "the. \\t %s %d"\nmsgstr ""\n'
    assert polib.pofile(translate("po", content))[0].msgstr.split() == ["THE.", "%s", "%d"]


def test_a_form_that_is_translated_stays() -> None:
    entry = 'msgid "file"\nmsgid_plural "files"\nmsgstr[0] "Datei"\nmsgstr[1] ""\n'
    assert translate("po", HEADER + entry).endswith('msgstr[0] "Datei"\nmsgstr[1] "FILES"\n')


def test_long_strings_are_wrapped_where_the_file_wraps() -> None:
    long = "word " * 30
    wrapped = 'msgid ""\n"a text that "\n"goes on"\nmsgstr "x"\n\n'
    for before, width in (("", 400), (wrapped, 79)):
        found = translate("po", f'{HEADER}{before}msgid "{long.strip()}"\nmsgstr ""\n')
        assert max(len(line) for line in found.rpartition("msgstr")[2].splitlines()) <= width
        assert polib.pofile(found)[-1].msgstr == long.strip().upper()
    assert 'msgstr "WORD WORD' in translate("po", f'{HEADER}msgid "{long.strip()}"\nmsgstr ""\n')


def test_a_charset_is_kept_as_long_as_it_has_the_characters() -> None:
    content = (HEADER.replace("UTF-8", "ISO-8859-1") + 'msgid "Größe"\nmsgstr ""\n').encode("iso-8859-1")
    assert '"GRÖSSE"'.encode("iso-8859-1") in translate_bytes("po", content)
    found = translate_bytes("po", content, ["Размер"]).decode()
    assert "charset=UTF-8" in found
    assert '"Размер"' in found


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('msgid "a\nmsgstr ""\n', "file.po:1: a string without its closing quotation mark: 'msgid \"a'"),
        ('msgid "a"\n\nmsgid "b"\nmsgstr ""\n', "file.po:3: msgid twice in one entry"),
        ('msgid "a"\n', "file.po:1: an entry without msgstr"),
        ('msgstr "a"\n', "file.po:1: msgstr without a msgid before it"),
        ('msgid "a"\nmsgstr[0] ""\n', "file.po:1: expected msgstr in an entry without msgid_plural"),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr ""\n', r"expected msgstr\[0\], msgstr\[1\]"),
        ('"a"\n', "file.po:1: a string that continues no msgid or msgstr"),
        ('msgid "a"\nmsgstr ""\nhello\n', "file.po:3: expected msgid, msgstr, a comment .* found 'hello'"),
        ('msgid ""\nmsgstr "charset=klingon"\n', "'klingon' is no encoding of text files"),
        ('msgid ""\nmsgstr "charset=punycode"\n', "'punycode' is no encoding of text files"),
        ('msgid ""\nmsgstr "charset=utf-7\\n"\n', "UTF-7 with a state, which is not read"),
        (HEADER.replace("n != 1", "n $ 1"), "file.po:2: Plural-Forms that cannot be read"),
        (HEADER.replace("=2;", "=99;"), "file.po:2: Plural-Forms that cannot be read"),
        (b'msgid "\xff"\nmsgstr ""\n', "file.po:1: not UTF-8: byte 0xff"),
    ],
)
def test_broken_files_are_refused_with_the_line(content: str | bytes, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read("po", content)


NAMES = ["%s", "%d", "%(name)s", "{name}", "{0}", "%1$s", "<b>", "</b>", "&amp;", "%5.2f"]
PLACEHOLDERS = st.sampled_from(NAMES)
LITERALS = re.compile("|".join(map(re.escape, ["%%", *NAMES])))
SPECIAL = st.sampled_from(["\n", '"', "\\", "\t", "%%"])
pieces = st.lists(st.one_of(sentences(), PLACEHOLDERS, SPECIAL), min_size=1, max_size=5)
texts = st.builds(lambda found, glue: glue.join(found), pieces, st.sampled_from([" ", " ", ""]))
entries = st.lists(
    st.tuples(texts, st.booleans(), st.sampled_from(["", "", "fuzzy", "c-format"])), min_size=1, max_size=5
)


@settings(max_examples=60, deadline=None)
@given(entries, rules, st.booleans())
def test_only_translations_and_flags_change(found: list[tuple[str, bool, str]], rule: Rule, plural: bool) -> None:
    before = polib.POFile()
    before.metadata = {"Content-Type": "text/plain; charset=UTF-8", "Language": "de"}
    for number, (text, is_done, flag) in enumerate(found):
        one = polib.POEntry(msgid=text, msgctxt=f"c{number}", msgstr="done" if is_done else "", comment="note")
        if plural and number == 0:
            one = polib.POEntry(msgid=text, msgctxt="p", msgid_plural=f"{text} many", msgstr_plural={0: "", 1: ""})
        one.flags = [flag] if flag else []
        before.append(one)
    content = str(before) + "\n"
    after = polib.pofile(translate("po", content, rule))
    for old, new in zip(before, after, strict=True):
        assert (new.msgid, new.msgid_plural, new.msgctxt, new.comment) == (
            old.msgid,
            old.msgid_plural,
            old.msgctxt,
            old.comment,
        )
        if old.msgstr and "fuzzy" not in old.flags:
            assert (new.msgstr, new.flags) == (old.msgstr, old.flags)
            continue
        assert "fuzzy" in new.flags
        assert set(old.flags) <= set(new.flags)
        forms = [(old.msgid, new.msgstr)]
        if old.msgid_plural:
            forms = [(old.msgid, new.msgstr_plural[0]), (old.msgid_plural, new.msgstr_plural[1])]
        for source, target in forms:
            assert placeholders(target) == placeholders(source)
            assert target.count("\n") == source.count("\n")


def placeholders(text: str) -> Counter[str]:
    return Counter(LITERALS.findall(text))
