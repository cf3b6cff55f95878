"""Case is learnt inside sentences, applied at their beginnings, and put back, as by the Moses scripts."""

import pickle
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.corpus.text import moses

from docaps.corpus.text.truecasing import Truecaser, count_cases, load_truecaser, lower, read_model
from docaps.errors import CorpusError

SENTENCES = [
    "The cat saw the Cat .",
    "&quot; No : Cats and the cat &quot; . The end",
    "( [ 5 ) cats",
    "...",
    "",
]
CORPUS = [sentence.split() for sentence in SENTENCES]


def test_all_words_with_letters_count_but_those_that_begin_a_sentence() -> None:
    expected = {"cat": 2, "saw": 1, "the": 2, "Cat": 1, "and": 1, "&quot;": 1, "end": 1, "cats": 1}
    assert count_cases(CORPUS) == expected
    assert count_cases([["A", "Iⅷ", "ⅷ", "中", "1a", "ß", "ǅ"]]) == {"Iⅷ": 1, "1a": 1, "ß": 1, "ǅ": 1}


def test_counts_of_parts_add_up() -> None:
    together = Truecaser(count_cases(CORPUS))
    parts = Truecaser(count_cases(CORPUS[3:]) + count_cases(CORPUS[:3]))
    assert parts.counts == together.counts
    assert parts.model() == together.model()


def test_words_are_written_as_they_usually_are() -> None:
    truecaser = Truecaser(Counter({"the": 3, "The": 1, "EU": 4, "eu": 1, "house": 2}))
    words = ["The", "EU", ":", "THE", "(", "The", "&apos;", "Eu", "House", "The", "HOUSE", "Xy"]
    assert truecaser.truecase(words) == [
        "the",
        "EU",
        ":",
        "the",
        "(",
        "The",
        "&apos;",
        "EU",
        "house",
        "The",
        "house",
        "Xy",
    ]
    assert truecaser.truecase(["(", "&quot;", "The"]) == ["(", "&quot;", "the"]
    assert truecaser.truecase(["eu", "eu"]) == ["EU", "eu"]
    assert [*map(truecaser.truecase, [[], ["The"]])] == [[], ["the"]]


def test_of_equally_frequent_spellings_the_one_with_fewer_capitals_wins() -> None:
    for order in (("MAN", "Man", "man"), ("man", "Man", "MAN")):
        assert Truecaser(Counter(dict.fromkeys(order, 2))).truecase(["mAN"]) == ["man"]


def test_sigma_is_lowered_letter_by_letter() -> None:
    assert lower("ΟΔΟΣ") == "οδοσ"
    assert lower("Straße") == "straße"


@pytest.mark.parametrize("language", moses.LANGUAGES)
def test_hard_sentences_are_truecased_as_by_the_script(language: str) -> None:
    expected = [line.split() for line in moses.lines("tc", language)]
    # The script's model is large; the spellings that it led to are the part of it that these sentences need.
    truecaser = Truecaser(Counter(word for words in expected for word in words))
    assert [truecaser.truecase(line.split()) for line in moses.lines("tok", language)] == expected


@pytest.mark.parametrize("language", moses.LANGUAGES)
def test_capitals_are_put_back_as_by_the_script(language: str) -> None:
    found = [" ".join(Truecaser.detruecase(line.split())) for line in moses.lines("tc", language)]
    assert found == moses.lines("dtc", language)
    assert Truecaser.detruecase(["ßx", ".", "", "a"]) == ["SSx", ".", "", "a"]


def test_a_model_is_written_as_the_script_does(tmp_path: Path) -> None:
    truecaser = Truecaser(Counter({"Cat": 1, "cat": 2, "CAT": 1, "(": 1, "end": 1}))
    truecaser.save(tmp_path / "model")
    text = (tmp_path / "model").read_text(encoding="utf-8")
    assert text == "( (1/1)\ncat (2/4) Cat (1) CAT (1)\nend (1/1)\n"
    assert load_truecaser(tmp_path / "model").counts == truecaser.counts
    assert pickle.loads(pickle.dumps(truecaser)).model() == text
    assert read_model("").model() == ""


@given(st.dictionaries(st.text(st.sampled_from("aAßÉ(5/)1"), min_size=1), st.integers(1, 9)))
def test_every_model_can_be_read_again(counts: dict[str, int]) -> None:
    assert read_model(Truecaser(Counter(counts)).model()).counts == counts


@pytest.mark.parametrize("line", ["cat", "cat 2/3", "cat (2/3) Cat", "", "cat (2/3) Cat (x)"])
def test_a_broken_model_is_refused(line: str, tmp_path: Path) -> None:
    (tmp_path / "model").write_text(f"end (1/1)\n{line}\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"model:2: a truecase model has lines like 'The \(5/9\) the \(4\)', found"):
        load_truecaser(tmp_path / "model")


def test_an_unreadable_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="none: no such file"):
        load_truecaser(tmp_path / "none")
    (tmp_path / "bad").write_bytes(b"\xff\xfe")
    with pytest.raises(CorpusError, match="bad:1: cannot be read: not UTF-8"):
        load_truecaser(tmp_path / "bad")
