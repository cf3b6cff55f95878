"""Statistics of the use of context, against plain loops; a model without history has none."""

import math

import pytest
import torch
from tests.invariants import tiny

from docaps.batches.batch import collate
from docaps.batches.windows import Window
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


def test_capsule_lengths_are_measured_before_the_norm() -> None:
    lengths = traces("qcn", normalise=True)["capsule_length"].values
    assert lengths[lengths.isfinite()].max() < 1
    assert traces("qcn", scope="joint")["capsule_length"].labels == ("all history",)


def test_tracing_changes_nothing() -> None:
    model, batch = tiny.build(tiny.settings("qcn")), tiny.sample_batch()
    with torch.inference_mode():
        before = model.encode(batch).states
        model.trace(batch)
        torch.testing.assert_close(model.encode(batch).states, before, rtol=0, atol=0)
