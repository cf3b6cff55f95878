"""Pages about runs: measure what is missing, then hand the files to the report."""

from collections.abc import Sequence
from pathlib import Path

from docaps.corpus.store import open_store
from docaps.errors import CorpusError
from docaps.experiments.assess import assess
from docaps.report.page import write_report
from docaps.report.results import read_results
from docaps.runs import Run, open_run


def report_runs(paths: Sequence[Path], out: Path, *, corpus: Path | None, docaps: str) -> None:
    """Assess runs on a prepared corpus (by default the one they were trained on) and write the page."""
    runs = [open_run(path) for path in paths]
    for run in runs:
        assess(run, open_store(corpus or own_corpus(run)))
    results = [read_results(run.path) for run in runs]
    names = " ".join(str(path) for path in paths)
    commands = [
        ("Translate a document", f"{docaps} translate {paths[-1]} < document.txt"),
        ("Write this page", f"{docaps} report {names} --out {out}"),
    ]
    write_report(
        out, results, title="docaps report", subtitle=", ".join(path.name for path in paths), commands=commands
    )


def own_corpus(run: Run) -> Path:
    """Return the prepared corpus a run was trained on."""
    path = Path(run.read()["corpus"]["path"])
    if not path.exists():
        raise CorpusError(f"the corpus of {run.path} has moved: say where it is with --corpus", path=path)
    return path
