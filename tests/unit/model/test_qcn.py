"""The query-guided capsule network equals Eqs. 5-6 and Algorithm 1, one history sentence at a time."""

from dataclasses import replace

import pytest
import torch
from tests import oracles
from tests.invariants import tiny
from torch import Tensor

from docaps.batches.batch import collate
from docaps.batches.windows import Window
from docaps.model.context.memory import ContextMemory, ContextSublayer
from docaps.model.context.qcn import QueryGuidedCapsules
from docaps.model.layers import Attention, Residual

K, M, R, D = tiny.K, tiny.M, tiny.R, tiny.D
LENGTHS = ((2, 4, 1), (3, 0, 0))
MASK = torch.tensor([[[place < length for place in range(4)] for length in row] for row in LENGTHS])


def double(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def network() -> QueryGuidedCapsules:
    torch.manual_seed(1)
    return QueryGuidedCapsules(size=D, history=K, capsules=M, rounds=R).double()


def test_capsules_equal_algorithm_1_on_each_history_sentence(network: QueryGuidedCapsules) -> None:
    words, sentence = double(2, K, 4, D, seed=2), double(2, D, seed=3)
    found = network(words, MASK, sentence, trace=True)
    assert found.coupling is not None
    assert found.correlation is not None
    assert found.coupling.shape == found.correlation.shape == (R, 2, K, M, 4)
    for row, lengths in enumerate(LENGTHS):
        query = network.query.weight @ sentence[row] + network.query.bias  # Eq. 5
        for place, length in enumerate(lengths):
            vectors = found.vectors[row, place * M : (place + 1) * M]
            if not length:
                assert vectors.eq(0).all()
                continue
            distance = torch.zeros(K, dtype=torch.float64)
            distance[place] = 1.0
            inputs = [
                network.words.weight @ torch.cat((word, distance)) + network.words.bias  # Eq. 6
                for word in words[row, place, :length]
            ]
            u = torch.stack([oracles.squash(one) for one in inputs])
            v, c, p = oracles.route(u, network.routing.weight, query, R)
            torch.testing.assert_close(vectors, v)
            torch.testing.assert_close(found.coupling[:, row, place, :, :length], torch.stack(c))
            torch.testing.assert_close(found.correlation[:, row, place, :, :length], torch.stack(p))


def test_the_memory_shows_capsules_of_sentences_with_words_only(network: QueryGuidedCapsules) -> None:
    found = network(double(2, K, 4, D, seed=2), MASK, double(2, D, seed=3))
    assert found.mask.tolist() == [[True] * 6, [True, True, False, False, False, False]]
    assert found.coupling is None


def test_the_query_guides_the_routing(network: QueryGuidedCapsules) -> None:
    words = double(2, K, 4, D, seed=2)
    one, other = (network(words, MASK, double(2, D, seed=seed)).vectors for seed in (3, 4))
    assert (one - other).abs().max() > 1e-3


def test_capsules_can_be_normalised() -> None:
    torch.manual_seed(1)
    network = QueryGuidedCapsules(size=D, history=K, capsules=M, rounds=R, normalise=True).double()
    vectors = network(double(1, K, 4, D, seed=2), MASK[:1], double(1, D, seed=3)).vectors
    torch.testing.assert_close(vectors.mean(dim=-1), torch.zeros(1, K * M, dtype=torch.float64))
    assert (vectors.std(dim=-1, correction=0) - 1).abs().max() < 0.01


def test_the_query_is_the_sum_of_the_source_words_end_mark_in_and_padding_out() -> None:
    """So the order of the source words does not matter to the routing, and every one of them counts."""
    model = tiny.build(tiny.settings("qcn"))
    history = ([8, 9], [10], [11, 12])

    def capsules(*source: int) -> Tensor:
        longer = Window([4] * 6, history)
        context = model.encode(collate([Window(list(source), history), longer], K)).context
        assert context is not None
        return context.vectors[0]

    torch.testing.assert_close(capsules(5, 6, 2), capsules(6, 5, 2))
    assert (capsules(5, 6, 2) - capsules(5, 6)).abs().max() > 1e-6
    table = model.embeddings.source.weight
    assert model.context is not None
    words = table[torch.tensor([[[8, 9], [10, 0], [11, 12]]])]
    mask = torch.tensor([[[True, True], [True, False], [True, True]]])
    expected = model.context(words, mask, table[[5, 6, 2]].sum(dim=0, keepdim=True)).vectors[0]
    torch.testing.assert_close(capsules(5, 6, 2), expected)


def test_every_encoder_layer_looks_at_the_context_with_its_own_attention() -> None:
    model, batch = tiny.build(tiny.settings("qcn")), tiny.sample_batch()
    before = model(batch).logits
    for layer in model.encoder:
        with torch.no_grad():
            saved = layer.context.attention.output.weight.clone()
            layer.context.attention.output.weight.mul_(1.5)
            after = model(batch).logits
            layer.context.attention.output.weight.copy_(saved)
        assert ((after - before).abs().amax(dim=(1, 2)) > 1e-6).tolist() == [True, False, True, True, False]


def test_a_batch_without_any_history_does_not_run_the_network() -> None:
    model = tiny.build(tiny.settings("qcn"))
    windows = [replace(window, history=()) for window in tiny.sample_windows()]
    assert model.encode(collate(windows, K)).context is None


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_sublayer_passes_rows_without_history_through(norm: str) -> None:
    sublayer = ContextSublayer(
        attention=Attention(size=D, heads=2), residual=Residual(size=D, dropout=0.0, norm=norm)
    ).double()
    states, vectors = double(2, 3, D, seed=5), double(2, 4, D, seed=6)
    mask = torch.tensor([[True, True, False, False], [False] * 4])
    found = sublayer(states, ContextMemory(vectors, mask))
    assert torch.equal(found[1], states[1])
    expected = sublayer(states[:1], ContextMemory(vectors[:1, :2], mask[:1, :2]))
    torch.testing.assert_close(found[:1], expected)
    assert not torch.allclose(found[0], states[0])
