"""Pronouns are found where an earlier sentence alone has the noun, and nowhere else."""

from collections import Counter

import pytest

from docaps.corpus.mining.genders import Genders
from docaps.corpus.mining.pronouns import find_pronouns
from docaps.corpus.mining.rule_tables import load_rules
from docaps.corpus.mining.sentences import Finding, pairs_of

RULES = load_rules("en", "de")
NOUNS = {
    "masculine": ["Mantel", "Bericht", "Tisch", "Zug", "Garten"],
    "feminine": ["Lampe", "Kommission", "Mauer", "Firma"],
    "neuter": ["Haus", "Abkommen", "Parlament"],
}


@pytest.fixture(scope="module")
def genders() -> Genders:
    found = Genders(RULES.nouns)
    found.add({noun: Counter({gender: 9}) for gender, nouns in NOUNS.items() for noun in nouns})
    return found


def find(genders: Genders, *pairs: tuple[str, str], reach: int = 3) -> list[Finding]:
    assert RULES.pronoun is not None
    return find_pronouns(pairs_of(*zip(*pairs, strict=True)), RULES.pronoun, genders, reach)


COAT = ("Anna bought a coat.", "Anna kaufte einen Mantel.")
LAMP = ("Anna bought a lamp.", "Anna kaufte eine Lampe.")
RAIN = ("We were late.", "Wir kamen zu spät.")


@pytest.mark.parametrize(
    ("earlier", "pair", "label", "wrong"),
    [
        (COAT, ("It was warm.", "Er war warm."), "er", ["Sie war warm.", "Es war warm."]),
        (LAMP, ("It was warm.", "Sie war warm."), "sie", ["Er war warm.", "Es war warm."]),
        (COAT, ("Then we sold it.", "Dann verkauften wir ihn."), "ihn", ["sie", "es"]),
        (LAMP, ("Then we sold it.", "Dann verkauften wir sie."), "sie", ["ihn", "es"]),
        (LAMP, ("However, it was cheap.", "Allerdings war sie billig."), "sie", ["er", "es"]),
        (LAMP, ("We saw that it shone.", "Wir sahen, dass sie hell leuchtet."), "sie", ["er", "es"]),
        (
            ("The parliament met.", "Das Parlament tagte."),
            ("It rejected the plan.", "Es lehnte die Pläne ab."),
            "es",
            ["Er", "Sie"],
        ),
    ],
)
def test_pronouns_are_found_with_the_wrong_ones_of_their_case(
    genders: Genders, earlier: tuple[str, str], pair: tuple[str, str], label: str, wrong: list[str]
) -> None:
    (found,) = find(genders, earlier, pair)
    assert (found.sentence, found.label, found.distance) == (1, label, 1)
    texts = [pairs_of([pair[0]], [pair[1]])[0].target.edit(change) for change in found.wrong]
    assert all(one in text for one, text in zip(wrong, texts, strict=True))


@pytest.mark.parametrize(
    "pair",
    [
        ("It was they who sold it.", "Sie war es."),  # two pronouns
        ("It was time.", "Sie waren da."),  # a plural verb: they
        ("It seemed to them fine.", "Sie war fein."),  # the source has another pronoun
        ("You sold it.", "Sie verkauft das."),  # the polite form
        ("It is important that we go.", "Es ist wichtig, dass wir gehen."),  # a dummy subject
        ("It is raining.", "Es regnet."),
        ("It lost its colour.", "Sie verlor ihre Farbe."),  # the possessive agrees too
        ("It is one of the best.", "Sie ist eine der besten."),
        ("The lamp fell, and it broke.", "Die Lampe fiel, und sie war kaputt."),  # the noun is in the sentence
        ("Our wall is old, but it stands.", "Unsere Mauer ist alt, aber sie steht."),
        ("The council wants it.", "Der Rat möchte sie."),  # subject or object?
    ],
)
def test_what_is_not_certain_is_left_out(genders: Genders, pair: tuple[str, str]) -> None:
    assert not [one for one in find(genders, LAMP, pair) if one.sentence == 1]


def test_a_noun_of_the_gender_must_have_been_mentioned_within_reach(genders: Genders) -> None:
    warm = ("It was warm.", "Er war warm.")
    assert [one.distance for one in find(genders, COAT, RAIN, warm)] == [2]
    assert not find(genders, COAT, RAIN, warm, reach=1)
    assert not find(genders, LAMP, warm)
    assert not find(genders, warm)


def test_plural_nouns_and_people_are_no_antecedents(genders: Genders) -> None:
    warm = ("It was warm.", "Sie war warm.")
    assert not find(genders, ("We sold the lamps.", "Wir verkauften die Lampen."), warm)
    assert not find(genders, ("We saw the president.", "Wir sahen den Präsidenten."), ("It was fine.", "Er war fein."))


def test_a_sentence_that_goes_on_with_the_pronoun_is_passed_over(genders: Genders) -> None:
    again = ("It hung beside a table.", "Er hing neben einem Tisch.")
    found = find(genders, COAT, again, ("It was warm.", "Er war warm."))
    assert [(one.sentence, one.distance, one.cue) for one in found] == [(1, 1, "einen Mantel"), (2, 2, "einen Mantel")]


def test_beyond_a_noun_of_unknown_gender_nothing_is_certain(genders: Genders) -> None:
    unknown = ("There was a glurk.", "Da lag irgendwo Glurk herum.")
    assert not find(genders, COAT, unknown, ("It was warm.", "Er war warm."))
