"""Words of a sentence, its clauses, and translations with some words replaced."""

import pytest

from docaps.corpus.mining.sentences import Words


def test_words_and_marks_are_apart_and_know_their_place() -> None:
    words = Words("Ja, er war's!")
    assert words.forms == ["Ja", ",", "er", "war", "'", "s", "!"]
    assert [words.text[start:end] for start, end in words.spans] == words.forms
    assert words.places(["er", "ja", "es"]) == [0, 2]


def test_a_sentence_begins_after_a_mark_that_ends_one() -> None:
    words = Words('Er kam. Sie ging: "Wir auch", ja.')
    begins = [form for place, form in enumerate(words.forms) if words.begins(place)]
    assert [form for form in begins if form.isalpha()] == ["Er", "Sie", "Wir"]


@pytest.mark.parametrize(("place", "clause"), [(0, "Er weiß"), (4, "dass sie kommt"), (8, "heute")])
def test_a_clause_is_what_marks_enclose(place: int, clause: str) -> None:
    words = Words("Er weiß, dass sie kommt - heute.")
    start, end = words.clause(place)
    assert " ".join(words.forms[start:end]) == clause


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("Er war warm.", {0: "sie"}, "Sie war warm."),
        ("er war warm .", {0: "sie"}, "sie war warm ."),  # truecased: it keeps its case
        ("Da war er,  warm.", {2: "sie"}, "Da war sie,  warm."),
        ("Sind Sie da?", {0: "bist", 1: "du"}, "Bist du da?"),
        ("Du bist da.", {0: "Sie", 1: "sind"}, "Sie sind da."),
        ("Nichts.", {}, "Nichts."),
    ],
)
def test_words_are_replaced_and_the_rest_is_kept(text: str, changes: dict[int, str], expected: str) -> None:
    assert Words(text).edit(changes) == expected
