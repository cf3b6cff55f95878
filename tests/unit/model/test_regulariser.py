"""The regulariser compares plain capsules of source and target, in training only."""

import math
from typing import Any

import pytest
import torch
from tests import oracles
from tests.invariants import tiny
from torch import Tensor

from docaps.batches.batch import collate
from docaps.batches.windows import Window
from docaps.corpus.text.vocabulary import EOS, PAD
from docaps.model.builders import build_model
from docaps.model.regulariser import Correlations, Regulariser, RegulariserOptions, centre, retrieval
from docaps.model.routing.algorithm import RoutingOptions

M, R, D = tiny.M, tiny.R, tiny.D
SOURCE_MASK = torch.tensor([[True] * 4, [True] * 2 + [False] * 2, [True] * 3 + [False]])
TARGET_MASK = torch.tensor([[True, False, False], [True] * 3, [True] * 2 + [False]])


def double(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


READINGS: dict[str, dict[str, Any]] = {
    "printed": {},
    "flattened": {"flattened": True},
    "centred": {"centred": True},
    "centred-flattened": {"centred": True, "flattened": True},
    "difference": {"negatives": "batch"},
    "infonce": {"negatives": "infonce", "temperature": 0.3},
    "centred-infonce": {"centred": True, "negatives": "infonce"},
    "centred-flattened-difference": {"centred": True, "flattened": True, "negatives": "batch"},
}


@pytest.fixture(params=READINGS.values(), ids=READINGS)
def regulariser(request: pytest.FixtureRequest) -> Regulariser:
    return build(**request.param)


def build(**options: Any) -> Regulariser:
    torch.manual_seed(1)
    routing = RoutingOptions(rounds=R)
    return Regulariser(size=D, capsules=M, routing=routing, options=RegulariserOptions(**options)).double()


def inputs(pairs: int = 3, *, gradient: bool = False) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    source, target = double(3, 4, D, seed=2)[:pairs], double(3, 3, D, seed=3)[:pairs]
    return source.requires_grad_(gradient), SOURCE_MASK[:pairs], target.requires_grad_(gradient), TARGET_MASK[:pairs]


def vectors(words: Tensor, mask: Tensor, weight: Tensor, options: RegulariserOptions) -> list[Tensor]:
    """What a side of each pair is compared by: its capsules, or one vector of all of them."""
    found = []
    for row in range(len(words)):
        u = torch.stack([oracles.squash(word) for word in words[row][mask[row]]])
        capsules = oracles.route(u, weight, None, R)[0]
        found.append(capsules.flatten().unsqueeze(0) if options.flattened else capsules)
    return oracles.centred(found) if options.centred else found


def correlations_by_loops(
    regulariser: Regulariser, source: Tensor, source_mask: Tensor, target: Tensor, target_mask: Tensor
) -> list[list[Tensor]]:
    return oracles.pair_correlations(
        vectors(source, source_mask, regulariser.source.weight, regulariser.options),
        vectors(target, target_mask, regulariser.target.weight, regulariser.options),
    )


def rewards_by_loops(pairs: list[list[Tensor]], options: RegulariserOptions) -> list[Tensor]:
    rows = range(len(pairs))
    if options.negatives == "infonce":
        return [oracles.infonce(pairs, i, options.temperature) for i in rows]
    return [pairs[i][i] - (oracles.mismatched(pairs, i) if options.negatives == "batch" else 0) for i in rows]


def reward_of(found: Correlations) -> Tensor:
    return found.matched if found.reward is None else found.reward


def test_correlations_equal_plain_routing_and_eq_7(regulariser: Regulariser) -> None:
    found, pairs = regulariser(*inputs()), correlations_by_loops(regulariser, *inputs())
    for row in range(3):
        torch.testing.assert_close(found.matched[row], pairs[row][row], rtol=0, atol=1e-9)
        torch.testing.assert_close(found.mismatched[row], oracles.mismatched(pairs, row), rtol=0, atol=1e-9)
        assert abs(found.matched[row] - found.mismatched[row]) > 1e-3
    everything = torch.stack([torch.stack(row) for row in pairs])
    torch.testing.assert_close(regulariser.correlate_pairs(*inputs()), everything, rtol=0, atol=1e-9)


def test_rewards_and_their_gradients_equal_those_of_the_loops(regulariser: Regulariser) -> None:
    given = inputs(gradient=True)
    weights = [given[0], given[2], *regulariser.parameters()]
    direction = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    fast = reward_of(regulariser(*given))
    slow = torch.stack(rewards_by_loops(correlations_by_loops(regulariser, *given), regulariser.options))
    torch.testing.assert_close(fast, slow, rtol=0, atol=1e-9)
    one, other = (torch.autograd.grad((reward * direction).sum(), weights) for reward in (fast, slow))
    for gradient, expected in zip(one, other, strict=True):
        assert expected.abs().max() > 1e-4
        torch.testing.assert_close(gradient, expected, rtol=0, atol=1e-9)


def test_the_order_of_the_batch_changes_nothing(regulariser: Regulariser) -> None:
    order = [2, 0, 1]
    found, other = regulariser(*inputs()), regulariser(*(side[order] for side in inputs()))
    for one, moved in ((found.matched, other.matched), (found.mismatched, other.mismatched)):
        torch.testing.assert_close(moved, one[order])
    torch.testing.assert_close(reward_of(other), reward_of(found)[order])


def test_a_single_pair_has_no_mismatched_correlation_and_is_rewarded_only_as_printed(regulariser: Regulariser) -> None:
    """A reading that looks at other pairs has none to look at: it rewards nothing, and pulls at no weight."""
    found = regulariser(*inputs(1))
    assert found.mismatched is None
    reward = reward_of(found)
    gradients = torch.autograd.grad(reward.sum(), list(regulariser.parameters()))
    alone = regulariser.options.negatives == "none" and not regulariser.options.centred
    assert bool(reward != 0) == alone
    assert all(bool(gradient.any()) == alone for gradient in gradients)


def test_constants_earn_the_most_as_printed_and_nothing_elsewhere(regulariser: Regulariser) -> None:
    """The same words in every pair: capsules that do not depend on the pair."""
    words = double(1, 4, D, seed=4).expand(5, -1, -1)
    regulariser.target.load_state_dict(regulariser.source.state_dict())
    found = regulariser(words, torch.ones(5, 4, dtype=torch.bool), words, torch.ones(5, 4, dtype=torch.bool))
    options = regulariser.options
    if options.centred:
        assert torch.equal(
            found.matched, torch.zeros(5, dtype=torch.float64)
        )  # rounding does not count as a difference
    else:
        torch.testing.assert_close(found.matched, torch.ones(5, dtype=torch.float64))
        torch.testing.assert_close(found.mismatched, found.matched)
    expected = {"none": 0.0 if options.centred else 1.0, "batch": 0.0, "infonce": -math.log(5)}[options.negatives]
    torch.testing.assert_close(reward_of(found), torch.full((5,), expected, dtype=torch.float64))


def test_in_float32_constants_are_recognised_in_spite_of_rounding() -> None:
    """A mean of equal numbers is not always that number: what is left must not be scaled up to a correlation."""
    vectors = torch.rand(1, 2, 300, generator=torch.Generator().manual_seed(5)).expand(7, -1, -1) * 1e3
    assert (vectors - vectors.mean(dim=0)).any()
    assert not centre(vectors).any()
    assert centre(vectors + 0.01 * torch.rand(7, 2, 300)).any(dim=-1).all()


def test_the_same_words_with_the_same_weights_correlate_fully(regulariser: Regulariser) -> None:
    regulariser.target.load_state_dict(regulariser.source.state_dict())
    words = double(3, 4, D, seed=4)
    found = regulariser(words, SOURCE_MASK, words, SOURCE_MASK)
    torch.testing.assert_close(found.matched, torch.ones(3, dtype=torch.float64))
    assert (found.mismatched < 0.999).all()
    assert retrieval(regulariser.correlate_pairs(words, SOURCE_MASK, words, SOURCE_MASK)) == 1


def test_mismatched_pairs_have_a_gradient_only_if_they_count(regulariser: Regulariser) -> None:
    found = regulariser(*inputs())
    assert reward_of(found).requires_grad
    assert found.mismatched.requires_grad == (regulariser.options.negatives != "none")


def test_under_autocast_correlations_stay_exact(regulariser: Regulariser) -> None:
    single = regulariser.float()
    given = [side.float() if side.is_floating_point() else side for side in inputs()]
    exact = single(*given), single.correlate_pairs(*given)
    with torch.autocast("cpu", torch.bfloat16):
        found = single(*given), single.correlate_pairs(*given)
    assert torch.equal(found[0].mismatched, exact[0].mismatched)
    assert torch.equal(reward_of(found[0]), reward_of(exact[0]))
    assert torch.equal(found[1], exact[1])


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (
            [[0.9, 0.1, 0.2], [0.8, 0.7, 0.1], [0.0, 0.1, 0.3]],
            2 / 3,
        ),  # the second source is nearest to the first target
        ([[0.9, 0.1, 0.2], [0.1, 0.7, 0.7], [0.3, 0.3, 0.3]], (1 + 1 / 2 + 1 / 3) / 3),
        ([[0.5] * 4] * 4, 1 / 4),
    ],
)
def test_retrieval_as_counted_by_hand(pairs: list[list[float]], expected: float) -> None:
    assert oracles.retrieval(pairs) == pytest.approx(expected)
    assert retrieval(torch.tensor(pairs)).item() == pytest.approx(expected)


