"""After *I did*, the verb of the translation is one of an earlier sentence."""

import pytest

from docaps.corpus.mining.ellipsis import find_ellipses
from docaps.corpus.mining.rule_tables import EllipsisRules, load_rules
from docaps.corpus.mining.sentences import pairs_of


@pytest.fixture(scope="module")
def rules() -> EllipsisRules:
    found = load_rules("en", "de").ellipsis
    assert found is not None
    return found


def found_in(rules: EllipsisRules, *pairs: tuple[str, str], reach: int = 3) -> list[tuple[str, int, list[str]]]:
    document = pairs_of(*zip(*pairs, strict=True))
    found = find_ellipses(document, rules, reach)
    return [
        (one.label, one.distance, [document[one.sentence].target.edit(change) for change in one.wrong]) for one in found
    ]


@pytest.mark.parametrize(
    ("earlier", "pair", "verb", "wrong"),
    [
        (
            ("Did you see her?", "Hast du sie gesehen?"),
            ("Yes, I did.", "Ja, das habe ich."),
            "haben",
            ["Ja, das bin ich.", "Ja, das will ich."],
        ),
        (
            ("Did you go?", "Bist du gegangen?"),
            ("Of course I did.", "Natürlich bin ich das."),
            "sein",
            ["Natürlich habe ich das.", "Natürlich will ich das."],
        ),
        (
            ("Do you know it?", "Wissen Sie das?"),
            ("No, but Anna does.", "Nein, aber jemand weiß es."),
            "wissen",
            ["Nein, aber jemand ist es.", "Nein, aber jemand hat es."],
        ),
        (
            ("Did they have time?", "Hatten sie Zeit?"),
            ("No, they didn't.", "Nein, hatten sie nicht."),
            "haben (hatte)",
            ["Nein, waren sie nicht.", "Nein, wollten sie nicht."],
        ),
    ],
)
def test_repeated_verbs_are_found(
    rules: EllipsisRules, earlier: tuple[str, str], pair: tuple[str, str], verb: str, wrong: list[str]
) -> None:
    assert found_in(rules, earlier, pair) == [(verb, 1, wrong)]


@pytest.mark.parametrize(
    "pair",
    [
        (
            "Yes, I did.",
            "Ja, das habe ich gesehen.",
        ),  # the verb is said again: another auxiliary would be ungrammatical
        ("Yes, I did.", "Ja, das tat ich."),  # it could always be said so
        ("Yes, I did.", "Ja, das bin ich."),  # not the verb of an earlier sentence
        ("Yes, I have.", "Ja, das habe ich."),  # the source tells it
        ("I did it for the old friends of my father and for all the others.", "Habe ich."),  # too long
    ],
)
def test_what_is_not_decided_is_left_out(rules: EllipsisRules, pair: tuple[str, str]) -> None:
    assert found_in(rules, ("Did you see her?", "Hast du sie gesehen?"), pair) == []


def test_the_verb_must_be_within_reach(rules: EllipsisRules) -> None:
    pairs = [("Did you see her?", "Hast du sie gesehen?"), ("Hm.", "Hm."), ("I did.", "Habe ich.")]
    assert [found[:2] for found in found_in(rules, *pairs)] == [("haben", 2)]
    assert found_in(rules, *pairs, reach=1) == []
