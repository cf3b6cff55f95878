"""Batches: windows padded to tensors, nothing lost, nothing added but padding."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.batches.corpora import DOCUMENTS, Lengths, make_split

from docaps.batches.batch import Batch, collate, pad, with_end_marks
from docaps.batches.windows import Window, window_of
from docaps.corpus.text.vocabulary import BOS, EOS, PAD


def test_a_batch_worked_by_hand() -> None:
    windows = [
        Window([5, 6, EOS], ([7], [8, 9]), [10, 11, EOS]),
        Window([12, EOS], (), [EOS]),
        Window([13, EOS], ([14],), [15, EOS]),
    ]
    batch = collate(windows, 2)
    assert batch.source.tolist() == [[5, 6, EOS], [12, EOS, PAD], [13, EOS, PAD]]
    assert batch.history.tolist() == [[[7, PAD], [8, 9]], [[PAD, PAD], [PAD, PAD]], [[14, PAD], [PAD, PAD]]]
    assert batch.target_input is not None
    assert batch.target_input.tolist() == [[BOS, 10, 11], [BOS, PAD, PAD], [BOS, 15, PAD]]
    assert batch.translations.tolist() == [[10, 11, EOS], [EOS, PAD, PAD], [15, EOS, PAD]]
    assert batch.source_mask.tolist() == [[True, True, True], [True, True, False], [True, True, False]]
    assert batch.history_mask.sum(dim=(1, 2)).tolist() == [3, 0, 1]


@given(DOCUMENTS, st.integers(0, 3))
def test_what_is_real_in_a_batch_is_what_went_in(documents: list[Lengths], history: int) -> None:
    split = make_split(documents)
    windows = [window_of(split, number, history) for number in range(len(split))]
    batch = collate(windows, history)
    assert batch.history.shape[:2] == (len(windows), history)
    for row, window in enumerate(windows):
        assert batch.source[row][batch.source_mask[row]].tolist() == list(window.source)
        for place, sentence in enumerate(window.history):
            assert batch.history[row, place][batch.history_mask[row, place]].tolist() == list(sentence)
        assert not batch.history_mask[row, len(window.history) :].any()
        output = batch.translations[row]
        assert output[output != PAD].tolist() == split.target[row].tolist()


def test_more_history_than_asked_for_is_left_out() -> None:
    window = Window([5, EOS], ([6], [7], [8]))
    assert collate([window], 2).history.tolist() == [[[6], [7]]]
    assert collate([window], 0).history.shape == (1, 0, 0)


def test_translations_are_all_or_nothing() -> None:
    without = collate([Window([5, EOS])], 0)
    assert without.target_input is None
    with pytest.raises(ValueError, match="no translations"):
        _ = without.translations
    with pytest.raises(ValueError, match="1 of 2 windows have no target"):
        collate([Window([5, EOS]), Window([5, EOS], (), [6, EOS])], 0)


def test_a_batch_moves_whole() -> None:
    batch = collate([Window([5, EOS], ([6],), [7, EOS])], 1)
    moved = batch.to(torch.device("meta"))
    assert moved.target_output is not None
    assert {moved.source.device.type, moved.history.device.type, moved.target_output.device.type} == {"meta"}
    assert collate([Window([5, EOS])], 1).to(torch.device("cpu")).target_input is None


def test_padding_nothing_gives_nothing() -> None:
    assert pad([]).shape == (0, 0)
    assert pad([[], [5]]).tolist() == [[PAD], [5]]


def test_an_end_mark_closes_the_nearest_sentence_of_each_history() -> None:
    windows = [
        Window([5, EOS], ([7], [8, 9])),
        Window([6, EOS]),
        Window([6, EOS], ([], [4, 5])),
        Window([6, EOS], ([4, 5],)),
    ]
    closed = with_end_marks(collate(windows, 2))
    assert closed.history.tolist() == [
        [[7, EOS, PAD], [8, 9, PAD]],
        [[EOS, PAD, PAD], [PAD, PAD, PAD]],
        [[EOS, PAD, PAD], [4, 5, PAD]],
        [[4, 5, EOS], [PAD, PAD, PAD]],
    ]
    none = Batch(closed.source, closed.history[:, :0, :0])
    assert with_end_marks(none).history.tolist() == [[[EOS]]] * 4
