"""Process groups: validation is divided among processes, and a lost process is reported."""

import signal
from collections.abc import Iterator

import pytest
import torch
from tests.invariants import tiny
from tests.unit.training.tiny_training import CPU

from docaps.corpus.store import Store
from docaps.errors import TrainingError
from docaps.interruption import Interrupted, caught
from docaps.model.builders import build_model
from docaps.training import distributed
from docaps.training.distributed import SINGLE_PROCESS, ProcessGroup
from docaps.training.objective import Objective, validate


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def sums(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """Collect what each process adds to a sum, which stays its own."""
    found: list[torch.Tensor] = []

    def keep(_: ProcessGroup, values: torch.Tensor) -> torch.Tensor:
        found.append(values.clone())
        return values

    monkeypatch.setattr(distributed.ProcessGroup, "sum", keep)
    return found


@pytest.fixture
def hearing() -> Iterator[None]:
    """Whatever the test does, signals count again behind it."""
    yield
    with caught():
        pass


def test_validation_is_shared_out(store: Store, sums: list[torch.Tensor]) -> None:
    model = build_model(tiny.settings("qcn+reg"), vocabulary=len(store.codec.vocabulary), dropout=0.0, seed=5)
    objective = Objective(model, label_smoothing=0.0, regulariser_weight=1.0, device=CPU)
    for group in (SINGLE_PROCESS, ProcessGroup(0, 2), ProcessGroup(1, 2)):
        validate(objective, store.split("dev"), budget=60, group=group)
    (whole, tokens), *parts = (one.tolist() for one in sums)
    assert [0 < part[1] < tokens for part in parts] == [True, True]
    assert sum(part[1] for part in parts) == tokens
    assert sum(part[0] for part in parts) == pytest.approx(whole, rel=1e-5)


@pytest.mark.usefixtures("hearing")
@pytest.mark.parametrize("words", ["[gloo/transport] Connection closed by peer [127.0.0.1]:1", "Socket Timeout"])
def test_a_lost_process_is_reported(words: str) -> None:
    expected = "another of the 2 processes is gone or does not answer: "
    with pytest.raises(TrainingError, match=expected), ProcessGroup(0, 2).reporting_lost_processes():
        raise RuntimeError(f"{words}\nat some place in the library")


def test_a_signal_does_not_hide_a_lost_process() -> None:
    """Torchrun's signal can arrive while the error is raised: Python then raises the signal instead."""

    def lose() -> None:
        try:
            raise RuntimeError("[gloo/transport] Connection closed by peer [127.0.0.1]:1")
        finally:
            raise Interrupted(signal.SIGTERM)

    with pytest.raises(Interrupted) as stop:
        lose()
    assert "another of the 2 processes is gone" in str(ProcessGroup(0, 2).find_lost_process(stop.value))
    assert SINGLE_PROCESS.find_lost_process(stop.value) is None
    assert ProcessGroup(0, 2).find_lost_process(Interrupted(signal.SIGTERM)) is None


@pytest.mark.parametrize("group", [SINGLE_PROCESS, ProcessGroup(1, 2)])
def test_other_errors_are_not_reported_as_a_lost_process(group: ProcessGroup) -> None:
    with pytest.raises(RuntimeError, match="shapes do not fit"), group.reporting_lost_processes():
        raise RuntimeError("shapes do not fit")
