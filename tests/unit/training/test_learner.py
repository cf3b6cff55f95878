"""A learner learns reproducibly, freezes weights, and takes the same step from one batch or from several."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.invariants import tiny
from tests.unit.training.tiny_training import batches, corpus, fresh, learner, losses, step_data, train

from docaps.batches.batch import Batch, collate
from docaps.batches.prefetch import StepData
from docaps.batches.sampling import StreamPosition
from docaps.batches.windows import Window
from docaps.errors import ConfigError
from docaps.model.interface import TranslationModel
from docaps.training.learner import Learner
from docaps.training.objective import Device, count_tokens


def weights(model: TranslationModel) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


@pytest.mark.parametrize("name", ["transformer", "qcn+reg"])
def test_the_loss_falls(name: str) -> None:
    found = losses(train(fresh(name, dropout=0.0)), "cross_entropy")
    assert len(found) == 30
    assert found[-1] < 0.8 * found[0]


def test_training_twice_gives_the_same_weights_bit_for_bit() -> None:
    first, second, start = fresh(), fresh(), fresh()
    rows = [losses(train(model, steps=6)) for model in (first, second)]
    assert rows[0] == rows[1]
    for one, other, before in zip(first.parameters(), second.parameters(), start.parameters(), strict=True):
        assert torch.equal(one, other)
        assert not torch.equal(one, before)


def test_what_dropout_draws_depends_on_seed_step_and_batch_alone() -> None:
    model, data = fresh(dropout=0.5), step_data(*batches())

    def loss(step: int, seed: int = 1, noise: int = 0) -> float:
        torch.manual_seed(noise)
        one = learner(model)
        one._seed = seed
        return one.compute(step, data)["loss"]

    with torch.random.fork_rng():
        assert loss(3) == loss(3, noise=7)
        assert len({loss(3), loss(4), loss(3, seed=2)}) == 3


def test_batches_of_a_step_have_dropout_of_their_own() -> None:
    batch = batches()[0]
    one = learner(fresh(dropout=0.5))
    with torch.random.fork_rng():
        once = one.compute(1, step_data(batch))["loss"]
        twice = one.compute(1, step_data(batch, batch))["loss"]
    assert abs(once - twice) > 1e-3


def test_inherited_weights_learn_at_their_own_rate() -> None:
    new = tiny.parameter_names(fresh(), containing=["context", "regulariser"])
    start = dict(fresh().named_parameters())
    inherited = start.keys() - new
    frozen, slow = fresh(), fresh()
    train(frozen, steps=3, inherited_rate=0.0, inherited=inherited)
    train(slow, steps=3, inherited_rate=0.5, inherited=inherited)
    moved = {name for name, weight in frozen.named_parameters() if not torch.equal(weight, start[name])}
    assert moved == new
    assert all(not torch.equal(weight, start[name]) for name, weight in slow.named_parameters())


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_the_first_step_of_adam_is_as_long_as_the_rate_of_its_weights(optimizer: str) -> None:
    model, start = fresh(dropout=0.0), dict(fresh().named_parameters())
    inherited = tiny.parameter_names(model, containing=["embeddings"])
    train(model, steps=1, inherited_rate=0.5, inherited=inherited, optimizer=optimizer)
    longest = {name: (weight - start[name]).abs().max().item() for name, weight in model.named_parameters()}
    assert longest["embeddings.source.weight"] == pytest.approx(0.005, rel=1e-2)
    assert longest["context.routing.weight"] == pytest.approx(0.01, rel=1e-2)


def test_frozen_weights_stay_and_do_not_count_for_clipping() -> None:
    model, start = fresh(dropout=0.0), weights(fresh())
    one = learner(model, freeze=["embeddings", "decoder.0"])
    with torch.random.fork_rng():
        one.compute(1, next(corpus()))
    free = [
        weight.grad for name, weight in model.named_parameters() if not name.startswith(("embeddings", "decoder.0"))
    ]
    expected = torch.stack([gradient.square().sum() for gradient in free if gradient is not None]).sum().sqrt().item()
    assert one.apply(1) == pytest.approx(expected, rel=1e-5)
    moved = {name for name, weight in model.named_parameters() if not torch.equal(weight, start[name])}
    assert moved == {name for name in start if not name.startswith(("embeddings", "decoder.0"))}


@pytest.mark.parametrize("clip", [0.01, 1e6])
def test_gradients_are_scaled_down_to_the_limit_and_never_up(clip: float) -> None:
    one = learner(fresh(dropout=0.0), clip=clip)
    with torch.random.fork_rng():
        one.compute(1, next(corpus()))
    before = {name: gradient.clone() for name, gradient in gradients(one).items()}
    norm = one.apply(1)
    assert norm == pytest.approx(sum(gradient.square().sum().item() for gradient in before.values()) ** 0.5, rel=1e-4)
    for name, gradient in gradients(one).items():
        torch.testing.assert_close(gradient, before[name] * min(1.0, clip / norm), rtol=1e-4, atol=1e-8)


def test_weights_that_do_not_move_have_no_gradient_and_no_part_in_clipping() -> None:
    model = fresh("qcn", dropout=0.0)
    inherited = tiny.parameter_names(model, containing=["embeddings", "decoder"])
    one = learner(model, inherited_rate=0.0, inherited=inherited, inherited_exempt=["decoder.0"])
    with torch.random.fork_rng():
        one.compute(1, next(corpus()))
    still = {name for name, weight in model.named_parameters() if weight.grad is None}
    assert still == {name for name in inherited if not name.startswith("decoder.0")}
    found = gradients(one)
    assert one.apply(1) == pytest.approx(sum(one.square().sum().item() for one in found.values()) ** 0.5, rel=1e-4)
    with pytest.raises(ConfigError, match="inherited_rate: no weight is left to train"):
        learner(fresh(), inherited_rate=0.0, inherited=[name for name, _ in fresh().named_parameters()])


def test_inherited_weights_are_frozen_in_the_first_steps() -> None:
    """They have no part in clipping, and the optimiser starts with them when they are first trained."""
    model, start = fresh("qcn", dropout=0.0), weights(fresh("qcn"))
    inherited = tiny.parameter_names(model, containing=["embeddings", "encoder", "decoder"])
    one = learner(model, freeze_inherited_steps=2, inherited=inherited, inherited_exempt=["decoder.0"])
    still = {name for name in inherited if not name.startswith("decoder.0")}
    with torch.random.fork_rng():
        for step, data in zip((1, 2, 3), corpus(), strict=False):
            one.compute(step, data)
            own = [gradient for name, gradient in gradients(one).items() if step > 2 or name not in still]
            assert one.apply(step) == pytest.approx(sum(own.square().sum().item() for own in own) ** 0.5, rel=1e-4)
            moved = {name for name, weight in model.named_parameters() if not torch.equal(weight, start[name])}
            assert moved == (start.keys() if step == 3 else start.keys() - still)
            begun = {name for name, weight in model.named_parameters() if one.optimizer.state.get(weight)}
            assert begun == moved


@pytest.mark.parametrize(
    ("inherited", "message"),
    [([], "no weight that is trained is inherited"), ([name for name, _ in fresh().named_parameters()], "all weights")],
    ids=["none", "all"],
)
def test_freezing_at_first_needs_inherited_and_new_weights(inherited: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=f"freeze_inherited_steps: {message}"):
        learner(fresh(), freeze_inherited_steps=1, inherited=inherited)


def test_freezing_what_does_not_exist_is_refused_with_what_does() -> None:
    with pytest.raises(ConfigError, match=r"no weight's name starts with 'encodr'; there are .*encoder\.0"):
        learner(fresh(), freeze=["encodr"])


def test_freezing_everything_is_refused() -> None:
    with pytest.raises(ConfigError, match="no weight is left to train"):
        learner(fresh("transformer"), freeze=["embeddings", "encoder", "decoder"])


def test_weight_decay_pulls_matrices_and_leaves_vectors() -> None:
    def moved(**settings: Any) -> dict[str, torch.Tensor]:
        model = fresh("transformer", dropout=0.0)
        train(model, steps=1, optimizer="adamw", **settings)
        return weights(model)

    plain, decayed, start = moved(), moved(weight_decay=0.5), weights(fresh("transformer"))
    for name, weight in start.items():
        expected = plain[name] - (0.5 * 1e-2 * weight if weight.dim() > 1 else 0)
        torch.testing.assert_close(decayed[name], expected, rtol=0, atol=1e-6)


def gradients(one: Learner) -> dict[str, torch.Tensor]:
    return {name: weight.grad.clone() for name, weight in one.model.named_parameters() if weight.grad is not None}


@pytest.mark.parametrize("name", ["transformer", "transformer+reg", "qcn+reg", "capsnet"])
def test_accumulation_equals_the_big_batch(name: str) -> None:
    """Batches of unequal numbers of tokens, so that a mean of means would be wrong; and without the neighbours that
    mismatched pairs are made of, which only the log knows."""
    windows = tiny.sample_windows()
    whole = collate(windows, tiny.K)
    parts = [collate(windows[:1], tiny.K), collate(windows[1:], tiny.K)]
    big, small = (learner(fresh(name, dropout=0.0), label_smoothing=0.1) for _ in range(2))
    with torch.random.fork_rng():
        for step in range(1, 21):
            one = big.compute(step, step_data(whole))
            other = small.compute(step, step_data(*parts))
            assert other["loss"] == pytest.approx(one["loss"], abs=2e-5)
            if step == 1:
                for key, gradient in gradients(big).items():
                    torch.testing.assert_close(gradients(small)[key], gradient, rtol=1e-4, atol=1e-6)
            assert big.apply(step) == pytest.approx(small.apply(step), rel=1e-3)


def test_accumulation_equals_the_big_batch_where_tokens_have_weights() -> None:
    """The step's loss is divided by the sum of all weights, so a batch with heavy tokens counts more."""
    windows = tiny.sample_windows()
    heavy = [replace(windows[0], weights=np.array([1, 9, 1], np.float32)), *windows[1:]]
    whole, parts = collate(heavy, tiny.K), [collate(heavy[:1], tiny.K), collate(heavy[1:], tiny.K)]

    def found(*chosen: Batch) -> tuple[float, dict[str, torch.Tensor]]:
        one = learner(fresh("transformer+reg", dropout=0.0), label_smoothing=0.1)
        with torch.random.fork_rng():
            return one.compute(1, step_data(*chosen))["loss"], gradients(one)

    (big, expected), (small, sums), (_, unweighted) = found(whole), found(*parts), found(collate(windows, tiny.K))
    assert small == pytest.approx(big, abs=2e-5)
    for name, gradient in expected.items():
        torch.testing.assert_close(sums[name], gradient, rtol=1e-4, atol=1e-6)
    assert not torch.allclose(expected["embeddings.source.weight"], unweighted["embeddings.source.weight"], rtol=1e-2)


