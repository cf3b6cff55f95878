"""Words are split as by subword-nmt, and every word is restored, even one that looks like a piece."""

import io
import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from subword_nmt.apply_bpe import BPE

from docaps.corpus.text.bpe import HEADER, Subwords, format_codes, learn_merges
from docaps.corpus.text.codec import SubwordModel
from docaps.corpus.text.sentencepieces import SentencePieces, learn_sentencepieces
from docaps.errors import CorpusError

TEXT = ["The old house is old, isn't it?", "Das alte Haus ist alt.", "house by house", "Haus@@ für @@ Haus"] * 9


def learn_bpe() -> Subwords:
    words = Counter(word for sentence in TEXT for word in sentence.split())
    return Subwords(format_codes(learn_merges(words, merges=60, minimum_frequency=2)))


def learn_raw() -> SentencePieces:
    return learn_sentencepieces(TEXT, size=340)


@st.composite
def codes(draw: st.DrawFn) -> str:
    """Merges in any order, learnt or not, some of them twice."""
    pieces = st.sampled_from(["a", "b", "aa", "ab", "ba", "aab", "a</w>", "b</w>", "ab</w>", "aa</w>", "@", "@</w>"])
    merges = draw(st.lists(st.tuples(pieces, pieces), max_size=12))
    return "".join([f"{HEADER}\n", *(f"{first} {second}\n" for first, second in merges)])


@given(codes(), st.lists(st.text(st.sampled_from("abc"))))
@example(f"{HEADER}\nab a\na b\n", ["ababc"])
@example(f"{HEADER}\na b\nb a\na b\n", ["abac", "baba"])
def test_words_are_cut_as_by_subword_nmt(text: str, words: list[str]) -> None:
    merges = len(text.splitlines()) - 1
    expected = BPE(io.StringIO(text), merges=merges).segment_tokens(words)
    assert Subwords(text).split(words) == expected


@given(codes(), st.lists(st.text(st.sampled_from("ab@"), min_size=1)))
def test_words_with_at_signs_come_back(text: str, words: list[str]) -> None:
    assert Subwords.join(Subwords(text).split(words)) == words


def test_a_word_that_looks_like_a_beginning_is_cut_once_more() -> None:
    subwords = Subwords(f"{HEADER}\n@ @</w>\n")
    assert subwords.split(["@@", "x@@", "@", "@@@"]) == ["@@@", "@", "x@@", "@@@", "@", "@", "@@@", "@@@", "@"]
    assert subwords.join(["@@@", "@", "x@@", "@@@", "@"]) == ["@@", "x@@"]


def test_pieces_without_an_end_are_a_word() -> None:
    assert Subwords.join(["a", "b@@", "c@@"]) == ["a", "bc"]
    assert Subwords.join([]) == []


@pytest.mark.parametrize("learn", [learn_bpe, learn_raw])
def test_models_share_an_interface(learn: Callable[[], SubwordModel], tmp_path: Path) -> None:
    model = learn()
    sentences = [["The", "old", "Haus"], ["漢", "▁", "@@", "x@@"], []]
    pieces = [model.split(words) for words in sentences]
    assert [model.join(found) for found in pieces] == sentences
    model.save(tmp_path / "model")
    loaded = type(model).load(tmp_path / "model")  # type: ignore[attr-defined]
    copied = pickle.loads(pickle.dumps(model))
    assert [[*map(model.split, sentences)] for model in (loaded, copied)] == [pieces, pieces]


MARKS = st.sampled_from(
    ["</w>", "@@", "@", "▁", "\ue580", "\ue581", "<unk>", "<0x41>", "</s>", "|||", "&lt;", "\u200b", "x"]
)
PARTS = st.one_of(MARKS, st.text(max_size=3).map(lambda text: "".join(text.split())))
WORDS = st.lists(st.lists(PARTS, max_size=4).map("".join).filter(bool), max_size=5)
RAW, MERGES = learn_raw(), learn_bpe()
SPECIAL = Subwords(
    format_codes(
        learn_merges(Counter({"a</w>": 5, "x@@": 5, "</w>": 5, "@@@": 5, "▁\ue581": 5}), merges=30, minimum_frequency=1)
    )
)


@pytest.mark.parametrize("model", [RAW, MERGES, SPECIAL], ids=["SentencePiece", "BPE", "BPE of marks"])
@settings(max_examples=200, deadline=None)
@given(words=WORDS)
def test_any_words_survive_their_pieces(model: SubwordModel, words: list[str]) -> None:
    assert model.join(model.split(words)) == words


def test_sentencepiece_learns_the_same_every_time() -> None:
    models = [learn_sentencepieces(iter(TEXT), size=330) for _ in range(2)]
    assert models[0].model == models[1].model
    assert 256 < len(models[0].pieces) <= 330
    assert {*models[0].split(["The", "漢"])} <= {*models[0].pieces}


def test_text_that_sentencepiece_cannot_learn_from_is_reported() -> None:
    with pytest.raises(
        CorpusError,
        match=r"cannot learn 100 pieces .the setting preparation.pieces. from this text: .*smaller than required",
    ):
        learn_sentencepieces(TEXT, size=100)
    with pytest.raises(CorpusError, match="cannot learn 300 pieces"):
        learn_sentencepieces([], size=300)


def test_a_broken_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"no model")
    with pytest.raises(CorpusError, match="the SentencePiece model cannot be read"):
        SentencePieces.load(tmp_path / "model")
    with pytest.raises(CorpusError, match="none: no such file"):
        SentencePieces.load(tmp_path / "none")
