"""The rules for English to French, on sentences written for this test: they are untried on real text."""

import pytest
from tests.unit.corpus.mining.french import ADDRESSES, PRONOUNS, Row

from docaps.corpus.mining.formality import find_formality
from docaps.corpus.mining.genders import Genders, count_articles
from docaps.corpus.mining.pronouns import find_pronouns
from docaps.corpus.mining.rule_tables import load_rules
from docaps.corpus.mining.sentences import Finding, Words, pairs_of

RULES = load_rules("en", "fr")


def _genders() -> Genders:
    genders = Genders(RULES.nouns)
    genders.add(count_articles((Words(text) for row in PRONOUNS for text in (row[1], row[3])), RULES.nouns))
    return genders


def _answers(row: Row, found: list[Finding]) -> list[str]:
    return [one.label for one in found if one.sentence == 1 and one.wrong]


def test_there_are_sixty_pairs_for_each_rule() -> None:
    for rows in (PRONOUNS, ADDRESSES):
        assert len({row[2:4] + row[:2] for row in rows}) == len(rows) >= 60
        assert sum(row[4] is None for row in rows) >= 15


@pytest.mark.parametrize("row", PRONOUNS, ids=lambda row: f"{row[1]} {row[3]}")
def test_pronouns(row: Row) -> None:
    assert RULES.pronoun is not None
    document = pairs_of((row[0], row[2]), (row[1], row[3]))
    found = _answers(row, find_pronouns(document, RULES.pronoun, _genders(), 3))
    assert found == ([] if row[4] is None else [row[4]])


@pytest.mark.parametrize("row", ADDRESSES, ids=lambda row: f"{row[1]} {row[3]}")
def test_addresses(row: Row) -> None:
    assert RULES.formality is not None
    found = find_formality(pairs_of((row[0], row[2]), (row[1], row[3])), RULES.formality, 3)
    assert _answers(row, found) == ([] if row[4] is None else [row[4]])


@pytest.mark.parametrize(
    ("earlier", "target", "wrong"),
    [
        ("Tu as raison.", "Tu ne manges pas.", "Vous ne mangez pas."),
        ("Vous avez raison.", "Demain vous le ferez.", "Demain tu le feras."),
        ("Tu as raison.", "Je connais tes amis.", "Je connais vos amis."),
        ("Vous avez raison.", "Je connais vos amis.", "Je connais tes amis."),
    ],
)
def test_wrong_translations_use_the_other_form_throughout(earlier: str, target: str, wrong: str) -> None:
    assert RULES.formality is not None
    document = pairs_of(("You are right.", "You know your friends."), (earlier, target))
    (found,) = find_formality(document, RULES.formality, 3)
    assert [document[1].target.edit(change) for change in found.wrong] == [wrong]
