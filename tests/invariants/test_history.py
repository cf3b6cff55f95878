"""The history changes context models only; without history they are sentence models."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.invariants import tiny
from torch import Tensor, nn

from docaps.batches.batch import collate
from docaps.config import SystemSettings
from docaps.corpus.text.vocabulary import EOS, PAD
from docaps.model.builders import build_model
from docaps.model.context.han import HierarchicalAttention
from docaps.model.interface import TranslationModel


def differences(model: TranslationModel, history: Tensor) -> Tensor:
    """How far the scores of each row move when the sample's history is replaced."""
    batch = tiny.sample_batch()
    return (model(tiny.with_history(batch, history)).logits - model(batch).logits).abs().amax(dim=(1, 2))


def test_history_changes_context_models_only(model: TranslationModel, system: SystemSettings) -> None:
    history = tiny.sample_batch().history
    changed = torch.where(history == 10, 4, history)  # one word, in one row
    moved = differences(model, changed) > 1e-6
    assert moved.tolist() == [tiny.reads_history(system), False, False, False, False]


def test_every_history_sentence_counts(model: TranslationModel, system: SystemSettings) -> None:
    for place in range(tiny.K):
        changed = tiny.sample_batch().history.clone()
        changed[0, place, 0] = 4
        assert (differences(model, changed)[0] > 1e-6) == tiny.reads_history(system)


def test_a_missing_history_sentence_is_the_same_as_an_empty_one(model: TranslationModel) -> None:
    history = tiny.sample_batch().history.clone()
    history[:, 2] = PAD
    batch = tiny.with_history(tiny.sample_batch(), history)
    assert batch.target_history is not None
    batch.target_history[:, 2] = PAD
    fewer = tiny.with_history(batch, history[:, :2])
    torch.testing.assert_close(model(batch).logits, model(fewer).logits)


def test_the_order_of_words_within_a_history_sentence_counts_where_it_is_known(
    model: TranslationModel, system: SystemSettings
) -> None:
    if tiny.is_plugin(system):
        pytest.skip("only the author of the plug-in knows")
    history = tiny.sample_batch().history.clone()
    history[0, 1, :2] = history[0, 1, :2].flip(0)
    moved = differences(model, history)
    if tiny.knows_order(system):
        assert moved[0] > 1e-6
    else:
        assert moved[0] < 1e-12
    assert (moved[1:] == 0).all()


def test_the_distance_of_a_history_sentence_matters(model: TranslationModel, system: SystemSettings) -> None:
    """Hierarchical and selective attention do not know it, unless they have vectors of distances."""
    if tiny.is_plugin(system):
        pytest.skip("only the author of the plug-in knows")
    batch, places = tiny.sample_batch(), [1, 0, 2]
    assert batch.target_history is not None
    turned = replace(batch, history=batch.history[:, places], target_history=batch.target_history[:, places])
    moved = (model(turned).logits - model(batch).logits).abs().amax(dim=(1, 2)) > 1e-6
    # With noise, only the index of a missing sentence matters; concatenated sentences leave no gap.
    has_two_places = torch.tensor([True, False, True, True, False])
    gaps = torch.tensor([False, False, True, True, False])
    match tiny.context_of(system):
        case "qcn-noise":
            assert torch.equal(moved, gaps)
        case "zhang" | "concat":
            assert torch.equal(moved, torch.tensor([True, False, False, False, False]))
        case _:
            assert torch.equal(moved, has_two_places & tiny.knows_distance(system))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_row_without_history_is_translated_by_the_sentence_model(system: SystemSettings, norm: Any) -> None:
    """Bit for bit, in float32, next to rows with a history and in a batch without any.

    Where hierarchical attention ends with a norm, the sentence model's last states pass through that norm.
    """
    if tiny.context_of(system) == "none" or tiny.routes_itself(system):
        pytest.skip("a sentence model, or one that routes the sentence itself: see below")
    if tiny.sees_end_mark(system):
        pytest.skip("see test_a_row_without_history_sees_an_end_mark_alone")
    system = system.model_copy(update={"model": system.model.model_copy(update={"norm": norm})})
    sentence_system = system.model_copy(
        update={"name": "transformer+reg" if tiny.SYSTEM_PARTS[system.name].regulariser else "transformer"}
    )
    sentence_model, context_model = (
        build_model(settings, vocabulary=17, seed=seed).eval()
        for seed, settings in enumerate((sentence_system, system))
    )
    report = context_model.load_state_dict(sentence_model.state_dict(), strict=False)
    assert not report.unexpected_keys
    assert all("context" in name or name in ("distances.weight", "segments.weight") for name in report.missing_keys)
    _norm_as_after_gates(sentence_model, context_model)
    batch = tiny.sample_batch()
    none = tiny.with_history(batch, torch.zeros(len(batch.source), tiny.K, 0, dtype=torch.long))
    with torch.inference_mode():
        expected, mixed, without = sentence_model(batch).logits, context_model(batch).logits, context_model(none).logits
    assert torch.equal(without, expected)
    # Beside longer, joined sentences there is more padding, and the last bit may differ.
    near = 1e-5 if tiny.context_of(system) == "concat" else 0.0
    rows = zip(mixed, expected, tiny.lengths(batch), strict=True)
    same = [bool((one[:length] - other[:length]).abs().max() <= near) for one, other, length in rows]
    # A silent context leaves a fresh model the sentence model, whatever the history.
    silent = norm == "pre" and (system.qcn.silent or system.context.start == "silent")
    assert same == [silent, True, silent, silent, True]


