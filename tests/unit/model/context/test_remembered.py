"""Other sentences are read once while many sentences are scored, and forgotten afterwards."""

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.invariants import tiny
from torch import Tensor

from docaps.batches.batch import collate
from docaps.batches.windows import Window
from docaps.corpus.store import Store
from docaps.model.context import remembered, states
from docaps.model.context.remembered import RememberedStates
from docaps.translation import scoring

READERS = ["san", "san-offline", "san-decoder-given", "san-decoder-last", "san-plain", "han", "han-decoder"]
READERS += ["han-encoder", "qcn-states", "qcn-translations-states", "qcn-target", "qcn-current-states"]


def windows() -> list[Window]:
    """Sentences with overlapping histories, of different lengths, several times."""
    return [replace(window, target=[*target, 2]) for window in tiny.sample_windows() for target in ([5], [6, 7, 8])]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(autouse=True)
def a_batch_for_each_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "BATCH_TOKENS", 1)


@pytest.mark.parametrize("name", READERS)
def test_remembered_states_change_no_score(name: str, store: Store) -> None:
    model = tiny.trained(store, name)
    batches = [collate([window], tiny.VIEW) for window in windows()]
    expected = [tiny.log_probabilities(model.model, batch)[0] for batch in batches]
    assert scoring.score_windows(model, windows()) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("name", "sides"), [("san", 1), ("han", 2), ("capsnet-both-states", 2)])
def test_each_other_sentence_is_read_once_for_each_side(
    name: str, sides: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[bytes] = []
    plain = states.SentenceStates._encode_alone

    def recording(self: states.SentenceStates, sentences: Tensor) -> Any:
        read.extend(row[row != 0].numpy().tobytes() for row in sentences)
        return plain(self, sentences)

    monkeypatch.setattr(states.SentenceStates, "_encode_alone", recording)
    # Two threads may read the same sentence at the same time.
    monkeypatch.setattr(scoring, "map_in_threads", lambda function, inputs, _: map(function, inputs))
    model = tiny.trained(store, name)
    scoring.score_windows(model, windows())
    assert max(read.count(row) for row in read) <= sides
    before = len(read)
    scoring.score_windows(model, windows())  # nothing is remembered from one call to the next
    assert len(read) == 2 * before


def sentences(*rows: list[int]) -> Tensor:
    return torch.tensor(rows)


def doubled(words: Tensor) -> tuple[Tensor, ...]:
    return (words.double().unsqueeze(-1) * 2,)


def test_states_are_padded_like_the_words_that_are_asked_for() -> None:
    memory = RememberedStates()
    with memory.kept():
        (long,) = memory.of(doubled, sentences([5, 6, 7], [8, 0, 0]))
        (short,) = memory.of(lambda _: pytest.fail("known already"), sentences([8, 0], [8, 0]))
        (mixed,) = memory.of(doubled, sentences([4, 9], [8, 0]))
    assert long.squeeze(-1).tolist() == [[10, 12, 14], [16, 0, 0]]
    assert short.squeeze(-1).tolist() == [[16, 0], [16, 0]]
    assert mixed.squeeze(-1).tolist() == [[8, 18], [16, 0]]


def test_all_is_forgotten_at_the_end_of_the_last_block_and_when_it_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, asked = RememberedStates(), list[int]()

    def counted(words: Tensor) -> tuple[Tensor, ...]:
        asked.append(len(words))
        return doubled(words)

    row = sentences([5, 6])
    with memory.kept(), memory.kept():
        memory.of(counted, row)
    with memory.kept():
        with memory.kept():
            memory.of(counted, row)
        memory.of(counted, row)
        copy.deepcopy(memory).of(counted, row)
    memory.of(counted, row)
    assert asked == [1, 1, 1, 1]
    monkeypatch.setattr(remembered, "LARGEST", 20)  # a sentence has 16 bytes
    with memory.kept():
        for one in (row, sentences([5, 7]), row, row):
            memory.of(counted, one)
    assert asked == [1] * 7
