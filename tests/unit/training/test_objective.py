"""The loss equals Eq. 11 with reversed sign, computed in a plain loop."""

import math
from dataclasses import replace

import pytest
import torch
from tests import oracles
from tests import signal_oracles as oracles_of_signals
from tests.invariants import tiny

from docaps.corpus.text.vocabulary import PAD
from docaps.model.interface import Prediction
from docaps.model.regulariser import Correlations
from docaps.training.objective import Device, Objective, average_by_tokens, compute_loss

TARGET = torch.tensor([[5, 6, 7, 2], [8, 2, PAD, PAD], [4, 4, 2, PAD]])
WORDS = [[5, 6, 7, 2], [8, 2], [4, 4, 2]]
MATCHED = torch.tensor([0.9, -0.4, 0.2], dtype=torch.float64)
MISMATCHED = torch.tensor([0.1, 0.3, -0.7], dtype=torch.float64)


def prediction(correlations: bool = True) -> Prediction:
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(*TARGET.shape, 9, generator=generator, dtype=torch.float64) * 2
    return Prediction(logits, Correlations(MATCHED, MISMATCHED) if correlations else None)


@pytest.mark.parametrize("weight", [0.0, 1.0, 0.3])
def test_the_loss_and_its_gradients_equal_eq_11(weight: float) -> None:
    logits, matched = prediction().logits.requires_grad_(), MATCHED.clone().requires_grad_()
    given = Prediction(logits, Correlations(matched, MISMATCHED))
    found = compute_loss(given, TARGET, label_smoothing=0.0, regulariser_weight=weight)
    expected = oracles.loss(logits, WORDS, matched, weight)
    torch.testing.assert_close(found.total, expected, rtol=0, atol=1e-9)
    torch.testing.assert_close(found.cross_entropy, oracles.loss(logits, WORDS, matched, 0.0), rtol=0, atol=1e-9)
    fast, slow = (torch.autograd.grad(total, [logits, matched]) for total in (found.total, expected))
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


WEIGHTS = torch.tensor([[1.0, 3.0, 1.0, 1.0], [0.5, 1.0, 0.0, 0.0], [1.0, 1.0, 7.0, 0.0]], dtype=torch.float64)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("fused", [False, True])
def test_weighted_tokens_count_as_often_as_they_weigh(smoothing: float, fused: bool) -> None:
    """With an output layer and without; label smoothing mixes a word's share with those of all words."""
    states, output = prediction().logits.requires_grad_(), torch.eye(9, dtype=torch.float64).requires_grad_()
    matched = MATCHED.clone().requires_grad_()
    given = Prediction(states, Correlations(matched, MISMATCHED), output if fused else None)
    found = compute_loss(given, TARGET, label_smoothing=smoothing, regulariser_weight=0.3, weights=WEIGHTS)
    rows = [row[: len(words)] for row, words in zip(WEIGHTS.tolist(), WORDS, strict=True)]
    expected = (1 - smoothing) * oracles_of_signals.weighted_loss(states, WORDS, rows, matched, 0.3)
    for word in range(9):
        everywhere = [[word] * len(words) for words in WORDS]
        expected = expected + smoothing / 9 * oracles_of_signals.weighted_loss(states, everywhere, rows, matched, 0.3)
    torch.testing.assert_close(found.total, expected, rtol=0, atol=1e-9)
    fast, slow = (torch.autograd.grad(total, [states, matched]) for total in (found.total, expected))
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


def test_weights_of_one_are_no_weights() -> None:
    ones = (TARGET != PAD).double()
    plain, weighted = (
        compute_loss(prediction(), TARGET, label_smoothing=0.1, regulariser_weight=1.0, weights=weights)
        for weights in (None, ones)
    )
    assert weighted.total.item() == pytest.approx(plain.total.item(), abs=1e-12)
    assert weighted.matched is not None
    assert plain.matched is not None
    assert weighted.matched.item() == pytest.approx(plain.matched.item(), abs=1e-12)


def test_validation_knows_no_weights() -> None:
    model = tiny.build(tiny.settings("transformer+reg"))
    batch = replace(tiny.sample_batch(), weights=(tiny.sample_batch().translations != PAD).double())
    heavy = replace(batch, weights=batch.weights * torch.arange(1, 1 + batch.translations.shape[1]))
    objective = Objective(
        model, label_smoothing=0.0, regulariser_weight=1.0, device=Device(torch.device("cpu"), torch.float32)
    )
    losses = [[objective.train(mode)(one).total.item() for one in (batch, heavy)] for mode in (False, True)]
    assert losses[0][0] == losses[0][1]
    assert abs(losses[1][0] - losses[1][1]) > 1e-3


