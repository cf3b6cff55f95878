"""What is learnt before the search, from how much text, and in which pieces it is worked on."""

import pytest

from docaps.corpus.mining import knowledge
from docaps.corpus.mining.knowledge import Search, Sides, chunks, learn, search, search_document
from docaps.corpus.mining.rule_tables import load_rules
from docaps.corpus.processes import WorkerPool

DEBATES: Sides = (["We had a debate."] * 4, ["Wir hatten eine Debatte."] * 2 + ["Wir hatten eine Aussprache."] * 2)


def test_documents_are_worked_on_in_chunks_of_about_as_many_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "CHUNK", 6)
    found = list(chunks([DEBATES] * 5))
    assert [len(chunk) for chunk in found] == [2, 2, 1]
    assert list(chunks([])) == []


@pytest.mark.parametrize(("counted", "expected"), [(1000, {"debate"}), (100, {"debate"}), (30, set())])
def test_translations_are_counted_in_the_first_sentences_only(
    monkeypatch: pytest.MonkeyPatch, counted: int, expected: set[str]
) -> None:
    monkeypatch.setattr(knowledge, "CHUNK", 4)
    monkeypatch.setattr(knowledge, "COUNTED", counted)
    other: Sides = (["It rained."] * 4, ["Es regnete in einer Stadt."] * 4)
    text = [*[other] * 10, *[DEBATES] * 20]
    with WorkerPool(1) as pool:
        learnt = learn(text, load_rules("en", "de"), pool)
    assert learnt.options.keys() == expected
    assert learnt.genders.gender("Debatte") == "feminine"  # genders are learnt from all sentences


def test_only_what_is_wanted_is_searched() -> None:
    with WorkerPool(1) as pool:
        learnt = learn([DEBATES] * 20, load_rules("en", "de"), pool)
        (found,) = search([DEBATES], learnt, Search(("repetition",), 1), pool, "one document")
    assert [one.label for one in found.findings] == ["debatte"]
    assert found == search_document(DEBATES, learnt, Search(("repetition",), 1))
    assert found.addresses == ()
    assert search_document(DEBATES, learnt, Search(("pronoun", "formality"), 1)).findings == ()
