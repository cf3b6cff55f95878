"""Terms of a glossary in documents: written as the text has them, whatever the codec, or reported."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.invariants import tiny

from docaps.corpus.documents import Document
from docaps.corpus.store import Store
from docaps.corpus.text.codec import Codec, Language
from docaps.corpus.text.sentencepieces import learn_sentencepieces
from docaps.corpus.text.vocabulary import BOS, SPECIALS, Vocabulary
from docaps.model.fast.packing import pack
from docaps.translation import search as searching
from docaps.translation.glossary import is_written, make_glossary
from docaps.translation.terms import TermUse, encode_form, judge_terms, required_phrases
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import Control, TranslatedSentence, Translator, as_row

TEXTS = [
    *("the cat sat here", "it was old", "", "the dog came and the dog ran"),
    *("it slept", "a cat ran here; it was old, it sat"),
]
PAIRS = {"cat": "Kater", "dog": ["Hund", "Hunde"], "it was": "das war einmal", "ran": "lief, lief"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def pieces(store: Store) -> Codec:
    """A codec of SentencePiece."""
    text = " ".join(side for pair in tiny.CORPUS.values() for side in pair).replace("<d>", "")
    subwords = learn_sentencepieces([*text.split("\n"), "Kater, Hunde. das war einmal; Die"] * 3, size=330)
    sides = {side: Language(code, tokenize=False) for side, code in (("source", "en"), ("target", "de"))}
    return Codec(**sides, subwords=subwords, vocabulary=Vocabulary((*SPECIALS, *subwords.pieces)))


def of(codec: Codec, name: str = "qcn", **decoding: Any) -> TrainedModel:
    model = tiny.build(tiny.mode(name), vocabulary=len(codec.vocabulary))
    settings = tiny.DecodingSettings(**{"beam": 2, "length_factor": 0.1, "length_margin": 4, **decoding})
    return TrainedModel(model, codec, settings, torch.device("cpu"), torch.float32)


def translate(trained: TrainedModel, pairs: Any = None, texts: Any = tuple(TEXTS)) -> list[TranslatedSentence]:
    warnings: list[str] = []
    control = Control(None if pairs is None else make_glossary(pairs))
    ((*found,),) = Translator(trained, control=control, warn=warnings.append).translate([Document(tuple(texts))])
    return found


def assert_written(found: list[TranslatedSentence], texts: list[str], pairs: Any) -> None:
    glossary = make_glossary(pairs)
    for text, sentence in zip(texts, found, strict=True):
        hits = glossary.find(text)
        assert [use.source for use in sentence.terms] == [hit.text for hit in hits]
        for translation in (sentence, *sentence.alternatives):
            assert all(any(is_written(form, translation.text) for form in hit.term.target) for hit in hits)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("name", ["qcn", "han-decoder", "concat-n-to-n"])
def test_every_term_is_in_the_text(store: Store, name: str, beam: int) -> None:
    codec = store.codec
    pairs = {**PAIRS, "cat": "Katze", "dog": ["Hund", "der Hund"], "it was": "sie war hier", "ran": "lief"}
    found = translate(of(codec, name, beam=beam, nbest=beam), pairs, TEXTS)
    assert_written(found, TEXTS, pairs)
    assert all(len(sentence.alternatives) == beam for sentence in found if sentence.terms and beam > 1)


@pytest.mark.parametrize("beam", [1, 3])
def test_every_term_is_in_the_text_of_sentence_pieces(pieces: Codec, beam: int) -> None:
    found = translate(of(pieces, beam=beam), PAIRS)
    assert_written(found, TEXTS, PAIRS)


def test_terms_of_a_long_sentence_are_in_its_parts(store: Store) -> None:
    text = " ".join(["the cat sat here, it was old;"] * 8)
    trained = of(store.codec, longest_source=12)
    assert len(Translator(trained).segment(text).segments) > 2
    pairs = {"cat": "Katze", "old; the": "alt"}
    segments = Translator(trained, control=Control(make_glossary(pairs))).segment(text).segments
    assert sum(len(segment.required) for segment in segments) == 15  # each term in one part
    (found,) = translate(trained, pairs, [text])
    assert found.text.count("Katze") >= 8
    assert found.text.lower().count("alt") >= 7
    assert len(found.terms) == 15


def test_sentences_without_terms_take_the_same_path(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit, and without constrained search, if no sentence of the document has a term."""
    trained = of(store.codec)
    free = translate(trained)
    constrained = searching.search_constrained
    seen: list[int] = []

    def count(model: Any, batch: Any, *others: Any) -> Any:
        seen.append(len(batch.source))
        return constrained(model, batch, *others)

    monkeypatch.setattr(searching, "search_constrained", count)
    assert translate(trained, {"nowhere": "nirgends"}) == free
    assert not seen
    found = translate(trained, {"dog": "Hund"})
    assert seen == [1]
    for one, other in zip(found, free, strict=True):
        if not one.terms:
            assert one.text == other.text
            assert one.score == pytest.approx(other.score, abs=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int8])
def test_a_packed_model_writes_all_terms(pieces: Codec, dtype: torch.dtype) -> None:
    exact = of(pieces)
    exact = replace(exact, model=exact.model.float())
    packed = replace(exact, packed=pack(exact.model, dtype), precision=dtype, writes_in=dtype)
    free = translate(packed)
    assert [one.score for one in free] != [one.score for one in translate(exact)]
    assert translate(packed, {"nowhere": "nirgends"}) == free
    found = translate(packed, PAIRS)
    assert_written(found, TEXTS, PAIRS)
    for one, other in zip(found, free, strict=True):
        assert one.terms or one.text == other.text


