"""The loss of the output layer, computed chunk by chunk, equals torch's cross-entropy of all scores at once."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from docaps.model.fast import cross_entropy
from docaps.model.fast.cross_entropy import (
    linear_cross_entropy,
    rescored_log_probabilities,
    word_log_probabilities,
)

WORDS = torch.tensor([3, 0, 7, 7, 10, 2, 5])


@pytest.fixture(params=[1, 3, 100], autouse=True)
def positions_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_entropy, "CHUNK_BYTES", request.param * 11 * 8)


def sample() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    states, weight = (torch.randn(rows, 4, generator=generator, dtype=torch.float64) for rows in (7, 11))
    return states.requires_grad_(), weight.requires_grad_()


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("incoming", [1.0, -2.5])
def test_loss_and_gradients_equal_those_of_all_scores_at_once(smoothing: float, incoming: float) -> None:
    states, weight = sample()
    found = linear_cross_entropy(states, weight, WORDS, smoothing=smoothing)
    expected = F.cross_entropy(states @ weight.T, WORDS, label_smoothing=smoothing)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)
    fast, slow = (torch.autograd.grad(incoming * loss, [states, weight]) for loss in (found, expected))
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("smoothing", [0.0, 0.6])
@pytest.mark.parametrize("incoming", [1.0, -2.5])
def test_shares_of_the_positions_are_added_up(smoothing: float, incoming: float) -> None:
    states, weight = sample()
    shares = torch.tensor([0.1, 0.0, 0.4, 0.05, 0.2, 0.15, 0.1], dtype=torch.float64)
    found = linear_cross_entropy(states, weight, WORDS, smoothing=smoothing, shares=shares)
    each = F.cross_entropy(states @ weight.T, WORDS, label_smoothing=smoothing, reduction="none")
    expected = sum(share * loss for share, loss in zip(shares, each, strict=True))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)
    fast, slow = (torch.autograd.grad(incoming * loss, [states, weight]) for loss in (found, expected))
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("shares", [None, [0.1, 0.0, 0.4, 0.05, 0.2, 0.15, 0.3]])
def test_a_bias_is_added_to_all_scores(smoothing: float, shares: list[float] | None) -> None:
    states, weight = sample()
    bias = torch.randn(11, generator=torch.Generator().manual_seed(2), dtype=torch.float64).requires_grad_()
    share = torch.full((7,), 1 / 7, dtype=torch.float64) if shares is None else torch.tensor(shares).double()
    given = None if shares is None else share
    found = linear_cross_entropy(states, weight, WORDS, smoothing=smoothing, shares=given, bias=bias)
    scores = states @ weight.T + bias
    expected = (F.cross_entropy(scores, WORDS, label_smoothing=smoothing, reduction="none") * share).sum()
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)
    fast, slow = (torch.autograd.grad(-2.5 * loss, [states, weight, bias]) for loss in (found, expected))
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)
    likelihoods = word_log_probabilities(states, weight, WORDS, bias=bias)
    torch.testing.assert_close(likelihoods, -F.cross_entropy(scores, WORDS, reduction="none"), rtol=0, atol=1e-9)


def test_a_weight_that_is_also_a_table_of_word_vectors_gets_both_gradients() -> None:
    _, weight = sample()
    losses = (
        linear_cross_entropy(F.embedding(WORDS, weight), weight, WORDS.flip(0), smoothing=0.1),
        F.cross_entropy(F.embedding(WORDS, weight) @ weight.T, WORDS.flip(0), label_smoothing=0.1),
    )
    found, expected = (torch.autograd.grad(loss, weight)[0] for loss in losses)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("frozen", [0, 1])
def test_a_frozen_input_gets_no_gradient_and_the_other_its_own(frozen: int) -> None:
    parts = sample()
    expected = torch.autograd.grad(F.cross_entropy(parts[0] @ parts[1].T, WORDS), parts)[1 - frozen]
    parts[frozen].requires_grad_(False)
    linear_cross_entropy(*parts, WORDS, smoothing=0.0).backward()
    assert parts[frozen].grad is None
    torch.testing.assert_close(parts[1 - frozen].grad, expected, rtol=0, atol=1e-9)


def test_no_gradient_is_computed_without_need(monkeypatch: pytest.MonkeyPatch) -> None:
    states, weight = sample()
    expected = linear_cross_entropy(states, weight, WORDS, smoothing=0.1).item()

    def refuse(*_: object) -> None:
        raise AssertionError("a gradient was made")

    monkeypatch.setattr(torch.Tensor, "addmm_", refuse)
    with pytest.raises(AssertionError, match="a gradient was made"):
        linear_cross_entropy(states, weight, WORDS, smoothing=0.1)
    with torch.no_grad():
        assert linear_cross_entropy(states, weight, WORDS, smoothing=0.1).item() == expected


def test_the_gradient_is_available_once() -> None:
    loss = linear_cross_entropy(*sample(), WORDS, smoothing=0.1)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="computed once"):
        loss.backward()


def test_half_precision_is_for_products_only() -> None:
    states, weight = (one.detach() for one in sample())
    half, full = states.bfloat16().requires_grad_(), weight.float().requires_grad_()
    found = linear_cross_entropy(half, full, WORDS, smoothing=0.1)
    found.backward()
    rounded, table = half.detach().double().requires_grad_(), weight.bfloat16().double().requires_grad_()
    expected = F.cross_entropy(rounded @ table.T, WORDS, label_smoothing=0.1)
    expected.backward()
    assert found.dtype == torch.float32
    assert found.item() == pytest.approx(expected.item(), abs=0.01)
    for one, other, dtype in ((half, rounded, torch.bfloat16), (full, table, torch.float32)):
        assert one.grad is not None
        assert other.grad is not None
        assert one.grad.dtype == dtype
        torch.testing.assert_close(one.grad.double(), other.grad, rtol=0.03, atol=0.003)


def test_sums_keep_their_precision_where_products_are_cast() -> None:
    states, weight = (one.detach().float() for one in sample())
    expected = linear_cross_entropy(states, weight, WORDS, smoothing=0.6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = linear_cross_entropy(states, weight, WORDS, smoothing=0.6)
    assert torch.equal(found, expected)


def test_log_probabilities_of_words_equal_those_of_all_scores_at_once() -> None:
    states, weight = sample()
    expected = torch.log_softmax(states @ weight.T, dim=-1)[range(7), WORDS]
    torch.testing.assert_close(word_log_probabilities(states, weight, WORDS), expected, rtol=0, atol=1e-9)
    assert word_log_probabilities(states[:0], weight, WORDS[:0]).tolist() == []


def measuring() -> ModuleType:
    path = Path(__file__).parents[4] / "benchmarks" / "measuring.py"
    specification = importlib.util.spec_from_file_location("measuring", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_memory_does_not_grow_with_the_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 30,000 words at 400 positions, whose scores alone would take 48 MB."""
    monkeypatch.setattr(cross_entropy, "CHUNK_BYTES", 2**22)
    states, weight = torch.randn(400, 4, requires_grad=True), torch.randn(30_000, 4, requires_grad=True)
    words = torch.randint(30_000, (400,))

    def train() -> None:
        linear_cross_entropy(states, weight, words, smoothing=0.1).backward()
        states.grad = weight.grad = None

    assert measuring().peak_memory(train) < 2.5 * 2**22


