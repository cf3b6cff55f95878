"""Model cards: what a run is, beside its weights, for whoever finds it."""

from collections.abc import Sequence

from docaps.files import write_text_atomically
from docaps.runs.card import as_card
from docaps.runs.directory import Run
from docaps.runs.results import read_results


def write_card(run: Run, *, command: str = "") -> None:
    """Write the model card of a finished run; the command that made it is kept with the run, for later cards."""
    description = run.read()
    if command and not description.get("command"):
        run.write({**description, "command": command})
    text = as_card(read_results(run.path))
    if not run.card.exists() or run.card.read_text(encoding="utf-8") != text:
        write_text_atomically(run.card, text)


def write_cards(runs: Sequence[Run], command: str) -> None:
    """Write the cards of runs that one command made."""
    for run in runs:
        write_card(run, command=command)
