"""The store holds the codec's encoding of each sentence, for every kind of subwords and any number of processes."""

import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docaps.config import PreparationSettings
from docaps.corpus import building, numbering
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.formats import write_parallel
from docaps.corpus.minidocs import generate_documents
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.corpus.statistics import count_store
from docaps.corpus.store import Store

KINDS: dict[str, dict[str, Any]] = {
    "bpe": {"merges": 300},
    "bpe without truecasing": {"merges": 300, "truecase": False},
    "sentencepiece": {"subwords": "sentencepiece", "pieces": 500},
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> CorpusFiles:
    folder = tmp_path_factory.mktemp("text")
    parts = {}
    for name, count, seed in (("train", 120, 1), ("dev", 5, 2), ("extra", 8, 3)):
        documents = [ParallelDocument(one.source, one.target) for one in generate_documents(count, seed)]
        parts[name] = (folder / f"{name}.en", folder / f"{name}.de")
        write_parallel(*parts[name], documents)
    return CorpusFiles(parts)


@pytest.fixture(scope="module")
def alone(inputs: CorpusFiles, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the hash of the corpus that one process makes."""
    out = tmp_path_factory.mktemp("alone") / "store"
    return prepare(inputs, PreparationSettings(merges=300), out, workers=1)[0].hash


def sentences(inputs: CorpusFiles, name: str, side: int) -> list[str]:
    return [line for line in inputs.parts[name][side].read_text().splitlines() if line != "<d>"]


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_those_of_the_codec(inputs: CorpusFiles, tmp_path: Path, kind: str) -> None:
    store, _ = prepare(inputs, PreparationSettings(**KINDS[kind]), tmp_path / "store")
    for name in ("train", "dev"):
        split = store.split(name)
        sides = ((split.source, store.codec.encode_source, 0), (split.target, store.codec.encode_target, 1))
        for array, encode, side in sides:
            lines = sentences(inputs, name, side)
            assert [array[number].tolist() for number in range(len(array))] == [encode(line) for line in lines]
    for line in sentences(inputs, "dev", 1):
        assert store.codec.decode_target(store.codec.encode_target(line)) == line


def test_several_processes_make_the_same_corpus(
    inputs: CorpusFiles, alone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((numbering, "CHUNK_SENTENCES"), (building, "CHUNK_SENTENCES"), (numbering, "CHUNK_FORMS")):
        monkeypatch.setattr(module, name, 50)
    together, _ = prepare(inputs, PreparationSettings(merges=300), tmp_path / "together", workers=2)
    assert together.hash == alone


class Workers:
    """Does what it is given here, and notes what that is and on how many words or sentences."""

    def __init__(self) -> None:
        self.done: dict[str, list[int]] = defaultdict(list)

    def map(self, work: Any, tasks: Iterable[Any]) -> Iterator[Any]:
        for task in tasks:
            self.done[work.func.__name__].append(len(task[0] if isinstance(task, tuple) else task))
            yield pickle.loads(pickle.dumps(work))(task)


def test_workers_tokenise_truecase_split_and_encode(
    inputs: CorpusFiles, alone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((numbering, "CHUNK_SENTENCES"), (building, "CHUNK_SENTENCES"), (numbering, "CHUNK_FORMS")):
        monkeypatch.setattr(module, name, 50)
    workers = Workers()
    together, _ = prepare(inputs, PreparationSettings(merges=300), tmp_path / "together", workers=workers)
    assert together.hash == alone
    pairs = sum(len(sentences(inputs, name, 0)) for name in inputs.parts)
    done = {name: sum(sizes) for name, sizes in workers.done.items()}
    assert (done["number_chunk"], done["truecase_chunk"], done["expand"]) == (pairs, 2 * pairs, 2 * pairs)
    assert done["_truecase_some"] > 50
    assert done["_spell_some"] > 50
    assert max(max(workers.done[name]) for name in ("expand", "_truecase_some", "_spell_some")) == 50


def test_extra_pairs_are_included_on_request_as_documents_of_one_sentence(inputs: CorpusFiles, tmp_path: Path) -> None:
    store, _ = prepare(inputs, PreparationSettings(merges=300), tmp_path / "store")
    documents, extra = store.split("train"), store.split("train", extra=True)
    count = len(sentences(inputs, "extra", 0))
    assert len(extra) == len(documents) + count == len(sentences(inputs, "train", 0)) + count
    assert len(documents.documents) == 121
    assert np.diff(extra.documents)[120:].tolist() == [1] * count
    assert extra.source[len(documents)].tolist() == store.codec.encode_source(sentences(inputs, "extra", 0)[0])
    assert store.manifest["counts"]["extra"] == {"documents": 0, "sentences": count, "usable": count}


def test_extra_pairs_are_not_counted_as_documents(inputs: CorpusFiles, tmp_path: Path) -> None:
    store, _ = prepare(inputs, PreparationSettings(merges=300), tmp_path / "store")
    assert set(count_store(store)) == {"train", "dev"}


def test_a_filtered_pair_stays_where_it_was(inputs: CorpusFiles, tmp_path: Path) -> None:
    settings = PreparationSettings.model_validate({"merges": 300, "cleaning": {"longest": 8}})
    store, _ = prepare(inputs, settings, tmp_path / "store")
    usable = store.split("train").usable
    assert usable is not None
    assert 0 < usable.sum() < len(usable) == len(sentences(inputs, "train", 0))
    counts, filters = store.manifest["counts"]["train"], store.manifest["filters"]
    assert counts["usable"] == usable.sum() == counts["sentences"] - sum(taken["train"] for taken in filters.values())


def test_truecased_words_are_counted_in_their_usual_case(inputs: CorpusFiles, tmp_path: Path) -> None:
    cased, plain = (
        prepare(inputs, PreparationSettings(merges=300, truecase=truecase), tmp_path / str(truecase))[0]
        for truecase in (True, False)
    )
    assert "the" in cased.codec.vocabulary.pieces
    first = cased.codec.pieces(cased.codec.encode_source("The dog was old."))[0]
    assert first == "the"
    assert plain.codec.pieces(plain.codec.encode_source("The dog was old."))[0] != "the"
    again = Store(tmp_path / "True").codec  # with the truecase models read from their files
    assert again.encode_source("The dog.") == cased.codec.encode_source("The dog.")
