"""Search over every system: greedy is beam 1, neighbours do not matter, and scoring agrees with searching."""

from dataclasses import replace

import pytest
import torch
from tests.invariants import tiny

from docaps.batches.batch import Batch, collate
from docaps.config import DecodingSettings
from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.interface import TranslationModel
from docaps.translation.search import search

BEAM = DecodingSettings(beam=2, length_penalty=0.6, length_factor=0.1, length_margin=6)


def greedy(model: TranslationModel, batch: Batch, limit: int) -> list[list[int]]:
    """Always take the most probable word; the words so far are read anew at each step."""
    written = torch.full((len(batch.source), 1), BOS)
    while written.shape[1] < limit:
        scores = model(replace(batch, target_input=written, target_output=written)).logits[:, -1]
        scores[:, [PAD, BOS]] = float("-inf")
        written = torch.cat((written, scores.argmax(dim=-1, keepdim=True)), dim=1)
    words = [row[1:] for row in written.tolist()]
    return [row[: row.index(EOS)] if EOS in row else row for row in words]


def test_beam_1_is_greedy_search(model: TranslationModel) -> None:
    batch = collate([replace(window, target=None) for window in tiny.sample_windows()], tiny.VIEW)
    found = search(model, batch, BEAM.model_copy(update={"beam": 1}))
    assert all(len(hypotheses) == 1 for hypotheses in found)
    with torch.inference_mode():
        assert [list(hypotheses[0].tokens) for hypotheses in found] == greedy(model, batch, 6)


def test_beams_that_share_a_cache_are_those_that_copy_it(
    model: TranslationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = search(model, tiny.sample_batch(), BEAM)
    monkeypatch.setattr(type(model), "hypothesise", TranslationModel.hypothesise)
    for found, expected in zip(shared, search(model, tiny.sample_batch(), BEAM), strict=True):
        assert [one.tokens for one in found] == [one.tokens for one in expected]
        scores = [one.log_probability for one in expected]
        assert [one.log_probability for one in found] == pytest.approx(scores, abs=1e-9)


def test_batch_neighbours_change_no_translation(model: TranslationModel) -> None:
    windows = [tiny.sample_windows()[number] for number in (1, 3)]
    together = search(model, collate(windows, tiny.VIEW), BEAM)
    for window, found in zip(windows, together, strict=True):
        (alone,) = search(model, collate([window], tiny.VIEW), BEAM)
        assert [one.tokens for one in found] == [one.tokens for one in alone]
        assert [one.score for one in found] == pytest.approx([one.score for one in alone], abs=1e-5)


def test_the_score_of_a_translation_is_the_score_that_search_gave_it(model: TranslationModel) -> None:
    windows = tiny.sample_windows()
    found = [hypotheses[0] for hypotheses in search(model, collate(windows, tiny.VIEW), BEAM)]
    translated = [
        replace(window, target=[*hypothesis.tokens, EOS]) for window, hypothesis in zip(windows, found, strict=True)
    ]
    scores = tiny.log_probabilities(model, collate(translated, tiny.VIEW))
    assert scores == pytest.approx([hypothesis.log_probability for hypothesis in found], abs=1e-4)
