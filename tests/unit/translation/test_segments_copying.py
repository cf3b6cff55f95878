"""Characters that the vocabulary lacks are copied, never lost and never shown as an unknown token."""

import pytest
from tests.invariants import tiny

from docaps.corpus.store import Store
from docaps.corpus.text.codec import Codec, Language
from docaps.corpus.text.sentencepieces import learn_sentencepieces
from docaps.corpus.text.vocabulary import SPECIALS, UNK, Vocabulary
from docaps.translation.segments import decode, known_characters, segment_sentence, strip_unknown, unknown_words

KNOWN = frozenset("abcdefghijklmnopqrstuvwxyz .,!")


@pytest.fixture(scope="module")
def codec(tmp_path_factory: pytest.TempPathFactory) -> Codec:
    store: Store = tiny.prepared(tmp_path_factory.mktemp("corpus"))
    return store.codec


@pytest.mark.parametrize(
    ("text", "before", "inner", "after"),
    [
        ("it ran 🙂", "", "it ran", "🙂"),
        ("it ran 🙂.", "", "it ran.", "🙂"),
        ("🙂 🙃 it ran !", "🙂 🙃", "it ran !", ""),
        ("→ it 🙂 ran ←", "→", "it 🙂 ran", "←"),
        ("🙂", "🙂", "", ""),
        ("Привет, мир!", "Привет, мир!", "", ""),
        ("it ran.", "", "it ran.", ""),
        ("it ran ..", "", "it ran ..", ""),
        ("a漢 b", "", "a漢 b", ""),
    ],
)
def test_unknown_characters_are_taken_off_the_ends(text: str, before: str, inner: str, after: str) -> None:
    assert strip_unknown(text, KNOWN) == (before, inner, after)


def test_known_characters_are_those_of_the_vocabulary(codec: Codec) -> None:
    known = known_characters(codec)
    assert set("thecatsß") <= known
    assert not set("🙂漢Łx") & known


def test_unknown_words_replace_unknown_tokens_in_order(codec: Codec) -> None:
    words = unknown_words(codec, "the 漢字 cat xx sat")
    assert words == ("漢字", "xx")
    katze, lief = (codec.encode_target(word)[:-1] for word in ("Katze", "lief"))
    assert decode(codec, [UNK, *katze, UNK, *lief], words) == "漢字 Katze xx lief"
    assert decode(codec, [*katze, UNK, UNK, UNK, *lief], words) == "Katze 漢字 xx lief"


def test_only_words_with_unknown_characters_go_to_the_end(codec: Codec) -> None:
    katze = codec.encode_target("Katze")[:-1]
    assert decode(codec, katze, ("漢字", "tac")) == "Katze 漢字"
    assert decode(codec, [*katze, UNK], ("tac", "漢字")) == "Katze tac 漢字"
    assert decode(codec, [*katze, UNK]) == "Katze"
    assert decode(codec, [UNK]) == ""


def test_markup_is_copied_unchanged(codec: Codec) -> None:
    words = unknown_words(codec, "the <b>🙂</b> cat")
    assert "🙂" in decode(codec, [UNK] * len(words), words)
    assert "&" not in decode(codec, [UNK] * len(words), words)


def test_a_segmented_sentence_keeps_the_copied_text_around_the_translation(codec: Codec) -> None:
    sentence = segment_sentence(codec, "🙂 the cat sat →", 300)
    assert (sentence.before, sentence.after, len(sentence.segments)) == ("🙂", "→", 1)
    assert sentence.segments[0].tokens == codec.encode_source("the cat sat")
    assert sentence.tokens == codec.encode_source("🙂 the cat sat →")  # as history, whole
    alone = segment_sentence(codec, "  🙂\t漢字 ", 300)
    assert (alone.before, alone.segments) == ("🙂 漢字", ())


def test_byte_fallback_needs_no_copies() -> None:
    subwords = learn_sentencepieces(["the cat sat", "die Katze saß"] * 20, size=290)
    language = Language("en", tokenize=False)
    vocabulary = Vocabulary([*SPECIALS, *subwords.pieces])
    codec = Codec(source=language, target=language, subwords=subwords, vocabulary=vocabulary)
    sentence = segment_sentence(codec, "the 🙂 cat 漢字", 300)
    assert UNK not in sentence.tokens
    assert decode(codec, [*sentence.segments[0].tokens[:-1], UNK]) == "the 🙂 cat 漢字"
