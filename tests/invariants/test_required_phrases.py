"""Required phrases, in every system: they are written, scored as the model scores them, whatever the neighbours."""

from dataclasses import replace

import pytest
import torch
from tests.invariants import tiny

from docaps.batches.batch import collate
from docaps.batches.windows import Phrases
from docaps.config import DecodingSettings
from docaps.corpus.text.vocabulary import EOS
from docaps.translation.constrained_search import search_constrained
from docaps.translation.constraints import WordBorders
from docaps.translation.hypothesis import length_penalty

BORDERS = WordBorders(frozenset({5, 8}), frozenset(), (4,))
REQUIRED: list[tuple[Phrases, ...]] = [
    (((9, 10),), ((8, 7), (11,))),
    (((6,),),),
    (((13, 14, 15),), ((6,),), ((6,),)),
    (((16,),),),
    (((5, 4),),),
]


NAMES = (*tiny.SYSTEMS, "qcn-both", "san-decoder", "concat-2-to-2", "concat-n-to-n")


@pytest.mark.parametrize(("name", "beam"), [*((name, 2) for name in NAMES), ("qcn", 1), ("transformer", 1)])
def test_required_phrases_are_written_and_scored_as_by_the_model(name: str, beam: int) -> None:
    model = tiny.build(tiny.mode(name))
    windows = [replace(window, target=None) for window in tiny.sample_windows()]
    settings = DecodingSettings(beam=beam, nbest=beam, length_factor=0.1, length_margin=2)
    found = search_constrained(model, collate(windows, model.view), REQUIRED, BORDERS, settings)
    for window, required, hypotheses in zip(windows, REQUIRED, found, strict=True):
        (alone,) = search_constrained(model, collate([window], model.view), [required], BORDERS, settings)
        assert [one.tokens for one in alone] == [one.tokens for one in hypotheses]
        for hypothesis, own in zip(hypotheses, alone, strict=True):
            text = f" {' '.join(map(str, hypothesis.tokens))} "
            assert all(any(f" {' '.join(map(str, one))} " in text for one in group) for group in required)
            batch = collate([replace(window, target=[*hypothesis.tokens, EOS])], model.view)
            with torch.inference_mode():
                expected = model(batch).log_probabilities(batch.target_output).sum().item()
            assert hypothesis.log_probability == pytest.approx(expected, abs=1e-5)
            assert own.log_probability == pytest.approx(expected, abs=1e-5)
            penalty = length_penalty(len(hypothesis.tokens) + 1, settings.length_penalty)
            assert hypothesis.score == pytest.approx(expected / penalty, abs=1e-5)