COMPARING = [{"centre": "batch"}, {"negatives": "batch"}, {"negatives": "infonce"}]
"""Readings of the regulariser that compare the pairs of a batch."""


@pytest.mark.parametrize("reading", COMPARING, ids=str)
def test_a_regulariser_that_compares_pairs_does_so_within_each_batch_of_a_step(reading: dict[str, str]) -> None:
    """The gradient of a step is the mean of those of its batches, by tokens; one big batch has another."""
    windows = tiny.sample_windows()
    parts = [collate(windows[:2], tiny.K), collate(windows[2:], tiny.K)]

    def found(*chosen: Batch) -> tuple[float, dict[str, torch.Tensor]]:
        one = learner(fresh("transformer+reg", dropout=0.0, regulariser=reading))
        with torch.random.fork_rng():
            return one.compute(1, step_data(*chosen))["loss"], gradients(one)

    (loss, step), *single, (_, big) = found(*parts), *map(found, parts), found(collate(windows, tiny.K))
    tokens = [count_tokens(part) for part in parts]
    shares = [count / sum(tokens) for count in tokens]
    assert loss == pytest.approx(sum(share * one for share, (one, _) in zip(shares, single, strict=True)), abs=1e-6)
    for name, gradient in step.items():
        expected = sum(share * one[name] for share, (_, one) in zip(shares, single, strict=True))
        torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-6)
    assert not torch.allclose(step["regulariser.source.weight"], big["regulariser.source.weight"], rtol=1e-2)


