"""Scores of given translations: sums of log-probabilities, with exactly the history a model looks at."""

import math
from dataclasses import replace

import pytest
import torch
from tests.invariants import tiny

from docaps.batches.batch import collate
from docaps.batches.windows import View, Window, windows_of_document
from docaps.corpus.contrastive import ContrastiveItem
from docaps.corpus.documents import Document, ParallelDocument
from docaps.corpus.store import Store
from docaps.corpus.text.vocabulary import EOS
from docaps.errors import CorpusError
from docaps.model.fast.packing import pack
from docaps.translation.scoring import Likelihood, gather_sentences, score_contrastive, score_documents, score_windows
from docaps.translation.search import search
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import Translator

HISTORY = ("the cat ran", "a dog came", "the cat sat here", "it was old", "the dog slept")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def trained(store: Store) -> TrainedModel:
    return tiny.trained(store)


def item(history: tuple[str, ...], right: str = "er lief") -> ContrastiveItem:
    return ContrastiveItem(
        id="1",
        phenomenon="pronoun",
        form="subject",
        distance=1,
        history=history,
        target_history=("",) * len(history),
        source="it ran",
        right=right,
        wrong=("sie lief", "es lief sehr alt"),
    )


def by_hand(trained: TrainedModel, one: ContrastiveItem) -> list[float]:
    """Score each translation alone; the history is given nearest first."""
    encode = trained.codec.encode_source
    history = tuple(encode(text)[:-1] for text in reversed(one.history))[: trained.model.history]
    scores = []
    for text in (one.right, *one.wrong):
        batch = collate([Window(encode(one.source), history, trained.codec.encode_target(text))], trained.model.history)
        words = torch.log_softmax(trained.model(batch).logits, dim=-1)[0]
        scores.append(sum(words[place, word].item() for place, word in enumerate(batch.translations[0].tolist())))
    return scores


def test_a_score_is_the_sum_of_the_log_probabilities_of_all_words(trained: TrainedModel) -> None:
    for window in tiny.sample_windows():
        batch = collate([window], trained.model.view)
        words = torch.log_softmax(trained.model(batch).logits, dim=-1)[0]
        expected = sum(words[place, word].item() for place, word in enumerate(batch.translations[0].tolist()))
        assert score_windows(trained, [window]) == pytest.approx([expected], abs=1e-4)


def test_windows_are_scored_in_the_order_given(trained: TrainedModel) -> None:
    windows = tiny.sample_windows()
    alone = [score_windows(trained, [window])[0] for window in windows]
    assert score_windows(trained, windows) == pytest.approx(alone, abs=1e-4)
    assert len({round(score, 3) for score in alone}) == len(windows)


def test_a_sentence_is_read_once_for_each_history() -> None:
    first, second = ([5, 6, EOS], ([7],)), ([5, 6, EOS], ())
    asked = [(*first, [8, EOS]), (*second, [8, EOS]), (*first, [9, EOS]), (*first, [8, EOS])]
    windows = [Window(source, history, target) for source, history, target in asked]
    sentences = gather_sentences(windows, View(1))
    assert [(one.window.history, one.targets, one.windows) for one in sentences] == [
        (([7],), [[8, EOS], [9, EOS]], [[0, 3], [2]]),
        ((), [[8, EOS]], [[1]]),
    ]
    # Without a view of the history, it makes no difference; nor do translations that are not read.
    assert [one.windows for one in gather_sentences(windows, View())] == [[[0, 1, 3], [2]]]
    written = [replace(windows[0], target_history=([4],)), windows[0]]
    assert len(gather_sentences(written, View(1))) == 1
    assert len(gather_sentences(written, View(1, translations=True))) == 2


