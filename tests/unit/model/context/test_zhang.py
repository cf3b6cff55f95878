"""Context attention with gates and its encoder against plain loops, with gradients."""

import pytest
import torch
from tests import oracles
from tests.invariants import tiny
from torch import Tensor

from docaps.batches.batch import with_end_marks
from docaps.corpus.text.vocabulary import EOS
from docaps.model.context.sublayer import ContextMemory


def draw(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_context_attention_with_a_gate_equals_the_loops_with_gradients(side: str) -> None:
    model = tiny.build(tiny.settings("zhang"))
    sublayer = getattr(model, side)[1].context
    states, vectors = draw(2, 3, tiny.D, seed=3).requires_grad_(), draw(2, 4, tiny.D, seed=4).requires_grad_()
    mask = torch.tensor([[True, True, False, True], [False] * 4])
    found = sublayer(states, ContextMemory(vectors, mask))
    weights = {f"x.{name}": weight for name, weight in sublayer.named_parameters()}
    context = [vectors[0, c] for c in (0, 1, 3)]
    expected = torch.stack([oracles.gated_context(weights, "x", 2, h, context) for h in states[0]])
    torch.testing.assert_close(found[0], expected, atol=1e-9, rtol=0)
    assert torch.equal(found[1], states[1])
    asked = [states, vectors, *sublayer.parameters()]
    slopes = draw(3, tiny.D, seed=5)
    ours, theirs = (torch.autograd.grad((one * slopes).sum(), asked) for one in (found[0], expected))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-9, rtol=0)


def test_the_context_encoder_is_a_layer_over_the_joined_history() -> None:
    """Oldest sentence first, an end mark, positions counted over all, one self-attention and feed-forward layer."""
    model, batch = tiny.build(tiny.settings("zhang")), with_end_marks(tiny.sample_batch())
    network = model.context
    vectors = model.embeddings.source(batch.history)
    memory = network(vectors, batch.history_mask, vectors[:, 0], batch.history_mask[:, 0])
    words = [13, 10, 11, 12, 8, 9, EOS]  # of the first row
    embedded = model.embeddings.source(torch.tensor(words))
    places = torch.stack([network.scale * embedded[i] + network.positions(len(words))[i] for i in range(len(words))])
    layer = network.layers[0]
    weights = dict(layer.named_parameters())
    inputs = [oracles.layer_norm(weights, "attention_residual.norm", x) for x in places]
    attended = [x + oracles.multi_head(weights, "attention", 2, q, inputs) for x, q in zip(places, inputs, strict=True)]
    normal = [oracles.layer_norm(weights, "feed_forward_residual.norm", x) for x in attended]
    after = [x + oracles.feed_forward(weights, "feed_forward", y) for x, y in zip(attended, normal, strict=True)]
    last = dict(network.norm.named_parameters())
    expected = torch.stack([oracles.layer_norm({f"n.{k}": v for k, v in last.items()}, "n", x) for x in after])
    found = memory.vectors[0, : len(words)]
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=0)
    assert memory.mask.sum(dim=1).tolist() == [7, 1, 6, 6, 1]
    slopes, asked = draw(*expected.shape, seed=6), [model.embeddings.source.weight, *network.parameters()]
    ours, theirs = (torch.autograd.grad((one * slopes).sum(), asked) for one in (found, expected))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-9, rtol=0)


@pytest.mark.parametrize(("dropout", "dropped"), [("layers", False), ("all", True)])
def test_gates_mix_in_what_attention_found_without_dropout_unless_asked_for(dropout: str, dropped: bool) -> None:
    """The inputs of the context encoder are not dropped out either; its layers are."""
    settings = tiny.settings("zhang", tables={"zhang": {"dropout": dropout}})
    model = tiny.build(settings, dropout=0.5)
    states, vectors = draw(2, 3, tiny.D, seed=3), draw(2, 4, tiny.D, seed=4)
    memory = ContextMemory(vectors, torch.ones(2, 4, dtype=torch.bool))
    for layer in (model.encoder[0], model.decoder[0]):
        layer.context.residual.train()  # not its attention, which may have a dropout of its own
        trained = layer.context(states, memory)
        assert torch.equal(trained, layer.context.eval()(states, memory)) != dropped
    batch, network = with_end_marks(tiny.sample_batch()), model.context
    assert (network.dropout.p > 0) == dropped
    words = model.embeddings.source(batch.history), batch.history_mask
    assert not torch.equal(network.train()(*words).vectors, network.eval()(*words).vectors)
