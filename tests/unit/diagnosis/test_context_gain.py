"""The gain of a token is its log-probability with the history, less that without: against scores of whole sentences."""

from dataclasses import replace
from itertools import pairwise

import pytest
from tests.invariants import tiny

from docaps.batches.windows import View, Window, window_of
from docaps.corpus.store import Store
from docaps.diagnosis.context_gain import (
    SentenceGains,
    check_run,
    measure_gains,
    sentences_with_history,
    token_gains,
)
from docaps.errors import RunError
from docaps.translation.scoring import score_tokens, score_windows
from docaps.translation.trained_model import TrainedModel


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module", params=["qcn", "han"])
def trained(request: pytest.FixtureRequest, store: Store) -> TrainedModel:
    return tiny.trained(store, request.param)


def target_of(window: Window) -> list[int]:
    assert window.target is not None
    return [int(token) for token in window.target]


def test_scores_of_tokens_add_up_to_those_of_sentences(trained: TrainedModel, store: Store) -> None:
    split = store.split("train")
    windows = [window_of(split, number, trained.model.view) for number in range(len(split))]
    tokens = score_tokens(trained, windows)
    assert [len(one) for one in tokens] == [len(target_of(window)) for window in windows]
    assert [sum(one) for one in tokens] == pytest.approx(score_windows(trained, windows), abs=1e-4)


def test_a_token_is_scored_by_what_stands_before_it(trained: TrainedModel, store: Store) -> None:
    """The oracle scores prefixes: a token's score is what a longer prefix loses."""
    window = window_of(store.split("train"), 1, trained.model.view)
    target = target_of(window)
    prefixes = [replace(window, target=target[: length + 1]) for length in range(len(target))]
    sums = [0.0, *score_windows(trained, prefixes)]
    expected = [after - before for before, after in pairwise(sums)]
    assert score_tokens(trained, [window])[0] == pytest.approx(expected, abs=1e-4)


def test_the_gain_is_the_difference_to_no_history(trained: TrainedModel, store: Store) -> None:
    split = store.split("train")
    numbers = sentences_with_history(split)
    seen = [window_of(split, number, trained.model.view) for number in numbers]
    hidden = [window_of(split, number, View()) for number in numbers]
    expected = [
        one - other for one, other in zip(score_windows(trained, seen), score_windows(trained, hidden), strict=True)
    ]
    gains = list(measure_gains(trained, split, numbers))
    assert [one.sentence for one in gains] == numbers
    assert [sum(one.gains) for one in gains] == pytest.approx(expected, abs=1e-4)
    assert any(abs(gain) > 1e-4 for one in gains for gain in one.gains)


def test_without_history_nothing_is_gained(trained: TrainedModel, store: Store) -> None:
    first = window_of(store.split("train"), 0, trained.model.view)
    assert not first.history
    assert next(iter(token_gains(trained, [first]))) == pytest.approx([0.0] * len(target_of(first)), abs=1e-6)


def test_the_first_sentence_of_a_document_has_no_history(store: Store) -> None:
    split = store.split("train")
    starts = set(split.documents[:-1].tolist())
    assert len(starts) > 1
    assert split.usable is not None
    assert not split.usable.all()  # a pair that is not trained on is not measured
    wanted = [number for number in range(len(split)) if number not in starts and split.usable[number]]
    assert sentences_with_history(split) == wanted


def test_tokens_that_gain_enough_are_annotated() -> None:
    found = SentenceGains(4, (0.2, 1.5, 1.0, -2.0)).annotate(1.0)
    assert found is not None
    assert (found.sentence, found.phenomenon, found.score, found.tokens) == (5, "gain", 1.5, (1, 2))
    assert SentenceGains(4, (0.2, 0.9)).annotate(1.0) is None


def test_a_run_that_sees_nothing_or_has_other_tokens_is_refused(store: Store) -> None:
    with pytest.raises(RunError, match="sees no earlier sentence"):
        check_run(tiny.trained(store, "transformer"), store)
    trained = tiny.trained(store)
    check_run(trained, store)
    vocabulary = replace(trained.codec, vocabulary=type(trained.codec.vocabulary)(store.codec.vocabulary.pieces[:-1]))
    with pytest.raises(RunError, match="another vocabulary"):
        check_run(replace(trained, codec=vocabulary), store)
