"""What the vocabulary does not have is copied, never lost and never shown as an unknown symbol."""

import pytest
from tests.invariants import tiny

from docaps.corpus.store import Store
from docaps.corpus.text.codec import Codec, Language
from docaps.corpus.text.sentencepieces import learn_sentencepieces
from docaps.corpus.text.vocabulary import SPECIALS, UNK
from docaps.translation.segments import decode, known_characters, unknown_words
from docaps.translation.copying import set_aside
from docaps.translation.segments import read_passage

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
    assert set_aside(text, KNOWN) == (before, inner, after)


def test_characters_are_known_by_the_pieces_they_are_in(codec: Codec) -> None:
    known = known_characters(codec)
    assert set("thecatsß") <= known
    assert not set("🙂漢Łx") & known


def test_unknown_words_take_the_places_of_unknown_words_in_order(codec: Codec) -> None:
    words = unknown_words(codec, "the 漢字 cat xx sat")
    assert words == ("漢字", "xx")
    katze, lief = (codec.encode_target(word)[:-1] for word in ("Katze", "lief"))
    assert decode(codec, [UNK, *katze, UNK, *lief], words) == "漢字 Katze xx lief"
    assert decode(codec, [*katze, UNK, UNK, UNK, *lief], words) == "Katze 漢字 xx lief"


def test_only_words_that_no_model_could_write_stand_at_the_end(codec: Codec) -> None:
    katze = codec.encode_target("Katze")[:-1]
    assert decode(codec, katze, ("漢字", "tac")) == "Katze 漢字"
    assert decode(codec, [*katze, UNK], ("tac", "漢字")) == "Katze tac 漢字"
    assert decode(codec, [*katze, UNK]) == "Katze"
    assert decode(codec, [UNK]) == ""


def test_what_looks_like_markup_is_copied_as_it_is(codec: Codec) -> None:
    words = unknown_words(codec, "the <b>🙂</b> cat")
    assert "🙂" in decode(codec, [UNK] * len(words), words)
    assert "&" not in decode(codec, [UNK] * len(words), words)


def test_a_passage_keeps_what_is_set_aside_around_the_translation(codec: Codec) -> None:
    passage = read_passage(codec, "🙂 the cat sat →", 300)
    assert (passage.before, passage.after, len(passage.parts)) == ("🙂", "→", 1)
    assert passage.parts[0].tokens == codec.encode_source("the cat sat")
    assert passage.tokens == codec.encode_source("🙂 the cat sat →")  # as history, whole
    alone = read_passage(codec, "  🙂\t漢字 ", 300)
    assert (alone.before, alone.parts) == ("🙂 漢字", ())


def test_bytes_need_no_copies() -> None:
    subwords = learn_sentencepieces(["the cat sat", "die Katze saß"] * 20, size=290)
    language = Language("en", tokenize=False)
    codec = Codec(source=language, target=language, subwords=subwords, pieces=[*SPECIALS, *subwords.pieces])
    passage = read_passage(codec, "the 🙂 cat 漢字", 300)
    assert UNK not in passage.tokens
    assert decode(codec, [*passage.parts[0].tokens[:-1], UNK]) == "the 🙂 cat 漢字"
