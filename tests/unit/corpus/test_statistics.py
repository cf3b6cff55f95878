"""Statistics: every number against one counted by hand or by plain loops."""

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.corpus.stored import write_part

from docaps.corpus.documents import ParallelDocument
from docaps.corpus.statistics import (
    BIN_ENDS,
    collect_words,
    combine,
    count_documents,
    count_store,
    describe,
    histogram,
    read_filters,
)
from docaps.corpus.store import Store, open_store
from docaps.errors import CorpusError
from docaps.files import write_json

STORY = [
    ParallelDocument(("a b c", "", "a a"), ("x y", "z z z z", "")),
    ParallelDocument(("d",), ("x w v u t",)),
]


def test_a_small_corpus_is_counted() -> None:
    found = describe(count_documents(STORY), [1, 2, 3, 4, 5])
    assert {key: found[key] for key in ("documents", "sentences", "average_document_length")} == {
        "documents": 2,
        "sentences": 4,
        "average_document_length": 2.0,
    }
    assert found["one_sentence_documents"] == 1
    assert found["length_ratio"] == 11 / 6
    assert found["source"] == {
        "tokens": 6,
        "types": 4,
        "unknown": None,
        "unknown_rate": None,
        "average_length": 1.5,
        "longest": {"length": 3, "document": 1, "sentence": 1},
        "empty": 1,
    }
    assert found["target"]["longest"] == {"length": 5, "document": 2, "sentence": 1}
    assert (found["target"]["tokens"], found["target"]["types"], found["target"]["empty"]) == (11, 7, 1)
    dropped = [(row["limit"], row["sentences"], row["share"], row["documents"]) for row in found["limits"]]
    assert dropped == [(1, 4, 1.0, 2), (2, 3, 0.75, 2), (3, 2, 0.5, 2), (4, 1, 0.25, 1), (5, 0, 0.0, 0)]


def test_the_first_of_equally_long_sentences_is_named() -> None:
    found = count_documents([ParallelDocument(("a b", "c d"), ("x", "y")), ParallelDocument(("e f",), ("z",))])
    assert (found.source.longest.document, found.source.longest.sentence) == (1, 1)


def test_unknown_words_are_those_that_are_not_in_the_training_text() -> None:
    known = collect_words([ParallelDocument(("a b", "b"), ("x", "z x")), ParallelDocument(("e",), ("",))])
    assert known == ({"a", "b", "e"}, {"x", "z"})
    found = describe(count_documents(STORY, known))
    assert (found["source"]["unknown"], found["source"]["unknown_rate"]) == (2, 2 / 6)
    assert (found["target"]["unknown"], found["target"]["unknown_rate"]) == (5, 5 / 11)
    everything: Any = ({"a", "b", "c", "d"}, set("xyzwvut"))
    found = describe(count_documents(STORY, everything))
    assert (found["source"]["unknown"], found["target"]["unknown_rate"]) == (0, 0.0)


def test_a_corpus_without_words_has_no_shares() -> None:
    found = describe(count_documents([ParallelDocument(("",), ("",))]))
    assert (found["length_ratio"], found["source"]["average_length"], found["source"]["types"]) == (0.0, 0.0, 0)
    assert found["source"]["longest"]["length"] == 0
    json.dumps(found)


@given(st.lists(st.integers(0, 300), min_size=1))
def test_bins_cover_every_length_once(lengths: list[int]) -> None:
    sentences = tuple(" ".join("w" * length) for length in lengths)
    bins = histogram(count_documents([ParallelDocument(sentences, tuple("v" for _ in lengths))]))
    assert sum(item["source"] for item in bins) == sum(item["target"] for item in bins) == len(lengths)
    for item in bins:
        last = 10**9 if item["to"] is None else item["to"]
        assert item["source"] == sum(item["from"] <= length <= last for length in lengths)
    assert [item["to"] for item in bins] == [*BIN_ENDS, None]
    assert all(one["to"] is not None and one["to"] + 1 == other["from"] for one, other in itertools.pairwise(bins))


def make_store(folder: Path, parts: dict[str, Any], **more: Any) -> Store:
    counts = {}
    for name, (source, target, documents) in parts.items():
        write_part(folder, name, source, target, documents)
        counts[name] = {"documents": len(documents), "sentences": len(source), "usable": len(source)}
    manifest = {
        "version": 2,
        "settings": {},
        "inputs": {},
        "counts": counts,
        "filters": {},
        "vocabulary": 10,
        "files": {},
        "hash": "f00",
    }
    write_json(folder / "manifest.json", manifest | more)
    return open_store(folder)


PARTS = {
    "train": ([[5, 6, 2], [2], [7, 3, 3, 2]], [[8, 2], [9, 9, 2], [2]], [2, 1]),
    "dev": ([[5, 3, 2]], [[4, 8, 9, 9, 9, 2]], [1]),
}


