"""Sampling: every usable sentence once an epoch, within the budget, in an order that seed and epoch decide."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.batches.corpora import DOCUMENTS, Lengths, make_split

from docaps.batches.sampling import LengthSampler, RunSampler, Sampling, StreamPosition, make_sampler, stream
from docaps.batches.windows import window_of
from docaps.corpus.store import Split


def usable(split: Split) -> list[int]:
    return [number for number in range(len(split)) if len(split.source[number]) > 1 and len(split.target[number]) > 1]


def many() -> Split:
    return make_split([[(1 + number % 5, 1 + number % 7) for number in range(70)]])


def order(sampler: LengthSampler, epoch: int) -> list[list[int]]:
    return [batch.tolist() for batch in sampler.epoch(epoch)]


@given(DOCUMENTS, st.integers(1, 60), st.integers(0, 3))
def test_an_epoch_holds_every_usable_sentence_once(documents: list[Lengths], budget: int, epoch: int) -> None:
    split = make_split(documents)
    sampler = LengthSampler(split, budget=budget, seed=1)
    assert sorted(itertools.chain(*order(sampler, epoch))) == usable(split)
    assert sorted(itertools.chain(*(batch.tolist() for batch in sampler.in_order()))) == usable(split)
    assert len(sampler) == len(usable(split))


@given(DOCUMENTS, st.integers(1, 60))
def test_no_batch_is_larger_than_the_budget_but_a_sentence_beyond_it(documents: list[Lengths], budget: int) -> None:
    split = make_split(documents)
    for batch in order(LengthSampler(split, budget=budget, seed=1), 0):
        assert batch
        padded = sum(max(len(side[number]) for number in batch) for side in (split.source, split.target)) * len(batch)
        assert padded <= budget or len(batch) == 1


def test_a_budget_is_used() -> None:
    split = make_split([[(4, 4)] * 12])  # 10 tokens each, with end marks
    assert [len(batch) for batch in LengthSampler(split, budget=40, seed=1).in_order()] == [4, 4, 4]
    assert [len(batch) for batch in LengthSampler(split, budget=49, seed=1).in_order()] == [4, 4, 4]
    assert [len(batch) for batch in LengthSampler(split, budget=3, seed=1).in_order()] == [1] * 12

    split = make_split([[(20, 1), *[(1, 2)] * 4]])  # a long sentence must not cramp the batch after its own
    assert [len(batch) for batch in LengthSampler(split, budget=24, seed=1).in_order()] == [1, 4]


def test_sentences_of_like_length_share_a_batch() -> None:
    split = many()
    batches = LengthSampler(split, budget=60, seed=1).epoch(0)
    spreads = [max(lengths) - min(lengths) for lengths in (split.target.lengths[batch] for batch in batches)]
    assert max(spreads) <= 1


def test_seed_and_epoch_decide_the_order() -> None:
    split = many()
    first, same, other = (LengthSampler(split, budget=60, seed=seed) for seed in (1, 1, 2))
    assert order(first, 3) == order(same, 3)
    assert order(first, 3) == order(first, 3)
    assert order(first, 3) != order(first, 4)
    assert order(first, 3) != order(other, 3)
    assert {frozenset(batch) for batch in order(first, 3)} != {frozenset(batch) for batch in order(first, 4)}


def test_epochs_follow_each_other_forever() -> None:
    sampler = LengthSampler(many(), budget=60, seed=1)
    count = len(sampler.epoch(0))
    found = [batch.tolist() for batch, _ in itertools.islice(stream(sampler, StreamPosition()), count + 2)]
    assert found == order(sampler, 0) + order(sampler, 1)[:2]


@pytest.mark.parametrize("way", ["sentences", "documents"])
def test_the_stream_can_be_entered_anywhere(way: Sampling) -> None:
    sampler = make_sampler(way, many(), budget=60, seed=1)
    steps = list(itertools.islice(stream(sampler, StreamPosition()), 2 * len(sampler.epoch(0)) + 3))
    for number, (_, place) in enumerate(steps[:-1], start=1):
        batch, after = next(stream(sampler, place))
        assert (batch.tolist(), after) == (steps[number][0].tolist(), steps[number][1])
    assert steps[len(sampler.epoch(0)) - 1][1] == StreamPosition(1, 0)


@given(DOCUMENTS, st.integers(1, 60), st.integers(0, 3))
def test_runs_hold_every_usable_sentence_once_and_neighbours_together(
    documents: list[Lengths], budget: int, epoch: int
) -> None:
    split = make_split(documents)
    sampler = RunSampler(split, budget=budget, seed=1)
    batches = [batch.tolist() for batch in sampler.epoch(epoch)]
    assert sorted(itertools.chain(*batches)) == usable(split)
    assert len(sampler) == len(usable(split))
    following = dict(itertools.pairwise(usable(split)))
    for batch in batches:
        padded = sum(max(len(side[number]) for number in batch) for side in (split.source, split.target)) * len(batch)
        assert padded <= budget or len(batch) == 1
        for one, other in itertools.pairwise(batch):
            same = split.document_starts[one] == split.document_starts[other]
            assert not same or following[one] == other  # within a document, sentences follow each other


def test_runs_are_whole_documents_where_they_fit_and_the_order_changes() -> None:
    split = make_split([[(4, 4)] * 3 for _ in range(8)])  # 10 tokens a sentence, with end marks
    sampler = RunSampler(split, budget=30, seed=1)
    epochs = [[batch.tolist() for batch in sampler.epoch(epoch)] for epoch in (0, 0, 1)]
    assert epochs[0] == epochs[1] != epochs[2]
    assert sorted(epochs[0]) == [[3 * number, 3 * number + 1, 3 * number + 2] for number in range(8)]


def test_batches_in_order_begin_with_the_shortest() -> None:
    split = many()
    batches = LengthSampler(split, budget=60, seed=1).in_order()
    longest = [split.target.lengths[batch].max() for batch in batches]
    assert longest == sorted(longest)


def test_an_empty_sentence_is_not_trained_on_but_is_history() -> None:
    split = make_split([[(2, 2), (0, 3), (3, 0), (2, 2)]])
    assert sorted(itertools.chain(*order(LengthSampler(split, budget=9, seed=1), 0))) == [0, 3]
    lengths = [len(sentence) for sentence in window_of(split, 3, 3).history]
    assert lengths == [3, 0, 2]


def test_a_corpus_without_words_has_no_batches() -> None:
    sampler = LengthSampler(make_split([[(0, 1), (1, 0)]]), budget=9, seed=1)
    assert (len(sampler), sampler.epoch(0), sampler.in_order()) == (0, [], [])
