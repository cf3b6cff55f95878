"""Candidate translations over every system: in one row or in rows of their own, they score alike."""

from dataclasses import replace

import pytest
import torch
from tests.invariants import tiny

from docaps.batches.batch import collate
from docaps.batches.candidates import collate_candidates
from docaps.batches.windows import Window
from docaps.model.interface import TranslationModel

Texts = list[list[list[int]]]
CANDIDATES: Texts = [
    [[5, 6, 7], [5, 6, 8, 9], [5, 6], [5, 4, 7]],
    [[16, 5, 6, 7]],
    [[10, 11], [12, 11]],
    [[12, 13, 14, 15], [12, 13, 14], [12, 13, 14, 15, 16]],
    [[5, 4], []],
]
"""For each sample window: translations with a common beginning, with none, and one alone."""
Scores = list[list[float]]


@torch.inference_mode()
def in_rows_of_their_own(model: TranslationModel, windows: list[Window], texts: Texts) -> Scores:
    """Score translations by the forward pass, a row each."""
    pairs = [(window, tiny.sentence(*words)) for window, own in zip(windows, texts, strict=True) for words in own]
    batch = collate([replace(window, target=words) for window, words in pairs], tiny.VIEW)
    scores = torch.log_softmax(model(batch).logits, dim=-1).tolist()
    return [
        [row[place][word] for place, word in enumerate(words)] for row, (_, words) in zip(scores, pairs, strict=True)
    ]


@torch.inference_mode()
def together(model: TranslationModel, windows: list[Window], texts: Texts) -> Scores:
    candidates = collate_candidates([[tiny.sentence(*words) for words in own] for own in texts])
    found = model.score_candidates(collate([replace(window, target=None) for window in windows], tiny.VIEW), candidates)
    assert found[candidates.places == 0].eq(0).all()
    lengths = candidates.places.count_nonzero(1).tolist()
    return [row[:length] for row, length in zip(found.tolist(), lengths, strict=True)]


def test_candidates_in_one_row_score_as_in_rows_of_their_own(
    model: TranslationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows, first = tiny.sample_windows(), [own[:1] for own in CANDIDATES]
    expected = in_rows_of_their_own(model, windows, CANDIDATES)
    shared, single = together(model, windows, CANDIDATES), together(model, windows, first)
    monkeypatch.setattr(type(model), "score_candidates", TranslationModel.score_candidates)
    by_forward = together(model, windows, CANDIDATES)  # as a model does that cannot share
    firsts = [sum(map(len, CANDIDATES[:number])) for number in range(len(CANDIDATES))]
    for place, scores in enumerate(expected):
        assert shared[place] == pytest.approx(scores, abs=1e-9)
        assert by_forward[place] == pytest.approx(scores, abs=1e-9)
    for place, scores in zip(firsts, single, strict=True):
        assert scores == pytest.approx(expected[place], abs=1e-9)
