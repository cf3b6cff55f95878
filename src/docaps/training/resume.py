"""Resuming: a finished stage is kept, an unfinished one continues from its saved state, anything else is refused."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from docaps import progress
from docaps.config import DecodingSettings, Settings, StageSettings, SystemSettings, upgrade_settings
from docaps.errors import RunError
from docaps.files import foreign_files, leftovers_of, remove_files
from docaps.runs.directory import FINISHED, INTERRUPTED, LOCK, RUN_FILES, TRAINING, TRAINING_FILES, Run, locked, now
from docaps.training.state import SavedState, TrainerState, read_state

EXTENSIBLE = {"steps", "epochs", "budget", "patience", "log_every", "save_every", "keep_at"}
"""Settings that may change when an unfinished stage is resumed: how long and how often, not what."""


def _comparable(settings: Mapping[str, Any], may_differ: set[str]) -> dict[str, Any]:
    """Return settings without those that may differ, completed with defaults an older version did not know."""
    stage = upgrade_settings(StageSettings, settings.get("stage", {}))
    return {
        **settings,
        "system": upgrade_settings(SystemSettings, settings.get("system", {})),
        "stage": {key: value for key, value in stage.items() if key not in may_differ},
        "decoding": upgrade_settings(DecodingSettings, settings.get("decoding", {})),
    }


def unknown_settings(run: Run) -> dict[str, Any]:
    """Return the settings that the version which began a run did not know, with what it did instead."""
    if not run.is_ours() or not (run.finished or run.state.exists()):  # training starts anew
        return {}
    stored = run.read()["settings"]
    kinds: dict[str, type[Settings]] = {"system": SystemSettings, "stage": StageSettings}
    return {name: kind.unknown_to(stored.get(name, {})) for name, kind in kinds.items()}


@dataclass(frozen=True, slots=True)
class StageDirectory:
    """The run directory of a stage, in which an earlier command may have trained."""

    run: Run
    identity: Mapping[str, Any]
    """What run.json must say for the directory to hold this stage and not another one."""
    overwrite: bool

    def lock(self) -> AbstractContextManager[None]:
        """Lock the directory, unless it holds other files than a run's: `is_finished` refuses it then."""
        return locked(self.run) if self._is_run_or_empty() else nullcontext()

    def is_finished(self) -> bool:
        """Return whether the stage is finished; refuse a directory with another run or with other files."""
        run = self.run
        if not self._is_run_or_empty():
            raise RunError("exists and is not a run directory: choose another --out", path=run.path)
        if self.overwrite or not run.finished:
            return False
        self._check_same(set(), "a finished run")
        return True

    def resume_or_clear(self) -> SavedState | None:
        """Return the state of an unfinished training, or clear the directory for a new one."""
        run = self.run
        if run.state.exists() and not self.overwrite:
            self._check_same(EXTENSIBLE, "an unfinished run")
            self._check_folders()
            state = read_state(run.state)
            progress.say(f"{run.path}: resumes after step {state.trainer.step:,}")
            remove_files(run.path, leftovers_of(RUN_FILES))
            return state
        run.clear()
        return None

    def remove_training_files(self) -> None:
        """Remove the files that only an unfinished training needs."""
        remove_files(self.run.path, TRAINING_FILES)

    def _is_run_or_empty(self) -> bool:
        return self.run.is_ours() or not self._holds_files()

    def _holds_files(self) -> bool:
        """Return whether the directory holds files, except the lock and what a killed process was writing."""
        path = self.run.path
        return path.exists() and any(foreign_files(path, [LOCK, *leftovers_of(RUN_FILES)]))

    def _check_folders(self) -> None:
        """Refuse links in place of folders: files outside of the run would be replaced and removed."""
        for folder in (self.run.text, self.run.snapshots, self.run.checkpoints, self.run.tensorboard):
            if folder.is_symlink():
                raise RunError("is a symbolic link: put the folder itself here, or give --overwrite", path=folder)

    def _check_same(self, may_differ: set[str], what: str) -> None:
        """Refuse a run with other settings, seed, corpus, initial weights or annotations."""
        one, other = (
            {
                "settings": _comparable(description.get("settings") or {}, may_differ),
                "seed": description.get("seed"),
                "corpus": (description.get("corpus") or {}).get("hash"),
                "initial weights": description.get("begun_from"),
                "annotations": description.get("annotations") or {},
            }
            for description in (self.identity, self.run.read())
        )
        if different := [name for name in one if one[name] != other[name]]:
            found = f"{what} with other {' and '.join(different)} is here"
            raise RunError(f"{found}: choose another --out or give --overwrite", path=self.run.path)


class RunRecord:
    """Keeps run.json up to date during training: what is trained, and each start, interruption and end."""

    def __init__(self, run: Run, description: Mapping[str, Any]) -> None:
        earlier = run.read() if run.description.exists() else {}
        self._run = run
        self._history: list[dict[str, Any]] = list(earlier.get("history", []))
        if earlier.get("status") == TRAINING:
            self._history.append({"event": "ended without notice", "noticed": now()})
        self._description = {**description, "created": earlier.get("created", now())}

    def begin(self, state: TrainerState) -> None:
        """Record that training starts or resumes."""
        self._add("continued" if state.step else "started", step=state.step)
        self._write(TRAINING)

    def interrupt(self, error: BaseException) -> None:
        """Record that training ended early, and why."""
        self._add("interrupted", reason=str(error) or type(error).__name__)
        self._write(INTERRUPTED)

    def finish(self, state: TrainerState, weights: str) -> None:
        """Record that training is finished."""
        self._add("finished", step=state.step)
        self._description |= {
            "steps": state.step,
            "seconds": round(state.seconds, 1),
            "tokens": state.tokens,
            "skipped_steps": state.skipped,
            "weights": weights,
        }
        self._write(FINISHED)

    def _add(self, event: str, **details: object) -> None:
        self._history.append({"event": event, "at": now(), **details})

    def _write(self, status: str) -> None:
        self._run.write({**self._description, "status": status, "history": self._history})
