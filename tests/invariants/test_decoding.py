"""Step-by-step decoding equals `forward`; saving and loading a model changes nothing."""

from pathlib import Path

import torch
from tests.invariants import tiny

from docaps.config import SystemSettings
from docaps.corpus.text.vocabulary import PAD
from docaps.model.builders import build_model
from docaps.model.checkpoint import load_weights, weights_of, write_tensors
from docaps.model.interface import TranslationModel
from docaps.training.objective import compute_loss


def test_step_by_step_equals_all_positions_at_once(model: TranslationModel) -> None:
    batch = tiny.sample_batch()
    assert batch.target_input is not None
    expected = model(batch).logits
    state = model.start(model.encode(batch))
    for position, tokens in enumerate(batch.target_input.unbind(dim=1)):
        logits, state = model.decode_step(tokens, state)
        real = batch.translations[:, position] != PAD
        torch.testing.assert_close(logits[real], expected[real, position])


def test_rows_of_a_decoder_state_can_be_picked_doubled_and_reordered(model: TranslationModel) -> None:
    batch = tiny.sample_batch()
    assert batch.target_input is not None
    rows = torch.tensor([3, 0, 0])
    _, state = model.decode_step(batch.target_input[:, 0], model.start(model.encode(batch)))
    expected, _ = model.decode_step(batch.target_input[:, 1], state)
    picked, _ = model.decode_step(batch.target_input[rows, 1], state.select(rows))
    torch.testing.assert_close(picked, expected[rows])


def test_a_saved_and_loaded_model_is_the_same(model: TranslationModel, system: SystemSettings, tmp_path: Path) -> None:
    write_tensors(tmp_path / "model.safetensors", weights_of(model))
    other = build_model(system, vocabulary=tiny.VOCABULARY, seed=99).double().eval()
    batch = tiny.sample_batch()
    assert not torch.equal(other(batch).logits, model(batch).logits)
    load_weights(other, tmp_path / "model.safetensors")
    assert torch.equal(other(batch).logits, model(batch).logits)


def test_gradients_reach_every_weight(model: TranslationModel) -> None:
    batch = tiny.sample_batch()
    loss = compute_loss(tiny.train_mode(model, batch), batch.translations, label_smoothing=0.1, regulariser_weight=1.0)
    loss.total.backward()
    silent = {
        name for name, weight in model.named_parameters() if weight.grad is None or weight.grad.abs().max() < 1e-9
    }
    # A key's bias adds the same to all scores of a softmax, so by its nature it has no gradient.
    assert silent == tiny.parameter_names(model, containing=["key.bias"])
    assert all(weight.grad.isfinite().all() for weight in model.parameters() if weight.grad is not None)
