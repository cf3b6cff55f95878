"""What processes of a team share out and tell each other; a team of two is seen from either of them."""

import signal
from collections.abc import Iterator

import pytest
import torch
from tests.invariants import tiny
from tests.unit.training.training import CPU

from docaps.corpus.store import Store
from docaps.errors import TrainingError
from docaps.interruption import Interrupted, caught
from docaps.model.builders import build_model
from docaps.training import distributed as teams
from docaps.training.distributed import ALONE, Team
from docaps.training.learner import Objective
from docaps.training.validation import validate


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def sums(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """Collect what each process adds to a sum, which stays its own."""
    found: list[torch.Tensor] = []

    def keep(_: Team, values: torch.Tensor) -> torch.Tensor:
        found.append(values.clone())
        return values

    monkeypatch.setattr(teams.Team, "total", keep)
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
    for team in (ALONE, Team(0, 2), Team(1, 2)):
        validate(objective, store.split("dev"), budget=60, team=team)
    (whole, tokens), *parts = (one.tolist() for one in sums)
    assert [0 < part[1] < tokens for part in parts] == [True, True]
    assert sum(part[1] for part in parts) == tokens
    assert sum(part[0] for part in parts) == pytest.approx(whole, rel=1e-5)


@pytest.mark.usefixtures("hearing")
@pytest.mark.parametrize("words", ["[gloo/transport] Connection closed by peer [127.0.0.1]:1", "Socket Timeout"])
def test_a_process_that_is_gone_is_told_in_words(words: str) -> None:
    expected = "another of the 2 processes is gone or does not answer: "
    with pytest.raises(TrainingError, match=expected), Team(0, 2).listening():
        raise RuntimeError(f"{words}\nat some place in the library")


def test_a_signal_does_not_hide_that_a_process_is_gone() -> None:
    """Torchrun's signal comes at the very moment: Python raises it before anybody could look at the fault."""

    def lose() -> None:
        try:
            raise RuntimeError("[gloo/transport] Connection closed by peer [127.0.0.1]:1")
        finally:
            raise Interrupted(signal.SIGTERM)

    with pytest.raises(Interrupted) as stop:
        lose()
    assert "another of the 2 processes is gone" in str(Team(0, 2).loss_behind(stop.value))
    assert ALONE.loss_behind(stop.value) is None
    assert Team(0, 2).loss_behind(Interrupted(signal.SIGTERM)) is None


@pytest.mark.parametrize("team", [ALONE, Team(1, 2)])
def test_other_faults_are_not_taken_for_that(team: Team) -> None:
    with pytest.raises(RuntimeError, match="shapes do not fit"), team.listening():
        raise RuntimeError("shapes do not fit")
