"""The capsules of the history equal Eqs. 5-6 and Algorithm 1, in both scopes, with and without a query."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
import torch
from tests import oracles
from tests.invariants import tiny
from torch import Tensor

from docaps.batches.batch import collate
from docaps.batches.windows import Window
from docaps.corpus.text.vocabulary import PAD
from docaps.model.builders import build_model
from docaps.model.context.qcn import HistoryCapsules
from docaps.model.context.sublayer import ContextMemory, ContextSublayer
from docaps.model.layers import Attention, DropoutRates, Residual, Shape, sinusoids
from docaps.training.objective import compute_loss

K, M, R, D = tiny.K, tiny.M, tiny.R, tiny.D
LENGTHS = ((2, 4, 1), (3, 0, 0))
MASK = torch.tensor([[[place < length for place in range(4)] for length in row] for row in LENGTHS])
SENTENCE_MASK = torch.tensor([[True] * 3, [True, True, False]])
OPTIONS: dict[str, dict[str, Any]] = {
    "as printed": {},
    "joint": {"scope": "joint"},
    "joint, words not squashed": {"scope": "joint", "squash_words": False},
    "words not squashed": {"squash_words": False},
    "query mean": {"query": "mean"},
    "capsules of another size": {"capsule_size": 5},
    "joint, capsules of another size": {"scope": "joint", "capsule_size": 5},
    "p not in s": {"guide_capsules": False},
    "p not in alpha": {"guide_agreement": False},
    "gradient last": {"gradient": "last"},
    "joint, votes detached": {"scope": "joint", "gradient": "detached-votes"},
}


def double(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def build(system: str = "qcn", *, positions: bool = False, **qcn: Any) -> HistoryCapsules:
    settings = tiny.settings(system, **qcn)
    settings = settings.model_copy(update={"history": settings.history.model_copy(update={"positions": positions})})
    network = tiny.build(settings).context
    assert isinstance(network, HistoryCapsules)
    return network


def inputs(seed: int = 2) -> tuple[Tensor, Tensor]:
    return double(2, K, 4, D, seed=seed).requires_grad_(), double(2, 3, D, seed=seed + 1).requires_grad_()


def read(network: HistoryCapsules, words: Tensor, sentence: Tensor, trace: bool = False) -> ContextMemory:
    memory = network(words, MASK, sentence, SENTENCE_MASK, trace)
    assert isinstance(memory, ContextMemory)
    return memory


def groups(network: HistoryCapsules, words: Tensor, row: int) -> Iterator[list[tuple[int, int, Tensor]]]:
    """Return for each routing its input words (Eq. 6), with their positions in history and sentence."""
    f, options = network.words.linear, network.routing.options
    made = []
    for place, length in enumerate(LENGTHS[row]):
        distance = torch.zeros(K, dtype=torch.float64)
        distance[place] = 1.0
        sentence = []
        for position in range(length):
            u = f.weight @ torch.cat((words[row, place, position], distance)) + f.bias
            sentence.append((place, position, oracles.squash(u) if options.squash_words else u))
        made.append(sentence)
    return iter([list(chain(*made))] if network.joint else made)


def by_loops(network: HistoryCapsules, words: Tensor, sentence: Tensor, row: int, pooling: str) -> list[Any]:
    """Return the oracle's result for each routing of a row; None where there are no words."""
    query = None
    if network.query is not None:
        real = sentence[row][SENTENCE_MASK[row]]
        pooled = sum(real) / (len(real) if pooling == "mean" else 1)
        query = network.query.linear.weight @ pooled + network.query.linear.bias  # Eq. 5
    options = network.routing.options
    return [
        None
        if not group
        else oracles.route(
            torch.stack([u for _, _, u in group]),
            network.routing.weight,
            query,
            options.rounds,
            p_in_s=options.guide_capsules,
            p_in_alpha=options.guide_agreement,
            gradient=options.gradient,
        )
        for group in groups(network, words, row)
    ]


