"""Glossary files: tab-separated text and TBX, with errors that name file and line."""

from pathlib import Path

import pytest

from docaps.errors import CorpusError
from docaps.translation.glossary import Term
from docaps.translation.glossary_files import parse_tbx, parse_tsv, read_glossary

TBX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE martif SYSTEM "http://example.org/TBXcoreStructV02.dtd">
<martif type="TBX" xml:lang="en"><text><body>
<termEntry id="1">
<langSet xml:lang="en-GB"><tig><term>house</term></tig><tig><term>dwelling &amp; home</term></tig></langSet>
<langSet xml:lang="de"><tig><term>Gebäude</term></tig>
<ntig><termGrp><term>Haus</term><termNote type="administrativeStatus">preferredTerm-admn-sts</termNote></termGrp></ntig>
<tig><term>Hütte</term><termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></tig></langSet>
<langSet xml:lang="fr"><tig><term>maison</term></tig></langSet>
</termEntry>
<conceptEntry><langSec xml:lang="en"><termSec><term>house</term><termNote type="partOfSpeech">noun</termNote></termSec>
</langSec><langSec xml:lang="de-AT"><termSec><term>Kammer</term></termSec></langSec></conceptEntry>
<termEntry><langSet xml:lang="en"><tig><term>only English</term></tig></langSet></termEntry>
</body></text></martif>
"""


def read(text: str, path: Path) -> tuple[Term, ...]:
    path.write_text(text, encoding="utf-8")
    return read_glossary(path, source="en", target="de").terms


def test_lines_have_forms_on_both_sides(tmp_path: Path) -> None:
    text = "\ufeff# comment\r\nhouse|houses\tHaus\tHäuser | Hauses\r\n\r\nUS\tUSA\t\n\\#1\tNr. 1\na\\|b\tx\n"
    assert read(text, tmp_path / "terms.tsv") == (
        Term(("house", "houses"), ("Haus", "Häuser", "Hauses")),
        Term(("US",), ("USA",)),
        Term(("#1",), ("Nr. 1",)),
        Term(("a|b",), ("x",)),
    )


def test_the_encoding_that_a_tbx_file_names_is_that_of_its_bytes_only() -> None:
    """Text that was decoded before, as in a request, is read as it is."""
    text = TBX.replace("UTF-8", "ISO-8859-1")
    assert parse_tbx(text, source="en", target="de").terms == parse_tbx(TBX, source="en", target="de").terms


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a\tb\nhouse Haus\n", 2, "expected SOURCE, a tab and TARGET, and perhaps a tab and other forms, found no tab"),
        ("a\tb\tc\td\n", 1, "found 3 tabs"),
        ("# x\n\na\t\n", 3, "no translation of 'a'"),
        ("\tb\n", 1, "no term"),
        ("a|\tb\n", 1, "an empty source form beside 'a'"),
        ("a\tb\nc\td\na\tx\n", 3, "'a' is translated as 'x', but in line 1 as 'b': give all its forms in one entry"),
        ("<martif>\n<a>\n</martif>", 3, "not well-formed XML: mismatched tag"),
        ('<!DOCTYPE a [\n<!ENTITY x "y">]><a>&x;</a>', 2, "declares the entity 'x'"),
        (
            TBX.replace('"de"', '"it"').replace("de-AT", "it"),
            1,
            "no concept has terms in both en and de; its languages",
        ),
        ("<martif>&undefined;</martif>", 1, "not well-formed XML: undefined entity"),
    ],
)
def test_an_error_names_file_and_line(text: str, line: int, message: str, tmp_path: Path) -> None:
    path = tmp_path / "terms"
    with pytest.raises(CorpusError) as caught:
        read(text, path)
    assert (caught.value.path, caught.value.line) == (path, line)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_bytes_that_are_no_text_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes(b"a\tb\nc\t\xff\n")
    with pytest.raises(CorpusError, match=r"terms.tsv:2: cannot be read: not UTF-8"):
        read_glossary(path, source="en", target="de")
    with pytest.raises(CorpusError, match="no such file"):
        read_glossary(tmp_path / "missing.tsv", source="en", target="de")


def test_tbx_concepts_become_terms_with_the_preferred_form_first(tmp_path: Path) -> None:
    assert read(TBX, tmp_path / "terms.tbx") == (
        Term(("house",), ("Haus", "Gebäude", "Kammer")),
        Term(("dwelling & home",), ("Haus", "Gebäude")),
    )
    assert parse_tbx(TBX, source="fr", target="de").terms == (Term(("maison",), ("Haus", "Gebäude")),)


def test_entities_that_multiply_are_refused_before_they_are_read() -> None:
    declarations = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 30))
    bomb = f'<!DOCTYPE a [<!ENTITY a0 "x">{declarations}]><martif>&a29;</martif>'
    with pytest.raises(Exception, match="declares the entity 'a0'"):
        parse_tbx(bomb, source="en", target="de")


def test_a_file_of_comments_is_an_empty_glossary() -> None:
    assert not parse_tsv("# nothing yet\n\n")
