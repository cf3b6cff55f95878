"""Items have histories on both sides, and as many of one answer as of another."""

from collections import Counter

from docaps.corpus.contrastive import ContrastiveItem
from docaps.corpus.mining.items import MinedItem, balance, count_items, make_items
from docaps.corpus.mining.knowledge import DocumentFindings
from docaps.corpus.mining.sentences import Finding

SIDES = (["One.", "Two.", "It is."], ["Eins.", "Zwei.", "Er ist."])
FOUND = Finding(
    sentence=2, phenomenon="pronoun", label="er", distance=1, places=(0,), form="subject", wrong=({0: "sie"}, {0: "es"})
)


def mined(phenomenon: str, answer: str, number: int, form: str = "", distance: int = 1) -> MinedItem:
    item = ContrastiveItem(
        id=f"{number}", source="a", right="b", wrong=("c",), phenomenon=phenomenon, form=form, distance=distance
    )
    return MinedItem(item, answer)


def test_an_item_has_the_sentences_before_it_on_both_sides() -> None:
    documents = [("dev-4", SIDES)]
    (found,) = make_items(documents, [DocumentFindings((FOUND,))], history=1, write=(str.upper, str.lower))
    item = found.item
    assert (item.id, item.document, item.phenomenon, item.form) == ("dev-4:3:pronoun:0", "dev-4", "pronoun", "subject")
    assert (item.history, item.target_history) == (("TWO.",), ("zwei.",))
    assert (item.source, item.right, item.wrong) == ("IT IS.", "er ist.", ("sie ist.", "es ist."))
    assert (item.distance, item.pronoun, found.answer) == (1, "er", "er")


def test_a_finding_without_wrong_translations_is_no_item() -> None:
    bare = Finding(sentence=1, phenomenon="formality", label="du", distance=1, places=(0,))
    assert list(make_items([("a", SIDES)], [DocumentFindings((bare,))], history=2)) == []


def answers(mixed: list[MinedItem], seed: int = 1) -> Counter[str]:
    by_id = {one.item.id: one.answer for one in mixed}
    return Counter(by_id[item.id] for item in balance(mixed, seed))


def test_answers_are_balanced_within_a_question() -> None:
    labels = ["er"] * 8 + ["sie"] * 3
    mixed = [mined("pronoun", label, number, "subject") for number, label in enumerate(labels)]
    mixed += [mined("pronoun", label, 100 + number, "object") for number, label in enumerate(["ihn"] * 5 + ["es"])]
    assert answers(mixed) == Counter(er=3, sie=3, ihn=1, es=1)  # the object is another question
    assert answers(mixed, seed=2) == answers(mixed)


def test_a_rare_answer_does_not_limit_the_others() -> None:
    mixed = [mined("formality", label, number) for number, label in enumerate(["du"] * 20 + ["Sie"] * 10 + ["ihr"])]
    assert answers(mixed) == Counter(du=10, Sie=10, ihr=1)


def test_words_are_balanced_one_by_one() -> None:
    mixed = [mined("repetition", "debatte", number, "debate") for number in range(4)]
    mixed += [mined("repetition", "aussprache", 10 + number, "debate") for number in range(2)]
    mixed += [mined("repetition", "lage", 20 + number, "situation") for number in range(3)]
    assert answers(mixed) == Counter(debatte=2, aussprache=2)  # the situation was always the same


def test_the_order_is_phenomenon_and_distance() -> None:
    mixed = [mined("pronoun", "er", 1, distance=2), mined("pronoun", "sie", 2)]
    mixed += [mined("ellipsis", "haben", 3), mined("ellipsis", "sein", 4)]
    found = balance(mixed)
    assert [item.id for item in found] == ["3", "4", "2", "1"]
    assert count_items(found) == {"ellipsis": {"1": 2}, "pronoun": {"1": 1, "2": 1}}
