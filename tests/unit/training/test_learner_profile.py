"""The operations of a step are counted from its products; weights without a gradient are named."""

import pytest
import torch
from tests.invariants import tiny
from tests.unit.training.tiny_training import CPU, batches, fresh, learner

from docaps.model.builders import build_model
from docaps.training.journal import measure_peak
from docaps.training.objective import count_tokens


def test_a_rehearsal_counts_at_least_six_operations_for_each_weight_of_a_matrix_and_learns_nothing() -> None:
    model, batch = fresh("transformer"), batches()[0]
    before = [weight.detach().clone() for weight in model.parameters()]
    state = torch.random.get_rng_state()
    operations, idle = learner(model).profile(batch)
    matrices = sum(
        weight.numel() for name, weight in model.named_parameters() if weight.dim() == 2 and "embeddings" not in name
    )
    output = model.embeddings.output.weight.numel()
    tokens, positions = count_tokens(batch), batch.translations.numel()
    assert idle == ()
    # Encoder, decoder and output layer, forward once and backward twice; the source is about as long as the target.
    assert operations * tokens == pytest.approx(6 * (matrices + output) * positions, rel=0.4)
    assert all(torch.equal(one, other) for one, other in zip(model.parameters(), before, strict=True))
    assert all(weight.grad is None for weight in model.parameters())
    assert torch.equal(torch.random.get_rng_state(), state)


def test_weights_that_nothing_is_learnt_for_are_named() -> None:
    settings = tiny.settings("qcn", guide_capsules=False, rounds=1)
    model = build_model(settings, vocabulary=tiny.VOCABULARY, seed=1)
    _, idle = learner(model).profile(batches()[0])
    assert idle
    assert all(name.startswith("context.query") for name in idle)


def test_the_peak_is_a_plausible_speed() -> None:
    assert 1e8 < measure_peak(CPU, size=128) < 1e15
