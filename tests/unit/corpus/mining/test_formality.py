"""The form of address is found where the document has used it before, and turned into the other one throughout."""

import pytest

from docaps.corpus.mining.formality import find_formality, label_document
from docaps.corpus.mining.rule_tables import AddressRules, load_rules
from docaps.corpus.mining.sentences import pairs_of

INFORMAL = ("You are late.", "Du bist spät dran.")
FORMAL = ("You are late.", "Sie sind spät dran.")
PLURAL = ("You are late.", "Ihr seid spät dran.")


@pytest.fixture(scope="module")
def rules() -> AddressRules:
    found = load_rules("en", "de").formality
    assert found is not None
    return found


def changed(rules: AddressRules, *pairs: tuple[str, str], reach: int = 3) -> list[tuple[str, int, list[str]]]:
    """Return label, distance and wrong translations of what is found in the last sentence."""
    document = pairs_of(*zip(*pairs, strict=True))
    found = [one for one in find_formality(document, rules, reach) if one.sentence == len(pairs) - 1]
    return [(one.label, one.distance, [document[-1].target.edit(change) for change in one.wrong]) for one in found]


@pytest.mark.parametrize(
    ("earlier", "target", "label", "wrong"),
    [
        (INFORMAL, "Hast du Zeit?", "du", "Haben Sie Zeit?"),
        (INFORMAL, "Ich weiß, dass du es bist.", "du", "Ich weiß, dass Sie es sind."),
        (INFORMAL, "Ich habe dich gesehen.", "du", "Ich habe Sie gesehen."),
        (INFORMAL, "Ich helfe dir.", "du", "Ich helfe Ihnen."),
        (INFORMAL, "Dein Hund ist da.", "du", "Ihr Hund ist da."),
        (FORMAL, "Haben Sie Zeit?", "Sie", "Hast du Zeit?"),
        (FORMAL, "Sie müssen warten.", "Sie", "Du musst warten."),
        (FORMAL, "Ich weiß, dass Sie es sind.", "Sie", "Ich weiß, dass du es bist."),
        (FORMAL, "Ich habe Sie gesehen.", "Sie", "Ich habe dich gesehen."),
        (FORMAL, "Ich helfe Ihnen mit Ihrem Hund.", "Sie", "Ich helfe dir mit deinem Hund."),
        (PLURAL, "Habt ihr Zeit?", "ihr", "Haben Sie Zeit?"),
        (PLURAL, "Das ist euer Hund.", "ihr", "Das ist Ihr Hund."),
    ],
)
def test_the_other_form_is_used_throughout(
    rules: AddressRules, earlier: tuple[str, str], target: str, label: str, wrong: str
) -> None:
    assert changed(rules, earlier, ("Is it you?", target)) == [(label, 1, [wrong])]


@pytest.mark.parametrize(
    ("earlier", "target"),
    [
        (INFORMAL, "Genieß deinen Kaffee."),  # a request
        (INFORMAL, "Komm, du musst gehen."),
        (INFORMAL, "Wenn du kommst, ruf mich an."),
        (INFORMAL, "Du glurkst."),  # a verb that is not in the table
        (INFORMAL, "Du kommst und glurkst."),
        (INFORMAL, "Du freust dich."),  # reflexive
        (FORMAL, "Kommen Sie herein."),
        (FORMAL, "Ihre Quittung wird Ihnen geschickt."),  # a capital at the beginning tells nothing
        (FORMAL, "Sie haben sich verletzt."),
        (FORMAL, "Sie ist da, Herr Weber."),
    ],
)
def test_no_wrong_translation_is_made_where_the_substitution_is_not_certain(
    rules: AddressRules, earlier: tuple[str, str], target: str
) -> None:
    assert all(not wrong for *_, wrong in changed(rules, earlier, ("It is you.", target)))


def test_a_document_with_both_forms_decides_nothing(rules: AddressRules) -> None:
    assert changed(rules, FORMAL, INFORMAL, ("Is it you?", "Hast du Zeit?")) == []


def test_the_nearest_address_counts_within_reach(rules: AddressRules) -> None:
    rain = ("It rained.", "Es regnete.")
    last = ("Do you have time?", "Hast du Zeit?")
    assert [found[:2] for found in changed(rules, INFORMAL, rain, last)] == [("du", 2)]
    assert changed(rules, INFORMAL, rain, last, reach=1) == []
    assert changed(rules, PLURAL, last) == []  # another number


def test_sentences_are_labelled(rules: AddressRules) -> None:
    document = [
        *(INFORMAL, FORMAL, PLURAL, ("She is late.", "Sie ist spät dran.")),
        *(("You see her.", "Du siehst sie."), ("You must.", "Man muss.")),
    ]
    assert label_document(pairs_of(*zip(*document, strict=True)), rules) == ["du", "Sie", "ihr", None, None, None]