def test_scores_in_half_precision_are_summed_up_in_full() -> None:
    logits = prediction().logits.bfloat16()
    found = compute_loss(Prediction(logits), TARGET, label_smoothing=0.0, regulariser_weight=0.0)
    assert found.total.dtype == torch.float32
    assert found.total.item() == pytest.approx(oracles.loss(logits.double(), WORDS, MATCHED, 0.0).item(), abs=1e-5)


def test_better_agreement_lowers_the_loss() -> None:
    matched = MATCHED.clone().requires_grad_()
    given = Prediction(prediction().logits, Correlations(matched, MISMATCHED))
    compute_loss(given, TARGET, label_smoothing=0.0, regulariser_weight=2.0).total.backward()
    assert matched.grad is not None
    assert matched.grad.tolist() == pytest.approx([-2 * 4 / 9, -2 * 2 / 9, -2 * 3 / 9])


def test_correlations_are_weighted_by_target_tokens() -> None:
    assert average_by_tokens(MATCHED, TARGET).item() == pytest.approx((4 * 0.9 - 2 * 0.4 + 3 * 0.2) / 9)
    assert average_by_tokens(MISMATCHED, TARGET).item() == pytest.approx((4 * 0.1 + 2 * 0.3 - 3 * 0.7) / 9)


def test_a_batch_of_one_pair_has_no_mismatched_correlation() -> None:
    given = Prediction(prediction().logits[:1], Correlations(MATCHED[:1], None))
    found = compute_loss(given, TARGET[:1], label_smoothing=0.0, regulariser_weight=1.0)
    assert found.matched is not None
    assert found.matched.item() == pytest.approx(0.9)
    assert found.mismatched is None


def test_mismatched_pairs_are_reported_but_not_trained_on() -> None:
    given = prediction()
    other = Prediction(given.logits, Correlations(MATCHED, -MISMATCHED))
    found = [compute_loss(one, TARGET, label_smoothing=0.0, regulariser_weight=1.0) for one in (given, other)]
    assert found[0].total.item() == found[1].total.item()
    assert found[0].mismatched is not None
    assert found[1].mismatched is not None
    assert found[0].mismatched.item() == -found[1].mismatched.item() != 0


def test_a_reward_takes_the_place_of_the_correlation_of_matched_pairs() -> None:
    """As for other readings of Eq. 11; what is reported as PCC stays the PCC."""
    reward = torch.tensor([-0.5, 1.5, -2.0], dtype=torch.float64).requires_grad_()
    given = prediction()
    rewarded = Prediction(given.logits, Correlations(MATCHED, MISMATCHED, reward))
    found = compute_loss(rewarded, TARGET, label_smoothing=0.0, regulariser_weight=0.7)
    expected = oracles.loss(given.logits, WORDS, reward, 0.7)
    torch.testing.assert_close(found.total, expected, rtol=0, atol=1e-9)
    fast, slow = (torch.autograd.grad(total, reward)[0] for total in (found.total, expected))
    torch.testing.assert_close(fast, slow, rtol=0, atol=1e-9)
    plain = compute_loss(given, TARGET, label_smoothing=0.0, regulariser_weight=0.7)
    assert (found.matched, found.mismatched) == (plain.matched, plain.mismatched)


def test_without_a_regulariser_the_loss_is_the_cross_entropy() -> None:
    found = compute_loss(prediction(correlations=False), TARGET, label_smoothing=0.0, regulariser_weight=1.0)
    assert found.total.item() == found.cross_entropy.item()
    assert found.matched is None


def test_label_smoothing_as_worked_out_by_hand() -> None:
    """With 0.1 of the mass spread over all 5 words: 0.9 x -ln 0.3, and 0.02 x the sum of all -ln p."""
    probabilities = [0.1, 0.2, 0.3, 0.25, 0.15]
    logits = torch.tensor([[probabilities, [0.9, 0.025, 0.025, 0.025, 0.025]]]).log()
    found = compute_loss(Prediction(logits), torch.tensor([[2, PAD]]), label_smoothing=0.1, regulariser_weight=1.0)
    expected = -0.9 * math.log(0.3) - 0.02 * sum(math.log(p) for p in probabilities)
    assert found.total.item() == pytest.approx(expected, abs=1e-6)
    assert expected == pytest.approx(1.08358 + 0.16799, abs=1e-5)


def test_in_a_model_mismatched_pairs_differ_from_matched_ones() -> None:
    model, batch = tiny.build(tiny.settings("qcn+reg")), tiny.sample_batch()
    found = compute_loss(tiny.train_mode(model, batch), batch.translations, label_smoothing=0.0, regulariser_weight=1.0)
    assert found.matched is not None
    assert found.mismatched is not None
    assert abs(found.matched.item() - found.mismatched.item()) > 1e-3
