"""Concatenation: the plain model on joined sentences."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from tests import oracles
from tests.invariants import tiny
from torch import Tensor

from docaps.batches.batch import Batch, collate
from docaps.config import DecodingSettings
from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.builders import count_parameters
from docaps.model.context.concat import (
    SEPARATOR,
    ConcatTransformer,
    Prefix,
    join_sources,
    oldest_first,
    real_first,
    without_gaps,
)
from docaps.model.context.zhang import join_vectors
from docaps.training.objective import compute_loss
from docaps.translation.search import search


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


WINDOWS = [
    # The sentences of each row, oldest first: sources with what ends them, translations with what begins them.
    (
        [[13, BOS], [10, 11, 12, BOS], [8, 9, BOS], [5, 6, 7, EOS]],
        [[BOS, 7, 6, 5], [BOS, 9, 8], [BOS, 12], [BOS, 14]],
    ),
    ([[6, EOS]], [[BOS, 16, 5, 6]]),
    ([[5, 6, 7, 8, 9, BOS], [7, 8, 9, 10, 11, EOS]], [[BOS, 11, 12, 13, 14], [BOS]]),
    ([[16, 4, 3, BOS], [14, 15, BOS], [12, 4, EOS]], [[BOS, 5, 16], [BOS, 4], [BOS, 12, 13]]),
    ([[15, 16, EOS]], [[BOS, 5]]),
]
"""The rows of the sample batch."""


@pytest.mark.parametrize("segments", [False, True])
def test_inputs_are_shifted_and_marked_sentence_by_sentence(segments: bool) -> None:
    model = concatenation(shift=4, segments=segments, mode="n-to-n")
    vectors = None if model.segments is None else list(model.segments.weight)
    table, batch = model.embeddings.source.weight, tiny.sample_batch()
    joined = join_sources(batch)
    found = model._source_inputs(table[joined.source], joined.source)
    for row, (sentences, _) in zip(found, WINDOWS, strict=True):
        expected = oracles.segmented_inputs([[table[word] for word in one] for one in sentences], 4, vectors)
        torch.testing.assert_close(row[: len(expected)], torch.stack(expected), rtol=0, atol=1e-6)
    for _, sentences in WINDOWS:
        words = torch.tensor([[word for one in sentences for word in one]])
        expected = oracles.segmented_inputs([[table[word] for word in one] for one in sentences], 4, vectors)
        whole = model._target_inputs(table[words], words)[0]
        torch.testing.assert_close(whole, torch.stack(expected), rtol=0, atol=1e-6)
    if vectors is not None:
        assert not torch.equal(
            found[0], concatenation(shift=4, mode="n-to-n")._source_inputs(table[joined.source], joined.source)[0]
        )


def concatenation(**concat: object) -> ConcatTransformer:
    model = tiny.build(tiny.settings("concat", tables={"concat": concat}))
    assert isinstance(model, ConcatTransformer)
    return model


def windows_with_logits(logits: Tensor) -> Iterator[list[tuple[Tensor, list[int]]]]:
    """Cut the scores of whole windows into sentences; each sentence ends with the end token."""
    for row, (_, sentences) in zip(logits, WINDOWS, strict=True):
        parts = row[: sum(map(len, sentences))].split([len(sentence) for sentence in sentences])
        yield [(part, [*sentence[1:], EOS]) for part, sentence in zip(parts, sentences, strict=True)]


@pytest.mark.parametrize("discount", [0.0, 0.01, 1.0])
def test_earlier_translations_count_in_the_loss_by_their_discount(discount: float) -> None:
    joint, plain = concatenation(mode="n-to-n", discount=discount), tiny.build(tiny.settings("transformer"))
    plain.load_state_dict(joint.state_dict())
    batch = corrected_sample()
    found = compute_loss(tiny.train_mode(joint, batch), batch.translations, label_smoothing=0.0, regulariser_weight=0.0)
    sources, targets = ([[word for one in window[side] for word in one] for window in WINDOWS] for side in (0, 1))
    pairs = [
        torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in side], True, PAD) for side in (sources, targets)
    ]
    whole = Batch(pairs[0], batch.history[:, :0], pairs[1], pairs[1])
    windows = list(windows_with_logits(plain(whole).logits))
    expected = oracles.discounted_loss(windows, discount)
    torch.testing.assert_close(found.total, expected, rtol=0, atol=1e-9)
    torch.testing.assert_close(found.cross_entropy, oracles.discounted_loss(windows, 0.0), rtol=0, atol=1e-9)
    found.total.backward()
    expected.backward()
    for one, other in zip(joint.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=0, atol=1e-9)


def corrected_sample() -> Batch:
    """The sample batch; the last words of its translations are those of `WINDOWS`."""
    windows = [
        replace(one, target=[*two[1][-1][1:], EOS]) for one, two in zip(tiny.sample_windows(), WINDOWS, strict=True)
    ]
    return collate(windows, tiny.VIEW)


def test_earlier_translations_count_in_training_only() -> None:
    model, batch = concatenation(mode="n-to-n", discount=0.5), tiny.sample_batch()
    assert model(batch).earlier is None
    assert tiny.train_mode(model, batch).earlier is not None
    none = tiny.with_history(batch, batch.history[:, :0])
    assert tiny.train_mode(model, none).earlier is None
    assert tiny.train_mode(model, replace(batch, target_history=torch.zeros_like(batch.target_history))).earlier is None
    assert not model.idles(none)
    assert concatenation(segments=True).idles(none)
    assert not concatenation(segments=True).idles(batch)


def test_a_model_that_would_write_separators_still_writes_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = concatenation(mode="n-to-n", shift=4), tiny.sample_batch()
    score = model.embeddings.score_chunks

    def preferring_separators(states: Tensor) -> tuple[Iterator[Tensor], Tensor | None]:
        chunks, scale = score(states)
        return (chunk + 1e3 * (torch.arange(chunk.shape[1]) == SEPARATOR) for chunk in chunks), scale

    monkeypatch.setattr(model.embeddings, "score_chunks", preferring_separators)
    for beam in (1, 3):
        found = search(model, batch, DecodingSettings(beam=beam, length_factor=0.1, length_margin=6))
        assert len(found) == len(batch.source)
        assert all(SEPARATOR not in hypothesis.tokens for hypotheses in found for hypothesis in hypotheses)


def test_a_prefix_counts_its_words_and_sentences() -> None:
    prefix = Prefix(torch.tensor([[BOS, 7, BOS, 8, 9], [BOS, 5, PAD, PAD, PAD], [PAD] * 5]))
    assert prefix.lengths.tolist() == [5, 2, 0]
    assert prefix.sentences.tolist() == [2, 1, 0]
