"""Windows: the sentences before, nearest first, of the same document, without end marks."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.batches.corpora import DOCUMENTS, Lengths, make_split

from docaps.batches.windows import Window, window_of, windows_of_document, without_end_mark
from docaps.corpus.text.vocabulary import EOS


def as_lists(window: Window) -> tuple[list[int], list[list[int]]]:
    return list(map(int, window.source)), [list(map(int, sentence)) for sentence in window.history]


@given(DOCUMENTS, st.integers(0, 4))
def test_history_is_the_document_so_far_nearest_first(documents: list[Lengths], history: int) -> None:
    split = make_split(documents)
    number = 0
    for document in documents:
        words: list[list[int]] = []  # of this document only
        for _ in document:
            source = split.source[number].tolist()
            expected = words[::-1][:history]
            window = window_of(split, number, history)
            assert as_lists(window) == (source, expected)
            assert window.target is not None
            assert list(window.target) == split.target[number].tolist()
            words.append(source[:-1])
            number += 1


@given(DOCUMENTS, st.integers(0, 4))
def test_a_document_cut_alone_gives_the_windows_of_the_corpus(documents: list[Lengths], history: int) -> None:
    split = make_split(documents)
    number = 0
    for document in documents:
        sentences = [split.source[number + place] for place in range(len(document))]
        for window in windows_of_document(sentences, history):
            assert as_lists(window) == as_lists(window_of(split, number, history))
            assert window.target is None
            number += 1


def test_given_sentences_are_history_only() -> None:
    first, second, third = [5, EOS], [6, EOS], [7, EOS]
    found = [as_lists(window) for window in windows_of_document([second, third], 2, given=[[4, EOS], first])]
    assert found == [([6, EOS], [[5], [4]]), ([7, EOS], [[6], [5]])]
    assert [as_lists(window) for window in windows_of_document([second], 3, [first])] == [([6, EOS], [[5]])]


def test_only_an_end_mark_at_the_end_is_left_out() -> None:
    assert without_end_mark([5, EOS]) == [5]
    assert without_end_mark([5, 6]) == [5, 6]
    assert without_end_mark([]) == []
    assert without_end_mark(np.array([EOS, 5, EOS], np.int32)).tolist() == [EOS, 5]  # type: ignore[union-attr]