@pytest.mark.parametrize("system", ["qcn", "capsnet"])
@pytest.mark.parametrize("options", OPTIONS)
def test_capsules_and_traces_equal_algorithm_1(system: str, options: str) -> None:
    network = build(system, **OPTIONS[options])
    words, sentence = inputs()
    found = read(network, words, sentence, trace=True)
    assert found.coupling is not None
    assert found.coupling.shape == (R, 2, K, M, 4)
    assert (found.correlation is not None) == (system == "qcn")
    for row in range(2):
        expected = by_loops(network, words, sentence, row, OPTIONS[options].get("query", "sum"))
        for number, (group, routing) in enumerate(zip(groups(network, words, row), expected, strict=True)):
            vectors = found.vectors[row, number * M : (number + 1) * M]
            if routing is None:
                assert vectors.eq(0).all()
                continue
            v, c, p = routing
            torch.testing.assert_close(vectors, v, rtol=0, atol=1e-9)
            for column, (place, position, _) in enumerate(group):
                here = found.coupling[:, row, place, :, position]
                torch.testing.assert_close(here, torch.stack(c)[:, :, column], rtol=0, atol=1e-9)
                if found.correlation is not None:
                    here = found.correlation[:, row, place, :, position]
                    torch.testing.assert_close(here, torch.stack(p)[:, :, column], rtol=0, atol=1e-9)


@pytest.mark.parametrize("system", ["qcn", "capsnet"])
@pytest.mark.parametrize("options", OPTIONS)
def test_gradients_equal_those_of_the_loops(system: str, options: str) -> None:
    network = build(system, **OPTIONS[options])
    weights = [*network.parameters()]
    words, sentence = inputs()
    vectors = read(network, words, sentence).vectors
    direction = double(*vectors.shape, seed=8)
    fast = torch.autograd.grad((vectors * direction).sum(), [words, sentence, *weights], allow_unused=True)
    total = torch.zeros((), dtype=torch.float64)
    for row in range(2):
        pooling = OPTIONS[options].get("query", "sum")
        for number, routing in enumerate(by_loops(network, words, sentence, row, pooling)):
            if routing is not None:
                total = total + (routing[0] * direction[row, number * M : (number + 1) * M]).sum()
    slow = torch.autograd.grad(total, [words, sentence, *weights], allow_unused=True)
    for one, other in zip(fast, slow, strict=True):
        if other is None:
            assert one is None or one.eq(0).all()
        else:
            assert one is not None
            torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


def test_the_memory_shows_capsules_of_sentences_with_words_only() -> None:
    words, sentence = inputs()
    found = read(build(), words, sentence)
    assert found.mask.tolist() == [[True] * 6, [True, True, False, False, False, False]]
    assert found.coupling is found.correlation is None


def test_a_joint_memory_has_capsules_for_the_whole_history() -> None:
    network = build(scope="joint")
    words, sentence = inputs()
    assert read(network, words, sentence).mask.tolist() == [[True] * M] * 2
    nothing = network(words, torch.zeros_like(MASK), sentence, SENTENCE_MASK)
    assert nothing.mask.tolist() == [[False] * M] * 2
    assert nothing.vectors.eq(0).all()


@pytest.mark.parametrize("scope", ["sentence", "joint"])
def test_the_query_guides_the_routing_of_the_qcn_only(scope: str) -> None:
    words, sentence = inputs()
    for system, guided in (("qcn", True), ("capsnet", False)):
        network = build(system, scope=scope)
        one, other = (read(network, words, query).vectors for query in (sentence, double(2, 3, D, seed=4)))
        assert bool((one - other).abs().max() > 1e-3) == guided


def test_positions_encode_the_order_of_words() -> None:
    network = build(positions=True)
    words, sentence = inputs()
    places = sinusoids(4, D).double() / D**0.5
    bag = build()
    bag.load_state_dict(network.state_dict())
    expected = read(bag, words + places, sentence).vectors
    torch.testing.assert_close(read(network, words, sentence).vectors, expected, rtol=0, atol=1e-7)