@pytest.mark.parametrize("reading", COMPARING, ids=str)
def test_a_pair_alone_gives_the_regulariser_a_gradient_of_zero(reading: dict[str, str]) -> None:
    """Not none: processes average the gradients of all weights, and weights without one are not trained."""
    model = fresh("transformer+reg", dropout=0.0, regulariser=reading)
    one = learner(model)
    alone = collate(tiny.sample_windows()[:1], tiny.K)
    with torch.random.fork_rng():
        metrics = one.compute(1, step_data(alone))
    assert metrics["loss"] == metrics["cross_entropy"]
    assert "pcc_mismatched" not in metrics
    assert gradients(one).keys() == dict(model.named_parameters()).keys()
    assert not gradients(one)["regulariser.source.weight"].any()
    assert one.profile(alone)[1] == ()


@pytest.mark.parametrize("reading", COMPARING, ids=str)
def test_with_a_regulariser_that_compares_pairs_training_is_reproducible(reading: dict[str, str]) -> None:
    models = [fresh("transformer+reg", regulariser=reading) for _ in range(2)]
    rows = [train(model, steps=4) for model in models]
    assert losses(rows[0]) == losses(rows[1])
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(one, other)


def test_a_batch_without_history_gives_the_context_a_gradient_of_zero() -> None:
    """So that processes with and without a history can average theirs."""
    model = fresh("qcn", dropout=0.0)
    alone = collate([Window([5, 6, 2], (), [7, 2])], tiny.K)
    one = learner(model)
    with torch.random.fork_rng():
        one.compute(1, step_data(alone))
    found = gradients(one)
    assert found.keys() == dict(model.named_parameters()).keys()
    idle = tiny.parameter_names(model, containing=["context"])
    assert all(not found[name].any() for name in idle)
    sentence = fresh("transformer", dropout=0.0)
    shared = dict(sentence.named_parameters())
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name in shared:
                shared[name].copy_(weight)
    plain = learner(sentence)
    with torch.random.fork_rng():
        plain.compute(1, step_data(alone))
    for name, gradient in gradients(plain).items():
        torch.testing.assert_close(found[name], gradient)


@pytest.mark.parametrize("name", ["transformer+reg", "qcn+reg"])
def test_training_in_bfloat16_stays_finite(name: str) -> None:
    model = fresh(name)
    rows = train(model, device=Device(torch.device("cpu"), torch.bfloat16), steps=3)
    assert all(torch.isfinite(torch.tensor(losses(rows))))
    for weight in model.parameters():
        assert weight.dtype == torch.float32
        assert weight.isfinite().all()


def test_a_step_on_one_batch_is_the_step_of_its_data() -> None:
    batch = batches()[0]
    one, other = learner(fresh()), learner(fresh())
    with torch.random.fork_rng():
        numbers = one.step(3, batch)
        assert (
            other.compute(3, StepData(step_data(batch).batches, step_data(batch).tokens, StreamPosition())) == numbers
        )
        other.apply(3)
    for left, right in zip(one.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(left, right)
