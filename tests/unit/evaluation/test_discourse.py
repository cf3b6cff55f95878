"""Lexical consistency and pronoun accuracy equal cases worked by hand."""

import pytest

from docaps.corpus.documents import Document
from docaps.evaluation.discourse import Consistency, lexical_consistency, pronoun_accuracy

SOURCE = [
    Document(("The church burned.", "A church stood here.", "Our church again.")),
    Document(("The garden grew.", "That garden bloomed.")),
]


def hypotheses(*words: str) -> list[Document]:
    first, second, third, fourth, fifth = words
    return [
        Document((f"{first} brannte.", f"Hier stand {second}.", f"Wieder {third}.")),
        Document((f"{fourth} wuchs.", f"{fifth} blühte.")),
    ]


def test_one_translation_for_each_term_is_consistent() -> None:
    found = lexical_consistency(SOURCE, hypotheses("Kirche", "Kirche", "Kirchen", "Garten", "Garten"), language="de")
    assert found == Consistency(share=1.0, pairs=4, terms=2)


def test_another_word_counts_against_it_pair_by_pair() -> None:
    # church: Kirch, Kirch, and the best of "wieder dom" (both have a Dice of 2/(3+1), so the first of the two): 1 of 3.
    found = lexical_consistency(SOURCE, hypotheses("Kirche", "Kirche", "Dom", "Garten", "Garten"), language="de")
    assert found == Consistency(share=(1 + 1) / (3 + 1), pairs=4, terms=2)


def test_a_list_of_terms_replaces_content_words() -> None:
    sides = SOURCE, hypotheses("Kirche", "Kirche", "Dom", "Garten", "Garten")
    assert lexical_consistency(*sides, language="de", terms=frozenset({"garden"})) == Consistency(1.0, 1, 1)


def test_without_repeated_terms_there_is_no_score() -> None:
    found = lexical_consistency([Document(("One house.",))], [Document(("Ein Haus.",))], language="de")
    assert found == Consistency(None, 0, 0)


def test_function_words_and_short_words_are_no_terms() -> None:
    document = Document(("There were two.", "There were two."))
    assert lexical_consistency([document], [document], language="de").pairs == 0


def test_pronouns_are_compared_where_the_source_has_it() -> None:
    source = [Document(("It fell.", "I saw it.", "She sings.", "It rains on it."))]
    reference = [Document(("Sie fiel.", "Ich sah ihn.", "Sie singt.", "Regen."))]
    hypothesis = [Document(("Er fiel.", "Ich sah ihn, es.", "Er singt.", "Es regnet."))]
    found = pronoun_accuracy(source, hypothesis, reference)
    assert found.sentences == 2  # the third has no "it", the fourth no pronoun in the reference
    assert (found.accuracy, found.precision, found.recall) == (0.0, 1 / 3, 1 / 2)
    assert found.f1 == pytest.approx(2 / 5)
    assert pronoun_accuracy(source, reference, reference).accuracy == 1.0


def test_without_such_sentences_there_is_no_score() -> None:
    document = [Document(("Yes.",))]
    assert pronoun_accuracy(document, document, document).accuracy is None
