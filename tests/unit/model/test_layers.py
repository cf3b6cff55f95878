"""The Transformer's parts equal their formulas, written out."""

import math
from dataclasses import replace

import pytest
import torch
from tests import oracles
from tests.invariants import tiny
from torch import Tensor, nn

from docaps.model.fast.dropout import draw_bytes
from docaps.model.layers import (
    Attention,
    DropoutRates,
    FeedForward,
    KeysAndValues,
    Positions,
    Residual,
    Shape,
    sinusoids,
)

SHAPE = Shape(size=tiny.D, heads=2, feed_forward=3, dropout=DropoutRates.everywhere(0.0), norm="pre")


def double(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def attend(attention: Attention, states: Tensor, memory: Tensor, visible: Tensor) -> Tensor:
    """Eqs. 9-10, one head and one position at a time; `visible` (L, C)."""
    queries, keys, values = attention.query(states), attention.key(memory), attention.value(memory)
    size = states.shape[-1] // attention.heads
    rows = []
    for place in range(len(states)):
        heads = []
        for head in range(attention.heads):
            part = slice(head * size, (head + 1) * size)
            seen = [one for one in range(len(memory)) if visible[place, one]]
            scores = [math.exp((queries[place, part] @ keys[one, part]).item() / math.sqrt(size)) for one in seen]
            heads.append(sum(s / sum(scores) * values[one, part] for s, one in zip(scores, seen, strict=True)))
        rows.append(attention.output(torch.cat(heads)))
    return torch.stack(rows)


@pytest.mark.parametrize("causal", [True, False])
def test_attention_equals_the_printed_formula(causal: bool) -> None:
    attention = Attention(SHAPE).double()
    states = double(2, 4, tiny.D, seed=1)
    memory = states if causal else double(2, 5, tiny.D, seed=2)
    mask = torch.tensor([[[True] * 5], [[True, False, True, False, False]]])
    found = attention(states, attention.project(memory), None if causal else mask, causal=causal)
    for row in range(2):
        visible = torch.ones(4, 4).tril().bool() if causal else mask[row].expand(4, -1)
        torch.testing.assert_close(found[row], attend(attention, states[row], memory[row], visible))


def test_keys_and_values_can_be_selected_and_appended() -> None:
    attention = Attention(SHAPE).double()
    memory = double(3, 4, tiny.D, seed=3)
    whole = attention.project(memory)
    longer = attention.project(memory[:, :1]).append(attention.project(memory[:, 1:]))
    torch.testing.assert_close(longer.keys, whole.keys)
    torch.testing.assert_close(longer.values, whole.values)
    picked = whole.select(torch.tensor([2, 0]))
    assert isinstance(picked, KeysAndValues)
    assert torch.equal(picked.values, whole.values[[2, 0]])


def test_feed_forward_is_two_linear_maps_with_a_relu() -> None:
    network = FeedForward(replace(SHAPE, size=2)).double()
    with torch.no_grad():
        network.inner.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]))
        network.output.weight.copy_(torch.tensor([[1.0, 2.0, 4.0], [0.0, 0.0, 1.0]]))
        network.output.bias.copy_(torch.tensor([0.5, 0.0]))
    found = network(torch.tensor([[[3.0, -1.0], [-2.0, 1.0]]], dtype=torch.float64))
    assert found.tolist() == [[[3.5, 0.0], [10.5, 2.0]]]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_norm_is_before_or_after_the_sublayer(norm: str) -> None:
    residual = Residual(replace(SHAPE, norm=norm)).double()
    states = double(1, 3, tiny.D, seed=4)
    normalise = nn.LayerNorm(tiny.D).double()
    expected = states + 2 * normalise(states) if norm == "pre" else normalise(states + 2 * states)
    torch.testing.assert_close(residual(states, lambda inputs: 2 * inputs), expected)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_gate_mixes_states_and_context(norm: str) -> None:
    """Lambda h + (1 - lambda) s with lambda = sigmoid(W_i h + W_s s), number by number."""
    residual = Residual(replace(SHAPE, norm=norm), gate=True).double()
    states = double(1, 3, tiny.D, seed=4)
    normalise = nn.LayerNorm(tiny.D).double()
    found = 2 * (normalise(states) if norm == "pre" else states)
    assert residual.gate is not None
    expected = torch.empty_like(states)
    for place in range(3):
        scores = residual.gate.states.weight @ states[0, place] + residual.gate.found.weight @ found[0, place]
        for number in range(tiny.D):
            share = 1 / (1 + math.exp(-scores[number].item()))
            expected[0, place, number] = share * states[0, place, number] + (1 - share) * found[0, place, number]
    expected = expected if norm == "pre" else normalise(expected)
    torch.testing.assert_close(residual(states, lambda inputs: 2 * inputs), expected)