def test_a_form_is_encoded_as_it_is_written_in_a_sentence(store: Store, pieces: Codec) -> None:
    codec = store.codec
    assert [codec.decode_target(phrase) for phrase in encode_form(codec, "Katze")] == ["Katze"]
    assert codec.decode_target(encode_form(codec, "sie war")[0]) == "Sie war"
    assert encode_form(codec, "Sie") == ()  # the vocabulary has only the small letter
    assert encode_form(codec, "漢字") == ()
    assert encode_form(pieces, "das war")[-1][0] == BOS
    assert pieces.decode_target(encode_form(pieces, "das war")[-1]) == "Das war"
    for phrase in encode_form(pieces, "漢字"):
        assert pieces.decode_target(phrase) == "漢字"


def test_a_term_that_the_model_cannot_write_is_reported_with_its_place(store: Store) -> None:
    warnings: list[str] = []
    control = Control(make_glossary({"cat": "漢字", "dog": "Hund"}))
    documents = [Document(("it was old",)), Document(tuple(TEXTS), "story")]
    _, found = Translator(of(store.codec), control=control, warn=warnings.append).translate(documents)
    assert found[0].terms == (TermUse("cat", "漢字", "missing"),)
    assert [use.target for use in found[3].terms] == ["Hund", "Hund"]
    assert [one for one in warnings if "could not" in one] == [
        f"document 2 ('story'), sentence {number}: the translation of 'cat' could not be written as '漢字'"
        for number in (1, 6)
    ]
    assert as_row(TEXTS[0], found[0])["terms"] == [{"source": "cat", "target": "漢字", "state": "missing"}]
    assert "terms" not in as_row(TEXTS[1], found[1])


def test_many_missing_terms_are_counted(store: Store) -> None:
    warnings: list[str] = []
    control = Control(make_glossary({"it": "漢字"}))
    with Translator(of(store.codec), control=control, warn=warnings.append).session() as session:
        for _ in range(2):
            session.translate([Document(("it was old; it sat", "it ran"))])
    assert sum("could not be written" in one for one in warnings) == 5
    assert "6 terms of the glossary were missing or forced" in warnings


def test_a_term_at_the_greatest_length_is_called_forced(store: Store) -> None:
    trained = of(store.codec, length_factor=0.01, length_margin=1)
    (found,) = translate(trained, {"cat": "Katze saß hier"}, ["the cat"])
    assert found.text.endswith("Katze saß hier")
    assert found.terms == (TermUse("cat", "Katze saß hier", "forced"),)
    trained = of(store.codec, length_factor=0.01, length_margin=2, length_penalty=0.0)
    (found,) = translate(trained, {"cat": "Katze"}, ["the cat"])
    assert found.terms == (TermUse("cat", "Katze", "written"),)


def test_terms_beyond_the_limit_of_a_segment_are_missing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    hits = make_glossary({"cat": "Katze", "dog": "Hund"}).find("cat dog cat")
    assert len(required_phrases(store.codec, hits)) == 3
    lengths = [max(map(len, encode_form(store.codec, form))) for form in ("Katze", "Hund")]
    monkeypatch.setattr("docaps.translation.terms.MOST_TOKENS", sum(lengths))
    assert len(required_phrases(store.codec, hits)) == 2


def test_terms_in_text_that_is_copied_are_replaced(store: Store) -> None:
    pairs = {"漢字": "Zeichen", "cat": "Katze"}
    found = translate(of(store.codec), pairs, ["漢字 the cat", "漢字", "the cat 漢字"])
    assert found[0].text.startswith("Zeichen ")
    assert found[1].text == "Zeichen"
    assert found[2].text.endswith("Zeichen")
    assert_written(found, ["漢字 the cat", "漢字", "the cat 漢字"], pairs)


def test_unknown_words_of_a_term_are_not_copied(store: Store) -> None:
    (found,) = translate(of(store.codec), {"zz漢字zz": "Katze"}, ["the zz漢字zz sat here"])
    assert "Katze" in found.text
    assert "漢字" not in found.text


def test_uses_say_what_was_written() -> None:
    hits = make_glossary({"cat": ["Katze", "Kater"], "dog": "Hund"}).find("the cat, the Dog")
    assert judge_terms(hits, "Der Kater.", forced=False) == (
        TermUse("cat", "Kater", "written"),
        TermUse("Dog", "Hund", "missing"),
    )
    assert judge_terms(hits[:1], "die Katze", forced=True) == (TermUse("cat", "Katze", "forced"),)


@pytest.mark.parametrize("name", ["qcn", "san-offline"])
def test_neighbours_and_windows_change_nothing(store: Store, name: str) -> None:
    trained = of(store.codec, name)
    control = Control(make_glossary({"cat": "Katze", "it": "sie"}))
    documents = [Document(tuple(TEXTS[:3])), Document(tuple(TEXTS[3:]))]

    def texts(trained: TrainedModel, documents: list[Document]) -> list[str]:
        found = Translator(trained, control=control).translate(documents)
        return [sentence.text for document in found for sentence in document]

    together = texts(trained, documents)
    single = replace(trained, decoding=trained.decoding.model_copy(update={"batch_tokens": 1}))
    assert texts(single, documents) == together
    assert texts(trained, documents[:1]) + texts(trained, documents[1:]) == together
