"""The record of a training in `run.json`: what was trained, and every beginning, interruption and end."""

from collections.abc import Mapping
from typing import Any

from docaps.runs.directory import FINISHED, INTERRUPTED, TRAINING, Run, now
from docaps.training.state import Standing


class Record:
    """Keeps `run.json` true while a run is trained."""

    def __init__(self, run: Run, description: Mapping[str, Any]) -> None:
        earlier = run.read() if run.description.exists() else {}
        self._run = run
        self._history: list[dict[str, Any]] = list(earlier.get("history", []))
        if earlier.get("status") == TRAINING:
            self._history.append({"event": "ended without notice", "noticed": now()})
        self._description = {**description, "created": earlier.get("created", now())}

    def begin(self, standing: Standing) -> None:
        """Write that training begins or goes on."""
        self._add("continued" if standing.step else "started", step=standing.step)
        self._write(TRAINING)

    def interrupt(self, fault: BaseException) -> None:
        """Write that training ended before its time, and why."""
        self._add("interrupted", reason=str(fault) or type(fault).__name__)
        self._write(INTERRUPTED)

    def finish(self, standing: Standing, weights: str) -> None:
        """Write that training came to its end."""
        self._add("finished", step=standing.step)
        numbers = {
            "steps": standing.step,
            "seconds": round(standing.seconds, 1),
            "tokens": standing.tokens,
            "skipped_steps": standing.skipped,
            "weights": weights,
        }
        self._description |= numbers
        self._write(FINISHED)

    def _add(self, event: str, **details: object) -> None:
        self._history.append({"event": event, "at": now(), **details})

    def _write(self, status: str) -> None:
        self._run.write({**self._description, "status": status, "history": self._history})