def test_capsules_can_be_normalised() -> None:
    network = build(normalise=True)
    with torch.no_grad():
        network.norm.weight.fill_(1)
        network.norm.bias.zero_()
    words, sentence = inputs()
    vectors = read(network, words, sentence).vectors[0]
    torch.testing.assert_close(vectors.mean(dim=-1), torch.zeros(K * M, dtype=torch.float64))
    assert (vectors.std(dim=-1, correction=0) - 1).abs().max() < 0.01


@pytest.mark.parametrize("pooling", ["sum", "mean"])
def test_the_query_includes_every_source_word_and_the_end_token_but_no_padding(pooling: str) -> None:
    """So the order of the source words does not matter to the routing, and every one of them counts."""
    model = tiny.build(tiny.settings("qcn", query=pooling))
    history = ([8, 9], [10], [11, 12])

    def capsules(*source: int) -> Tensor:
        longer = Window([4] * 6, history)
        context = model.encode(collate([Window(list(source), history), longer], K)).context
        assert context is not None
        return context.vectors[0]

    torch.testing.assert_close(capsules(5, 6, 2), capsules(6, 5, 2))
    assert (capsules(5, 6, 2) - capsules(5, 6)).abs().max() > 1e-6
    table = model.embeddings.source.weight
    words = table[torch.tensor([[[8, 9], [10, 0], [11, 12]]])]
    mask = torch.tensor([[[True, True], [True, False], [True, True]]])
    sentence = table[torch.tensor([[5, 6, 2]])]
    expected = model.context(words, mask, sentence, torch.ones(1, 3, dtype=torch.bool)).vectors[0]
    torch.testing.assert_close(capsules(5, 6, 2), expected)


def test_every_encoder_layer_attends_to_the_context_with_its_own_attention() -> None:
    model, batch = tiny.build(tiny.settings("qcn")), tiny.sample_batch()
    before = model(batch).logits
    for layer in model.encoder:
        with torch.no_grad():
            saved = layer.context.attention.output.weight.clone()
            layer.context.attention.output.weight.mul_(1.5)
            after = model(batch).logits
            layer.context.attention.output.weight.copy_(saved)
        assert ((after - before).abs().amax(dim=(1, 2)) > 1e-6).tolist() == [True, False, True, True, False]


def test_the_network_runs_once_for_all_layers() -> None:
    model, batch = tiny.build(tiny.settings("qcn")), tiny.sample_batch()
    calls = []
    model.context.register_forward_hook(lambda *_: calls.append(1))
    model.encode(batch)
    assert calls == [1]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_context_sublayer_is_between_self_attention_and_feed_forward(norm: str) -> None:
    model, batch = tiny.build(tiny.settings("qcn", norm=norm)), tiny.sample_batch()
    layer, order = model.encoder[0], []
    parts = (("self", layer.attention_residual), ("context", layer.context), ("forward", layer.feed_forward))
    for name, part in parts:
        part.register_forward_hook(lambda *_, name=name: order.append(name))
    encoding = model.encode(batch)
    assert order == ["self", "context", "forward"]
    states = double(5, 6, D, seed=7)
    mask = torch.ones(5, 1, 6, dtype=torch.bool)
    after = layer.attention_residual(states, lambda x: layer.attention(x, layer.attention.project(x), mask))
    after = layer.feed_forward_residual(layer.context(after, encoding.context), layer.feed_forward)
    torch.testing.assert_close(layer(states, mask, encoding.context), after)


def test_the_context_sublayer_has_the_dropout_of_its_neighbours() -> None:
    model = build_model(tiny.settings("qcn"), vocabulary=17, dropout=0.3)
    for layer in model.encoder:
        assert layer.context.residual.dropout.p == layer.attention_residual.dropout.p == 0.3


def test_more_history_than_distances_is_refused() -> None:
    network = build()
    words = double(1, K + 1, 2, D, seed=1)
    with pytest.raises(ValueError, match=f"{K + 1} history sentences, but distances only up to {K}"):
        network.words(words)


