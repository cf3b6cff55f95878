"""The gender of nouns is learnt from articles, or told by endings, inflections and the heads of compounds."""

from collections import Counter

import pytest

from docaps.corpus.mining.genders import PLURAL, Genders, count_articles
from docaps.corpus.mining.rule_tables import load_rules
from docaps.corpus.mining.sentences import Words

NOUNS = load_rules("en", "de").nouns
TEXT = [
    "Wir sahen einen alten Tisch.",
    "Er kaufte einen Tisch.",
    "Da stand eine große Lampe.",
    "Zur Lampe gehört ein Schirm.",
    "Wir gingen ins Haus, und das Haus war leer.",
    "Das schöne Haus-Dach.",
]


@pytest.fixture(scope="module")
def genders() -> Genders:
    found = Genders(NOUNS)
    found.add(count_articles(map(Words, TEXT), NOUNS))
    return found


def test_articles_are_counted_with_adjectives_between() -> None:
    assert count_articles(map(Words, TEXT), NOUNS) == {
        "Tisch": Counter(masculine=2),
        "Lampe": Counter(feminine=2),
        "Haus": Counter(neuter=2),  # not as a part of a compound
    }


@pytest.mark.parametrize(
    ("noun", "gender"),
    [
        ("Tisch", "masculine"),
        ("Lampe", "feminine"),
        ("Haus", "neuter"),
        ("Zeitung", "feminine"),
        ("Mädchen", "neuter"),
        ("Stehlampe", "feminine"),
        ("Lampen", PLURAL),
        ("Tische", PLURAL),
        ("Hauses", "neuter"),
        ("Schirm", None),
    ],
)
def test_gender(genders: Genders, noun: str, gender: str | None) -> None:
    assert genders.gender(noun) == gender


def test_a_noun_with_two_genders_has_none() -> None:
    genders = Genders(NOUNS)
    genders.add({"See": Counter(masculine=7, feminine=2), "Band": Counter(neuter=8, masculine=2)})
    assert (genders.gender("See"), genders.gender("Band")) == (None, "neuter")


def test_settled_genders_are_the_same(genders: Genders) -> None:
    settled = Genders(NOUNS)
    settled.add(genders.counts)
    settled.add({"See": Counter(masculine=7, feminine=2)})
    settled.settle()
    assert "See" not in settled.counts
    for noun in ("Tisch", "Lampe", "Haus", "Stehlampe", "Lampen", "See"):
        assert settled.gender(noun) == (None if noun == "See" else genders.gender(noun))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Da steht der Tisch.", ["der Tisch"]),
        ("Er sah die Tisch.", []),  # the article belongs to another noun
        ("Die neue helle Lampe im Haus.", ["Die neue helle Lampe", "im Haus"]),
        ("Die Lampen und der Präsident.", []),
        ("Eine dieser Lampen.", []),
    ],
)
def test_mentions(genders: Genders, text: str, found: list[str]) -> None:
    assert [one.words for one in sorted(genders.mentions(Words(text)), key=lambda one: one.place)] == found


def test_a_sentence_may_hold_a_noun_without_article_or_of_unknown_gender(genders: Genders) -> None:
    assert genders.may_hold(Words("Dort hängt Lampe an Lampe."), "feminine")
    assert genders.may_hold(Words("Dort liegt Glurk."), "feminine")
    assert not genders.may_hold(Words("Dort liegt Glurk."), "feminine", end=2)
    assert not genders.may_hold(Words("Dort steht ein Haus."), "feminine")
