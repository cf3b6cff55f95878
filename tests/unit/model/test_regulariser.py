"""The regulariser compares plain capsules of source and target, in training only."""

from typing import Any

import pytest
import torch
from tests import oracles
from tests.invariants import tiny
from torch import Tensor

from docaps.model.builders import build_model
from docaps.model.regulariser import Regulariser
from docaps.model.routing.algorithm import RoutingOptions

M, R, D = tiny.M, tiny.R, tiny.D
SOURCE_MASK = torch.tensor([[True] * 4, [True] * 2 + [False] * 2, [True] * 3 + [False]])
TARGET_MASK = torch.tensor([[True, False, False], [True] * 3, [True] * 2 + [False]])


def double(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def regulariser() -> Regulariser:
    return build()


def build(**options: Any) -> Regulariser:
    torch.manual_seed(1)
    return Regulariser(size=D, capsules=M, options=RoutingOptions(rounds=R), **options).double()


def capsules(words: Tensor, mask: Tensor, weight: Tensor) -> Tensor:
    u = torch.stack([oracles.squash(word) for word in words[mask]])
    return oracles.route(u, weight, None, R)[0]


def test_correlations_equal_plain_routing_and_eq_7(regulariser: Regulariser) -> None:
    source, target = double(3, 4, D, seed=2), double(3, 3, D, seed=3)
    found = regulariser(source, SOURCE_MASK, target, TARGET_MASK)
    left = [capsules(source[row], SOURCE_MASK[row], regulariser.source.weight) for row in range(3)]
    right = [capsules(target[row], TARGET_MASK[row], regulariser.target.weight) for row in range(3)]
    for row in range(3):
        matched = sum(oracles.pcc(left[row][j], right[row][j]) for j in range(M)) / M
        mismatched = sum(oracles.pcc(left[row][j], right[row - 1][j]) for j in range(M)) / M
        torch.testing.assert_close(found.matched[row], matched)
        torch.testing.assert_close(found.mismatched[row], mismatched)
        assert abs(matched - mismatched) > 1e-3


def test_all_capsules_can_be_correlated_as_one_vector() -> None:
    regulariser = build(flattened=True)
    source, target = double(3, 4, D, seed=2), double(3, 3, D, seed=3)
    found = regulariser(source, SOURCE_MASK, target, TARGET_MASK)
    left = [capsules(source[row], SOURCE_MASK[row], regulariser.source.weight).flatten() for row in range(3)]
    right = [capsules(target[row], TARGET_MASK[row], regulariser.target.weight).flatten() for row in range(3)]
    for row in range(3):
        torch.testing.assert_close(found.matched[row], oracles.pcc(left[row], right[row]), rtol=0, atol=1e-9)
        torch.testing.assert_close(found.mismatched[row], oracles.pcc(left[row], right[row - 1]), rtol=0, atol=1e-9)


def test_gradients_of_the_correlation_equal_those_of_the_loops(regulariser: Regulariser) -> None:
    source, target = double(3, 4, D, seed=2).requires_grad_(), double(3, 3, D, seed=3).requires_grad_()
    weights = [source, target, *regulariser.parameters()]
    found = regulariser(source, SOURCE_MASK, target, TARGET_MASK).matched
    direction = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    fast = torch.autograd.grad((found * direction).sum(), weights)
    total = torch.zeros((), dtype=torch.float64)
    for row in range(3):
        left = capsules(source[row], SOURCE_MASK[row], regulariser.source.weight)
        right = capsules(target[row], TARGET_MASK[row], regulariser.target.weight)
        total = total + direction[row] * sum(oracles.pcc(left[j], right[j]) for j in range(M)) / M
    slow = torch.autograd.grad(total, weights)
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


def test_the_same_words_with_the_same_weights_correlate_fully(regulariser: Regulariser) -> None:
    regulariser.target.load_state_dict(regulariser.source.state_dict())
    words = double(3, 4, D, seed=4)
    found = regulariser(words, SOURCE_MASK, words, SOURCE_MASK)
    torch.testing.assert_close(found.matched, torch.ones(3, dtype=torch.float64))
    assert (found.mismatched < 0.999).all()


def test_a_single_pair_has_no_mismatched_correlation(regulariser: Regulariser) -> None:
    source, target = double(1, 4, D, seed=2), double(1, 3, D, seed=3)
    found = regulariser(source, SOURCE_MASK[:1], target, TARGET_MASK[:1])
    assert found.mismatched is None
    assert found.matched.shape == (1,)


def test_only_matched_pairs_have_a_gradient(regulariser: Regulariser) -> None:
    found = regulariser(double(3, 4, D, seed=2), SOURCE_MASK, double(3, 3, D, seed=3), TARGET_MASK)
    assert found.matched.requires_grad
    assert not found.mismatched.requires_grad


@pytest.mark.parametrize("name", ["transformer+reg", "qcn+reg"])
def test_a_model_correlates_in_training_only(name: str) -> None:
    model, batch = tiny.build(tiny.settings(name)), tiny.sample_batch()
    trained = tiny.train_mode(model, batch)
    assert trained.correlations is not None
    assert model(batch).correlations is None
    torch.testing.assert_close(model(batch).logits, trained.logits)


def test_dropout_does_not_change_the_correlation() -> None:
    """The regulariser reads the inputs of encoder and decoder before dropout."""
    batch = tiny.sample_batch()
    model = build_model(tiny.settings("transformer+reg"), vocabulary=tiny.VOCABULARY, dropout=0.5).double().train()
    first, second = (model(batch).correlations for _ in range(2))
    assert torch.equal(first.matched, second.matched)


@pytest.mark.parametrize("positions", [True, False])
def test_a_model_correlates_the_inputs_of_encoder_and_decoder(positions: bool) -> None:
    """Word vectors times the root of their size, plus positions unless these are switched off."""
    settings = tiny.settings("transformer+reg", embeddings="separate", regulariser={"positions": positions})
    model, batch = tiny.build(settings), tiny.sample_batch()
    assert batch.target_input is not None
    assert model.regulariser is not None
    source, target = (
        table(words) * D**0.5 + (model.positions(words.shape[1]) if positions else 0)
        for table, words in (
            (model.embeddings.source, batch.source),
            (model.embeddings.target, batch.target_input),
        )
    )
    expected = model.regulariser(source, batch.source != 0, target, batch.target_input != 0)
    found = tiny.train_mode(model, batch).correlations
    assert found is not None
    torch.testing.assert_close(found.matched, expected.matched)
