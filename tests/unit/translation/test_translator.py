"""Documents go in, as many sentences come out, in order, each translated with the history of its own document."""

import pytest
from tests.invariants import tiny

from docaps.batches.batch import collate
from docaps.batches.windows import Window
from docaps.corpus.documents import Document
from docaps.corpus.store import Store
from docaps.translation.search import search
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import TranslatedSentence, Translator

DOCUMENTS = [
    Document(("the cat sat here", "it was old", "", "it slept", "the dog came", "it ran")),
    Document(("it was old",)),
    Document(("a dog ran", "it was old")),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def trained(store: Store) -> TrainedModel:
    return tiny.trained(store)


Translated = list[tuple[TranslatedSentence, ...]]


def assert_same(found: Translated, expected: Translated) -> None:
    assert [[one.text for one in document] for document in found] == [
        [one.text for one in document] for document in expected
    ]
    for one, other in zip(found, expected, strict=True):
        assert [sentence.score for sentence in one] == pytest.approx([sentence.score for sentence in other], abs=1e-5)


def by_hand(trained: TrainedModel, document: Document) -> tuple[TranslatedSentence, ...]:
    """Translate each sentence alone, with its history picked out step by step."""
    encode, results = trained.codec.encode_source, []
    for number, text in enumerate(document.sentences):
        if not text:
            results.append(TranslatedSentence("", 0.0))
            continue
        history = []
        for distance in range(1, trained.model.history + 1):
            if number - distance >= 0:
                history.append(encode(document.sentences[number - distance])[:-1])
        batch = collate([Window(encode(text), tuple(history))], trained.model.history)
        best = search(trained.model, batch, trained.decoding)[0][0]
        results.append(TranslatedSentence(trained.codec.decode_target(best.tokens), best.score))
    return tuple(results)


def test_every_sentence_is_translated_in_its_place_with_its_history(trained: TrainedModel) -> None:
    found = Translator(trained).translate(DOCUMENTS)
    assert [len(document) for document in found] == [6, 1, 2]
    assert_same(found, [by_hand(trained, document) for document in DOCUMENTS])


def test_an_empty_sentence_stays_empty(trained: TrainedModel) -> None:
    found = Translator(trained).translate([*DOCUMENTS, Document(("", " "))])
    assert found[0][2] == TranslatedSentence("", 0.0)
    assert found[3] == (TranslatedSentence("", 0.0),) * 2
    assert all(sentence.text for document in found[1:3] for sentence in document)


def test_documents_are_independent_of_each_other(trained: TrainedModel) -> None:
    translator = Translator(trained)
    alone = [translator.translate([document])[0] for document in DOCUMENTS]
    assert_same(translator.translate(DOCUMENTS[::-1]), alone[::-1])


def test_without_context_every_sentence_is_a_document_of_its_own(trained: TrainedModel) -> None:
    translator = Translator(trained)
    without = translator.translate(DOCUMENTS, use_context=False)
    alone = translator.translate([Document((text,)) for document in DOCUMENTS for text in document.sentences])
    assert_same([tuple(one for document in without for one in document)], [tuple(one for (one,) in alone)])
    with_context = translator.translate(DOCUMENTS)
    assert with_context[2][1].score != pytest.approx(without[2][1].score, abs=1e-4)


def test_the_size_of_batches_changes_nothing(trained: TrainedModel) -> None:
    single = trained.decoding.model_copy(update={"batch_tokens": 1})
    documents = DOCUMENTS[1:]
    assert_same(Translator(trained, single).translate(documents), Translator(trained).translate(documents))


def test_no_documents_give_no_translations(trained: TrainedModel) -> None:
    assert Translator(trained).translate([]) == []


def test_a_sentence_model_sees_no_history(store: Store) -> None:
    translator = Translator(tiny.trained(store, "transformer"))
    assert_same(translator.translate(DOCUMENTS), translator.translate(DOCUMENTS, use_context=False))


def test_settings_of_the_run_are_used_unless_others_are_given(trained: TrainedModel) -> None:
    assert Translator(trained).decoding == trained.decoding
    other = trained.decoding.model_copy(update={"beam": 1})
    assert Translator(trained, other).decoding.beam == 1
