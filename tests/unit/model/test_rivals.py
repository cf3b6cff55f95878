"""The other systems' attention against plain loops, numbers and gradients, and who is looked at."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests import oracles
from tests.invariants import tiny
from torch import Tensor, nn

from docaps.batches.batch import Batch
from docaps.batches.windows import WHOLE
from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.context.concat import join_sources
from docaps.model.context.han import HierarchicalAttention
from docaps.model.context.joining import close_up, join_vectors, oldest_first, without_gaps
from docaps.model.context.memory import ContextMemory
from docaps.model.context.san import SelectiveAttention
from docaps.model.context.states import FARTHEST, StatesTransformer, distinct, with_end_marks
from docaps.model.shape import Shape
from docaps.model.variants import build_model, count_parameters
from docaps.training.objective import compute_loss

NORMS: list[Any] = ["pre", "post"]
B, L, K, N, D = 3, 2, 3, 4, 6
LENGTHS = [[4, 2, 3], [1, 0, 2], [0, 0, 0]]


def shape(norm: Any) -> Shape:
    return Shape(size=6, heads=2, feed_forward=5, dropout=0.0, norm=norm)


def draw(*shape: int, seed: int = 1, scale: float = 1.0) -> Tensor:
    return scale * torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def randomised(module: nn.Module) -> nn.Module:
    """Nothing is zero or one: biases and norms count."""
    module.double().eval()
    with torch.no_grad():
        for number, weight in enumerate(module.parameters()):
            weight.copy_(draw(*weight.shape, seed=number + 10, scale=0.5))
    return module


def histories() -> tuple[Tensor, Tensor]:
    """Words of other sentences: some missing, some short, one row without any."""
    mask = torch.tensor([[[place < length for place in range(N)] for length in row] for row in LENGTHS])
    return draw(B, K, N, D, seed=2), mask


def loops(
    module: nn.Module, states: Tensor, words: Tensor, attend: Callable[[dict[str, Tensor], Tensor, Any], Tensor]
) -> Tensor:
    """Go through all states one by one; only real words are handed over."""
    weights = dict(module.named_parameters())
    rows = []
    for b, lengths in enumerate(LENGTHS):
        sentences = [[words[b, k, n] for n in range(length)] for k, length in enumerate(lengths) if length]
        rows.append(torch.stack([attend(weights, h, sentences) if sentences else h for h in states[b]]))
    return torch.stack(rows)


def assert_equal_with_gradients(module: nn.Module, attend: Callable[[dict[str, Tensor], Tensor, Any], Tensor]) -> None:
    states, (words, mask) = draw(B, L, D, seed=3).requires_grad_(), histories()
    words.requires_grad_()
    found = module(states, module.remember(words, mask))
    expected = loops(module, states, words, attend)
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=0)
    slopes = draw(B, L, D, seed=5)
    asked = [states, words, *module.parameters()]
    ours, theirs = (torch.autograd.grad((one * slopes).sum(), asked, allow_unused=True) for one in (found, expected))
    for one, other in zip(ours, theirs, strict=True):
        # A missing word has a gradient of 0 here and none there.
        torch.testing.assert_close(one, torch.zeros_like(one) if other is None else other, atol=1e-9, rtol=0)


@pytest.mark.parametrize("norm", NORMS)
def test_hierarchical_attention_equals_the_loops_gradients_included(norm: Any) -> None:
    module = randomised(HierarchicalAttention(shape=shape(norm)))
    assert_equal_with_gradients(module, lambda weights, h, s: oracles.hierarchical_attention(weights, 2, h, s, norm))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("sentences", ["sparsemax", "softmax", None])
@pytest.mark.parametrize("words", ["sparsemax", "softmax"])
def test_selective_attention_equals_the_loops_gradients_included(sentences: Any, words: Any, norm: Any) -> None:
    how = "flat" if sentences is None else "hierarchical"
    module = SelectiveAttention(shape=shape(norm), attention=how, sentences=sentences or "softmax", words=words)
    assert_equal_with_gradients(
        randomised(module), lambda weights, h, s: oracles.selective_attention(weights, 2, h, s, sentences, words, norm)
    )


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_context_attention_with_a_gate_equals_the_loops_gradients_included(side: str) -> None:
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
    """Oldest sentence first, positions counted through, one self-attention and one feed-forward layer."""
    model, batch = tiny.build(tiny.settings("zhang")), tiny.sample_batch()
    network = model.context
    vectors = model.embeddings.source(batch.history)
    memory = network(vectors, batch.history_mask, vectors[:, 0], batch.history_mask[:, 0])
    words = [13, 10, 11, 12, 8, 9]  # of the first row
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
    assert memory.mask.sum(dim=1).tolist() == [6, 0, 5, 5, 0]
    slopes, asked = draw(*expected.shape, seed=6), [model.embeddings.source.weight, *network.parameters()]
    ours, theirs = (torch.autograd.grad((one * slopes).sum(), asked) for one in (found, expected))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-9, rtol=0)


def test_sentences_are_joined_oldest_first_without_gaps() -> None:
    history = torch.tensor([[[5, 6, PAD], [PAD] * 3, [7, PAD, PAD]], [[PAD] * 3] * 3])
    assert without_gaps(oldest_first(history, 9, before=True)).tolist() == [[9, 7, 9, 5, 6], [PAD] * 5]
    assert without_gaps(oldest_first(history, 9, before=False)).tolist() == [[7, 9, 5, 6, 9], [PAD] * 5]
    assert close_up(torch.tensor([[False, True, False, True]])).tolist() == [[1, 3, 0, 2]]
    vectors, mask = join_vectors(history.unsqueeze(-1).double(), history != PAD)
    assert vectors.squeeze(-1).tolist() == [[7, 5, 6], [PAD] * 3]
    assert mask.tolist() == [[True] * 3, [False] * 3]


def test_concatenation_is_the_plain_model_on_joined_sentences() -> None:
    joint = tiny.build(tiny.mode("concat-2-to-2"))
    plain = tiny.build(tiny.settings("transformer"))
    plain.load_state_dict(joint.state_dict())
    source = torch.tensor([[8, 9, BOS, 5, 6, 7, EOS]])  # the nearest sentence only, as a window of 2-to-2 has it
    target = torch.tensor([[BOS, 12, BOS, 14, 15]])
    batch = tiny.sample_batch()
    begun = batch.target_input[:1, :3]
    first = Batch(batch.source[:1, :4], batch.history[:1, :1], begun, begun, batch.target_history[:1, :1])
    assert join_sources(first).source.tolist() == source.tolist()
    whole = Batch(source, batch.history[:1, :0], target, target)
    torch.testing.assert_close(joint(first).logits, plain(whole).logits[:, 2:])
    assert count_parameters(joint) == count_parameters(plain)


def test_a_k_to_1_model_reads_all_and_writes_one() -> None:
    model = tiny.build(tiny.settings("concat"))
    batch = tiny.sample_batch()
    joined = join_sources(batch)
    assert joined.source[0].tolist() == [13, BOS, 10, 11, 12, BOS, 8, 9, BOS, 5, 6, 7, EOS]
    assert joined.source[1].tolist() == [6, EOS, *[PAD] * 11]
    changed = replace(batch, target_history=None)
    assert torch.equal(model(batch).logits, model(changed).logits)


def test_history_states_are_those_of_the_sentence_model_each_read_once() -> None:
    model, batch = tiny.build(tiny.mode("han-encoder")), tiny.sample_batch()
    plain = tiny.build(tiny.settings("transformer"))
    plain.load_state_dict(model.state_dict(), strict=False)
    states, mask = model._source_states(batch.history)
    for row, place, words in ((0, 1, [10, 11, 12]), (3, 0, [14, 15]), (2, 0, [5, 6, 7, 8, 9])):
        alone = Batch(torch.tensor([[*words, EOS]]), batch.history[:1, :0])
        torch.testing.assert_close(states[row, place, : len(words) + 1], plain.encode(alone).states[0])
        assert mask[row, place].tolist() == [n <= len(words) for n in range(mask.shape[-1])]
    assert not mask[1].any()
    assert not mask[3, 1].any()
    sentences, places = distinct(torch.tensor([[[4, 5], [6, PAD]], [[6, PAD], [6, PAD]]]))
    assert sentences[places].tolist() == [[[4, 5], [6, PAD]], [[6, PAD], [6, PAD]]]
    assert len(sentences) == 2
    assert with_end_marks(torch.tensor([[[4, 5], [6, PAD], [PAD, PAD]]])).tolist() == [
        [[4, 5, EOS], [6, EOS, PAD], [EOS, PAD, PAD]]
    ]


def test_states_of_translations_are_those_of_the_sentence_model() -> None:
    model, batch = tiny.build(tiny.mode("han-decoder")), tiny.sample_batch()
    plain = tiny.build(tiny.settings("transformer"))
    plain.load_state_dict(model.state_dict(), strict=False)
    states, mask = model._target_states(batch.history, batch.target_history)
    source, begun = torch.tensor([[10, 11, 12, EOS]]), torch.tensor([[BOS, 9, 8]])
    pair = Batch(source, batch.history[:1, :0], begun, begun)
    torch.testing.assert_close(states[0, 1, :3], plain(pair).states[0])
    assert mask[0].sum(dim=-1).tolist() == [2, 3, 4]
    assert mask[3].sum(dim=-1).tolist() == [2, 0, 3]


@pytest.mark.parametrize("name", ["han", "san", "san-decoder"])
def test_gradients_flow_into_the_states_of_others_only_if_asked_to(name: str) -> None:
    system, tables = tiny.MODES.get(name, (name, {}))
    batch = tiny.sample_batch()
    for gradient in (False, True):
        changed = {**tables, system: {**tables.get(system, {}), "gradient": gradient}}
        model = tiny.build(tiny.settings(system, tables=changed)).train()
        found = [model._source_states(batch.history)[0], model._target_states(batch.history, batch.target_history)[0]]
        assert [states.requires_grad for states in found] == [gradient, gradient]


@pytest.mark.parametrize("name", ["han", "san-decoder"])
def test_weights_learn_in_bfloat16_although_they_were_used_without_gradients_before(name: str) -> None:
    model, batch = tiny.build(tiny.mode(name)).float().train(), tiny.sample_batch()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        prediction = model(batch)
    compute_loss(prediction, batch.translations, label_smoothing=0.0, regulariser_weight=1.0).total.backward()
    assert [name for name, weight in model.named_parameters() if weight.grad is None] == []


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


VIEWS = [
    ("transformer", 0, 0, False, False, "sentences"),
    ("qcn", 3, 0, False, False, "sentences"),
    ("zhang", 3, 0, False, False, "sentences"),
    ("han", 3, 0, True, False, "documents"),
    ("han-encoder", 3, 0, False, False, "documents"),
    ("han-decoder", 3, 0, True, False, "documents"),
    ("san", WHOLE, 0, False, False, "documents"),
    ("san-offline", WHOLE, WHOLE, False, False, "documents"),
    ("san-decoder", WHOLE, 0, True, False, "documents"),
    ("san-decoder-offline", WHOLE, WHOLE, True, False, "documents"),
    ("san-reach", 2, 2, False, False, "documents"),
    ("concat", 3, 0, False, False, "sentences"),
    ("concat-2-to-2", 1, 0, True, False, "sentences"),
    ("qcn-shuffled", 3, 0, False, True, "sentences"),
    ("qcn-noise", 3, 0, False, False, "sentences"),
]


@pytest.mark.parametrize(("name", "history", "future", "translations", "shuffled", "sampling"), VIEWS)
def test_what_a_system_looks_at(
    name: str, history: int, future: int, translations: bool, shuffled: bool, sampling: str
) -> None:
    model = build_model(tiny.mode(name), vocabulary=11)
    view = model.view
    assert (view.history, view.future, view.translations, view.shuffled) == (history, future, translations, shuffled)
    assert model.sampling == sampling


def test_distances_are_told_apart_up_to_the_farthest() -> None:
    model = tiny.build(tiny.mode("san-distances"))
    assert isinstance(model, StatesTransformer)
    assert model.distances is not None
    words = torch.zeros(1, FARTHEST + 3, 1, 8, dtype=torch.float64)
    placed, _ = model._placed(words, words[..., 0].bool())
    table = 8**0.5 * model.distances.weight
    torch.testing.assert_close(placed[0, :, 0], torch.cat((table, table[-1:].expand(3, -1))))
    fresh = build_model(tiny.mode("san-distances"), vocabulary=11)
    assert isinstance(fresh, StatesTransformer)
    assert fresh.distances is not None
    assert not fresh.distances.weight.any()  # at first, sentences are a set


def test_modes_have_the_weights_they_need() -> None:
    plain = count_parameters(build_model(tiny.settings("transformer"), vocabulary=11))
    attention, forward, norm, matrix, linear = 288, 212, 16, 64, 72
    ending = forward + norm + 2 * matrix
    hierarchical = 2 * linear + 2 * attention + ending
    counts = {
        "han": 2 * hierarchical,
        "han-encoder": hierarchical,
        "han-decoder": hierarchical,
        "han-distances": 2 * hierarchical + FARTHEST * 8,
        "san": 6 * linear + ending,
        "san-flat": 4 * linear + ending,
        "zhang": attention + forward + 2 * norm + norm + 4 * (attention + norm + 2 * matrix),
        "zhang-encoder": attention + forward + 2 * norm + norm + 2 * (attention + norm + 2 * matrix),
        "concat": 0,
        "qcn-noise": 2 * (attention + norm),
    }
    for name, expected in counts.items():
        assert count_parameters(build_model(tiny.mode(name), vocabulary=11)) - plain == expected, name
