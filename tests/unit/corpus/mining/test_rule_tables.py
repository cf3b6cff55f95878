"""The tables of rules that are shipped, and the faults of others."""

import pytest

from docaps.corpus.mining.rule_tables import list_pairs, load_rules, parse_rules
from docaps.errors import ConfigError

LEAST = "[nouns]\ncapitalised = true\narticles = {}\ntelling = {}\n"


def test_the_shipped_tables_can_be_read() -> None:
    assert list_pairs() == ["en-de", "en-fr"]
    for pair in list_pairs():
        rules = load_rules(*pair.split("-"))
        assert rules.pronoun is not None
        assert rules.formality is not None
        assert all(len(row) == len(rules.formality.forms) for row in rules.formality.verbs)
        assert all(form.becomes in rules.formality.forms for form in rules.formality.forms.values())
        sizes = {len(form.possessives) for form in rules.formality.forms.values()}
        assert len(sizes) == 1


def test_verbs_that_are_compared_have_as_many_forms() -> None:
    rules = load_rules("en", "de").ellipsis
    assert rules is not None
    assert {len(forms) for forms in rules.verbs.values()} == {5}
    assert {*rules.wrong, *(verb for verbs in rules.wrong.values() for verb in verbs)} <= rules.verbs.keys()


def test_french_is_marked_as_untried() -> None:
    assert load_rules("en", "fr").note == "untried on real text"
    assert not load_rules("en", "de").note


def test_a_pair_without_rules_is_refused_with_those_that_have_some() -> None:
    with pytest.raises(ConfigError, match="no rules for de to en: there are en-de, en-fr; give --run RUN"):
        load_rules("de", "en")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nouns = [", "the rules mine cannot be used"),
        (LEAST + "capitalized = true\n", "capitalized"),
        (LEAST + "[pronoun]\nsource = 'it'\n", "pronoun.forms"),
        (LEAST + "[repetition]\nsource_word = '('\ntarget_word = 'a'\n", "repetition.source_word"),
    ],
)
def test_faults_name_the_table_and_the_key(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_rules(text, "mine")
    assert parse_rules(LEAST, "mine").pronoun is None
