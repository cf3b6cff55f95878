"""Annotations: written and read unchanged, checked against the corpus they are for, faults named with file and line."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.corpus.stored import write_part

from docaps.corpus.annotations import Annotation, AnnotationHeader, read_annotations, write_annotations
from docaps.corpus.store import Store, open_store
from docaps.errors import CorpusError
from docaps.files import write_json

HEADER = {"docaps": "annotations", "version": 1}
RECORDS = [
    Annotation(sentence=2, phenomenon="pronoun", label="er", distance=1, score=2.5, tokens=(0, 2)),
    Annotation(sentence=2, phenomenon="formality", label="Sie"),
    Annotation(sentence=1, score=0.0, distance=0),
]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    folder = tmp_path / "prepared"
    folder.mkdir()
    write_part(folder, "train", [[5, 2], [6, 6, 2], [7, 2]], [[5, 2], [6, 7, 8, 2], [7, 2]], [2, 1])
    write_part(folder, "dev", [[5, 2]], [[5, 6, 2]], [1])
    counts = {"documents": 1, "sentences": 2, "usable": 2}
    dev = {"documents": 1, "sentences": 1, "usable": 1}
    extra = {"documents": 0, "sentences": 1, "usable": 1}
    known = {"version": 2, "settings": {}, "inputs": {}, "filters": {}, "vocabulary": 10, "hash": "f00"}
    write_json(folder / "manifest.json", {**known, "counts": {"train": counts, "extra": extra, "dev": dev}})
    return open_store(folder)


def write_lines(path: Path, *values: Any) -> Path:
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in values))
    return path


def test_annotations_are_read_as_written(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "marks.jsonl"
    write_annotations(path, AnnotationHeader(corpus="f00", part="train"), RECORDS)
    assert read_annotations(path, store) == read_annotations(path) == RECORDS
    first, second, *_ = path.read_text().splitlines()
    assert json.loads(first) == {**HEADER, "corpus": "f00", "part": "train"}
    assert json.loads(second) == {
        "sentence": 2,
        "phenomenon": "pronoun",
        "label": "er",
        "distance": 1,
        "score": 2.5,
        "tokens": [0, 2],
    }


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "marks.jsonl"
    path.write_text("before")
    with pytest.raises(ZeroDivisionError):
        write_annotations(path, AnnotationHeader(), (Annotation(sentence=1 // number) for number in (1, 0)))
    assert [one.name for one in tmp_path.iterdir()] == ["marks.jsonl"]
    assert path.read_text() == "before"


def test_a_header_of_no_corpus_fits_every_one(tmp_path: Path, store: Store) -> None:
    path = write_lines(tmp_path / "marks", HEADER, "", {"sentence": 3, "label": None, "score": 4})
    assert read_annotations(path, store) == [Annotation(sentence=3, score=4.0)]


def test_a_list_of_sentences_is_plain_text_even_compressed(tmp_path: Path, store: Store) -> None:
    path = tmp_path / "numbers.gz"
    path.write_bytes(gzip.compress(b"3\n\n1\t0.5\n2\t1e-2\n"))
    found = [Annotation(sentence=3), Annotation(sentence=1, score=0.5), Annotation(sentence=2, score=0.01)]
    assert read_annotations(path, store) == found


ANOTHER = {**HEADER, "corpus": "bad"}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "no annotations: the file is empty"),
        ([{"sentence": 1}], r'marks:1: not annotations: expected the header \{"docaps": "annotations", "version": 1\}'),
        ([{**HEADER, "version": 2}], "marks:1: annotations of version 2, expected 1: a newer docaps may read them"),
        ([ANOTHER], r"marks:1: made for another prepared corpus \(bad\), expected f00, .*prepared: make them anew"),
        ([{**HEADER, "part": "dev"}], "marks:1: made for the dev part, expected the train part"),
        ([HEADER, {"sentence": 4}], "marks:2: sentence 4, expected a number from 1 to 3, the sentences of the train"),
        ([HEADER, {"sentence": 0}], "marks:2: sentence 0, expected a number from 1 to 3"),
        ([HEADER, {"label": "er"}], "marks:2: the field 'sentence' is missing"),
        ([HEADER, {"sentence": True}], "marks:2: the field 'sentence' is true, expected an integer, 0 or more"),
        ([HEADER, {"sentence": 1, "lable": 1}], "marks:2: unknown field 'lable', expected sentence, phenomenon, label"),
        ([HEADER, '{"sentence": 1, "score": NaN}'], "marks:2: the field 'score' is NaN, expected a finite number"),
        ([HEADER, {"sentence": 1, "score": "2"}], "marks:2: the field 'score' is \"2\", expected a finite number"),
        ([HEADER, {"sentence": 1, "tokens": [-1]}], r"marks:2: the field 'tokens' is \[-1\], expected a list of integ"),
        ([HEADER, {"sentence": 2, "tokens": [4]}], "marks:2: sentence 2: token 4, but its translation has 4 tokens"),
        ([HEADER, {"sentence": 2, "tokens": [1, 1]}], r"marks:2: sentence 2: tokens \[1, 1\] holds a position twice"),
        ([HEADER, *[{"sentence": 2}] * 2], "marks:3: sentence 2 is annotated as on line 2: remove one of the two"),
        ([HEADER, "{"], "marks:2: not JSON"),
        (["1", "", "1\t0.5"], "marks:3: sentence 1 is annotated as on line 1"),
        (["1 0.5"], "marks:1: found '1 0.5', expected a sentence number or, after a tab, its score; or JSON Lines"),
        (["1\tnan"], "marks:1: found '1\\\\tnan', expected a sentence number"),
        (["7"], "marks:1: sentence 7, expected a number from 1 to 3"),
    ],
)
def test_faults_name_the_file_and_the_line(tmp_path: Path, store: Store, lines: list[Any], message: str) -> None:
    path = write_lines(tmp_path / "marks", *lines)
    with pytest.raises(CorpusError, match=message):
        read_annotations(path, store)


def test_without_a_corpus_only_what_no_corpus_has_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "marks", ANOTHER, {"sentence": 99, "tokens": [1000]})
    assert read_annotations(path) == [Annotation(sentence=99, tokens=(1000,))]
    with pytest.raises(CorpusError, match="sentence 0, expected a number from 1 on"):
        read_annotations(write_lines(tmp_path / "marks", "0"))


def test_annotations_of_another_part_are_checked_against_it(tmp_path: Path, store: Store) -> None:
    path = write_lines(tmp_path / "marks", {**HEADER, "part": "dev"}, {"sentence": 1, "tokens": [2]})
    assert read_annotations(path, store, part="dev") == [Annotation(sentence=1, tokens=(2,))]
    with pytest.raises(
        CorpusError, match="marks:2: sentence 2, expected a number from 1 to 1, the sentences of the dev"
    ):
        read_annotations(write_lines(path, {**HEADER, "part": "dev"}, {"sentence": 2}), store, part="dev")
