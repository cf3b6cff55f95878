"""Hierarchical and selective attention against plain loops, with gradients; the states that they attend to."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests import oracles
from tests.invariants import tiny
from torch import Tensor, nn

from docaps.batches.batch import Batch
from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.builders import build_model
from docaps.model.context.han import HierarchicalAttention
from docaps.model.context.san import SelectiveAttention
from docaps.model.context.states import FARTHEST, OtherWords, StatesTransformer, distinct, with_end_tokens
from docaps.model.fast.dropout import draw_bytes
from docaps.model.layers import DropoutRates, Shape
from docaps.training.objective import compute_loss

NORMS: list[Any] = ["pre", "post"]
B, L, K, N, D = 3, 2, 3, 4, 6
LENGTHS = [[4, 2, 3], [1, 0, 2], [0, 0, 0]]


def shape(norm: Any) -> Shape:
    return Shape(size=6, heads=2, feed_forward=5, dropout=DropoutRates.everywhere(0.0), norm=norm)


def draw(*shape: int, seed: int = 1, scale: float = 1.0) -> Tensor:
    return scale * torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def randomised(module: nn.Module) -> nn.Module:
    """Draw all weights at random, so that biases and norms matter."""
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
    """Attend from each state in turn, to real words only."""
    weights = dict(module.named_parameters())
    rows = []
    for b, lengths in enumerate(LENGTHS):
        sentences = [[words[b, k, n] for n in range(length)] for k, length in enumerate(lengths) if length]
        rows.append(torch.stack([attend(weights, h, sentences) for h in states[b]]))
    return torch.stack(rows)


def assert_equal_with_gradients(module: nn.Module, attend: Callable[[dict[str, Tensor], Tensor, Any], Tensor]) -> None:
    states, (words, mask) = draw(B, L, D, seed=3).requires_grad_(), histories()
    words.requires_grad_()
    found = module(states, module.project(words, mask))
    expected = loops(module, states, words, attend)
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=0)
    slopes = draw(B, L, D, seed=5)
    asked = [states, words, *module.parameters()]
    ours, theirs = (torch.autograd.grad((one * slopes).sum(), asked, allow_unused=True) for one in (found, expected))
    for one, other in zip(ours, theirs, strict=True):
        # The gradient of a missing word is 0 in ours and None in the loops.
        torch.testing.assert_close(one, torch.zeros_like(one) if other is None else other, atol=1e-9, rtol=0)


PUBLISHED: dict[str, Any] = {
    "queries": "norm",
    "query_gradient": False,
    "norm_summaries": True,
    "feed_forward_norm": "pre",
    "gate_bias": True,
    "norm_output": True,
}
PLAIN: dict[str, Any] = {
    "queries": "linear",
    "query_gradient": True,
    "norm_summaries": False,
    "feed_forward_norm": "model",
    "gate_bias": False,
    "norm_output": False,
}


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("changed", [(), *((key,) for key in PUBLISHED), tuple(PUBLISHED)], ids=" ".join)
def test_hierarchical_attention_equals_the_loops_with_gradients(norm: Any, changed: tuple[str, ...]) -> None:
    """In the published form, with one point changed at a time, and with all of them changed."""
    form = PUBLISHED | {key: PLAIN[key] for key in changed}
    module = randomised(HierarchicalAttention(shape=shape(norm), **form))
    own = {key: form[key] for key in ("queries", "query_gradient", "norm_summaries", "norm_output")}
    own["norm"] = norm if form["feed_forward_norm"] == "model" else "pre"
    assert_equal_with_gradients(module, lambda weights, h, s: oracles.hierarchical_attention(weights, 2, h, s, **own))
    assert ("gate.found.bias" in dict(module.named_parameters())) == form["gate_bias"]


@pytest.mark.parametrize(
    ("norm", "residual", "bias"), [("pre", False, False), ("pre", True, True), ("post", True, False)]
)
@pytest.mark.parametrize("sentences", ["sparsemax", "softmax", None])
@pytest.mark.parametrize("words", ["sparsemax", "softmax"])
def test_selective_attention_equals_the_loops_with_gradients(
    sentences: Any, words: Any, norm: Any, residual: bool, bias: bool
) -> None:
    module = selective(sentences, words, norm, residual=residual, bias=bias)
    own: dict[str, Any] = {"residual": residual}
    assert_equal_with_gradients(
        module, lambda weights, h, s: oracles.selective_attention(weights, 2, h, s, sentences, words, norm, **own)
    )
    projections = {name for name in dict(module.named_parameters()) if "query" in name or "key" in name}
    assert any(name.endswith("bias") for name in projections) == bias


def selective(sentences: Any, words: Any, norm: Any, **form: bool) -> nn.Module:
    how: Any = "flat" if sentences is None else "hierarchical"
    kinds = {"attention": how, "sentences": sentences or "softmax", "words": words}
    return randomised(SelectiveAttention(shape=shape(norm), **kinds, **form))


@pytest.mark.parametrize("sentences", ["sparsemax", None])
def test_selective_attention_compares_queries_with_keys_and_averages_states(sentences: Any) -> None:
    """As the decoder does: queries and keys are other states than those that are mixed and averaged."""
    module = selective(sentences, "softmax", "pre", residual=False, bias=False)
    states, queries = (draw(B, L, D, seed=seed).requires_grad_() for seed in (3, 6))
    (words, mask), keys = histories(), draw(B, K, N, D, seed=7).requires_grad_()
    words.requires_grad_()
    found = module(states, module.project(words, mask, keys), queries)
    weights, rows = dict(module.named_parameters()), []
    for b, lengths in enumerate(LENGTHS):
        seen, compared = (
            [[part[b, k, n] for n in range(length)] for k, length in enumerate(lengths) if length]
            for part in (words, keys)
        )
        parts: Any = [(h, {"query": q, "keys": compared}) for h, q in zip(states[b], queries[b], strict=True)]
        rows += [
            oracles.selective_attention(weights, 2, h, seen, sentences, "softmax", "pre", residual=False, **more)
            for h, more in parts
        ]
    expected = torch.stack(rows).view_as(found)
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=0)
    slopes, asked = draw(B, L, D, seed=5), [states, queries, words, keys, *module.parameters()]
    ours, theirs = (torch.autograd.grad((one * slopes).sum(), asked) for one in (found, expected))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-9, rtol=0)


def test_history_states_are_those_of_the_sentence_model_each_encoded_once() -> None:
    model, batch = tiny.build(tiny.mode("han-encoder")), tiny.sample_batch()
    plain = tiny.build(tiny.settings("transformer"))
    plain.load_state_dict(model.state_dict(), strict=False)
    states, mask, _ = model._source_words(batch.history)
    for row, place, words in ((0, 1, [10, 11, 12]), (3, 0, [14, 15]), (2, 0, [5, 6, 7, 8, 9])):
        alone = Batch(torch.tensor([[*words, EOS]]), batch.history[:1, :0])
        torch.testing.assert_close(states[row, place, : len(words) + 1], plain.encode(alone).states[0])
        assert mask[row, place].tolist() == [n < len(words) for n in range(mask.shape[-1])]
    assert mask[3, 2].tolist()[:4] == [True, True, False, False]  # an unknown word
    assert not mask[1].any()
    assert not mask[3, 1].any()
    sentences, places = distinct(torch.tensor([[[4, 5], [6, PAD]], [[6, PAD], [6, PAD]]]))
    assert sentences[places].tolist() == [[[4, 5], [6, PAD]], [[6, PAD], [6, PAD]]]
    assert len(sentences) == 2
    assert with_end_tokens(torch.tensor([[[4, 5], [6, PAD], [PAD, PAD]]])).tolist() == [
        [[4, 5, EOS], [6, EOS, PAD], [EOS, PAD, PAD]]
    ]


def test_states_of_translations_are_those_of_the_sentence_model() -> None:
    model, batch = tiny.build(tiny.mode("han-decoder")), tiny.sample_batch()
    plain = tiny.build(tiny.settings("transformer"))
    plain.load_state_dict(model.state_dict(), strict=False)
    states, mask, _ = model._target_words(batch.history, batch.target_history)
    source, begun = torch.tensor([[10, 11, 12, EOS]]), torch.tensor([[BOS, 9, 8]])
    pair = Batch(source, batch.history[:1, :0], begun, begun)
    torch.testing.assert_close(states[0, 1, :3], plain(pair).states[0])
    assert mask[0, 1].tolist() == [False, True, True, False, False]  # not the begin token
    assert mask[0].sum(dim=-1).tolist() == [1, 2, 3]
    assert mask[3].sum(dim=-1).tolist() == [1, 0, 2]


@pytest.mark.parametrize("name", ["han-marks", "san-marks"])
def test_marks_are_attended_to_if_asked_for(name: str) -> None:
    model, batch = tiny.build(tiny.mode(name)), tiny.sample_batch()
    found = model._source_words(batch.history).mask, model._target_words(batch.history, batch.target_history).mask
    assert found[0].sum(dim=-1)[[0, 3]].tolist() == [[3, 4, 2], [3, 0, 4]]  # words and an end token
    assert found[1].sum(dim=-1)[[0, 3]].tolist() == [[2, 3, 4], [2, 0, 3]]  # words and a begin token


def test_selective_attention_leaves_out_end_tokens_and_states_that_predict_them() -> None:
    model, batch = tiny.build(tiny.mode("san")), tiny.sample_batch()
    found = model._source_words(batch.history).mask, model._target_words(batch.history, batch.target_history).mask
    assert found[0][0, 1].tolist() == [True, True, True, False, False, False]
    assert found[1][0, 1].tolist() == [True, True, False, False, False]  # the states that predict the two words
    assert found[0].sum(dim=-1)[[0, 3]].tolist() == [[2, 3, 1], [2, 0, 3]]  # an unknown word is a word
    assert found[1].sum(dim=-1)[[0, 3]].tolist() == [[1, 2, 3], [1, 0, 2]]


def test_the_decoder_reads_earlier_sentences_as_it_reads_a_sentence_without_context() -> None:
    """With a norm after the encoder's gate, through that norm."""
    model, batch = tiny.build(tiny.mode("han")), tiny.sample_batch()
    plain = tiny.build(tiny.settings("transformer"))
    plain.load_state_dict(model.state_dict(), strict=False)
    plain.encoder_norm = nn.Sequential(plain.encoder_norm, model.encoder_context.norm)
    source, begun = torch.tensor([[10, 11, 12, EOS]]), torch.tensor([[BOS, 9, 8]])
    pair = Batch(source, batch.history[:1, :0], begun, begun)
    states, *_ = model._target_words(batch.history, batch.target_history)
    torch.testing.assert_close(states[0, 1, :3], plain(pair).states[0])


