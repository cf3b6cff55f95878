"""Documents count and list their sentences, and the two sides of a pair are equally long."""

import pytest

from docaps.corpus.documents import Document, ParallelDocument, all_sentences, count_sentences


def test_sentences_are_counted_and_listed_in_order() -> None:
    documents = [Document(("a", "b")), Document(("c",))]
    assert count_sentences(documents) == 3
    assert list(all_sentences(documents)) == ["a", "b", "c"]
    assert count_sentences([ParallelDocument(("a", "b"), ("x", "y"))]) == 2


def test_a_pair_of_unequal_sides_is_refused() -> None:
    with pytest.raises(ValueError, match="2 source sentences, but 1 target sentences"):
        ParallelDocument(("a", "b"), ("x",))
