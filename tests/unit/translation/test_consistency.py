"""Repeated terms of a document: found, compared, reported, and made alike on request."""

from dataclasses import replace
from typing import Any

import pytest
from tests.invariants import tiny

from docaps.corpus.documents import Document
from docaps.corpus.store import Store
from docaps.corpus.text.known_words import KnownWords
from docaps.translation import consistency
from docaps.translation.consistency import ConsistentTranslator, Usage, aligned_text, are_alike, find_repeated
from docaps.translation.glossary import is_written, make_glossary
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import Control, Translator

KNOWN = KnownWords({"the": 50_000, "ran": 40_000, "old": 30_000, "reactor": 3, "Core": 3})


def forms(sentences: list[str], known: KnownWords | None = KNOWN) -> set[str]:
    return {form for term in find_repeated(sentences, known).terms for form in term.source}


def test_names_and_rare_words_that_occur_twice_are_terms() -> None:
    sentences = ["The reactor core ran in Paris.", "Old Paris ran the reactor core.", "the old ran"]
    assert forms(sentences) == {"paris", "reactor", "core", "reactor core"}
    assert forms(["The cat ran in Paris.", "He ran to Paris."], None) == {"paris"}
    assert forms(["It sank.", "It rose."], None) == set()


def test_of_repeated_runs_the_longest_counts_where_it_occurs() -> None:
    repeated = find_repeated(["the reactor core ran", "the reactor core", "the reactor"], KNOWN)
    assert [hit.text for hit in repeated.find("The Reactor Core and a reactor")] == ["Reactor Core", "reactor"]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Quelle", "Quellen", True),
        ("Haus", "Häuser", True),
        ("Haus", "Hut", False),
        ("Fabrik", "Pflanze", False),
        ("Philipp", "Wie Philipp", True),
        ("roter Wagen", "roten Wagens", True),
        ("roter Wagen", "rotes Auto", False),
        ("er", "es", False),
    ],
)
def test_inflected_forms_and_more_words_are_no_difference(one: str, other: str, expected: bool) -> None:
    assert are_alike(one, other) == are_alike(other, one) == expected


def test_the_usual_translation_is_the_most_frequent_or_the_first() -> None:
    usage = Usage("plant")
    for text, number in (("Fabrik", 0), ("die alte Pflanze", 2), ("Pflanzen", 4), ("Pflanze", 5), ("Werk", 5)):
        usage.add(text, number)
    assert str(usage) == "plant: die alte Pflanze (3, 5, 6), Fabrik (1), Werk (6)"
    assert usage.forms == ("Pflanzen", "Pflanze")
    assert usage.deviating() == [0, 5]
    tie = Usage("plant", [[("Fabrik", 0)], [("Pflanze", 1)]])
    assert (tie.forms, tie.deviating()) == (("Fabrik",), [1])


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(0, 3), (4, 11)], "Fabriken"),
        ([(4, 11)], "Fabriken"),
        ([(4, 11), (16, 19)], None),
        ([(0, 3)], None),
        ([], None),
    ],
)
def test_the_translation_of_a_term_is_what_is_aligned_without_short_words(spans: Any, expected: str | None) -> None:
    (hit,) = make_glossary({"plants": "x"}).find("The plants are old.")
    translation = "Die Fabriken sind alt."
    words = [(0, 3), (4, 12), (13, 17), (18, 21)]
    chosen = [(0, 3) if one == (0, 3) else (4, 12) if one == (4, 11) else (18, 21) for one in spans]
    alignment = [((4, 10) if word in chosen else (11, 14), word) for word in words]
    assert aligned_text(hit, alignment, translation) == expected


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


TEXTS = ("the cat sat", "it was the Zoo", "a Zoo was old", "the Zoo", "it ran")


def knowing_names_only(store: Store, name: str = "qcn") -> TrainedModel:
    """A model of a version that counted no words: terms are names."""
    trained = tiny.trained(store, name, length_factor=0.5)
    return replace(trained, codec=replace(trained.codec, known_words=None))


def at_zoo(_: Any, translated: Any) -> list[Any]:
    """Align *Zoo* with the beginning of the translation."""
    places = (source.index("Zoo") for source, *_ in translated)
    return [[((place, place + 3), (0, 9))] for place in places]


def make(trained: TrainedModel, mode: Any, said: list[str], **settings: Any) -> ConsistentTranslator:
    return ConsistentTranslator(trained, mode=mode, report=said.append, warn=said.append, **settings)


@pytest.mark.parametrize("name", ["qcn", "han-decoder"])
def test_terms_are_made_alike(store: Store, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    trained, said = knowing_names_only(store, name), list[str]()
    scripted = {"it was the Zoo": "Katze", "a Zoo was old": "schlief", "the Zoo": "Katze"}
    monkeypatch.setattr(Translator, "align", at_zoo)
    monkeypatch.setattr(consistency, "aligned_text", lambda hit, *_: scripted[sentence_of(hit)])

    def sentence_of(hit: Any) -> str:
        return next(text for text in scripted if text.find("Zoo") == hit.start)

    documents = [Document(("it ran",)), Document(TEXTS, "story")]
    plain = Translator(trained, warn=lambda _: None).translate(documents)
    reported = make(trained, "report", said).translate(documents)
    assert reported == plain
    assert "document 2: 1 term translated differently (sentences)\n  Zoo: Katze (2, 4), schlief (3)" in said
    _, found = make(trained, "enforce", said).translate(documents)
    assert "document 2: 1 term made alike where they differed (sentences)\n  Zoo: Katze (2, 4), schlief (3)" in said
    assert is_written("Katze", found[2].text)
    assert [use.target for use in found[2].terms] == ["Katze"]
    assert [one.text for one in found[:2]] == [one.text for one in plain[1][:2]]
    if name == "qcn":
        assert [one.text for one in found[3:]] == [one.text for one in plain[1][3:]]


def test_terms_of_the_glossary_are_not_compared(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    control = Control(make_glossary({"Zoo": "Katze"}))
    monkeypatch.setattr(Translator, "align", at_zoo)
    make(knowing_names_only(store), "report", said, control=control).translate([Document(TEXTS)])
    assert not [one for one in said if "term" in one]