def test_attention_to_vectors_of_another_size() -> None:
    attention = Attention(SHAPE, memory_size=5).double()
    states, memory = double(1, 4, tiny.D, seed=1), double(1, 3, 5, seed=2)
    visible = torch.ones(4, 3, dtype=torch.bool)
    found = attention(states, attention.project(memory))
    torch.testing.assert_close(found[0], attend(attention, states[0], memory[0], visible))


def test_dropout_applies_to_the_sublayer_and_not_to_the_states() -> None:
    residual = Residual(replace(SHAPE, dropout=replace(SHAPE.dropout, sublayers=0.5))).train()
    states = torch.ones(1, 50, tiny.D)
    found = residual(states, torch.ones_like)
    assert set(found.unique().tolist()) == {1.0, 3.0}


def test_dropout_inside_the_feed_forward_network_equals_plain_loops() -> None:
    network = FeedForward(replace(SHAPE, dropout=replace(SHAPE.dropout, feed_forward=0.3))).double().train()
    states = double(2, 4, tiny.D, seed=5).requires_grad_()
    torch.manual_seed(3)
    found = network(states)
    torch.manual_seed(3)
    kept = draw_bytes(torch.empty(2, 4, 3)) >= 77
    assert 0 < kept.sum() < kept.numel()
    weights = {f"network.{name}": weight for name, weight in network.named_parameters()}
    places = [(row, place) for row in range(2) for place in range(4)]
    rows = [oracles.feed_forward(weights, "network", states[place], kept[place], 77 / 256) for place in places]
    expected = torch.stack(rows).view_as(found)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)
    slopes, asked = double(2, 4, tiny.D, seed=6), [states, *network.parameters()]
    ours, theirs = (torch.autograd.grad((one * slopes).sum(), asked) for one in (found, expected))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)
    assert torch.equal(network.eval()(states), network.output(torch.relu(network.inner(states))))


def test_attention_drops_weights_at_the_rate_of_attention() -> None:
    """Half of the weights, each of them doubled: one of two equal keys, both or none."""
    attention = Attention(replace(SHAPE, dropout=replace(SHAPE.dropout, attention=0.5))).train()
    with torch.no_grad():
        for part in (attention.query, attention.key, attention.value, attention.output):
            part.weight.copy_(torch.eye(tiny.D))
        torch.manual_seed(1)
        found = attention(torch.ones(1, 50, tiny.D), attention.project(torch.ones(1, 2, tiny.D)))
    assert set(found.unique().tolist()) == {0.0, 1.0, 2.0}


def test_positions_are_sines_and_cosines() -> None:
    table = sinusoids(20, 8)
    for place in range(20):
        for pair in range(4):
            angle = place / 10_000 ** (2 * pair / 8)
            assert table[place, pair].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert table[place, 4 + pair].item() == pytest.approx(math.cos(angle), abs=1e-5)


def test_the_last_frequency_of_marian_is_a_ten_thousandth() -> None:
    table = sinusoids(20, 8, "marian")
    for place in range(20):
        for pair in range(4):
            angle = place / 10_000 ** (pair / 3)
            assert table[place, pair].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert table[place, 4 + pair].item() == pytest.approx(math.cos(angle), abs=1e-5)
    longer = Positions(size=8, length=4, layout="marian")
    assert torch.equal(longer(20), table)
    assert torch.equal(sinusoids(3, 2, "marian"), sinusoids(3, 2))


def test_positions_grow_with_a_longer_sentence_and_are_not_stored() -> None:
    short, long = Positions(size=8, length=4), Positions(size=8, length=64)
    assert torch.equal(short(10), long(10))
    assert torch.equal(short(3, first=30), long(33)[30:])
    assert torch.equal(short(2), long(2))
    assert not short.state_dict()