@pytest.mark.parametrize("name", ["han", "san", "san-decoder"])
def test_gradients_flow_into_other_sentences_only_if_asked_for(name: str) -> None:
    system, tables = tiny.MODES.get(name, (name, {}))
    batch = tiny.sample_batch()
    for gradient in (False, True):
        changed = {**tables, system: {**tables.get(system, {}), "gradient": gradient}}
        if system == "san":
            changed["san"]["memory"] = "current"
        model = tiny.build(tiny.settings(system, tables=changed)).train()
        found = [model._source_words(batch.history), model._target_words(batch.history, batch.target_history)]
        assert [words.states.requires_grad for words in found] == [gradient, gradient]


@pytest.mark.parametrize("name", ["han", "san-decoder"])
def test_weights_learn_in_bfloat16_although_they_were_used_without_gradients_before(name: str) -> None:
    model, batch = tiny.build(tiny.mode(name)).float().train(), tiny.sample_batch()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        prediction = model(batch)
    compute_loss(prediction, batch.translations, label_smoothing=0.0, regulariser_weight=1.0).total.backward()
    assert [name for name, weight in model.named_parameters() if weight.grad is None] == []


def test_distances_differ_up_to_the_farthest() -> None:
    model = tiny.build(tiny.mode("san-distances"))
    assert isinstance(model, StatesTransformer)
    assert model.distances is not None
    words = torch.zeros(1, FARTHEST + 3, 1, 8, dtype=torch.float64)
    placed, _, keys = model._with_distances(OtherWords(words, words[..., 0].bool(), words + 1))
    assert keys is not None
    torch.testing.assert_close(keys, placed + 1)
    table = 8**0.5 * model.distances.weight
    torch.testing.assert_close(placed[0, :, 0], torch.cat((table, table[-1:].expand(3, -1))))
    fresh = build_model(tiny.mode("san-distances"), vocabulary=11)
    assert isinstance(fresh, StatesTransformer)
    assert fresh.distances is not None
    assert not fresh.distances.weight.any()  # at first, the order of sentences is unknown


@pytest.mark.parametrize("how", ["hierarchical", "flat"])
def test_selective_attention_drops_the_weights_of_words(how: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The product of a sentence's and a word's weight, scaled up where it is kept."""
    own = replace(shape("pre"), dropout=replace(shape("pre").dropout, attention=0.3))
    weightings: dict[str, Any] = {"sentences": "softmax", "words": "softmax"}
    module = randomised(SelectiveAttention(shape=own, attention=how, bias=False, residual=False, **weightings))
    states, memory = draw(B, L, D, seed=3), module.project(*histories())
    torch.manual_seed(4)
    found = module.train()(states, memory)
    torch.manual_seed(4)
    kept = (draw_bytes(torch.empty(B, 2, L, K * N)) >= 77).view(B, 2, L, K, N)
    weights = module._weigh(states, memory)
    monkeypatch.setattr(module, "_weigh", lambda *_: weights * kept * (256 / 179))
    torch.testing.assert_close(found, module.eval()(states, memory))
