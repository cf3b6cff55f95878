"""Numbers, systems and labels in words."""

from pathlib import Path

import pytest
from tests.unit.report.fake_runs import write_run

from docaps.runs.results import RunResults, read_results
from docaps.runs.wording import describe_system, duration, label_runs, listing, sees_context, thousands


def test_labels_name_the_seed_where_that_is_the_difference(results: list[RunResults]) -> None:
    labels = label_runs(results)
    assert len(set(labels)) == len(labels)
    assert {"qcn, seed 1", "qcn, seed 2"} <= set(labels)
    assert "history-3" in labels


def test_wording() -> None:
    assert duration(121.3) == "2\u202fmin 1\u202fs"
    assert duration(7322) == "2\u202fh 2\u202fmin"
    assert duration(0.2) == "0\u202fs"
    assert thousands(1234567) == "1\u202f234\u202f567"
    assert listing(["a", "b", "c"]) == "a, b and c"


@pytest.mark.parametrize(
    ("system", "words", "context"),
    [
        ("transformer", "sentence-level Transformer", False),
        ("transformer+reg", "Transformer + regularisation", False),
        ("qcn+reg", "Transformer + QCN + regularisation", True),
        ("han", "HAN-DocNMT (Miculicich et al. 2018)", True),
        ("capsnet+reg", "Transformer + plain capsule network + regularisation", True),
        ("new", "new", True),
    ],
)
def test_systems_in_words(system: str, words: str, context: bool) -> None:
    assert describe_system(system) == words
    assert sees_context(system) is context


def test_two_runs_of_one_system_are_told_apart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_run(tmp_path / name, name=name, system="qcn")
    assert label_runs([read_results(tmp_path / name) for name in ("one", "two")]) == ["one", "two"]
