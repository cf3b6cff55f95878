"""Signals: each does to an example what a plain loop does, and depends on seed, epoch and batch alone."""

import itertools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import signal_oracles
from tests.unit.batches.corpora import DOCUMENTS, Lengths, make_split

from docaps.batches.batch import collate
from docaps.batches.halves import FIRST, SECOND, Halves
from docaps.batches.signals import NO_SIGNALS, Emphasis, Selection, Signals, Tags
from docaps.batches.windows import WHOLE, Tokens, View, Window, window_of
from docaps.corpus.store import Split
from docaps.corpus.text.vocabulary import EOS, UNK

VIEWS = [View(3), View(2, translations=True), View(1, 1), View(WHOLE, WHOLE, translations=True), View(2, shuffled=True)]


def everything(signals: Signals, split: Split, view: View, *, epoch: int = 0, batch: int = 0) -> list[Window]:
    return signals.windows(split, np.arange(len(split)), view, epoch=epoch, batch=batch)


def words(sentence: Tokens | None) -> list[int]:
    return [] if sentence is None else np.asarray(sentence).tolist()


def seen(window: Window) -> list[list[list[int]]]:
    """The history of both sides."""
    return [[words(sentence) for sentence in side] for side in (window.history, window.target_history)]


def plain(windows: Iterable[Window]) -> list[list[Any]]:
    return [[words(window.source), words(window.target), *seen(window)] for window in windows]


@given(DOCUMENTS, st.sampled_from(VIEWS))
def test_without_signals_windows_are_those_of_the_corpus(documents: list[Lengths], view: View) -> None:
    split = make_split(documents)
    expected = [window_of(split, number, view) for number in range(len(split))]
    assert plain(everything(NO_SIGNALS, split, view)) == plain(expected)
    assert NO_SIGNALS.added_weight(np.arange(len(split))) == 0


def long() -> Split:
    """Two documents of sentences of ten words on either side."""
    return make_split([[(10, 10)] * 6, [(10, 10)] * 4])


def test_source_dropout_hides_words_of_the_source_alone() -> None:
    split, view = long(), View(2, translations=True)
    signals = Signals(seed=3, source_dropout=0.4)
    found, whole = (everything(one, split, view, epoch=2, batch=5) for one in (signals, NO_SIGNALS))
    generator = np.random.default_rng((3, 2, 5, 1))
    for one, before in zip(found, whole, strict=True):
        expected = signal_oracles.hide(
            np.asarray(before.source).tolist(), lambda count: generator.random(count).tolist(), 0.4, UNK, EOS
        )
        assert list(one.source) == expected
        assert expected[-1] == EOS
    assert plain([replace(one, source=before.source) for one, before in zip(found, whole, strict=True)]) == plain(whole)


def test_the_share_of_hidden_words_is_met() -> None:
    windows = everything(Signals(source_dropout=0.2), make_split([[(50, 1)] * 200]), View())
    hidden = sum(list(window.source).count(UNK) for window in windows)
    assert 0.18 < hidden / (50 * 200) < 0.22


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_a_sampled_history_is_the_nearest_part_of_the_whole_one(view: View) -> None:
    split = long()
    for epoch in range(20):
        found = everything(Signals(history_sampling=True), split, view, epoch=epoch)
        for number, window in enumerate(found):
            possible = [
                seen(window_of(split, number, replace(view, history=before, future=after)))
                for before in range(min(view.history, len(split)) + 1)
                for after in range(min(view.future, len(split)) + 1)
            ]
            assert seen(window) in possible
            assert words(window.source) == words(split.source[number])
        batch = collate(found, view)
        assert batch.history.shape[0] == len(split)


@pytest.mark.parametrize(("view", "most"), [(View(3), 3), (View(WHOLE), 5), (View(8), 5)])
def test_every_length_of_history_is_equally_likely(view: View, most: int) -> None:
    """The last sentence of the first document has five before it."""
    counts = np.zeros(most + 1)
    for epoch in range(1200):
        (window,) = Signals(history_sampling=True).windows(long(), np.array([5]), view, epoch=epoch, batch=0)
        counts[len(window.history)] += 1
    assert np.abs(counts / 1200 - 1 / (most + 1)).max() < 0.05


def halved(split: Split, share: float = 1.0) -> Halves:
    return Halves(share, np.full(len(split), 4), np.full(len(split), 6))


def half_of(split: Split, sentence: int, part: int, view: View, **signals: object) -> Window:
    example = np.array([part * len(split) + sentence])
    chosen = Signals(halves=halved(split), **signals)  # type: ignore[arg-type]
    return chosen.windows(split, example, view, epoch=0, batch=0)[0]


@pytest.mark.parametrize("view", [View(2, translations=True), View(WHOLE, translations=True)])
def test_the_first_half_is_the_nearest_history_of_the_second(view: View) -> None:
    split = long()
    whole, first, second = window_of(split, 3, view), *(half_of(split, 3, part, view) for part in (FIRST, SECOND))
    source, target = words(split.source[3]), words(split.target[3])
    assert (words(first.source), words(first.target)) == ([*source[:4], EOS], [*target[:6], EOS])
    assert (words(second.source), words(second.target)) == (source[4:], target[6:])
    assert seen(first) == seen(whole)
    earlier, translated = seen(whole)
    room = None if view.is_whole else view.history - 1
    assert seen(second) == [
        [source[:4], *earlier[:room]],
        [target[:6], *translated[:room]],
    ]


