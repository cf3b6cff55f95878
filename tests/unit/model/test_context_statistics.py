"""Statistics of the use of context, against plain loops; a model without history has none."""

import math
from dataclasses import replace

import pytest
import torch
from tests import oracles
from tests.invariants import tiny
from torch import Tensor

from docaps.batches.batch import Batch, collate
from docaps.batches.windows import Window
from docaps.corpus.text.vocabulary import PAD
from docaps.model.context.sublayer import ContextMemory
from docaps.model.context_statistics import mean_cosine
from docaps.model.interface import Trace
from docaps.model.transformer import Transformer


def traces(name: str = "qcn", **options: object) -> dict[str, Trace]:
    model = tiny.build(tiny.settings(name, **options))
    with torch.inference_mode():
        return {trace.name: trace for trace in model.trace(tiny.sample_batch())}


def test_a_sentence_model_has_no_statistics() -> None:
    assert traces("transformer") == {}


def test_a_batch_without_any_history_has_no_statistics() -> None:
    model = tiny.build(tiny.settings("qcn"))
    assert model.trace(collate([Window(tiny.sentence(5, 6))], tiny.K)) == ()


def test_a_sentence_that_sees_an_end_mark_alone_has_statistics() -> None:
    batch = collate([Window(tiny.sentence(5, 6))], tiny.K)
    (share,) = tiny.build(tiny.settings("zhang")).trace(batch)
    assert share.name == "context_share"
    assert share.values.isfinite().all()
    assert tiny.build(tiny.mode("zhang-without-mark")).trace(batch) == ()


def test_each_system_has_its_statistics() -> None:
    everything = {"coupling_entropy", "pcc", "capsule_length", "attention", "context_share"}
    everything |= {"capsule_cosine", "capsule_overlap"}
    assert set(traces("qcn")) == set(traces("qcn+reg")) == everything
    assert set(traces("capsnet")) == everything - {"pcc"}
    assert set(traces("qcn", scope="joint")) == everything - {"attention"}