@pytest.mark.parametrize("chunk", [4, 11, 50])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("bias", [None, torch.linspace(-1, 1, 11, dtype=torch.float64)])
def test_rescored_words_get_the_log_probabilities_of_all_scores(
    chunk: int, scaled: bool, bias: Tensor | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_entropy, "ROWS", 3)
    monkeypatch.setattr(cross_entropy, "STRIP_BYTES", 2 * 11 * 8)
    states, weight = (one.detach() for one in sample())

    def score(rows: Tensor) -> tuple[Iterator[Tensor], Tensor | None]:
        scores = F.linear(rows, weight, bias)
        return iter((scores / 2 if scaled else scores).split(chunk, dim=1)), scores.new_full(
            (len(rows), 1), 2.0
        ) if scaled else None

    found = rescored_log_probabilities(states, weight, WORDS, score, bias=bias)
    expected = word_log_probabilities(states, weight, WORDS, bias=bias)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


def test_a_rescored_word_has_its_exact_score_and_others_their_rounded_ones() -> None:
    states, weight = (one.detach() for one in sample())
    rounded = (states @ weight.T).round()

    def score(rows: Tensor) -> tuple[Iterator[Tensor], None]:
        return iter([(rows @ weight.T).round()]), None

    rounded[torch.arange(7), WORDS] = (states * weight[WORDS]).sum(dim=1)
    expected = torch.log_softmax(rounded, dim=1)[torch.arange(7), WORDS]
    torch.testing.assert_close(rescored_log_probabilities(states, weight, WORDS, score), expected)