def test_a_model_that_sees_later_sentences_sees_the_second_half_after_the_first() -> None:
    split = long()
    first, second = (half_of(split, 2, part, View(1, 1)) for part in (FIRST, SECOND))
    before, own, after = (words(split.source[number])[:-1] for number in (1, 2, 3))
    assert seen(first)[0] == [before, own[4:]]
    assert seen(second)[0] == [own[:4], after]


def test_halves_keep_out_of_the_history_of_a_sentence_model_and_of_a_control() -> None:
    split = long()
    for view in (View(), View(2, shuffled=True)):
        for part in (FIRST, SECOND):
            found = half_of(split, 4, part, view)
            assert seen(found) == seen(window_of(split, 4, view))


def test_the_history_of_halves_is_sampled_too() -> None:
    split = long()
    chosen = Signals(halves=halved(split), history_sampling=True)
    found = {
        len(chosen.windows(split, np.array([SECOND * len(split)]), View(2), epoch=epoch, batch=0)[0].history)
        for epoch in range(30)
    }
    assert found == {0, 1}  # a first sentence has nothing but its own first half


def test_emphasised_tokens_weigh_more() -> None:
    split = long()
    signals = Signals(emphasis=Emphasis(3.0, {1: np.array([0, 10]), 2: np.array([5])}))
    windows = everything(signals, split, View())
    assert [None if one.weights is None else one.weights.tolist() for one in windows[:4]] == [
        None,
        [3, *[1] * 9, 3],
        [*[1] * 5, 3, *[1] * 5],
        None,
    ]
    assert signals.added_weight(np.arange(len(split))) == 6
    batch = collate([*windows[:2], Window([5, EOS], (), [7, EOS])], View())
    assert batch.weights is not None
    assert batch.weights.tolist() == [[1] * 11, [3, *[1] * 9, 3], [1, 1, *[0] * 9]]
    assert collate(windows[3:], View()).weights is None


def test_emphasis_follows_the_halves() -> None:
    split, emphasis = long(), Emphasis(2.0, {3: np.array([5, 6, 10])})
    first, second = (half_of(split, 3, part, View(), emphasis=emphasis).weights for part in (FIRST, SECOND))
    assert first is not None
    assert second is not None
    assert (first.tolist(), second.tolist()) == ([1, 1, 1, 1, 1, 2, 1], [2, 1, 1, 1, 2])
    signals = Signals(halves=halved(split), emphasis=emphasis)
    added = [signals.added_weight(np.array([part * len(split) + 3])) for part in (0, FIRST, SECOND)]
    assert added == [3, 1, 2]


def test_tags_stand_in_front_of_the_source_alone() -> None:
    split, view = long(), View(2)
    tagged, never = (Signals(formality=Tags(share, {1: 4, 2: 5}), source_dropout=0.0) for share in (1.0, 0.0))
    windows = everything(tagged, split, view)
    assert [window.source[0] for window in windows[1:3]] == [4, 5]
    assert plain([replace(one, source=one.source[1:]) for one in windows[1:3]]) == plain(
        [window_of(split, number, view) for number in (1, 2)]
    )
    assert plain([windows[0], *windows[3:]]) == plain([window_of(split, number, view) for number in (0, *range(3, 10))])
    assert plain(everything(never, split, view)) == plain(everything(NO_SIGNALS, split, view))
    half = Signals(formality=Tags(0.5, {1: 4}))
    times = [everything(half, split, view, epoch=epoch)[1].source[0] == 4 for epoch in range(200)]
    assert 70 < sum(times) < 130


def test_a_tag_is_never_hidden() -> None:
    split = long()
    for epoch in range(20):
        found = everything(Signals(formality=Tags(1.0, {1: 4}), source_dropout=0.9), split, View(), epoch=epoch)
        assert found[1].source[0] == 4


def test_draws_depend_on_seed_epoch_and_batch() -> None:
    def found(**place: int) -> list[list[Any]]:
        seed = place.pop("seed", 1)
        signals = Signals(seed=seed, source_dropout=0.5, history_sampling=True)
        return plain(everything(signals, long(), View(3), **place))

    assert found() == found()
    for one, other in itertools.combinations([found(), found(seed=2), found(epoch=1), found(batch=1)], 2):
        assert one != other


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=8),
    st.integers(0, 40),
    st.integers(0, 5),
)
def test_sentences_are_drawn_as_often_as_their_scores_say(scores: list[int], count: int, seed: int) -> None:
    sentences = np.arange(10, 10 + len(scores))
    selection = Selection(0.5, sentences, np.array(scores, float))
    drawn = selection.draw(count, np.random.default_rng(seed))
    generator = np.random.default_rng(seed)
    order = generator.permutation(len(scores)).tolist()
    expected = signal_oracles.systematic([float(scores[one]) for one in order], count, generator.random())
    counts = {int(sentences[one]): times for one, times in zip(order, expected, strict=True)}
    assert len(drawn) == count
    for sentence, score in zip(sentences.tolist(), scores, strict=True):
        times = int((drawn == sentence).sum())
        assert abs(times - count * score / sum(scores)) < 1 + 1e-9
        assert abs(times - counts[sentence]) <= 1  # at a border, the sums of the loop are rounded otherwise


@pytest.mark.parametrize(("share", "others", "expected"), [(0.5, 90, 90), (0.25, 90, 30), (0.9, 10, 90), (1.0, 90, 7)])
def test_an_epoch_draws_what_the_share_needs(share: float, others: int, expected: int) -> None:
    assert Selection(share, np.arange(7), np.ones(7)).count(others) == expected
    assert Selection(share, np.arange(7), np.ones(7)).count(0) == 7
