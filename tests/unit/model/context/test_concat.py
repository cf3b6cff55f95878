"""Concatenation: the plain model on joined sentences."""

from dataclasses import replace

import torch
from tests.invariants import tiny

from docaps.batches.batch import Batch
from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.builders import count_parameters
from docaps.model.context.concat import join_sources, oldest_first, real_first, without_gaps
from docaps.model.context.zhang import join_vectors


def test_sentences_are_joined_oldest_first_without_gaps() -> None:
    history = torch.tensor([[[5, 6, PAD], [PAD] * 3, [7, PAD, PAD]], [[PAD] * 3] * 3])
    assert without_gaps(oldest_first(history, 9, before=True)).tolist() == [[9, 7, 9, 5, 6], [PAD] * 5]
    assert without_gaps(oldest_first(history, 9, before=False)).tolist() == [[7, 9, 5, 6, 9], [PAD] * 5]
    assert real_first(torch.tensor([[False, True, False, True]])).tolist() == [[1, 3, 0, 2]]
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
