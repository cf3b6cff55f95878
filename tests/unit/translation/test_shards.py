"""Shards give the translations of one process, to the last digit, and say where an error is."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from weakref import ref

import pytest
import torch
from tests.invariants import tiny

from docaps.corpus.documents import Document, TextLayout
from docaps.corpus.store import Store
from docaps.errors import DocapsError, RunError
from docaps.translation import shards
from docaps.translation.glossary import make_glossary
from docaps.translation.input_files import InputDocument
from docaps.translation.shards import ShardedTranslator, TextShard
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import Control, TranslationOptions, Translator

SENTENCES = ("the cat sat here", "it was old", "", "it slept", "the dog came, " * 4 + "it sat", "it ran", "a dog ran")


class InPlace:
    """A pool that does the work here, on copies such as another process would get."""

    def __init__(self) -> None:
        self.shards: list[TextShard] = []

    def map(self, work: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
        for task in tasks:
            self.shards.append(task)
            yield pickle.loads(pickle.dumps(work))(pickle.loads(pickle.dumps(task)))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def trained(store: Store) -> TrainedModel:
    return tiny.trained(store, longest_source=10)


@pytest.fixture
def run(tmp_path: Path, trained: TrainedModel, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run directory; the model that is loaded from it is the one of this module."""
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    monkeypatch.setattr(shards, "load_trained", lambda *_: trained)
    shards._load.cache_clear()
    return tmp_path


def document(path: str, *sentences: str, continues: bool = False) -> InputDocument:
    return InputDocument(sentences, layout=TextLayout("lines", continues=continues), path=Path(path))


WINDOWS = [
    [document("a.en", *SENTENCES[:3])],
    [document("a.en", *SENTENCES[3:6], continues=True)],
    [document("a.en", SENTENCES[6], continues=True), document("b.en", *SENTENCES[:2])],
    [document("c.en", *SENTENCES[4:])],
]
HISTORY = TranslationOptions(history=("a dog ran", "it came"))


sharded = partial(ShardedTranslator, asked="float32")


def translate(translator: Translator, options: TranslationOptions, skip: int = 0) -> list[Any]:
    with translator.session(options) as session:
        return [sentences for _, sentences in session.stream(WINDOWS, skip)]


@pytest.mark.parametrize("options", [HISTORY, TranslationOptions(), TranslationOptions(use_context=False)])
@pytest.mark.parametrize("skip", range(4))
def test_shards_are_translated_as_the_windows_of_one_process(
    trained: TrainedModel, run: Path, options: TranslationOptions, skip: int
) -> None:
    warned: list[list[str]] = [[], []]
    here = Translator(trained, warn=warned[0].append)
    there = sharded(trained, run, InPlace(), scored=True)
    there.warn = warned[1].append
    assert translate(there, options, skip) == translate(here, options, skip)  # to the last digit
    assert warned[1] == warned[0]
    assert ["document 1, sentence 5: " in message for message in warned[0]].count(True) == (skip < 2)


def test_the_first_shard_of_a_further_part_has_its_history(trained: TrainedModel, run: Path) -> None:
    pool = InPlace()
    translate(sharded(trained, run, pool), HISTORY)
    view = trained.model.view.history
    assert [shard.history for shard in pool.shards] == [
        HISTORY.history,
        SENTENCES[:3][-view:],
        SENTENCES[:6][-view:],
        (),
    ]
    assert [shard.name for shard in pool.shards] == [
        "a.en, document 1, sentence 1",
        "a.en, document 1, sentence 4",
        "a.en, document 1, sentence 7",
        "c.en, document 3, sentence 1",
    ]
    assert all(one.layout == TextLayout("", continues=one.continues) for one in pool.shards[2].documents)


class Window(list[InputDocument]):
    """A window that can be watched."""


def test_windows_that_are_written_are_not_held(trained: TrainedModel, run: Path) -> None:
    windows: list[ref[Window]] = []

    def read() -> Iterator[Window]:
        for _ in range(9):
            window = Window([document("a.en")])
            windows.append(ref(window))
            yield window

    with sharded(trained, run, InPlace()).session() as session:
        assert max(sum(one() is not None for one in windows) for _ in session.stream(read())) <= 3


def test_an_error_names_the_file_and_the_sentence(
    trained: TrainedModel, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr("docaps.translation.translator.search_windows", refuse)
    translator = sharded(trained, run, InPlace())
    fault: Exception = RunError("scores are not numbers")
    with pytest.raises(DocapsError, match=r"^a\.en, document 1, sentence 1: scores are not numbers$"):
        translate(translator, HISTORY)
    fault = ValueError("a bug")
    with pytest.raises(ValueError, match="a bug") as found:
        translate(translator, HISTORY)
    assert found.value.__notes__ == ["in a.en, document 1, sentence 1"]


def test_a_worker_that_sees_no_run_or_another_one_is_named(trained: TrainedModel, run: Path) -> None:
    translator = sharded(trained, run, InPlace())
    (run / "model.safetensors").write_bytes(b"others")
    with pytest.raises(RunError, match=r"the machine \S+ has another run here"):
        translate(translator, HISTORY)
    run.rename(run.with_name("moved"))
    with pytest.raises(RunError, match=rf"{run.name}: the machine \S+ does not see this run: put it on storage"):
        translate(translator, HISTORY)


def test_a_worker_that_would_choose_another_precision_is_refused(
    trained: TrainedModel, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def load(_: Path, precision: str) -> TrainedModel:
        asked.append(precision)
        return replace(trained, writes_in=torch.bfloat16)

    translator = sharded(trained, run, InPlace(), asked="auto")
    monkeypatch.setattr(shards, "load_trained", load)
    message = r"the machine \S+ would compute in bfloat16, the command's in float32: name one for all with --precision"
    with pytest.raises(RunError, match=message):
        translate(translator, HISTORY)
    assert asked == ["auto"]


def test_a_worker_has_one_thread(trained: TrainedModel, run: Path) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        translate(sharded(trained, run, InPlace()), HISTORY)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_documents_without_a_file_are_named_by_their_position(trained: TrainedModel, run: Path) -> None:
    pool = InPlace()
    (found,) = sharded(trained, run, pool).session().__enter__().stream([[Document(SENTENCES[:2], "x")]])
    assert len(found[1][0]) == 2
    assert pool.shards[0].name == "document 1 ('x'), sentence 1"


def test_terms_of_a_glossary_reach_the_workers(run: Path, trained: TrainedModel) -> None:
    """A worker builds the glossary once; what is missing is said in the process that sees all shards."""
    said: list[list[str]] = [[], []]
    control = Control(make_glossary({"cat": "Katze", "dog": "漢字"}))
    alone = Translator(trained, control=control, warn=said[0].append)
    there = sharded(trained, run, InPlace(), control=control, warn=said[1].append)
    results = []
    for translator in (alone, there):
        with translator.session() as session:
            results.append([found for _, found in session.stream(iter(WINDOWS))])
    assert results[0] == results[1]
    assert said[0] == said[1]
    assert sum("could not be written as '漢字'" in one for one in said[1]) > 0
    copies = [pickle.loads(pickle.dumps(control.glossary)) for _ in range(2)]
    assert copies[0] is copies[1]
    assert copies[0].find("the cat") == control.glossary.find("the cat")