@pytest.mark.parametrize("scope", ["sentence", "joint"])
def test_a_history_without_room_for_words_gives_zero_capsules(scope: str) -> None:
    network = build(scope=scope)
    found = network(
        torch.zeros(2, K, 0, D, dtype=torch.float64),
        torch.zeros(2, K, 0, dtype=torch.bool),
        double(2, 3, D, seed=3),
        SENTENCE_MASK,
    )
    assert found.vectors.eq(0).all()
    assert not found.mask.any()


def test_a_batch_without_any_history_does_not_run_the_network() -> None:
    model = tiny.build(tiny.settings("qcn"))
    windows = [replace(window, history=()) for window in tiny.sample_windows()]
    assert model.encode(collate(windows, K)).context is None


@pytest.mark.parametrize("name", ["qcn", "capsnet", "qcn-noise"])
def test_a_silent_context_starts_at_the_sentence_model_and_learns(name: str) -> None:
    model, batch = build_model(tiny.settings(name, silent=True), vocabulary=tiny.VOCABULARY), tiny.sample_batch()
    alone = tiny.with_history(batch, torch.full_like(batch.history, PAD))
    target = batch.translations
    assert torch.equal(model(batch).log_probabilities(target), model(alone).log_probabilities(target))
    compute_loss(model(batch), target, label_smoothing=0.0, regulariser_weight=0.0).total.backward()
    names = dict(model.named_parameters())
    outputs = [names[name] for name in names if name.endswith("context.attention.output.weight")]
    assert len(outputs) == tiny.MODEL["encoder_layers"]
    with torch.no_grad():
        for weight in outputs:
            assert weight.eq(0).all()
            assert weight.grad is not None
            assert weight.grad.ne(0).any()
            weight.sub_(0.1 * weight.grad)
    assert not torch.allclose(model(batch).log_probabilities(target), model(alone).log_probabilities(target))


def test_a_silent_context_has_the_same_other_weights() -> None:
    chosen = (tiny.settings("qcn", silent=one) for one in (False, True))
    loud, silent = (dict(build_model(one, vocabulary=tiny.VOCABULARY).named_parameters()) for one in chosen)
    different = {name for name in loud if not torch.equal(loud[name], silent[name])}
    assert different == {name for name in loud if name.endswith("context.attention.output.weight")}


@pytest.mark.parametrize("gate", [True, False])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_sublayer_passes_rows_without_history_through(norm: Any, gate: bool) -> None:
    shape = Shape(size=D, heads=2, feed_forward=3, dropout=DropoutRates.everywhere(0.0), norm=norm)
    sublayer = ContextSublayer(attention=Attention(shape), residual=Residual(shape, gate=gate)).double()
    states, vectors = double(2, 3, D, seed=5), double(2, 4, D, seed=6)
    mask = torch.tensor([[True, True, False, False], [False] * 4])
    found = sublayer(states, ContextMemory(vectors, mask))
    assert torch.equal(found[1], states[1])
    expected = sublayer(states[:1], ContextMemory(vectors[:1, :2], mask[:1, :2]))
    torch.testing.assert_close(found[:1], expected)
    assert not torch.allclose(found[0], states[0])


def test_noise_is_the_same_for_every_sentence_seed_and_model() -> None:
    one, other = (build_model(tiny.settings("qcn-noise"), vocabulary=11, seed=seed) for seed in (1, 2))
    assert torch.equal(one.context.memory, other.context.memory)
    assert one.context.memory.shape == (tiny.K, tiny.M, tiny.D)
    assert "context.memory" not in dict(one.named_parameters())
    batch = tiny.sample_batch()
    context = tiny.build(tiny.settings("qcn-noise")).encode(batch).context
    assert context is not None
    assert (context.vectors == context.vectors[:1]).all()
    assert context.mask.sum(dim=1).tolist() == [6, 0, 2, 4, 0]
