"""Constrained search finds the best translation that has all phrases, as trying everything does."""

import pytest
from tests import oracles
from tests.unit.translation.test_search import (
    A,
    B,
    C,
    TableModel,
    TableState,
    Words,
    batch_of,
    every_translation,
    random_table,
)
from torch import Tensor

from docaps.batches.windows import Phrases
from docaps.config import DecodingSettings
from docaps.corpus.text.vocabulary import BOS
from docaps.translation.constrained_search import search_constrained
from docaps.translation.constraints import WordBorders
from docaps.translation.hypothesis import Hypothesis

BORDERS = WordBorders(frozenset(), frozenset(), ())
GROUPS: list[tuple[Phrases, ...]] = [
    (((A,),),),
    (((B, C),),),
    (((A,),), ((B,),)),
    (((A, A), (C,)), ((B,),)),
    (((A,),), ((A,),)),
    (((B, C), (C, B), (A, A, A)),),
    (((BOS, C), (B, B)),),
    (((A,), (B,)), ((A,),)),
]


def occurrences(words: Words, phrase: Words) -> int:
    if phrase[0] == BOS:
        return int(words[: len(phrase) - 1] == phrase[1:])
    return sum(words[start : start + len(phrase)] == phrase for start in range(len(words)))


def has_all(words: Words, groups: tuple[Phrases, ...]) -> bool:
    """Whether the phrases occur as often as they are wanted; groups that share a phrase need one each."""
    return all(
        sum(occurrences(words, phrase) for phrase in set(sum(chosen, ()))) >= len(chosen)
        for chosen in _families(groups)
    )


def _families(groups: tuple[Phrases, ...]) -> list[tuple[Phrases, ...]]:
    """Every group with its equals, and all groups that share a phrase."""
    singles = [tuple(other for other in groups if other == group) for group in groups]
    shared = [tuple(other for other in groups if set(other) & set(group)) for group in groups]
    return [*singles, *shared]


class Floored(TableModel):
    """Nothing is impossible."""

    def decode_step(self, tokens: Tensor, state: TableState) -> tuple[Tensor, TableState]:
        logits, after = super().decode_step(tokens, state)
        return logits.clamp(min=-30.0), after


def constrained(
    tables: int, groups: tuple[Phrases, ...], borders: WordBorders = BORDERS, **settings: float
) -> list[list[Hypothesis]]:
    model = Floored(*[random_table(seed, depth=4) for seed in range(tables)])
    batch = batch_of(*range(tables))
    return search_constrained(model, batch, [groups] * tables, borders, DecodingSettings(**settings))


@pytest.mark.parametrize("alpha", [0.0, 0.6])
@pytest.mark.parametrize("groups", GROUPS)
def test_a_wide_beam_finds_the_best_translation_with_all_phrases(groups: tuple[Phrases, ...], alpha: float) -> None:
    found = constrained(12, groups, beam=300, length_penalty=alpha, length_factor=0.1, length_margin=6)
    for seed, hypotheses in enumerate(found):
        scores = {
            words: lp / oracles.length_penalty(len(words) + 1, alpha)
            for words, lp in every_translation(random_table(seed, depth=4))
            if has_all(words, groups)
        }
        winner = max(scores, key=lambda words: scores[words])
        assert hypotheses[0].tokens == winner
        assert hypotheses[0].score == pytest.approx(scores[winner], abs=1e-5)
        assert not hypotheses[0].forced


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("groups", GROUPS)
def test_every_hypothesis_of_any_beam_has_all_phrases(groups: tuple[Phrases, ...], beam: int) -> None:
    """Even where the table makes a phrase unlikely, and with lengths that leave next to no room."""
    needed = sum(min(len(phrase) for phrase in group if phrase[0] != BOS) for group in groups)
    for margin in (1, 5):
        found = constrained(6, groups, beam=beam, nbest=beam, length_factor=0.1, length_margin=margin)
        for hypotheses in found:
            assert hypotheses
            assert len({one.tokens for one in hypotheses}) == len(hypotheses)
            assert all(has_all(one.tokens, groups) for one in hypotheses)
            assert all(len(one.tokens) + 1 <= margin + needed for one in hypotheses)
