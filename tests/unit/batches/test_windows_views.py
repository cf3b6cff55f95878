"""Views: what a window holds besides its sentence, in training and in translation alike."""

import numpy as np
import pytest
import torch
from tests.invariants import tiny
from tests.unit.batches.corpora import make_split

from docaps.batches.batch import collate
from docaps.batches.windows import (
    WHOLE,
    View,
    Window,
    exchange_histories,
    neighbours,
    window_of,
    windows_of_document,
)
from docaps.corpus.store import Split
from docaps.corpus.text.vocabulary import PAD

LENGTHS = [[(2, 3), (4, 2), (3, 3), (1, 1), (5, 4)], [(3, 2)], [(2, 2), (6, 3), (2, 5)]]


@pytest.fixture
def split() -> Split:
    return make_split(LENGTHS)


def as_lists(sentences: tuple[object, ...]) -> list[list[int]]:
    return [list(map(int, sentence)) for sentence in sentences]  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("number", "view", "expected"),
    [
        (2, View(), []),
        (2, View(1), [1]),
        (2, View(9), [1, 0]),
        (2, View(2, 1), [1, 0, 3]),
        (0, View(WHOLE, WHOLE), [1, 2, 3, 4]),
        (4, View(WHOLE), [3, 2, 1, 0]),
    ],
)
def test_earlier_sentences_come_first_and_near_ones_before_far_ones(
    number: int, view: View, expected: list[int]
) -> None:
    assert neighbours(number, 5, view) == expected


@pytest.mark.parametrize("view", [View(2), View(WHOLE), View(1, 2, True), View(WHOLE, WHOLE, True)])
def test_a_corpus_and_a_document_give_the_same_windows(split: Split, view: View) -> None:
    number = 0
    for start, end in zip(split.documents[:-1], split.documents[1:], strict=True):
        sources, targets = ([side[place] for place in range(start, end)] for side in (split.source, split.target))
        for window in windows_of_document(sources, view, translations=targets):
            cut = window_of(split, number, view)
            assert as_lists(window.history) == as_lists(cut.history)
            assert as_lists(window.target_history) == as_lists(cut.target_history)
            assert len(cut.target_history) == (len(cut.history) if view.translations else 0)
            number += 1
    assert number == len(split)


def test_a_shuffled_history_is_that_of_another_document_and_always_the_same(split: Split) -> None:
    own = [set(range(start, end)) for start, end in zip(split.documents[:-1], split.documents[1:], strict=True)]
    texts = {tuple(split.source[number][:-1]): number for number in range(len(split))}
    assert len(texts) == len(split)
    for number in range(len(split)):
        window, again = (window_of(split, number, View(2, shuffled=True)) for _ in range(2))
        assert as_lists(window.history) == as_lists(again.history)
        (document,) = [numbers for numbers in own if number in numbers]
        assert not {texts[tuple(sentence)] for sentence in window.history} & document
        assert np.array_equal(window.source, split.source[number])
    assert any(window_of(split, number, View(2, shuffled=True)).history for number in range(len(split)))


def test_without_another_document_a_shuffled_history_is_empty() -> None:
    alone = make_split(LENGTHS[:1])
    assert [window_of(alone, number, View(3, shuffled=True)).history for number in range(5)] == [()] * 5


def test_documents_lend_each_other_their_histories() -> None:
    one = [Window([4]), Window([5], ([4],), [6], ([7],))]
    other = [Window([8]), Window([9], ([8],), None, ([1],)), Window([10], ([9], [8]))]
    found = exchange_histories([one, [], other])
    assert [[window.source for window in windows] for windows in found] == [[[4], [5]], [], [[8], [9], [10]]]
    assert [window.history for window in found[0]] == [(), ([8],)]
    assert [window.history for window in found[2]] == [(), ([4],), ([4],)]
    assert found[0][1].target_history == ([1],)
    assert found[0][1].target == [6]
    assert [window.history for window in exchange_histories([one])[0]] == [(), ()]


def test_a_batch_has_as_many_places_as_the_fullest_window_of_a_whole_view() -> None:
    windows = [Window([4], ([5], [6, 7]), None, ([8], [])), Window([4])]
    assert collate(windows, View(WHOLE)).history.shape == (2, 2, 2)
    batch = collate(windows, View(1, 2, True))
    assert batch.history.shape == (2, 3, 2)
    assert batch.target_history is not None
    assert batch.target_history.tolist() == [[[8], [PAD], [PAD]], [[PAD]] * 3]
    assert collate(windows, View(2)).target_history is None
    assert collate(windows[1:], View(2, translations=True)).target_history is None


@pytest.mark.parametrize(
    ("name", "idle"),
    [("transformer", (False, False)), ("qcn", (True, False)), ("han", (True, True)), ("concat-2-to-2", (False, False))],
)
def test_a_batch_with_nothing_to_look_at_leaves_weights_idle(name: str, idle: tuple[bool, bool]) -> None:
    """None at all; and earlier sentences, but no translations of them."""
    model = tiny.build(tiny.mode(name))
    none = collate([Window([4, 2], (), [5, 2])], tiny.VIEW)
    some = collate([Window([4, 2], ([5],), [5, 2])], tiny.VIEW)
    assert (model.idles(none), model.idles(some)) == idle
    assert torch.is_tensor(none.source)


@pytest.mark.parametrize(
    ("view", "text"),
    [
        (View(), "no earlier sentence in view"),
        (View(3), "3 earlier sentences in view"),
        (View(WHOLE, WHOLE), "all earlier and later sentences in view"),
    ],
)
def test_a_view_in_words(view: View, text: str) -> None:
    assert str(view) == text