def test_the_parts_of_a_prepared_corpus_are_counted(tmp_path: Path) -> None:
    found = count_store(make_store(tmp_path, PARTS))
    train = describe(found["train"], [1, 2])
    assert (train["documents"], train["sentences"], train["average_document_length"]) == (2, 3, 1.5)
    assert train["one_sentence_documents"] == 1
    assert train["source"] == {
        "tokens": 5,
        "types": 3,
        "unknown": 2,
        "unknown_rate": 0.4,
        "average_length": 5 / 3,
        "longest": {"length": 3, "document": 2, "sentence": 1, "part": "train"},
        "empty": 1,
    }
    assert (train["target"]["types"], train["target"]["unknown"], train["target"]["empty"]) == (2, 0, 1)
    assert train["target"]["longest"] == {"length": 2, "document": 1, "sentence": 2, "part": "train"}
    assert [(row["sentences"], row["documents"]) for row in train["limits"]] == [(3, 2), (1, 1)]


def test_all_parts_together_count_a_piece_once(tmp_path: Path) -> None:
    total = describe(combine(count_store(make_store(tmp_path, PARTS)).values()), [2, 3, 4])
    assert (total["documents"], total["sentences"], total["average_document_length"]) == (3, 4, 4 / 3)
    assert (total["source"]["tokens"], total["source"]["types"], total["source"]["unknown"]) == (7, 3, 3)
    assert (total["target"]["types"], total["target"]["longest"]["part"]) == (3, "dev")
    assert total["source"]["longest"]["part"] == "train"
    assert [row["sentences"] for row in total["limits"]] == [2, 1, 1]


words = st.lists(st.integers(3, 8), max_size=5)
documents = st.lists(st.lists(st.tuples(words, words), min_size=1, max_size=3), min_size=1, max_size=4)


@given(documents)
def test_raw_text_and_token_ids_are_counted_alike(tmp_path_factory: pytest.TempPathFactory, drawn: Any) -> None:
    raw = [
        ParallelDocument(*(tuple(" ".join(map(str, pair[side])) for pair in item) for side in (0, 1))) for item in drawn
    ]
    ids = [[[*pair[side], 2] for item in drawn for pair in item] for side in (0, 1)]
    store = make_store(tmp_path_factory.mktemp("s"), {"train": (*ids, [len(item) for item in drawn])})
    known: Any = {str(number) for number in range(4, 9)}
    one, other = count_documents(raw, (known, known)), count_store(store)["train"]
    assert (one.documents, one.pairs, one.longest_pairs) == (other.documents, other.pairs, other.longest_pairs)
    for raw_side, side in ((one.source, other.source), (one.target, other.target)):
        assert raw_side.lengths == side.lengths == Counter(side.lengths)
        assert (raw_side.unknown or 0) == side.unknown
        assert {int(str(word)) for word in raw_side.types} - {3} == side.types
        assert (raw_side.longest.length, raw_side.longest.document) == (
            side.longest.length,
            side.longest.document,
        )


MISFITS = [
    (([[5, 2], [6, 2]], [[5, 2], [6, 2]], [1]), "the offsets do not rise from 0 to the number of sentences, 2"),
    (([[5, 2]], [[5, 2], [2]], [1]), "2 sentences, expected 1"),
    (([[5, 2]], [[5, 2]], [1, 0]), "the offsets do not rise from 0 to the number of sentences, 1"),
    (([[5, 2], []], [[5, 2], [2]], [2]), "the offsets do not rise from 0 to the number of ids, 2"),
]


@pytest.mark.parametrize(("part", "message"), MISFITS)
def test_arrays_that_do_not_fit_together_are_reported(tmp_path: Path, part: Any, message: str) -> None:
    with pytest.raises(CorpusError, match=rf"train\.[a-z.]+\.npy: .*is damaged: {message}\. Prepare it again"):
        count_store(make_store(tmp_path, {"train": part}))


def test_what_cleaning_dropped_is_read(tmp_path: Path) -> None:
    assert read_filters(make_store(tmp_path, PARTS)) == {}
    filters = {"empty": {"train": 3, "dev": 0}, "too long": {"train": 7}}
    assert read_filters(make_store(tmp_path, PARTS, filters=filters)) == filters


@pytest.mark.parametrize("filters", [{"empty": 3}, ["empty"], {"empty": {"train": "3"}}])
def test_filters_of_another_form_are_reported(tmp_path: Path, filters: Any) -> None:
    with pytest.raises(CorpusError, match=r"manifest\.json: not in the expected form:\nfilters.*: Input should be"):
        make_store(tmp_path, PARTS, filters=filters)
