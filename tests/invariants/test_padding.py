"""Padding, other rows and later target words change nothing."""

from dataclasses import replace

import pytest
import torch
from tests.invariants import tiny
from torch import Tensor

from docaps.batches.batch import Batch, collate
from docaps.config import SystemSettings
from docaps.corpus.text.vocabulary import PAD
from docaps.model.interface import Prediction, TranslationModel
from docaps.model.regulariser import Correlations


def assert_same(found: Prediction, expected: Prediction, batch: Batch, rows: slice = slice(None)) -> None:
    """Compare real positions, and the reward where there is a regulariser."""
    assert_same_words(found, expected, batch, rows)
    assert (found.correlations is None) == (expected.correlations is None)
    if found.correlations is not None and expected.correlations is not None:
        torch.testing.assert_close(reward(found.correlations), reward(expected.correlations)[rows])


def assert_same_words(found: Prediction, expected: Prediction, batch: Batch, rows: slice) -> None:
    for row, length in enumerate(tiny.lengths(batch)[rows]):
        torch.testing.assert_close(found.logits[row, :length], expected.logits[rows][row, :length])


def reward(correlations: Correlations) -> Tensor:
    return correlations.matched if correlations.reward is None else correlations.reward


def widen(batch: Batch, part: str) -> Batch:
    if part == "target":
        assert batch.target_input is not None
        return replace(
            batch, target_input=tiny.widened(batch.target_input, 3), target_output=tiny.widened(batch.translations, 3)
        )
    return replace(batch, **{part: tiny.widened(getattr(batch, part), 3)})


@pytest.mark.parametrize("part", ["source", "history", "target", "target_history"])
def test_more_padding_changes_nothing(model: TranslationModel, part: str) -> None:
    batch = tiny.sample_batch()
    assert_same(tiny.train_mode(model, widen(batch, part)), tiny.train_mode(model, batch), batch)


def test_batch_neighbours_change_nothing(model: TranslationModel, system: SystemSettings) -> None:
    """Except the reward of a regulariser that compares pairs: a pair alone earns nothing."""
    windows, batch = tiny.sample_windows(), tiny.sample_batch()
    together = tiny.train_mode(model, batch)
    for row, window in enumerate(windows):
        alone = tiny.train_mode(model, collate([window], tiny.VIEW))
        if tiny.compares_pairs(system):
            assert_same_words(alone, together, batch, slice(row, row + 1))
            assert alone.correlations is not None
            assert not reward(alone.correlations).any()
        else:
            assert_same(alone, together, batch, slice(row, row + 1))


def test_the_order_of_the_batch_changes_nothing(model: TranslationModel) -> None:
    windows, order = tiny.sample_windows(), [3, 0, 4, 2, 1]
    moved = collate([windows[row] for row in order], tiny.VIEW)
    found, other = tiny.train_mode(model, tiny.sample_batch()), tiny.train_mode(model, moved)
    correlations = None if found.correlations is None else Correlations(reward(found.correlations)[order], None)
    assert_same(other, Prediction(found.logits[order], correlations), moved)


def test_the_vector_of_the_padding_symbol_is_never_used(model: TranslationModel) -> None:
    batch = tiny.sample_batch()
    before = tiny.train_mode(model, batch)
    with torch.no_grad():
        for table in (model.embeddings.source, model.embeddings.target):
            table.weight[PAD] = 100 * torch.arange(tiny.D)
    after = tiny.train_mode(model, batch)
    words = slice(PAD + 1, None)  # with shared tables the score of the padding symbol itself may change
    assert_same(
        Prediction(after.logits[..., words], after.correlations),
        Prediction(before.logits[..., words], before.correlations),
        batch,
    )


@pytest.mark.parametrize("position", [1, 3])
def test_future_target_words_change_nothing(model: TranslationModel, position: int) -> None:
    batch = tiny.sample_batch()
    assert batch.target_input is not None
    changed: Tensor = batch.target_input.clone()
    changed[:, position] = 4
    before, after = model(batch).logits, model(replace(batch, target_input=changed)).logits
    assert torch.equal(after[:, :position], before[:, :position])
    differences = (after[:, position] - before[:, position]).abs().amax(dim=-1)
    assert ((differences > 1e-6) == (changed[:, position] != batch.target_input[:, position])).all()
