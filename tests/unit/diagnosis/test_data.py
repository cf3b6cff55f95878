"""Data of a diagnosis: options that exclude each other are refused; the sentence model is found among siblings."""

from pathlib import Path
from typing import Any

import pytest
from tests.invariants import tiny

from docaps.corpus.store import Store
from docaps.diagnosis.data import DataOptions, find_sentence_model, read_data
from docaps.errors import CorpusError
from docaps.runs.directory import Run, open_run
from docaps.training.stages import train_recipe
from docaps.translation.trained_model import load_trained


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def runs(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    train_recipe(tiny.recipe(), store, folder)
    return folder


def change(run: Path, **values: Any) -> None:
    description = open_run(run).read()
    Run(run).write({**description, **values})


def test_a_run_of_the_same_name_created_later_is_not_its_sentence_model(runs: Path) -> None:
    before = open_run(runs / "sentence").read()
    try:
        change(runs / "sentence", created="2020-01-01T00:00:00+00:00")
        assert find_sentence_model(Run(runs / "document")) is None
        change(runs / "sentence", created=before["created"], name="another")
        assert find_sentence_model(Run(runs / "document")) is None
    finally:
        Run(runs / "sentence").write(before)
    assert find_sentence_model(Run(runs / "document")) == (runs / "sentence").resolve()


def test_documents_can_be_chosen(runs: Path, tmp_path: Path) -> None:
    run, trained = open_run(runs / "document"), load_trained(runs / "document")
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("".join(f"<d>\nthe cat {n}\nit ran\n" for n in range(10)))
    target.write_text("".join(f"<d>\ndie Katze {n}\nsie lief\n" for n in range(10)))
    material = read_data(run, trained, DataOptions(source=source, reference=target, limit=5))
    numbers = [int(document.source[0].removeprefix("the cat ")) for document in material.documents]
    assert [number // 2 for number in numbers] == [0, 1, 2, 3, 4]  # one of each fifth
    assert material.origin == {"source": str(source), "reference": str(target)}
    with pytest.raises(CorpusError, match="has no test part"):
        read_data(run, trained, DataOptions(part="test"))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (DataOptions(reference=Path("x")), "--reference needs the documents it translates"),
        (DataOptions(source=Path("x"), part="dev"), "--source and --corpus"),
        (DataOptions(format="lines"), "--format and --starts go with --source"),
        (DataOptions(context={"context_lines": 2}), "go with --set contrapro"),
    ],
)
def test_options_that_exclude_each_other_are_refused(runs: Path, request_: DataOptions, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        read_data(open_run(runs / "document"), load_trained(runs / "document"), request_)