def test_many_translations_are_read_in_parts(trained: TrainedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    windows = [Window([5, EOS], ([6],), [word, EOS]) for word in range(4, 9)]
    whole = score_windows(trained, windows)
    monkeypatch.setattr("docaps.translation.scoring.MOST_WORDS", 4)
    assert [len(one.targets) for one in gather_sentences(windows, trained.model.view)] == [2, 2, 1]
    assert score_windows(trained, windows) == pytest.approx(whole, abs=1e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_small_batches_and_threads_change_no_score(
    trained: TrainedModel, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, before = score_windows(trained, tiny.sample_windows()), torch.get_num_threads()
    monkeypatch.setattr("docaps.translation.scoring.BATCH_TOKENS", 1)
    torch.set_num_threads(threads)
    try:
        assert score_windows(trained, tiny.sample_windows()) == pytest.approx(expected, abs=1e-6)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int8])
def test_a_packed_model_scores_nearly_alike(store: Store, dtype: torch.dtype) -> None:
    exact = tiny.trained(store)
    exact = replace(exact, model=exact.model.float())
    packed = replace(exact, packed=pack(exact.model, dtype), writes_in=dtype)
    items = [item(HISTORY), item(HISTORY[:1])]
    found, expected = (
        [score for scores in score_contrastive(one, items) for score in scores] for one in (packed, exact)
    )
    assert found == pytest.approx(expected, abs=0.5)
    assert found != expected


def test_a_window_without_a_translation_is_refused(trained: TrainedModel) -> None:
    with pytest.raises(ValueError, match="window 0 has no translation to score"):
        score_windows(trained, [Window([5, EOS])])


@pytest.mark.parametrize("length", range(6))
def test_items_are_scored_with_their_last_history_sentences(trained: TrainedModel, length: int) -> None:
    one = item(HISTORY[len(HISTORY) - length :])
    assert score_contrastive(trained, [one])[0] == pytest.approx(by_hand(trained, one), abs=1e-4)


def test_older_history_is_not_seen_and_nearer_is(trained: TrainedModel) -> None:
    whole, last = score_contrastive(trained, [item(HISTORY), item(HISTORY[-tiny.K :])])
    assert whole == pytest.approx(last, abs=1e-5)
    changed = score_contrastive(trained, [item(("it was old", *HISTORY[-tiny.K + 1 :]))])[0]
    assert changed[0] != pytest.approx(last[0], abs=1e-4)


def test_a_sentence_model_scores_items_without_history(store: Store) -> None:
    sentence_model = tiny.trained(store, "transformer")
    with_history, without = score_contrastive(sentence_model, [item(HISTORY), item(())])
    assert with_history == pytest.approx(without, abs=1e-5)


def test_scores_stay_with_their_items_right_translation_first(trained: TrainedModel) -> None:
    items = [item(HISTORY), item((), right="der Hund kam"), item(HISTORY[:1])]
    found = score_contrastive(trained, items)
    for one, scores in zip(items, found, strict=True):
        assert scores == pytest.approx(by_hand(trained, one), abs=1e-4)


PAIRS = [
    ParallelDocument(("the cat sat here", "it was old", "", "it ran"), ("die Katze", "sie war alt", "", "sie lief")),
    ParallelDocument(("it was old",), ("er war alt",), "x"),
]


def test_documents_are_scored_with_their_histories(trained: TrainedModel) -> None:
    found = list(score_documents(trained, PAIRS))
    assert [document for document, _ in found] == PAIRS
    encode = trained.codec.encode_source
    for document, scores in found:
        for place, (source, target) in enumerate(zip(document.source, document.target, strict=True)):
            history = tuple(encode(text)[:-1] for text in reversed(document.source[:place]))[: trained.model.history]
            tokens = trained.codec.encode_target(target)
            if not source:
                assert scores[place] == Likelihood()
                assert scores[place].perplexity is None
                continue
            expected = score_windows(trained, [Window(encode(source), history, tokens)])[0]
            assert scores[place].log_probability == pytest.approx(expected, abs=1e-4)
            assert scores[place].tokens == len(tokens)
            assert scores[place].perplexity == pytest.approx(math.exp(-expected / len(tokens)), rel=1e-4)


def test_context_can_be_hidden_from_scores(trained: TrainedModel) -> None:
    (_, hidden), _ = score_documents(trained, PAIRS, use_context=False)
    (_, usual), (_, alone) = score_documents(trained, PAIRS)
    assert hidden[0].log_probability == pytest.approx(usual[0].log_probability, abs=1e-5)
    assert hidden[1].log_probability != pytest.approx(usual[1].log_probability, abs=1e-5)
    assert alone[0].log_probability != pytest.approx(usual[1].log_probability, abs=1e-5)


def test_documents_are_scored_as_they_come(trained: TrainedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [scores for _, scores in score_documents(trained, PAIRS)]
    monkeypatch.setattr("docaps.translation.scoring.WINDOW", 1)
    single = [scores for _, scores in score_documents(trained, PAIRS)]
    for one, other in zip(whole, single, strict=True):
        assert [s.log_probability for s in one] == pytest.approx([s.log_probability for s in other], abs=1e-4)


def test_the_score_of_a_translation_is_the_score_of_the_search(trained: TrainedModel) -> None:
    document = Document(("the cat sat here", "it was old", "", "the dog came"))
    (found,) = Translator(trained).translate([document])
    windows = list(windows_of_document([trained.codec.encode_source(text) for text in document.sentences], tiny.K))
    checked = 0
    for place, sentence in enumerate(found):
        if not document.sentences[place]:
            continue
        batch = collate([windows[place]], tiny.K)
        best = search(trained.model, batch, trained.decoding)[0][0]
        target = [*best.tokens, EOS]
        given = score_windows(trained, [Window(windows[place].source, windows[place].history, target)])[0]
        assert sentence.log_probability == pytest.approx(given, abs=1e-4)
        assert sentence.score == pytest.approx(Likelihood(given, len(target)).score(0.6), abs=1e-4)
        checked += 1
    assert checked == 3


def test_a_pair_that_is_too_long_is_refused_with_its_position(trained: TrainedModel) -> None:
    long = ParallelDocument(("it ran", "the cat " * 3000), ("er lief", "x"), "story")
    with pytest.raises(CorpusError, match=r"document 2 \('story'\), sentence 2: .* tokens, expected at most 2,000"):
        list(score_documents(trained, [PAIRS[1], long]))
