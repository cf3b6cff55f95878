"""Every sentence has a confidence, and a text that is far from what the model knows is reported once."""

from dataclasses import replace

import pytest
from tests.invariants import tiny

from docaps.batches.batch import collate
from docaps.batches.windows import Window
from docaps.corpus.documents import Document
from docaps.corpus.store import Store
from docaps.corpus.text.known_words import KnownWords
from docaps.translation import translator as translating
from docaps.translation.confidence import describe_distance
from docaps.translation.document_translator import DocumentTranslator
from docaps.translation.search import search
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import Translator, as_row


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    store: Store = tiny.prepared(tmp_path_factory.mktemp("corpus"))
    return knowing(tiny.trained(store), "the cat sat here it was old")


def knowing(trained: TrainedModel, text: str | None) -> TrainedModel:
    words = None if text is None else KnownWords(dict.fromkeys(text.split(), 9))
    return replace(trained, codec=replace(trained.codec, known_words=words))


@pytest.mark.parametrize(
    ("words", "rare", "message"),
    [
        (0, 0, None),
        (20, 2, None),
        (20, 3, "15% of the words are rare or unknown to this model (3 of 20); see its card"),
        (21, 3, None),
        (4, 1, None),
        (4, 2, "50% of the words are rare or unknown to this model (2 of 4); see its card"),
        (5, 2, None),
        (12000, 6000, "50% of the words are rare or unknown to this model (6,000 of 12,000); see its card"),
    ],
)
def test_a_text_is_far_by_its_rare_words(words: int, rare: int, message: str | None) -> None:
    assert describe_distance(words, rare) == message


def test_every_sentence_has_a_confidence(trained: TrainedModel) -> None:
    ((found, empty, foreign),) = Translator(trained, warn=lambda _: None).translate(
        [Document(("The cat sat on zebras, 2 times.", "", "我喜歡茶"))]
    )
    assert empty.confidence is None
    confidence = found.confidence
    assert confidence is not None
    assert (confidence.words, confidence.rare_words) == (6, 3)
    source = trained.codec.encode_source("The cat sat on zebras, 2 times.")
    best = search(trained.model, collate([Window(source, ())], trained.model.history), trained.decoding)[0][0]
    assert confidence.mean_log_probability == pytest.approx(best.log_probability / (len(best.tokens) + 1), abs=1e-5)
    assert confidence.length_ratio == pytest.approx(len(best.tokens) / (len(source) - 1))
    assert as_row("x", found)["confidence"] == {
        "mean_log_probability": confidence.mean_log_probability,
        "words": 6,
        "rare_words": 3,
        "length_ratio": confidence.length_ratio,
    }
    assert foreign.text == "我喜歡茶"  # copied: the model reads none of it
    assert foreign.confidence is not None
    assert (foreign.confidence.words, foreign.confidence.rare_words) == (4, 4)
    assert foreign.confidence.mean_log_probability is foreign.confidence.length_ratio is None


def test_parts_of_a_long_sentence_are_judged_together(trained: TrainedModel) -> None:
    short = replace(trained, decoding=trained.decoding.model_copy(update={"longest_source": 8}))
    ((found,),) = Translator(short, warn=lambda _: None).translate([Document(("the cat sat here, " * 6,))])
    assert found.confidence is not None
    assert (found.confidence.words, found.confidence.rare_words) == (24, 0)
    assert found.confidence.mean_log_probability is not None
    parts = round(found.log_probability / found.confidence.mean_log_probability)
    assert parts > 8


def test_without_word_counts_words_of_unknown_characters_are_rare(trained: TrainedModel) -> None:
    translator = Translator(knowing(trained, None), warn=lambda _: None)
    ((known, unknown),) = translator.translate([Document(("it ran", "the cat sat 茶叶 here"))])
    assert known.confidence is not None
    assert known.confidence.rare_words == 0
    assert unknown.confidence is not None
    assert (unknown.confidence.words, unknown.confidence.rare_words) == (6, 2)


def test_greedy_search_without_scores_has_no_probability(trained: TrainedModel) -> None:
    greedy = trained.decoding.model_copy(update={"beam": 1})
    ((found,),) = Translator(trained, greedy, scored=False).translate([Document(("it was old",))])
    assert found.confidence is not None
    assert found.confidence.mean_log_probability is None
    assert found.confidence.words == 3


def test_a_far_text_is_reported_once(trained: TrainedModel) -> None:
    warned: list[str] = []
    translator = Translator(trained, window=2, warn=warned.append)
    translator.translate([Document(("the cat sat here", "a zebra grazed", "it was old"))] * 3)
    assert warned == ["30% of the words are rare or unknown to this model (9 of 30); see its card"]
    translator.translate([Document(("the cat sat here", "", "it was old"))] * 3)
    assert len(warned) == 1


def test_a_long_text_is_reported_before_its_end(trained: TrainedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translating, "ENOUGH_WORDS", 6)
    warned: list[str] = []
    translator = Translator(trained, window=1, warn=warned.append)
    stream = translator.stream([Document(("a zebra grazed",))] * 3)
    next(stream)
    assert warned == []
    next(stream)
    assert warned == ["100% of the words are rare or unknown to this model (6 of 6); see its card"]
    list(stream)
    assert len(warned) == 1


def test_the_python_api_warns(trained: TrainedModel) -> None:
    with pytest.warns(UserWarning, match=r"100% of the words are rare or unknown to this model \(3 of 3\)"):
        DocumentTranslator(trained, "tiny").translate(["a zebra grazed"])