def test_a_row_without_history_sees_an_end_mark_alone(model: TranslationModel, system: SystemSettings) -> None:
    """Where an end mark closes the context, and every other row sees that mark after the words of its history."""
    if not tiny.sees_end_mark(system):
        pytest.skip("no end mark closes the context")
    without = tiny.build(system.model_copy(update={"zhang": system.zhang.model_copy(update={"end_mark": False})}))
    without.load_state_dict(model.state_dict())
    windows = tiny.sample_windows()
    nearest = [window.history[:1] or ([],) for window in windows]
    closed = [
        replace(one, history=([*near[0], EOS], *one.history[1:])) for one, near in zip(windows, nearest, strict=True)
    ]
    batch, expected = tiny.sample_batch(), without(collate(closed, tiny.VIEW)).logits
    torch.testing.assert_close(model(batch).logits, expected)
    none = tiny.with_history(batch, torch.zeros(len(batch.source), 0, 0, dtype=torch.long))
    mark = replace(none, history=torch.full((len(batch.source), 1, 1), EOS))
    torch.testing.assert_close(model(none).logits, without(mark).logits)
    sentence_model = tiny.build(
        tiny.settings("transformer", norm=system.model.norm, embeddings=system.model.embeddings)
    )
    sentence_model.load_state_dict(model.state_dict(), strict=False)
    assert (model(none).logits - sentence_model(none).logits).abs().amax() > 1e-3


def _norm_as_after_gates(sentence_model: Any, context_model: Any) -> None:
    """Let the last states of a sentence model pass through the norms that follow the gates of another model."""
    for side in ("encoder", "decoder"):
        attention = getattr(context_model, f"{side}_context", None)
        if isinstance(attention, HierarchicalAttention):
            with torch.no_grad():  # a fresh norm does little
                attention.norm.apply(lambda norm: [weight.add_(0.3) for weight in norm.parameters(recurse=False)])
            norms = nn.Sequential(getattr(sentence_model, f"{side}_norm"), attention.norm)
            setattr(sentence_model, f"{side}_norm", norms)


def test_a_row_without_history_depends_on_its_own_sentence_alone(system: SystemSettings) -> None:
    """Where the sentence itself is routed: whatever is beside it, with or without room for a history."""
    if not tiny.routes_itself(system):
        pytest.skip("without history it is the sentence model: see the test before")
    model, batch = tiny.build(system), tiny.sample_batch()
    together = model(batch).logits
    for row in (1, 4):
        window = replace(tiny.sample_windows()[row], history=(), target_history=())
        for view in (0, tiny.VIEW):
            alone = model(collate([window], view)).logits[0]
            torch.testing.assert_close(together[row, : len(alone)], alone)
    none = tiny.with_history(batch, torch.zeros(len(batch.source), tiny.K, 0, dtype=torch.long))
    shared = "transformer+reg" if tiny.SYSTEM_PARTS[system.name].regulariser else "transformer"
    sentence_model = tiny.build(system.model_copy(update={"name": shared}))
    sentence_model.load_state_dict(model.state_dict(), strict=False)
    moved = (model(none).logits - sentence_model(none).logits).abs().amax(dim=(1, 2))
    assert (moved > 1e-6).all()  # the sentence's own capsules count


def test_the_qcn_without_p_is_a_plain_capsule_network() -> None:
    """Both switches together remove the query."""
    plain = tiny.build(tiny.settings("capsnet"))
    unguided = tiny.build(tiny.settings("qcn", guide_capsules=False, guide_agreement=False), seed=8)
    report = unguided.load_state_dict(plain.state_dict(), strict=False)
    assert report.missing_keys == ["context.query.linear.weight", "context.query.linear.bias"]
    batch = tiny.sample_batch()
    torch.testing.assert_close(unguided(batch).logits, plain(batch).logits)
