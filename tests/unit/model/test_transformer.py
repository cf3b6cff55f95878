"""The Transformer as a whole: its inputs, its tables of word vectors, and what it refuses."""

from dataclasses import replace

import pytest
import torch
from tests.invariants import tiny

from docaps.batches.batch import collate
from docaps.batches.windows import Window
from docaps.config.model_settings import Tables
from docaps.corpus.text.vocabulary import EOS
from docaps.model.layers import Embeddings, sinusoids
from docaps.model.transformer import Transformer


def test_shared_tables_are_one_and_separate_ones_three() -> None:
    shared = Embeddings(vocabulary=9, size=4, tables="shared")
    assert [name for name, _ in shared.named_parameters()] == ["source.weight"]
    separate = Embeddings(vocabulary=9, size=4, tables="separate")
    assert len(list(separate.parameters())) == 3
    states = torch.randn(2, 3, 4)
    torch.testing.assert_close(separate.logits(states), states @ separate.output.weight.T)
    two = Embeddings(vocabulary=9, size=4, tables="target", bias=True)
    assert [name for name, _ in two.named_parameters()] == ["bias", "source.weight", "target.weight"]
    assert two.output is two.target
    assert two.bias is not None
    torch.nn.init.normal_(two.bias)
    torch.testing.assert_close(two.logits(states), states @ two.target.weight.T + two.bias)


def test_word_vectors_may_be_read_unscaled_and_positions_in_the_layout_of_marian() -> None:
    form = {"scale_embeddings": False, "positions": "marian"}
    model, batch = tiny.build(tiny.settings("transformer", norm="post", model=form)), tiny.sample_batch()
    assert isinstance(model, Transformer)
    words = model.embeddings.source.weight[batch.source]
    places = sinusoids(batch.source.shape[1], tiny.D, "marian").double()
    torch.testing.assert_close(model._with_positions(model._look_up(batch).source), words + places)


def test_layers_of_both_sides_are_as_many_as_set() -> None:
    model = tiny.build(tiny.settings("transformer", model={"encoder_layers": 3, "decoder_layers": 1}))
    assert isinstance(model, Transformer)
    assert (len(model.encoder), len(model.decoder)) == (3, 1)


def test_word_vectors_have_about_unit_length() -> None:
    torch.manual_seed(1)
    table = Embeddings(vocabulary=500, size=64, tables="shared").source.weight
    assert table.norm(dim=-1).mean().item() == pytest.approx(1.0, abs=0.05)


def test_the_encoder_reads_scaled_word_vectors_and_positions() -> None:
    model, batch = tiny.build(tiny.settings("transformer", norm="post")), tiny.sample_batch()
    assert isinstance(model, Transformer)
    expected = model.embeddings.source.weight[batch.source] * tiny.D**0.5
    expected = expected + model.positions.table[: batch.source.shape[1]]
    torch.testing.assert_close(model._with_positions(model._look_up(batch).source), expected)


@pytest.mark.parametrize("kind", ["shared", "target", "separate"])
@pytest.mark.parametrize("history", [True, False])
def test_words_looked_up_together_are_those_looked_up_one_by_one(kind: Tables, history: bool) -> None:
    tables, batch = Embeddings(vocabulary=tiny.VOCABULARY, size=4, tables=kind), tiny.sample_batch()
    found = tables.look_up(batch, history=history)
    assert torch.equal(found.source, tables.source.weight[batch.source])
    assert found.target is not None
    assert batch.target_input is not None
    assert torch.equal(found.target, tables.target.weight[batch.target_input])
    if history:
        assert found.history is not None
        assert torch.equal(found.history, tables.source.weight[batch.history])
    else:
        assert found.history is None
    assert tables.look_up(replace(batch, target_input=None), history=history).target is None


def test_the_order_of_source_words_matters() -> None:
    model, batch = tiny.build(tiny.settings("transformer")), tiny.sample_batch()
    swapped = replace(batch, source=batch.source[:, [1, 0, *range(2, batch.source.shape[1])]])
    assert ((model(batch).logits - model(swapped).logits).abs().amax(dim=(1, 2)) > 1e-6).all()


def test_a_batch_without_translations_is_refused_in_training() -> None:
    model, batch = tiny.build(tiny.settings("qcn")), tiny.sample_batch()
    with pytest.raises(ValueError, match="no translations"):
        model(replace(batch, target_input=None, target_output=None))


def test_dropout_acts_in_training_only() -> None:
    model, batch = tiny.build(tiny.settings("qcn"), dropout=0.3), tiny.sample_batch()
    assert torch.equal(model(batch).logits, model(batch).logits)
    torch.manual_seed(1)
    assert not torch.equal(tiny.train_mode(model, batch).logits, tiny.train_mode(model, batch).logits)


def test_a_sentence_longer_than_the_table_of_positions_is_read() -> None:
    model = tiny.build(tiny.settings("transformer"))
    batch = collate([Window([5] * 400 + [EOS], (), [6] * 300 + [EOS])], 0)
    assert model(batch).logits.isfinite().all()