@pytest.mark.parametrize("name", ["qcn", "capsnet"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_values_are_within_their_range_and_labels_fit(name: str, norm: str) -> None:
    for trace in traces(name, norm=norm).values():
        assert len(trace.labels) == len(trace.values)
        assert len(set(trace.labels)) == len(trace.labels)
        real = trace.values[trace.values.isfinite()]
        assert len(real)
        if trace.name != "context_share":
            assert trace.low - 1e-6 <= real.min()
            assert real.max() <= trace.high + 1e-6


def test_routing_statistics_cover_real_words_only() -> None:
    model, batch = tiny.build(tiny.settings("qcn")), tiny.sample_batch()
    with torch.inference_mode():
        context = model.encode(batch, trace=True).context
    assert context is not None
    assert context.coupling is not None
    assert context.correlation is not None
    found, words = traces(), batch.history_mask.tolist()
    for iteration in range(tiny.R):
        entropies, correlations = [], []
        for b, k, n in [
            (b, k, n) for b, row in enumerate(words) for k, part in enumerate(row) for n, w in enumerate(part) if w
        ]:
            shares = context.coupling[iteration, b, k, :, n].tolist()
            entropies.append(-sum(c * math.log(c) for c in shares) / math.log(tiny.M))
            correlations += context.correlation[iteration, b, k, :, n].tolist()
        for name, wanted in (("coupling_entropy", entropies), ("pcc", correlations)):
            values = found[name].values[iteration]
            assert sorted(values[values.isfinite()].tolist()) == pytest.approx(sorted(wanted), abs=1e-6)
    assert found["coupling_entropy"].values[0].nanmean() == pytest.approx(1)


def test_attention_on_the_history_sums_to_one_where_there_is_any() -> None:
    found = traces()["attention"]
    assert found.labels[:4] == (
        "layer 1, distance 1",
        "layer 1, distance 2",
        "layer 1, distance 3",
        "layer 2, distance 1",
    )
    by_layer = found.values.view(2, tiny.K, -1)
    totals = by_layer.nansum(dim=1)
    assert totals[:, [0, 2, 3]].flatten().tolist() == pytest.approx([1.0] * 6)
    assert totals[:, [1, 4]].flatten().tolist() == [0.0] * 4
    assert by_layer[:, :, 2].isnan().tolist() == [[False, True, True]] * 2  # one history sentence only


def test_the_measured_use_is_that_of_the_layer() -> None:
    """The weights, applied to the values by hand, give the output of the fused attention."""
    model, batch = tiny.build(tiny.settings("qcn", norm="post")), tiny.sample_batch()
    assert isinstance(model, Transformer)
    layer = model.encoder[0].context
    with torch.inference_mode():
        context = model.encode(batch, trace=True).context
        assert context is not None
        states = torch.randn(5, batch.source.shape[1], tiny.D, dtype=torch.float64)
        memory = layer.attention.project(context.vectors)
        visible = context.mask.unsqueeze(1) | ~context.mask.any(dim=-1)[:, None, None]
        weights = layer.attention.weights(states, memory, visible)
        found = layer.attention.output((weights @ memory.values).transpose(1, 2).flatten(2))
        torch.testing.assert_close(found, layer.attention(states, memory, visible))
        look = layer.measure(states, context)
        torch.testing.assert_close(look.weights, weights.mean(dim=1))
        torch.testing.assert_close(look.share, found.norm(dim=-1) / states.norm(dim=-1))


def by_loops(model: Transformer, batch: Batch, row: int) -> dict[str, float]:
    """What each decoder layer does with the context of one row, by position, as means over the translation's words."""
    encoding, weights = model.encode(batch, trace=True), dict(model.named_parameters())
    context, words = encoding.context, batch.target_input
    assert context is not None
    assert words is not None
    real = [number for number, there in enumerate(context.mask[row]) if there]
    memory = [context.vectors[row, number] for number in real]
    source = [state for state, there in zip(encoding.states[row], batch.source_mask[row], strict=True) if there]
    states = list(model._with_positions(model.embeddings.target(words[row][words[row] != PAD].unsqueeze(0)))[0])
    found: dict[str, float] = {}
    for number in range(2):
        name = f"decoder.{number}"

        def normed(part: str, state: Tensor, name: str = name) -> Tensor:
            return oracles.layer_norm(weights, f"{name}.{part}.norm", state)

        def attend(part: str, query: Tensor, seen: list[Tensor], name: str = name) -> Tensor:
            return oracles.multi_head(weights, f"{name}.{part}", 2, query, seen)

        own = [normed("attention_residual", state) for state in states]
        states = [state + attend("attention", own[t], own[: t + 1]) for t, state in enumerate(states)]
        if memory:
            queries = [normed("context.residual", state) for state in states]
            for query in queries:
                shares = oracles.mean_shares(weights, f"{name}.context.attention", 2, query, memory)
                for place, share in zip(real, shares, strict=True):
                    distance, side = context.sentences[place // tiny.M]
                    label = f"attention {number + 1} {distance} {side}"
                    found[label] = found.get(label, 0.0) + share / len(queries)
            added = [attend("context.attention", query, memory) for query in queries]
            ratios = [float(one.norm() / state.norm()) for one, state in zip(added, states, strict=True)]
            found[f"context_share {number + 1}"] = sum(ratios) / len(ratios)
            states = [state + one for state, one in zip(states, added, strict=True)]
        states = [state + attend("source", normed("source_residual", state), source) for state in states]
        layer = {key.removeprefix(f"{name}."): weight for key, weight in weights.items()}
        states = [oracles.forward_sublayer(layer, state, "pre") for state in states]
    return found


@pytest.mark.parametrize("mode", ["at-decoder", "qcn-both"])
@torch.no_grad()
def test_what_decoder_layers_do_with_the_context_equals_loops(mode: str) -> None:
    system = tiny.mode(mode) if mode in tiny.MODES else tiny.settings("qcn", **tiny.OPTIONS[mode])
    model, batch = tiny.build(system), tiny.sample_batch()
    assert isinstance(model, Transformer)
    found = {trace.name: dict(zip(trace.labels, trace.values, strict=True)) for trace in model.trace(batch)}
    for row in range(len(batch.source)):
        values: dict[str, float] = {}
        for name, by_label in found.items():
            for label, numbers in by_label.items():
                if label.startswith("decoder layer") and not numbers[row].isnan():
                    layer, *rest = label.removeprefix("decoder layer ").split(", ")
                    side = ["target"] if "translation" in rest else ["source"]
                    place = [rest[0].removeprefix("distance "), *side] if rest else []
                    values[" ".join([name, layer, *place])] = numbers[row].item()
        assert values == pytest.approx(by_loops(model, batch, row), abs=1e-9)
        assert bool(values) == (row in (0, 2, 3))


def test_without_translations_nothing_is_said_about_the_decoder() -> None:
    model, batch = tiny.build(tiny.mode("qcn-both")), tiny.sample_batch()
    with torch.inference_mode():
        found = {trace.name: trace.labels for trace in model.trace(replace(batch, target_input=None))}
    assert found["context_share"] == ("layer 1", "layer 2")


def test_capsule_lengths_are_measured_before_the_norm() -> None:
    lengths = traces("qcn", normalise=True)["capsule_length"].values
    assert lengths[lengths.isfinite()].max() < 1
    assert traces("qcn", scope="joint")["capsule_length"].labels == ("all history",)


MODES = [name for name in tiny.MODES if name.startswith(("qcn-", "capsnet-"))]


@pytest.mark.parametrize("name", ["qcn", *MODES])
def test_cosines_of_capsules_and_of_their_weights_equal_loops(name: str) -> None:
    system, batch = tiny.mode(name), tiny.sample_batch()
    model = tiny.build(system)
    with torch.inference_mode():
        found = {trace.name: trace for trace in model.trace(batch)}
        context = model.encode(batch, trace=True).context
    assert context is not None
    assert context.coupling is not None
    together = system.qcn.scope == "joint"
    for place, label in enumerate(found["capsule_cosine"].labels):
        side = "target" if "translation" in label else "source"
        numbers = [
            number
            for number, one in enumerate(context.sentences)
            if one.side == side and (together or label.startswith(f"distance {one.distance}"))
        ]
        for row in range(len(batch.source)):
            words = [(number, n) for number in numbers for n, t in enumerate(context.tokens[row, number]) if t]
            weights = [[share(context, row, number, j, n) for number, n in words] for j in range(tiny.M)]
            capsules = context.capsules[row, place].tolist()
            for measured, vectors in (("capsule_cosine", capsules), ("capsule_overlap", weights)):
                value = found[measured].values[place, row]
                assert bool(value.isnan()) == (not words)
                if words:
                    assert value.item() == pytest.approx(cosine(*vectors), abs=1e-6)


def share(context: ContextMemory, row: int, number: int, j: int, n: int) -> float:
    """c + p of line 20, in the last iteration."""
    p = 0.0 if context.correlation is None else math.tanh(context.correlation[-1, row, number, j, n])
    return context.coupling[-1, row, number, j, n].item() + p


def cosine(one: list[float], other: list[float]) -> float:
    """Of the two capsules that tiny models have."""
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / math.sqrt(sum(a * a for a in one) * sum(b * b for b in other))


def test_mean_cosines_are_those_of_all_pairs() -> None:
    vectors = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]])
    assert mean_cosine(vectors).item() == pytest.approx((0 + 2 * math.sqrt(0.5)) / 3)
    assert mean_cosine(torch.tensor([[1.0, 0.0], [0.0, 0.0], [2.0, 0.0]])).item() == pytest.approx(1 / 3)
    assert mean_cosine(torch.ones(4, 3)).item() == pytest.approx(1)


def test_the_sentence_itself_and_translations_have_labels_of_their_own() -> None:
    model = tiny.build(tiny.mode("qcn-current-both"))
    labels = {trace.name: trace.labels for trace in model.trace(tiny.sample_batch())}["capsule_length"]
    assert labels == ("distance 0", *(f"distance {d}{m}" for m in ("", ", translation") for d in (1, 2, 3)))
    joint = tiny.build(tiny.mode("qcn-both-joint"))
    labels = {trace.name: trace.labels for trace in joint.trace(tiny.sample_batch())}["capsule_length"]
    assert labels == ("all history", "all translations")


def test_tracing_changes_nothing() -> None:
    model, batch = tiny.build(tiny.settings("qcn")), tiny.sample_batch()
    with torch.inference_mode():
        before = model.encode(batch).states
        model.trace(batch)
        torch.testing.assert_close(model.encode(batch).states, before, rtol=0, atol=0)
