"""Text becomes token ids and text again; a damaged codec is refused, never guessed."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docaps.corpus.text.bpe import Subwords, format_codes, learn_merges
from docaps.corpus.text.codec import Codec, Language, load_codec
from docaps.corpus.text.tokenization import Tokenizer
from docaps.corpus.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary
from docaps.errors import RunError

SENTENCES = ["Der alte Mann sah das Haus.", '„Wer ist da?", fragte er.', "Das Haus (es ist alt) gehört ihm."]


def make_codec(merges: int = 30) -> Codec:
    words = Counter(word for sentence in SENTENCES for word in Tokenizer("de").tokenize(sentence))
    codes = format_codes(learn_merges(words, merges=merges, minimum_frequency=1))
    pieces = Counter(piece for word in words for piece in Subwords(codes).split([word]))
    return Codec(
        source=Language("en"),
        target=Language("de"),
        subwords=Subwords(codes),
        vocabulary=Vocabulary.from_counts(pieces),
    )


@pytest.fixture(scope="module")
def codec() -> Codec:
    return make_codec()


@pytest.mark.parametrize("sentence", SENTENCES)
def test_text_survives_encoding(codec: Codec, sentence: str) -> None:
    ids = codec.encode_target(sentence)
    assert ids[-1] == EOS
    assert UNK not in ids
    assert codec.decode_target(ids) == sentence
    assert codec.decode_target([BOS, *ids, PAD, PAD]) == sentence


def test_an_empty_sentence_is_the_end_mark_alone(codec: Codec) -> None:
    assert codec.encode_source("") == codec.encode_target("") == codec.encode_words([]) == [EOS]
    assert codec.decode_target([EOS]) == ""


def test_characters_never_seen_are_unknown_pieces(codec: Codec) -> None:
    ids = codec.encode_target("Haus 漢")
    assert ids[-2:] == [UNK, EOS]
    assert codec.pieces(ids)[-2:] == ["<unk>", "</s>"]
    assert codec.decode_target(ids) == "Haus <unk>"


def test_words_that_are_tokenised_already_are_not_tokenised_again(codec: Codec) -> None:
    words = Tokenizer("de").tokenize(SENTENCES[1])
    assert codec.encode_words(words) == codec.encode_target(SENTENCES[1])


def test_special_symbols_in_the_text_are_text(codec: Codec) -> None:
    ids = codec.encode_source("</s> <pad> <s>")
    assert ids.count(EOS) == 1
    assert not {PAD, BOS} & set(ids)


def test_a_saved_codec_is_the_same(codec: Codec, tmp_path: Path) -> None:
    codec.save(tmp_path / "text")
    loaded = load_codec(tmp_path / "text")
    assert loaded.vocabulary.pieces == codec.vocabulary.pieces
    assert (loaded.source.code, loaded.target.code) == ("en", "de")
    assert [loaded.encode_target(s) for s in SENTENCES] == [codec.encode_target(s) for s in SENTENCES]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("languages.json", None, "languages.json: no such file"),
        ("languages.json", b"{}", "source_language"),
        ("languages.json", b"[]", "cannot be used"),
        ("languages.json", b'{"source_language": 5, "target_language": "de"}', "source_language is not a text: 5"),
        ("languages.json", b"{", "languages.json:1: not valid JSON"),
        ("vocabulary.json", None, "vocabulary.json: no such file"),
        ("vocabulary.json", b"3", "cannot be used"),
        ("vocabulary.json", b'{"<pad>": 0}', "a vocabulary begins with"),
        ("vocabulary.json", b'["a", "b"]', "a vocabulary begins with"),
        ("vocabulary.json", json.dumps([*SPECIALS, 7]).encode(), "a list of strings, each of them once"),
        ("vocabulary.json", json.dumps([*SPECIALS, "a", "a"]).encode(), "a list of strings, each of them once"),
        ("bpe.codes", None, r"bpe\.codes"),
        ("bpe.codes", b"", "BPE codes are the line '#version: 0.2'"),
        ("bpe.codes", b"#version: 0.2\na b\nodd\n", "two pieces a line"),
        ("bpe.codes", b"#version: 0.2\n\xff \xfe\n", "cannot be used"),
    ],
)
def test_a_damaged_codec_is_refused(
    codec: Codec, tmp_path: Path, file: str, content: bytes | None, message: str
) -> None:
    codec.save(tmp_path)
    (tmp_path / file).unlink()
    if content is not None:
        (tmp_path / file).write_bytes(content)
    with pytest.raises(RunError, match=message) as caught:
        load_codec(tmp_path)
    assert caught.value.path in (tmp_path, tmp_path / file)


def test_frequent_pieces_come_first_and_ties_by_spelling() -> None:
    vocabulary = Vocabulary.from_counts(Counter({"b": 2, "a": 2, "c": 5, "<unk>": 9}))
    assert vocabulary.pieces == (*SPECIALS, "c", "a", "b")
    assert vocabulary.ids(["a", "zzz", "c"]) == [5, UNK, 4]
    assert vocabulary.text([BOS, 5, UNK, EOS, PAD]) == ["a", "<unk>"]
    assert len(vocabulary) == 7


def test_marks_are_reserved_entries_that_no_text_has(codec: Codec, tmp_path: Path) -> None:
    vocabulary = Vocabulary.from_counts(Counter({"b": 2, "<formal>": 9, "a": 2}), ("formal", "informal"))
    assert vocabulary.pieces == (*SPECIALS, "<formal>", "<informal>", "a", "b")
    assert vocabulary.marks == {"formal": 4, "informal": 5}
    assert vocabulary.ids(["<formal>", "a", "<informal>"]) == [UNK, 6, UNK]
    assert vocabulary.text([4, 6, 5, EOS]) == ["a"]
    assert vocabulary.text_pieces == ("a", "b")
    replace(codec, vocabulary=vocabulary).save(tmp_path)
    assert load_codec(tmp_path).vocabulary.marks == vocabulary.marks
    codec.save(tmp_path / "plain")
    assert "marks" not in json.loads((tmp_path / "plain" / "languages.json").read_text())


def test_a_codec_whose_marks_are_not_in_its_vocabulary_is_refused(codec: Codec, tmp_path: Path) -> None:
    codec.save(tmp_path)
    description = json.loads((tmp_path / "languages.json").read_text())
    for marks, message in ((["formal"], r"goes on with \('<formal>',\), found"), (7, "cannot be used")):
        (tmp_path / "languages.json").write_text(json.dumps({**description, "marks": marks}))
        with pytest.raises(RunError, match=message):
            load_codec(tmp_path)


def test_merges_are_learnt_most_frequent_first() -> None:
    codes = format_codes(learn_merges(Counter({"ab": 5, "cd": 3, "ef": 1}), merges=10, minimum_frequency=2))
    assert codes.splitlines()[1:] == ["a b</w>", "c d</w>"]
    assert Subwords(codes).split(["ab", "ef"]) == ["ab", "e@@", "f"]
    assert len(format_codes(learn_merges(Counter({"ab": 5, "cd": 3}), merges=1, minimum_frequency=1)).splitlines()) == 2


@pytest.mark.parametrize("words", [Counter({"a": 3, "b": 2}), Counter({"ab": 1, "cd": 1})])
def test_where_nothing_can_be_merged_words_are_spelt(words: Counter[str]) -> None:
    subwords = Subwords(format_codes(learn_merges(words, merges=10, minimum_frequency=2)))
    assert subwords.split(["ab", "c"]) == ["a@@", "b", "c"]


@given(st.lists(st.text(st.sampled_from("aetß.漢"), min_size=1)))
def test_subwords_join_to_the_same_words(words: list[str]) -> None:
    subwords = Subwords(
        format_codes(learn_merges(Counter(["eat", "tea", "ate", "eat"]), merges=5, minimum_frequency=1))
    )
    assert Subwords.join(subwords.split(words)) == words
