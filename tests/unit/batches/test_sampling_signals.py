"""Sampling with signals: each batch has its share of selected sentences, halves stay together, the budget holds."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.batches.corpora import make_split

from docaps.batches.halves import Halves
from docaps.batches.prefetch import Shard, StepData, load_steps
from docaps.batches.sampling import (
    LengthSampler,
    Sampler,
    Sampling,
    StreamPosition,
    interleave,
    make_sampler,
    usable_sentences,
)
from docaps.batches.signals import Emphasis, Selection, Signals, Tags
from docaps.batches.windows import View
from docaps.corpus.store import Split


def many(count: int = 300) -> Split:
    return make_split([[(1 + number * 7 % 20, 1 + number * 5 % 20) for number in range(count)]])


def all_signals(split: Split, **changes: Any) -> Signals:
    cuts = tuple(np.where(side.lengths > 8, side.lengths // 2, 0) for side in (split.source, split.target))
    both = (cuts[0] > 0) & (cuts[1] > 0)
    selected = np.arange(0, len(split), 9)
    return Signals(
        seed=4,
        source_dropout=0.2,
        history_sampling=True,
        halves=Halves(0.5, *(np.where(both, cut, 0) for cut in cuts)),
        selection=changes.get("selection", Selection(0.4, selected, 1.0 + selected % 3)),
        emphasis=Emphasis(5.0, {number: np.array([0, 1]) for number in range(0, len(split), 4)}),
        formality=Tags(0.5, dict.fromkeys(range(0, len(split), 5), 4)),
    )


@pytest.mark.parametrize("share", [0.1, 0.4, 0.8])
@pytest.mark.parametrize("scores", [lambda one: np.ones(len(one)), lambda one: 1.0 + one % 5])
def test_each_batch_has_its_share_and_the_others_occur_once(share: float, scores: Any) -> None:
    split = many()
    selected = usable_sentences(split)[::6]
    sampler = LengthSampler(
        split, budget=200, seed=1, signals=Signals(selection=Selection(share, selected, scores(selected)))
    )
    for epoch in range(2):
        batches = [batch.tolist() for batch in sampler.epoch(epoch)]
        chosen = set(selected.tolist())
        for batch in batches:
            assert abs(sum(one in chosen for one in batch) - share * len(batch)) <= 1
        others = [one for one in itertools.chain(*batches) if one not in chosen]
        assert sorted(others) == sorted(set(usable_sentences(split).tolist()) - chosen)
        total = sum(map(len, batches))
        assert total - len(others) == round(share / (1 - share) * len(others))


def test_a_share_of_one_trains_on_the_selected_sentences_alone() -> None:
    selected = np.array([3, 8, 100])
    sampler = LengthSampler(many(), budget=200, seed=1, signals=Signals(selection=Selection(1.0, selected, np.ones(3))))
    assert sorted(np.concatenate(sampler.epoch(0)).tolist()) == [3, 8, 100]


@given(st.integers(0, 30), st.integers(0, 30))
def test_two_lists_are_merged_evenly_and_in_order(one: int, other: int) -> None:
    merged = interleave(np.arange(one), 100 + np.arange(other)).tolist()
    assert [number for number in merged if number < 100] == list(range(one))
    assert [number - 100 for number in merged if number >= 100] == list(range(other))
    for end in range(one + other + 1):
        first = sum(number < 100 for number in merged[:end])
        assert abs(first * other - (end - first) * one) <= max(one, other)


@pytest.mark.parametrize("way", ["sentences", "documents"])
def test_halves_fit_the_budget_and_every_word_is_trained_on_once(way: Sampling) -> None:
    split = many()
    signals = all_signals(split, selection=None)
    sampler, halves = make_sampler(way, split, budget=90, seed=1, signals=signals), signals.halves
    assert halves is not None
    source, target = halves.lengths(split.source.lengths, split.target.lengths)
    batches = sampler.epoch(3)
    for batch in batches:
        assert (source[batch].max() + target[batch].max()) * len(batch) <= 90 or len(batch) == 1
        assert sampler.target_tokens(batch) == target[batch].sum()
    parts = sorted(halves.locate(example)[::-1] for example in np.concatenate(batches).tolist())
    whole = [sentence for sentence, part in parts if part == 0]
    firsts, seconds = ([sentence for sentence, part in parts if part == number] for number in (1, 2))
    assert firsts == seconds
    assert len(firsts) > 20
    assert sorted([*whole, *firsts]) == usable_sentences(split).tolist()
    assert [batch.tolist() for batch in batches] == [batch.tolist() for batch in sampler.epoch(3)]


def test_runs_keep_halves_together() -> None:
    split = many(40)
    signals = all_signals(split, selection=None)
    sampler = make_sampler("documents", split, budget=10_000, seed=1, signals=signals)
    (batch,) = sampler.epoch(0)
    assert signals.sentences(batch).tolist() == sorted(signals.sentences(batch).tolist())


def content(steps: list[StepData]) -> list[tuple[Any, ...]]:
    """All numbers of the batches of some steps, by step and batch."""
    return [
        (
            step_number,
            part.number,
            part.tokens,
            part.added_weight,
            part.sentences.tolist(),
            part.batch.source.tolist(),
            part.batch.history.tolist(),
            part.batch.translations.tolist(),
            None if part.batch.weights is None else part.batch.weights.tolist(),
        )
        for step_number, step in enumerate(steps)
        for part in step.batches
    ]


def steps(sampler: Sampler, split: Split, count: int, **options: Any) -> list[StepData]:
    return list(itertools.islice(load_steps(split, sampler, history=View(2), **options), count))


OFF = {
    **{"source_dropout": 0.0, "history_sampling": False},
    **dict.fromkeys(("halves", "selection", "emphasis", "formality")),
}


def only(split: Split, name: str) -> Signals:
    """One of the signals, or all."""
    off = {} if name == "all" else {other: value for other, value in OFF.items() if other != name}
    return replace(all_signals(split), **off)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["all", *OFF])
def test_the_data_of_a_step_do_not_depend_on_where_training_began(name: str) -> None:
    split = many(80)
    sampler = LengthSampler(split, budget=150, seed=1, signals=only(split, name))
    whole = steps(sampler, split, 12 + 3, shard=Shard(3))
    assert content(whole) != content(steps(LengthSampler(split, budget=150, seed=1), split, 12 + 3, shard=Shard(3)))
    for first in (0, 1, 4, 11):
        start = whole[first - 1].after if first else StreamPosition()
        later = steps(sampler, split, 3, start=start, shard=Shard(3))
        assert content(later) == content(whole[first : first + 3])


@pytest.mark.parametrize("name", ["all", *OFF])
def test_several_processes_get_the_data_of_one(name: str) -> None:
    split = many(80)
    sampler = LengthSampler(split, budget=150, seed=1, signals=only(split, name))
    one = steps(sampler, split, 8, shard=Shard(4))
    two = [steps(sampler, split, 8, shard=Shard(4, process, 2)) for process in (0, 1)]
    assert sorted([*content(two[0]), *content(two[1])]) == sorted(content(one))
    for whole, *parts in zip(one, *two, strict=True):
        assert {step.weight for step in parts} == {whole.weight}
        assert {step.after for step in parts} == {whole.after}
    assert any(step.added_weight for step in one) == (name in {"all", "emphasis"})


def test_a_batch_is_the_same_whatever_step_it_belongs_to() -> None:
    split = many(80)
    sampler = LengthSampler(split, budget=150, seed=1, signals=all_signals(split))
    single, three = steps(sampler, split, 12), steps(sampler, split, 4, shard=Shard(3))
    assert [one[2:] for one in content(single)] == [one[2:] for one in content(three)]


def test_counts_and_weights_are_those_of_the_tensors() -> None:
    split = many(80)
    sampler = LengthSampler(split, budget=150, seed=1, signals=all_signals(split))
    for step in steps(sampler, split, 30, shard=Shard(2)):
        assert step.weight == pytest.approx(sum(part.weight for part in step.batches))
        for part in step.batches:
            assert part.tokens == int((part.batch.translations != 0).sum())
            found = part.tokens if part.batch.weights is None else float(part.batch.weights.sum())
            assert part.weight == found
            assert max(part.sentences) < len(split)
