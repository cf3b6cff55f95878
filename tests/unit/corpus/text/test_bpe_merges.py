"""Merges are those of subword-nmt, ties and odd cases included."""

import contextlib
import io
import random
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from subword_nmt.learn_bpe import learn_bpe

from docaps.corpus.text.bpe import HEADER, Subwords, format_codes, learn_merges


def codes_of_subword_nmt(words: Counter[str], merges: int, minimum_frequency: int) -> str:
    table = io.StringIO("".join(f"{word} {count}\n" for word, count in words.items()))
    codes = io.StringIO()
    with contextlib.redirect_stderr(io.StringIO()):
        learn_bpe(table, codes, merges, min_frequency=minimum_frequency, is_dict=True)
    return codes.getvalue()


def vocabularies(alphabet: str, longest: int) -> st.SearchStrategy[Counter[str]]:
    words = st.text(st.sampled_from(alphabet), min_size=1, max_size=longest)
    counts = st.dictionaries(words, st.integers(1, 4) | st.integers(1, 1000), min_size=1, max_size=30)
    return counts.map(Counter).filter(lambda found: any(len(word) > 1 for word in found))


MANY = st.sampled_from([1, 7, 300])


@given(vocabularies("ab", 25) | vocabularies("abcdé漢", 10) | vocabularies("<w>a\\", 12), MANY, st.integers(1, 5))
@example(Counter({"aaaaaa": 3, "aaabaaa": 2, "baaaa": 1}), 300, 1)
def test_merges_of_any_vocabulary(words: Counter[str], merges: int, minimum_frequency: int) -> None:
    found = format_codes(learn_merges(words, merges=merges, minimum_frequency=minimum_frequency))
    assert found == codes_of_subword_nmt(words, merges, minimum_frequency)


@pytest.mark.parametrize(("alphabet", "longest"), [("ab", 40), ("abc", 12), ("abcdefghijklmnopqrstuvwxyz", 9)])
def test_merges_of_a_long_vocabulary(alphabet: str, longest: int) -> None:
    """Long enough for rare pairs to be set aside and taken up again several times."""
    chance = random.Random(longest)
    words: Counter[str] = Counter()
    for rank in range(1, 350):
        word = "".join(chance.choice(alphabet) for _ in range(chance.randint(1, longest)))
        words[word] += 1 + 3000 // rank
    found = format_codes(learn_merges(words, merges=900, minimum_frequency=2))
    assert found == codes_of_subword_nmt(words, 900, 2)
    assert len(found.splitlines()) > 300


@given(st.lists(st.sampled_from(["a", "b", "</w>", "<", "w>"]), min_size=1).map("".join), MANY)
def test_words_with_the_mark_of_a_words_end_come_back(word: str, merges: int) -> None:
    subwords = Subwords(
        format_codes(learn_merges(Counter({word: 3, "ab": 2, "a</w>aa": 1}), merges=merges, minimum_frequency=1))
    )
    assert subwords.join(subwords.split([word, "a</w>aa", "ab"])) == [word, "a</w>aa", "ab"]


def test_the_order_of_words_does_not_matter() -> None:
    words = Counter({"abab": 2, "baba": 2, "aab": 2, "bba": 2})
    turned = Counter(dict(reversed(words.items())))
    expected = [*learn_merges(words, merges=9, minimum_frequency=1)]
    assert [*learn_merges(turned, merges=9, minimum_frequency=1)] == expected


@pytest.mark.parametrize("words", [Counter(), Counter({"a": 5}), Counter({"ab": 1})])
def test_nothing_frequent_is_nothing_merged(words: Counter[str]) -> None:
    assert format_codes(learn_merges(words, merges=5, minimum_frequency=2)) == f"{HEADER}\n"
