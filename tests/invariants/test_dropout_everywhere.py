"""Dropout acts in every part of every system, at the rate of the part, in training only; masks stay masks."""

from dataclasses import replace

import pytest
import torch
from tests.invariants import tiny
from torch import nn

from docaps.config import SystemSettings
from docaps.corpus.text.vocabulary import PAD
from docaps.model.context.han import HierarchicalAttention
from docaps.model.context.san import SelectiveAttention
from docaps.model.context.sublayer import ContextSublayer
from docaps.model.fast.dropout import Dropout
from docaps.model.interface import TranslationModel
from docaps.model.layers import Attention, DropoutRates, FeedForward, Residual

RATES = DropoutRates(embeddings=0.1, sublayers=0.2, attention=0.3, feed_forward=0.4)


def dropouts(model: nn.Module, rate: float) -> set[Dropout]:
    return {module for module in model.modules() if isinstance(module, Dropout) and module.p == rate}


def modules(model: nn.Module, *kinds: type[nn.Module]) -> list[nn.Module]:
    return [module for module in model.modules() if isinstance(module, kinds)]


def predict(model: TranslationModel, batch: object, seed: int = 1) -> torch.Tensor:
    """The logits of a training step whose dropout has this seed."""
    torch.manual_seed(seed)
    return tiny.train_mode(model, batch).logits  # type: ignore[arg-type]


def test_every_part_drops_at_its_own_rate(system: SystemSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    if tiny.is_plugin(system):
        pytest.skip("its author decides")
    model, used = tiny.build(system, dropout=RATES), set[Dropout]()
    keep = Dropout.keep
    monkeypatch.setattr(Dropout, "keep", lambda own, *parts: used.add(own) or keep(own, *parts))
    predict(model, tiny.sample_batch())
    zhang, everywhere = tiny.context_of(system) == "zhang", system.zhang.dropout == "all"
    bare = 0 if everywhere or not zhang else len(modules(model, ContextSublayer))  # without dropout on the gated path
    counts = {
        RATES.attention: len(modules(model, Attention, SelectiveAttention)),
        RATES.feed_forward: len(modules(model, FeedForward)),
        RATES.sublayers: len(modules(model, Residual, HierarchicalAttention, SelectiveAttention)) - bare,
        RATES.embeddings: 1 + (zhang and everywhere),
    }
    assert {rate: len(dropouts(model, rate)) for rate in counts} == counts
    assert used == set().union(*(dropouts(model, rate) for rate in counts))


def test_dropout_changes_nothing_outside_training(system: SystemSettings) -> None:
    plain, dropped, batch = tiny.build(system), tiny.build(system, dropout=0.5), tiny.sample_batch()
    state = torch.get_rng_state()
    assert torch.equal(dropped(batch).logits, plain(batch).logits)
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.allclose(predict(dropped, batch), predict(plain, batch))
    assert torch.equal(predict(dropped, batch), predict(dropped, batch))
    assert not torch.allclose(predict(dropped, batch), predict(dropped, batch, seed=2))


def test_with_dropout_padding_and_later_words_change_nothing(system: SystemSettings) -> None:
    model, batch = tiny.build(system, dropout=0.3), tiny.sample_batch()
    before = predict(model, batch)
    assert batch.target_input is not None
    changed = batch.target_input.clone()
    changed[:, 2] = 4
    assert torch.equal(predict(model, replace(batch, target_input=changed))[:, :2], before[:, :2])
    with torch.no_grad():
        for table in (model.embeddings.source, model.embeddings.target):
            table.weight[PAD] = 100 * torch.arange(tiny.D)
    after = predict(model, batch)
    for row, length in enumerate(tiny.lengths(batch)):
        torch.testing.assert_close(after[row, :length, PAD + 1 :], before[row, :length, PAD + 1 :])