def test_retrieval_equals_the_loops() -> None:
    pairs = double(20, 20, seed=6) + 1.5 * torch.eye(20, dtype=torch.float64)
    found = retrieval(pairs).item()
    assert found == pytest.approx(oracles.retrieval(pairs.tolist()))
    assert 0.2 < found < 0.9


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


@pytest.mark.parametrize("marks", [True, False])
@pytest.mark.parametrize("positions", [True, False])
def test_a_model_correlates_the_inputs_of_encoder_and_decoder(positions: bool, marks: bool) -> None:
    """Word vectors times the root of their size, plus positions unless these are switched off; marks likewise."""
    chosen = {"positions": positions, "marks": marks}
    settings = tiny.settings("transformer+reg", embeddings="separate", regulariser=chosen)
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
    if marks:
        masks = batch.source != PAD, batch.target_input != PAD
    else:
        masks = batch.source > EOS, batch.target_input > EOS
        assert [mask.sum(dim=1).tolist() for mask in masks] == [[3, 1, 5, 2, 2], [2, 4, 1, 3, 2]]
    inputs = source, masks[0], target, masks[1]
    found = tiny.train_mode(model, batch).correlations
    assert found is not None
    torch.testing.assert_close(found.matched, model.regulariser(*inputs).matched)
    torch.testing.assert_close(model.correlate_pairs(batch), model.regulariser.correlate_pairs(*inputs))


def test_a_sentence_without_words_correlates_with_nothing() -> None:
    """Without its marks nothing is left to route."""
    model = tiny.build(tiny.settings("transformer+reg", regulariser={"marks": False, "negatives": "infonce"}))
    batch = collate([*tiny.sample_windows()[:2], Window([EOS], (), tiny.sentence(5, 6))], tiny.VIEW)
    prediction = tiny.train_mode(model, batch)
    assert prediction.correlations is not None
    assert prediction.correlations.matched[2] == 0
    gradients = torch.autograd.grad(reward_of(prediction.correlations).sum(), list(model.regulariser.parameters()))
    assert all(gradient.isfinite().all() for gradient in gradients)
