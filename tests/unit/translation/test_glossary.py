"""Terms are matched on whole words, the longest first; entries that contradict each other are refused."""

import unicodedata
from typing import Any

import pytest
from tests.counting import count_lines

from docaps.errors import DocapsError
from docaps.translation.glossary import Term, is_written, make_glossary, replace_terms, split_text

TERMS = make_glossary(
    {
        ("house", "houses"): ("Haus", "Häuser"),
        "house of cards": "Kartenhaus",
        "white house": "weißes Haus",
        "White House": "Weißes Haus",
        "US": "USA",
        "C++": "C++",
        "user's guide": "Handbuch",
        "e-mail": "E-Mail",
        "東京": "Tokio",
        "café": "Kaffeehaus",
    }.items()
)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The house, the HOUSES and the warehouse.", {"house": "Haus", "HOUSES": "Haus"}),
        ("house house", {"house": "Haus"}),
        ("A house of  cards fell.", {"house of  cards": "Kartenhaus"}),
        ("the white house of cards", {"house of  cards".replace("  ", " "): "Kartenhaus"}),
        ("the White House", {"White House": "Weißes Haus"}),
        ("the WHITE HOUSE and the White house", {"WHITE HOUSE": "weißes Haus", "White house": "weißes Haus"}),
        ("US and us", {"US": "USA"}),
        ("C++, not C or C+", {"C++": "C++"}),
        ("the user’s guide", {"user’s guide": "Handbuch"}),
        ("an e‑mail, no email", {"e‑mail": "E-Mail"}),
        ("我住在東京都", {"東京": "Tokio"}),
        (unicodedata.normalize("NFD", "the café"), {unicodedata.normalize("NFD", "café"): "Kaffeehaus"}),
        ("nothing here", {}),
        ("", {}),
    ],
)
def test_terms_are_found_as_whole_words(sentence: str, expected: dict[str, str]) -> None:
    hits = TERMS.find(sentence)
    assert {hit.text: hit.term.target[0] for hit in hits} == expected
    assert all(sentence[hit.start : hit.end] == hit.text for hit in hits)


def test_each_occurrence_is_a_hit_of_its_own() -> None:
    assert [hit.start for hit in TERMS.find("house, houses; House")] == [0, 7, 15]


def test_of_equally_long_terms_that_overlap_the_first_counts() -> None:
    glossary = make_glossary({"a b": "1", "b c": "2", "c d": "3"})
    assert [hit.text for hit in glossary.find("a b c d")] == ["a b", "c d"]


def test_terms_are_replaced_in_text_that_is_copied() -> None:
    text = "東京 and the US."
    assert replace_terms(text, TERMS.find(text)) == "Tokio and the USA."


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("Haus", "Das Haus steht.", True),
        ("Haus", "Die Haustür.", False),
        ("Haus", "das haus", False),
        ("das Haus", "Das Haus steht.", True),
        ("das Haus", "das HAUS", False),
        ("Das Haus", "das Haus", False),
        ("Nr. 5", "in Nr. 5.", True),
        ("C++", "in C++.", True),
        ("Haus Garten", "Haus", False),
    ],
)
def test_a_form_is_written_as_whole_words_in_its_case(form: str, text: str, expected: bool) -> None:
    assert is_written(form, text) == expected


def test_words_know_their_places() -> None:
    assert [(str(word), word.start, word.end) for word in split_text("a  b-1, 東京")] == [
        *(("a", 0, 1), ("b", 3, 4), ("-", 4, 5), ("1", 5, 6), (",", 6, 7)),
        *(("東", 8, 9), ("京", 9, 10)),
    ]


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ([("", "x")], "entry 1: no term"),
        ([("a", "b"), ("house", "")], "entry 2: no translation of 'house': a term that stays as it is has itself"),
        ([("a", ["b", " "])], "entry 1: an empty target form beside 'b'"),
        ([("a", "b\0")], "entry 1: the target form 'b"),
        ([("a", "b"), ("c", "d"), ("a", "x")], "entry 3: 'a' is translated as 'x', but in entry 1 as 'b'"),
        ([(["a", "b"], "x"), (["c", "b"], "y")], "entry 2: 'b' is translated as 'y', but in entry 1 as 'x'"),
    ],
)
def test_an_entry_that_is_no_use_is_refused(terms: Any, message: str) -> None:
    with pytest.raises(DocapsError) as caught:
        make_glossary(terms)
    assert message in str(caught.value)


def test_the_same_entry_twice_counts_once() -> None:
    assert make_glossary([("a", "b"), ("a", "b"), (" a ", ["b", "b"])]).terms == (Term(("a",), ("b",)),)
    assert not make_glossary({})


def test_ten_thousand_terms_cost_next_to_nothing_per_sentence() -> None:
    glossary = make_glossary((f"word{number} part{number % 50}", "x") for number in range(10_000))
    few = make_glossary({"word7 part7": "x"})
    sentence = "no term but word7 part7 is in this sentence of some length, is there, word7"
    assert len(glossary.find(sentence)) == len(few.find(sentence)) == 1

    steps, fewer = (count_lines(lambda terms=terms: terms.find(sentence)) for terms in (glossary, few))
    assert 0 < steps == fewer
