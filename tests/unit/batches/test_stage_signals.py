"""The signals of a stage: read from files beside the recipe or the corpus, counted, and refused where they are none."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.invariants import tiny
from tests.unit.training import long_sentences

from docaps.batches.signals import NO_SIGNALS, Signals
from docaps.batches.stage_signals import count_signals, describe_signals, hash_annotations, read_signals
from docaps.config import StageSettings
from docaps.corpus.store import Store
from docaps.errors import ConfigError
from docaps.files import sha256


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return long_sentences.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def file(store: Store, tmp_path: Path) -> Path:
    long_sentences.annotate(tmp_path / "marks.jsonl", store)
    return tmp_path / "marks.jsonl"


def read(store: Store, **settings: Any) -> Signals:
    stage = StageSettings.model_validate(settings)
    return read_signals(stage, store, store.split("train"), seed=1)


def test_a_stage_without_signals_has_none(store: Store) -> None:
    found = read(store)
    assert found.halves is found.selection is found.emphasis is found.formality is None
    assert (found.source_dropout, found.history_sampling) == (0.0, False)
    assert count_signals(NO_SIGNALS, store.split("train")) == {}
    assert hash_annotations(StageSettings(), store) == {}


def test_annotations_become_signals(store: Store, file: Path) -> None:
    found = read(store, **long_sentences.signals(file))
    assert found.selection is not None
    assert found.emphasis is not None
    assert found.formality is not None
    assert found.halves is not None
    assert found.selection.sentences.tolist() == list(range(2, 27, 3))
    assert found.selection.scores.tolist() == [1.0 + number % 2 for number in range(3, 28, 3)]
    assert {number: tokens.tolist() for number, tokens in found.emphasis.tokens.items()} == {
        number: [0] for number in range(2, 27, 3)
    }
    formal, informal = store.codec.vocabulary.ids(["<formal>", "<informal>"]), store.codec.vocabulary.marks
    assert formal == [3, 3]  # no text is encoded to a mark
    assert (found.formality.tags[0], found.formality.tags[2]) == (informal["informal"], informal["informal"])
    assert found.formality.tags[4] == informal["formal"]
    assert (found.halves.source > 0).tolist() == [number % 3 != 2 for number in [*range(12), *range(9), *range(6)]]


def test_what_signals_mark_is_counted(store: Store, file: Path) -> None:
    split = store.split("train")
    counts = count_signals(read(store, **long_sentences.signals(file)), split)
    assert counts["select"] == {"sentences": 9, "of": 27, "drawn": 12, "examples": 30, "share": 0.4, "times": 12 / 9}
    assert counts["split"] == {"sentences": 18, "of": 27, "share": 0.5}
    tokens = int(np.asarray(split.target.lengths).sum())
    assert counts["emphasis"] == {"tokens": 9, "of": tokens, "sentences": 9, "weight": 4.0}
    assert counts["formality"] == {"sentences": 14, "of": 27, "share": 0.5}
    words = describe_signals(counts)
    assert words["select"].startswith(
        "40.0% of each batch from 9 selected sentences of 27; an epoch draws 12 of its 30"
    )
    assert list(words) == ["source_dropout", "history_sampling", "split", "select", "emphasis", "formality"]


def test_a_file_is_found_in_the_working_directory_then_beside_the_corpus(
    store: Store, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stage = StageSettings(select="here.txt", select_share=0.5)
    beside = store.path / "here.txt"
    beside.write_text("3\n")
    try:
        assert hash_annotations(stage, store) == {"select": sha256(beside)}
        (tmp_path / "here.txt").write_text("6\t2\n")
        assert hash_annotations(stage, store) == {"select": sha256(tmp_path / "here.txt")}
        found = read_signals(stage, store, store.split("train"), seed=1).selection
        assert found is not None
        assert found.sentences.tolist() == [5]
    finally:
        beside.unlink()


def test_sentences_that_are_not_trained_on_are_left_out(store: Store, tmp_path: Path) -> None:
    split = store.split("train")
    usable = np.ones(len(split), np.bool_)
    usable[4] = False
    (tmp_path / "numbers").write_text("5\n6\n7\t0\n")
    stage = StageSettings(select=str(tmp_path / "numbers"), select_share=0.5)
    part = type(split)(split.source, split.target, split.documents, usable)
    found = read_signals(stage, store, part, seed=1).selection
    assert found is not None
    assert found.sentences.tolist() == [5]  # sentence 7 has a score of 0


SELECT, TAGS = {"select_share": 0.5}, {"formality_share": 0.5}


@pytest.mark.parametrize(
    ("setting", "text", "more", "message"),
    [
        ("select", "5\t-1\n", SELECT, "select: the score of sentence 5 is -1, expected 0 or more"),
        ("select", "5\t0\n", SELECT, "select: the file marks no sentence that is trained on"),
        (
            "select",
            "".join(f"{n}\n" for n in range(1, 28)),
            SELECT,
            "select: the file marks every sentence, so that 50%",
        ),
        ("select", "5\n", {**SELECT, "select_phenomena": ["noun"]}, "no annotation of the phenomenon 'noun'; .*: none"),
        ("emphasis", "5\n", {"emphasis_weight": 2.0}, "emphasis: the file marks no target token of a sentence that is"),
        ("formality", "5\n", TAGS, "formality: sentence 5 has no label, expected du, ihr, Sie, informal, formal"),
    ],
)
def test_a_file_without_effect_is_refused(
    store: Store, tmp_path: Path, setting: str, text: str, more: dict[str, Any], message: str
) -> None:
    path = tmp_path / "numbers"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        read(store, **{setting: str(path), **more})
    assert caught.value.path == path


def test_a_missing_file_is_named_with_the_places_looked_at(store: Store, tmp_path: Path) -> None:
    expected = r"gone: no such file of annotations in the working directory or in .*prepared"
    with pytest.raises(ConfigError, match=expected):
        read(store, select="gone", select_share=0.5)
    with pytest.raises(ConfigError, match=r"no such file of annotations$"):
        read(store, select=str(tmp_path), select_share=0.5)


def test_phenomena_narrow_what_is_selected(store: Store, file: Path) -> None:
    both = read(store, select=str(file), select_share=0.5).selection
    assert both is not None
    assert len(both.sentences) > 9


def test_a_sentence_with_two_forms_of_address_has_no_tag(store: Store, tmp_path: Path) -> None:
    lines = [
        '{"docaps": "annotations", "version": 1}',
        '{"sentence": 1, "label": "du"}',
        '{"sentence": 1, "label": "Sie"}',
    ]
    (tmp_path / "labels").write_text(
        "\n".join([*lines, '{"sentence": 2, "label": "ihr"}', '{"sentence": 2, "label": "du"}'])
    )
    found = read(store, formality=str(tmp_path / "labels"), formality_share=0.5).formality
    assert found is not None
    assert found.tags == {1: store.codec.vocabulary.marks["informal"]}


def test_tags_need_marks_in_the_vocabulary(tmp_path: Path) -> None:
    plain = tiny.prepared(tmp_path)
    (tmp_path / "labels").write_text('{"docaps": "annotations", "version": 1}\n{"sentence": 1, "label": "du"}\n')
    expected = r'formality: the prepared corpus has no mark formal and no mark informal: .* = \["formal", "informal"\]'
    with pytest.raises(ConfigError, match=expected):
        read(plain, formality=str(tmp_path / "labels"), formality_share=0.5)
