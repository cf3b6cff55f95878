"""Documents are translated window by window; windows change nothing but the memory that is needed."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from tests.invariants import tiny

from docaps.batches.batch import Batch
from docaps.batches.windows import Window
from docaps.config import DecodingSettings
from docaps.corpus.documents import Document, TextLayout
from docaps.corpus.store import Store
from docaps.corpus.text.vocabulary import BOS
from docaps.errors import RunError
from docaps.model.interface import TranslationModel
from docaps.translation import search as searching
from docaps.translation.search import Hypothesis, length_penalty
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import TranslatedSentence, TranslationOptions, Translator

SENTENCES = ("the cat sat here", "it was old", "", "it slept", "the dog came", "it ran", "a dog ran")
Sentences = Sequence[TranslatedSentence]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def trained(store: Store) -> TrainedModel:
    return tiny.trained(store)


def in_parts(*sizes: int) -> list[Document]:
    """Cut one document into parts."""
    parts, place = [], 0
    for size in sizes:
        layout = TextLayout("lines", continues=place > 0)
        parts.append(Document(SENTENCES[place : place + size], layout=layout))
        place += size
    return parts


def assert_same(found: Sentences, expected: Sentences) -> None:
    assert [one.text for one in found] == [one.text for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-5)


@pytest.mark.parametrize("sizes", [(7,), (3, 4), (1,) * 7, (2, 1, 4)])
@pytest.mark.parametrize("window", [1, 3, 100])
def test_a_document_in_parts_is_translated_as_the_whole(
    trained: TrainedModel, sizes: tuple[int, ...], window: int
) -> None:
    (whole,) = Translator(trained).translate([Document(SENTENCES)])
    other = Document(SENTENCES[:2])
    *found, last = Translator(trained, window=window).translate([*in_parts(*sizes), other])
    assert [len(part) for part in found] == list(sizes)
    assert_same([one for part in found for one in part], whole)
    assert_same(last, whole[:2])  # the next document begins without history


@pytest.mark.parametrize("skip", range(5))
def test_skipped_windows_still_give_their_history(trained: TrainedModel, skip: int) -> None:
    windows = [[part] for part in (*in_parts(2, 2, 3), *in_parts(1, 2))]
    options = TranslationOptions(history=("a dog ran", "it came"))
    translator = Translator(trained)
    with translator.session(options) as session:
        usual = [session.translate(window) for window in windows]
    with translator.session(options) as session:
        for window in windows[:skip]:
            session.skip(window)
        found = [session.translate(window) for window in windows[skip:]]
    assert found == usual[skip:]  # to the last digit


def test_given_history_is_seen_by_the_first_document_only(trained: TrainedModel) -> None:
    given, rest = SENTENCES[:4], SENTENCES[4:]
    translator = Translator(trained)
    (whole,) = translator.translate([Document(SENTENCES)])
    found = list(translator.stream([Document(rest), Document(rest)], TranslationOptions(history=given)))
    assert_same(found[0][1], whole[4:])
    assert_same(found[1][1], translator.translate([Document(rest)])[0])
    assert found[0][1][0].score != pytest.approx(found[1][1][0].score, abs=1e-6)
    hidden = list(translator.stream([Document(rest)], TranslationOptions(use_context=False, history=given)))
    assert_same(hidden[0][1], translator.translate([Document(rest)], use_context=False)[0])


def test_documents_are_taken_only_when_their_window_comes(trained: TrainedModel) -> None:
    taken = []

    def documents() -> Iterator[Document]:
        for number in range(6):
            taken.append(number)
            yield Document(SENTENCES[:2])

    stream = Translator(trained, window=4).stream(documents())
    next(stream)
    assert taken == [0, 1]
    next(stream)
    next(stream)
    assert taken == [0, 1, 2, 3]


def test_a_long_sentence_is_translated_in_parts_with_a_warning(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = tiny.trained(store, longest_source=10)
    warned: list[str] = []
    long = "the cat sat here, the dog came; " * 4 + "it ran"
    (found,) = Translator(trained, warn=warned.append).translate([Document(("it ran", long), "story")])
    assert warned[0] == (
        "document 1 ('story'), sentence 2: more than 10 tokens (decoding.longest_source): translated in "
        f"{warned[0].split()[-2]} parts"
    )
    assert not any("parts" in message for message in warned[1:])
    seen: list[list[int]] = []
    original = searching.search_batch

    def spy(
        trained: TrainedModel, decoding: DecodingSettings, scored: bool, windows: Sequence[Window]
    ) -> list[list[Hypothesis]]:
        seen.extend(list(window.source) for window in windows)
        return original(trained, decoding, scored, windows)

    monkeypatch.setattr(searching, "search_batch", spy)
    (again,) = Translator(trained, warn=warned.append).translate([Document(("it ran", long), "story")])
    assert max(map(len, seen)) <= 11
    words = [piece for tokens in sorted(seen, key=len) for piece in trained.codec.pieces(tokens[:-1])]
    expected = trained.codec.pieces(trained.codec.encode_source(f"{long} it ran")[:-1])
    assert sorted(words) == sorted(expected)  # every token of the source is translated
    assert again == found
    assert "\n" not in found[1].text


def test_the_score_of_parts_is_that_of_one_long_translation(store: Store) -> None:
    trained = tiny.trained(store, longest_source=10, beam=1)
    translator = Translator(trained, warn=lambda _: None)
    halves = ("the cat sat here, the dog came,", "it was old, it slept, it ran")
    (whole,) = translator.translate([Document((" ".join(halves),))], use_context=False)
    parts = translator.translate([Document((half,)) for half in halves])
    assert whole[0].log_probability == pytest.approx(sum(part[0].log_probability for part in parts), abs=1e-5)
    lengths = round(
        next(
            length
            for length in range(2, 200)
            if whole[0].score * length_penalty(length, 0.6) == pytest.approx(whole[0].log_probability, abs=1e-9)
        )
    )
    assert lengths > 2
    assert whole[0].text == " ".join(part[0].text for part in parts)


def test_the_number_of_warnings_is_bounded(store: Store) -> None:
    warned: list[str] = []
    long = "the cat sat here " * 9
    Translator(tiny.trained(store, longest_source=10), warn=warned.append).translate([Document((long,) * 8)])
    assert sum("parts" in message for message in warned) == 6
    assert warned[-1] == "8 sentences were too long for one piece, and translated in parts"


def test_nbest_translations_are_returned_on_request(store: Store) -> None:
    trained = tiny.trained(store, beam=4, nbest=3)
    ((one, two),) = Translator(trained).translate([Document(("the cat sat", ""))])
    assert 1 <= len(one.alternatives) <= 3
    assert (one.alternatives[0].text, one.alternatives[0].score) == (one.text, one.score)
    scores = [alternative.score for alternative in one.alternatives]
    assert scores == sorted(scores, reverse=True)
    assert two.alternatives == ()


def test_routing_traces_are_returned_on_request(trained: TrainedModel) -> None:
    ((_, found),) = Translator(trained).stream([Document(SENTENCES[:3])], TranslationOptions(routing=True))
    assert [len(one.routing) for one in found] == [0, 1, 0]  # no history, one sentence, nothing to translate
    (trace,) = found[1].routing
    assert trace.distance == 1
    assert trace.words == tuple(trained.codec.pieces(trained.codec.encode_source(SENTENCES[0])[:-1]))
    assert trace.coupling is not None
    assert (len(trace.coupling), len(trace.coupling[0]), len(trace.coupling[0][0])) == (
        tiny.R,
        tiny.M,
        len(trace.words),
    )
    assert "routing" not in trace.as_dict()
    ((_, plain),) = Translator(trained).stream([Document(SENTENCES[:3])])
    assert all(one.routing == () for one in plain)


@pytest.mark.parametrize("mode", ["qcn-current-both", "qcn-target", "qcn-current-states"])
def test_routing_traces_name_each_sentence_and_its_words(trained: TrainedModel, mode: str) -> None:
    """The sentence itself has distance 0; states have the end mark (or begin mark) of what they read, too."""
    codec, settings = trained.codec, tiny.mode(mode).qcn
    model = tiny.build(tiny.mode(mode), vocabulary=len(codec.vocabulary))
    ((_, found),) = Translator(replace(trained, model=model)).stream(
        [Document(SENTENCES[:2])], TranslationOptions(routing=True)
    )
    first, second = (codec.encode_source(text) for text in SENTENCES[:2])
    states = settings.reads == "states"
    expected = {(1, "source"): first if states else first[:-1]}
    if settings.current:
        expected[0, "source"] = second if states else second[:-1]
    traces = {(one.distance, one.side): one for one in found[1].routing}
    if settings.sides == "both":
        written = expected[1, "target"] = codec.vocabulary.ids(traces[1, "target"].words)
        assert (written[0] == BOS) == states
        assert codec.decode_target(written[1:] if states else written) == found[0].text
    assert {key: one.words for key, one in traces.items()} == {
        key: tuple(codec.pieces(list(tokens))) for key, tokens in expected.items()
    }
    for (_, side), one in traces.items():
        assert {len(row) for table in one.coupling for row in table} == {len(one.words)}
        assert one.as_dict().get("side", "source") == side


def test_non_finite_scores_are_refused(trained: TrainedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(
        model: TranslationModel, batch: Batch, decoding: DecodingSettings, *, scored: bool
    ) -> list[list[Hypothesis]]:
        return [[] for _ in batch.source]

    monkeypatch.setattr(searching, "search", nothing)
    with pytest.raises(RunError, match="its scores are not numbers"):
        Translator(trained).translate([Document(SENTENCES)])
