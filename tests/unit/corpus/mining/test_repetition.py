"""Words with two translations are learnt from counts, and found where the document has used one of them."""

from collections import Counter

import pytest

from docaps.corpus.mining.genders import Genders
from docaps.corpus.mining.repetition import WordCounts, count_words, find_options, find_repetitions
from docaps.corpus.mining.rule_tables import RepetitionRules, load_rules
from docaps.corpus.mining.sentences import Finding, pairs_of

OPTIONS = {"debate": {"Debatte": "Aussprache", "Aussprache": "Debatte"}}
RULES = load_rules("en", "de")


@pytest.fixture(scope="module")
def rules() -> RepetitionRules:
    assert RULES.repetition is not None
    return RULES.repetition


@pytest.fixture(scope="module")
def genders() -> Genders:
    found = Genders(RULES.nouns)
    feminine = {key: Counter(feminine=5) for key in ["Debatte", "Aussprache", "Bank", "Union"]}
    found.add({**feminine, "Ufer": Counter(neuter=5), "Streit": Counter(masculine=5)})
    return found


def find(*pairs: tuple[str, str], reach: int = 3) -> list[Finding]:
    return find_repetitions(pairs_of(*zip(*pairs, strict=True)), OPTIONS, reach)


def test_words_are_counted_once_a_pair_without_parts_of_compounds(rules: RepetitionRules) -> None:
    pairs = pairs_of(["The debate, a debate on self-determination."], ["Eine Debatte zur Bank- und Debatte."])
    counts = count_words(pairs, rules)
    assert counts.source == Counter(debate=1)
    assert counts.target == Counter(Debatte=1)
    assert counts.both == Counter({("debate", "Debatte"): 1})


def counted(**changes: int) -> WordCounts:
    """Return counts of a word with two translations of the same gender."""
    numbers = {"debate": 100, "first": 50, "second": 40, "all_first": 60, "all_second": 50, "together": 2} | changes
    return WordCounts(
        source=Counter(debate=numbers["debate"]),
        target=Counter(Debatte=numbers["all_first"], Aussprache=numbers["all_second"]),
        both=Counter({("debate", "Debatte"): numbers["first"], ("debate", "Aussprache"): numbers["second"]}),
        together=Counter({("Aussprache", "Debatte"): numbers["together"]}),
    )


def test_two_frequent_translations_of_the_same_gender_are_options(genders: Genders) -> None:
    assert find_options(counted(), genders) == OPTIONS


@pytest.mark.parametrize(
    "changes",
    [
        {"debate": 29, "first": 15, "second": 12, "all_first": 15, "all_second": 12, "together": 0},  # too rare
        {"second": 14, "all_second": 20},  # too small a share of the word
        {"debate": 250},  # both cover too little of it
        {"all_second": 110},  # mostly a translation of something else
        {"together": 7},  # parts of one expression
    ],
)
def test_other_pairs_are_none(genders: Genders, changes: dict[str, int]) -> None:
    assert find_options(counted(**changes), genders) == {}


@pytest.mark.parametrize("other", ["Streit", "Glurk", "Debatten"])
def test_a_translation_of_another_gender_cannot_replace_it(genders: Genders, other: str) -> None:
    counts = counted()
    counts.target[other] = counts.target.pop("Aussprache")
    counts.both["debate", other] = counts.both.pop(("debate", "Aussprache"))
    assert find_options(counts, genders) == {}


def test_a_repeated_word_is_found() -> None:
    first = ("The debate began.", "Die Aussprache begann.")
    (found,) = find(first, ("It rained.", "Es regnete."), ("The debate ended.", "Die Aussprache endete."))
    assert (found.sentence, found.label, found.distance, found.form) == (2, "aussprache", 2, "debate")
    assert (found.places, found.wrong) == ((1,), ({1: "Debatte"},))


@pytest.mark.parametrize(
    "pairs",
    [
        [("The debate ended.", "Die Aussprache endete.")],
        [("The debate began.", "Die Debatte begann."), ("The debate ended.", "Die Aussprache endete.")],
        [
            ("The debate began.", "Die Debatte begann."),
            ("The debate went on.", "Die Aussprache ging weiter."),
            ("The debate ended.", "Die Aussprache endete."),
        ],
        [("A talk began.", "Die Aussprache begann."), ("The debate ended.", "Die Aussprache endete.")],
        [("The debate began.", "Die Aussprache begann."), ("A debate on the debate.", "Eine Aussprache.")],
        [("The debate began.", "Die Aussprache begann."), ("The debate.", "Aussprache über die Aussprache.")],
        [("The debate began.", "Die Aussprache begann."), ("The debate.", "Die Aussprache- und Redezeit.")],
    ],
)
def test_what_is_not_consistent_or_not_certain_is_left_out(pairs: list[tuple[str, str]]) -> None:
    assert [one for one in find(*pairs) if one.sentence == len(pairs) - 1] == []
