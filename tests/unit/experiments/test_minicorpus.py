"""Mini-documents are written and prepared once."""

from pathlib import Path

import pytest

from docaps.config import PreparationSettings
from docaps.corpus.contrastive import read_items
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.minidocs import MiniCorpus, generate_corpus
from docaps.errors import CorpusError
from docaps.experiments.minicorpus import labels_of_test, prepare_once, write_once


@pytest.fixture(scope="module")
def corpus() -> MiniCorpus:
    return generate_corpus(documents=5, seed=1, dev=2, test=3, items=1)


def test_all_of_the_corpus_is_prepared(corpus: MiniCorpus, tmp_path: Path) -> None:
    write_once(tmp_path / "corpus", corpus)
    store = prepare_once(tmp_path / "corpus", PreparationSettings(merges=50), tmp_path / "prepared")
    assert {name: count["documents"] for name, count in store.manifest["counts"].items()} == {
        "train": 5,
        "dev": 2,
        "test": 3,
    }
    assert store.raw("test") == [ParallelDocument(document.source, document.target) for document in corpus.test]
    assert store.contrastive is not None
    assert read_items(store.contrastive) == list(corpus.contrastive)


def test_files_of_others_are_kept(corpus: MiniCorpus, tmp_path: Path) -> None:
    for name in ("corpus", "prepared"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "notes.md").write_text("mine")
    with pytest.raises(CorpusError, match=r"corpus: the directory holds something else \(notes.md\)"):
        write_once(tmp_path / "corpus", corpus)
    write_once(tmp_path / "text", corpus)
    with pytest.raises(CorpusError, match="prepared: exists and is not a prepared corpus"):
        prepare_once(tmp_path / "text", PreparationSettings(merges=50), tmp_path / "prepared")
    for name in ("corpus", "prepared"):
        assert [path.name for path in (tmp_path / name).iterdir()] == ["notes.md"]


def test_nothing_is_written_or_prepared_twice(corpus: MiniCorpus, tmp_path: Path) -> None:
    def make() -> dict[Path, int]:
        write_once(tmp_path / "corpus", corpus)
        prepare_once(tmp_path / "corpus", PreparationSettings(merges=50), tmp_path / "prepared")
        return {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    assert make() == make()


def test_labels_are_those_of_the_test_documents(corpus: MiniCorpus) -> None:
    labels = labels_of_test(corpus)
    assert list(labels) == [0, 1, 2]
    for number, document in enumerate(corpus.test):
        assert {place: (label["phenomenon"], label["distance"]) for place, label in labels[number].items()} == {
            place: (label.phenomenon, label.distance) for place, label in document.labels.items()
        }
    assert any(labels.values())
