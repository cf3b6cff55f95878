"""Whole documents, over all systems and modes: which sentences see which others, and what that may change."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.invariants import tiny

from docaps.batches.batch import collate
from docaps.batches.windows import View
from docaps.config import DecodingSettings
from docaps.corpus.documents import Document, ParallelDocument, TextLayout
from docaps.corpus.formats.text_input import Arrival
from docaps.corpus.store import Store
from docaps.corpus.text.vocabulary import EOS
from docaps.translation.input_files import InputDocument
from docaps.translation.jobs import gather
from docaps.translation.ordering import EncodedDocument, Schedule, SearchedSentence
from docaps.translation.scoring import score_documents, score_windows
from docaps.translation.search import search
from docaps.translation.segments import segment_sentence
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import TranslatedSentence, TranslationOptions, Translator

NAMES = [*(name for name in tiny.SYSTEMS if not name.endswith("+reg")), *tiny.MODES]
OWN = [name for name in NAMES if not name.startswith("qcn-shuffled")]
"""Systems that see their own document, and only that."""
STORY = ("the cat sat here", "it was old", "the dog came", "", "it ran", "it slept")
OTHER = ("a dog ran", "it was old", "it came here")
DECODING = DecodingSettings(beam=2, length_factor=0.1, length_margin=4)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


def make(store: Store, name: str) -> TrainedModel:
    return tiny.trained(store, name)


def translate(trained: TrainedModel, *documents: Sequence[str], options: TranslationOptions | None = None):
    documents = [Document(tuple(one)) for one in documents]
    found = Translator(trained).stream(documents, options or TranslationOptions())
    return [sentences for _, sentences in found]


def assert_same(found: Sequence[TranslatedSentence], expected: Sequence[TranslatedSentence]) -> None:
    assert [one.text for one in found] == [one.text for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-5)


def moved(found: Sequence[TranslatedSentence], expected: Sequence[TranslatedSentence]) -> list[bool]:
    return [abs(one.score - other.score) > 1e-6 for one, other in zip(found, expected, strict=True)]


def in_parts(sentences: Sequence[str], *sizes: int) -> list[InputDocument]:
    """One document, read in parts."""
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    return [
        InputDocument(tuple(sentences[start : start + size]), layout=TextLayout("lines", continues=start > 0))
        for start, size in zip(starts, sizes, strict=True)
    ]


@pytest.mark.parametrize("name", OWN)
def test_documents_do_not_see_each_other(store: Store, name: str) -> None:
    trained = make(store, name)
    for found, document in zip(translate(trained, STORY, OTHER, STORY[1:]), (STORY, OTHER, STORY[1:]), strict=True):
        assert_same(found, translate(trained, document)[0])
        assert len(found) == len(document)
        assert all(one.text == "" for one, text in zip(found, document, strict=True) if not text)


@pytest.mark.parametrize("name", OWN)
def test_a_document_in_parts_and_windows_is_translated_as_a_whole(store: Store, name: str) -> None:
    """Also when the first windows are skipped, as on resuming."""
    trained = make(store, name)
    (whole,), (other,) = translate(trained, STORY), translate(trained, OTHER)
    parts = in_parts(STORY, 2, 2, 2)
    for skip in (0, 1, 2):
        # A system that looks ahead needs each document to its end; what was written of a skipped part is not known.
        to_its_end = trained.model.future > 0 or (skip > 0 and trained.model.translations)
        windows = list(gather([*parts, InputDocument(OTHER)], Arrival(2), whole=to_its_end))
        expected = [3, 1] if to_its_end else [1, 1, 1, 1]
        assert [len(window) for window in windows] == expected
        with Translator(trained).session() as session:
            for window in windows[:skip]:
                session.skip(window)
            found = [sentences for window in windows[skip:] for sentences in session.translate(window)]
        assert len(found) == 4 - sum(expected[:skip])
        flat = [sentence for sentences in found[:-1] for sentence in sentences]
        assert_same(flat, whole[len(whole) - len(flat) :])
        assert_same(found[-1] if found else other, other)


@pytest.mark.parametrize("name", OWN)
def test_a_given_history_counts_like_sentences_of_the_document(store: Store, name: str) -> None:
    trained = make(store, name)
    if trained.model.future:
        pytest.skip("a given history ends before the sentences that are translated, a document does not")
    (whole,) = translate(trained, STORY)
    (rest,) = translate(trained, STORY[3:], options=TranslationOptions(history=STORY[:3]))
    assert_same(rest, whole[3:])


@pytest.mark.parametrize("name", NAMES)
def test_without_context_a_document_is_its_sentences(store: Store, name: str) -> None:
    trained = make(store, name)
    alone = [translate(trained, [text])[0][0] for text in STORY]
    (found,) = translate(trained, STORY, options=TranslationOptions(use_context=False, history=OTHER))
    assert_same(found, alone)


@pytest.mark.parametrize("name", OWN)
def test_only_systems_with_future_context_look_ahead(store: Store, name: str) -> None:
    """A change of the last sentence affects earlier ones only in systems that look at later sentences."""
    trained = make(store, name)
    (before,), (after,) = translate(trained, STORY), translate(trained, [*STORY[:-1], "the cat came"])
    found = moved(before, after)[:-1]
    if not trained.model.future:
        assert not any(found)
        return
    reach = trained.model.future
    near = [len(STORY) - 1 - place <= reach and bool(text) for place, text in enumerate(STORY[:-1])]
    assert found == near


@pytest.mark.parametrize("name", OWN)
def test_earlier_sentences_count_as_far_as_the_view_goes(store: Store, name: str) -> None:
    trained, system = make(store, name), tiny.mode(name)
    (before,), (after,) = translate(trained, STORY), translate(trained, ["a dog ran", *STORY[1:]])
    found = moved(before, after)
    near = [bool(text) and 0 < place <= trained.model.history for place, text in enumerate(STORY)]
    same_text = before[0].text == after[0].text
    if not tiny.reads_history(system) and (not trained.model.translations or same_text):
        assert not any(found[1:])
    elif not trained.model.translations:
        # A sparse attention may pass over a sentence that it could look at.
        weighed = system.san.words, system.san.sentences if system.san.attention == "hierarchical" else "softmax"
        sparse = tiny.context_of(system) == "san" and "sparsemax" in weighed
        assert all(one == able or (sparse and able) for one, able in zip(found[1:], near[1:], strict=True))
        assert any(found[1:])
    else:  # a translation that changed changes what comes after it
        assert all(one for one, seen in zip(found, near, strict=True) if seen)


def encode(trained: TrainedModel, *documents: Sequence[str]) -> list[EncodedDocument]:
    return [EncodedDocument([segment_sentence(trained.codec, one, 300) for one in text], []) for text in documents]


def search_all(trained: TrainedModel, documents: Sequence[EncodedDocument], view: View) -> list[SearchedSentence]:
    """Search each window alone, in the order of the schedule."""
    schedule = Schedule(documents, view)
    for part in schedule.rounds():
        for sentence in part:
            batches = [collate([window], trained.model.view) for window in sentence.windows]
            sentence.hypotheses = [search(trained.model, batch, DECODING)[0] for batch in batches]
    return [sentence for document in schedule.searched for sentence in document]


@pytest.mark.parametrize("name", NAMES)
def test_the_score_of_a_document_is_the_score_that_search_gave_it(store: Store, name: str) -> None:
    """With the windows that were seen when the translations were made."""
    trained = make(store, name)
    found = search_all(trained, encode(trained, STORY, OTHER), trained.model.view)
    worded = [one for one in found if one.hypotheses]
    windows = [replace(one.window, target=[*one.translation, EOS]) for one in worded]
    assert score_windows(trained, windows) == pytest.approx(
        [one.hypotheses[0][0].log_probability for one in worded], abs=1e-4
    )


@pytest.mark.parametrize("name", [name for name in NAMES if tiny.context_of(tiny.mode(name)) != "none"])
def test_windows_hold_what_the_model_looks_at(store: Store, name: str) -> None:
    """Own translations, not others, nearest first; a draft of those to come."""
    trained = make(store, name)
    view = trained.model.view
    sources = encode(trained, STORY, OTHER)
    found = search_all(trained, sources, view)
    if view.shuffled:
        assert list(found[2].window.history) == [one[:-1] for one in sources[1].tokens[1::-1]]
        assert list(found[len(STORY) + 2].window.history) == [one[:-1] for one in sources[0].tokens[1::-1]]
        if view.translations:
            first = len(STORY)
            assert list(found[2].window.target_history) == [found[first + 1].translation, found[first].translation]
            last = found[len(STORY) - 1].window  # beyond the other document's end: the history of its last sentence
            assert list(last.target_history) == [found[first + one].translation for one in (1, 0)]
        return
    for place in range(len(STORY)):
        seen = list(range(place - 1, max(0, place - view.history) - 1, -1))
        later = list(range(place + 1, min(len(STORY), place + 1 + view.future)))
        window = found[place].window
        assert list(window.history) == [sources[0].tokens[one][:-1] for one in (*seen, *later)]
        if not view.translations:
            assert window.target_history == ()
        elif not view.future:
            assert list(window.target_history) == [found[one].translation for one in seen]
        else:
            drafts = search_all(trained, sources, View())
            assert list(window.target_history) == [drafts[one].translation for one in (*seen, *later)]


@pytest.mark.parametrize("name", [name for name in NAMES if tiny.context_of(tiny.mode(name)) != "none"])
def test_scoring_sees_what_is_given(store: Store, name: str) -> None:
    """Other earlier translations change the score of a later one just where the model looks at translations."""
    trained = make(store, name)
    target = ("die Katze saß hier", "sie war alt", "der Hund kam", "", "er lief", "er schlief")
    changed = ("ein Hund lief", *target[1:])
    other = ParallelDocument(OTHER, ("ein Hund lief", "er war alt", "er kam hier"))
    scores = [
        [one.log_probability for one in next(score_documents(trained, [ParallelDocument(STORY, text), other]))[1]]
        for text in (target, changed)
    ]
    differ = [abs(one - two) > 1e-6 for one, two in zip(*scores, strict=True)]
    own = trained.model.translations and not trained.model.shuffled  # else those of another document
    reach = trained.model.history if own else 0
    assert differ == [True, *(bool(STORY[place]) and place <= reach for place in range(1, len(STORY)))]


def test_a_lone_document_has_no_other_history(store: Store) -> None:
    """The control of a shuffled history: beside another document it sees that one, never its own."""
    trained = make(store, "qcn-shuffled")
    (alone,) = translate(trained, STORY)
    (without,) = translate(trained, STORY, options=TranslationOptions(use_context=False))
    assert_same(alone, without)
    beside = translate(trained, STORY, OTHER)[0]
    assert moved(beside, alone) == [False, True, True, False, True, True]
    own = translate(trained, [*STORY[:1], "the dog came", *STORY[2:]], OTHER)[0]
    assert moved(own, beside) == [False, True, False, False, False, False]


def test_skipped_documents_leave_nothing_to_the_next_one(store: Store) -> None:
    trained = make(store, "han")
    expected = translate(trained, OTHER)[0]
    with Translator(trained).session() as session:
        session.skip([Document(STORY)])
        (found,) = session.translate([Document(OTHER)])
    assert_same(found, expected)
