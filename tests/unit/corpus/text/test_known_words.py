"""Which words of a text the training text has often enough."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docaps.config import PreparationSettings
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.formats import write_parallel
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.corpus.text import known_words
from docaps.corpus.text.known_words import KnownWords, load_known_words, split_words
from docaps.errors import CorpusError


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat's 2nd nap, No. 7!", ["the", "cat", "s", "nd", "nap", "no"]),
        ("Über-Maß Žluťoučký", ["über", "maß", "žluťoučký"]),
        ("e\u0301te\u0301 हिन्दी", ["e\u0301te\u0301", "हिन्दी"]),
        ("我喜歡 tea と茶", ["我", "喜", "歡", "tea", "と", "茶"]),
        ("… 42 – 3.14 🙂", []),
    ],
)
def test_words_are_runs_of_letters(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_words_are_counted_whatever_the_tokens_are() -> None:
    found = KnownWords.from_forms(["Cat", "cat", "&apos;s", "@-@", "dog-cat", "never"], [1, 2, 3, 9, 1, 0])
    assert found.counts == {"cat": 4, "s": 3}
    assert found.count_rare(["cat", "dog", "s", "never", "dog"]) == 3


def test_only_the_most_frequent_words_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_words, "MOST", 2)
    assert list(KnownWords({"d": 3, "b": 5, "c": 5, "a": 4, "e": 2}).counts) == ["b", "c"]


@given(st.dictionaries(st.text(st.sampled_from("aßéम茶"), min_size=1).map(str.lower), st.integers(3, 99)))
def test_words_can_be_read_again(tmp_path_factory: pytest.TempPathFactory, counts: dict[str, int]) -> None:
    path = tmp_path_factory.getbasetemp() / "words.txt"
    KnownWords(counts).save(path)
    assert load_known_words(path).counts == counts


@pytest.mark.parametrize("line", ["cat", "cat\t", "\t3", "cat\t-3", "cat\t3\t4", "cat\t³", ""])
def test_a_broken_file_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "words").write_text(f"end\t4\n{line}\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="words:2: expected a word, a tab and a count, found"):
        load_known_words(tmp_path / "words")


@pytest.mark.parametrize("subwords", [{"merges": 40}, {"subwords": "sentencepiece", "pieces": 300}])
def test_a_prepared_corpus_has_the_words_of_its_source(tmp_path: Path, subwords: dict[str, object]) -> None:
    source = ("The cat can't sleep.", "A cat sat & slept.", "Cats' cat sat: sat.")
    document = ParallelDocument(source, tuple(f"Die Katze {number} schlief dort." for number in range(3)))
    parts = {name: (tmp_path / f"{name}.en", tmp_path / f"{name}.de") for name in ("train", "dev")}
    for name, paths in parts.items():
        write_parallel(*paths, [document] if name == "train" else [ParallelDocument(("dev dev dev",), ("x",))])
    store, _ = prepare(CorpusFiles(parts), PreparationSettings(**subwords), tmp_path / "store")  # type: ignore[arg-type]
    counts = Counter(word for sentence in source for word in split_words(sentence))
    assert store.codec.known_words is not None
    assert store.codec.known_words.counts == {word: n for word, n in counts.items() if n >= known_words.RARE}
    assert set(store.codec.known_words.counts) == {"cat", "sat"}
    store.codec.save(tmp_path / "copy")
    assert (tmp_path / "copy" / "words.source.txt").read_text() == "cat\t3\nsat\t3\n"
