"""Words are aligned by the model's attention, and found again in the texts that its tokens came from."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.invariants import tiny
from torch import Tensor

from docaps.batches.batch import collate
from docaps.batches.windows import Window
from docaps.corpus.documents import Document, InlineMark
from docaps.corpus.formats.format import Alignment
from docaps.corpus.store import Store
from docaps.corpus.text.codec import Codec
from docaps.corpus.text.vocabulary import EOS, PAD, UNK
from docaps.model.transformer import Transformer
from docaps.translation import word_alignment
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import Translator
from docaps.translation.word_alignment import _recording, align_words, attention_of, group_words, word_spans

MARKS = (InlineMark(4, "<b>", "open", 1), InlineMark(7, "</b>", "close", 1))
TEXTS = ("the cat sat here", "it was old", "", "it slept")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def trained(store: Store) -> TrainedModel:
    return tiny.trained(store)


def test_only_sentences_with_marks_are_aligned(trained: TrainedModel) -> None:
    found = Translator(trained).translate([Document(TEXTS), Document(TEXTS, marks=(MARKS, (), (), MARKS))])
    assert [sentence.alignment is not None for document in found for sentence in document] == [
        *(False,) * 4,
        *(True, False, False, True),
    ]
    for text, sentence in zip(TEXTS, found[1], strict=True):
        for (start, end), (first, last) in sentence.alignment or ():
            assert " " not in text[start:end] + sentence.text[first:last]
            assert start < end
            assert first < last


def test_a_sentence_that_is_translated_in_parts_has_no_alignment(trained: TrainedModel) -> None:
    short = trained.decoding.model_copy(update={"longest_source": 3})
    document = Document(TEXTS, marks=(MARKS, MARKS, MARKS, MARKS))
    translator = Translator(trained, short, warn=lambda _: None)
    found = translator.translate([document])[0]
    assert found[0].alignment is None  # four words
    assert found[2].alignment is None  # empty


def test_the_recorded_weights_are_those_of_the_forced_pass(trained: TrainedModel) -> None:
    encode = trained.codec.encode_source
    windows = [replace(Window(encode(text)), target=encode("it was old")) for text in (TEXTS[0], TEXTS[1])]
    batch = collate(windows, trained.model.view)
    with torch.inference_mode(), _recording(trained.model) as layers:  # type: ignore[arg-type]
        before = trained.model(batch).states
    assert len(layers) == len(trained.model.decoder)  # type: ignore[arg-type]
    weights = attention_of(layers)
    assert weights.shape == (2, batch.translations.shape[1], batch.source.shape[1])
    assert torch.allclose(weights.sum(-1), torch.ones_like(weights[..., 0]))
    assert not weights[1, :, len(windows[1].source) :].any()  # padding
    assert torch.allclose(trained.model(batch).states, before)
    assert len(layers) == len(trained.model.decoder)  # type: ignore[arg-type]


LAYOUTS = ("qcn+reg", "qcn-target", "han-decoder", "san-decoder", "concat", "concat-2-to-2", "concat-n-to-n")
"""Systems whose decoder or encoder reads different things."""
OTHERS = sorted({*tiny.SYSTEMS, *tiny.MODES} - {*LAYOUTS})


@pytest.mark.parametrize("name", [*LAYOUTS, *(pytest.param(name, marks=pytest.mark.stress) for name in OTHERS)])
def test_every_system_aligns_the_words_of_the_sentence_itself(
    store: Store, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that decode earlier translations before, or read them and the history in the same row."""
    trained = tiny.trained(store, name)
    seen: dict[int, tuple[bool, float]] = {}

    def see(codec: Codec, source: str, *others: Any) -> Alignment | None:
        (ours, theirs), weights = others[1:]
        own = weights[: len(theirs), : len(ours)]
        seen[TEXTS.index(source)] = own.shape == (len(theirs), len(ours)), float(own.sum(axis=1).min())
        return align_words(codec, source, *others)

    monkeypatch.setattr(word_alignment, "align_words", see)
    (found,) = Translator(trained, warn=lambda _: None).translate([Document(TEXTS, marks=(MARKS, MARKS, (), MARKS))])
    if not isinstance(trained.model, Transformer):
        assert not seen
        return
    assert [one.alignment is not None for one in found] == [bool(number in seen) for number in range(len(TEXTS))]
    assert all(is_whole for is_whole, _ in seen.values())
    assert 0 in seen or name.startswith("zhang")  # whose random weights may write nothing
    # Without history there is nothing else to attend to.
    assert seen.get(0, (True, 1.0))[1] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("name", ["qcn-both", "han-decoder", "concat", "concat-2-to-2", "concat-n-to-n"])
def test_the_words_of_a_sentence_are_where_the_model_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny.build(tiny.mode(name))
    assert isinstance(model, Transformer)
    read: dict[str, Tensor] = {}
    for side in ("_source_inputs", "_target_inputs"):
        original = getattr(model, side)

        def record(embedded: Tensor, words: Tensor, *, side: str = side, original: Any = original) -> Tensor:
            read[side] = words
            return original(embedded, words)  # type: ignore[no-any-return]

        monkeypatch.setattr(model, side, record)
    batch = collate(tiny.sample_windows(), model.view)
    with torch.inference_mode():
        model(batch)
    for words, offsets, own in zip(
        read.values(), model.offsets(batch), (batch.source, batch.target_input), strict=True
    ):
        assert own is not None
        for row, offset, sentence in zip(words.tolist(), offsets.tolist(), own, strict=True):
            expected = sentence[sentence != PAD].tolist()
            assert row[offset : offset + len(expected)] == expected
            assert set(row[offset + len(expected) :]) <= {PAD}


def test_a_word_goes_with_the_one_it_attends_to_most(trained: TrainedModel) -> None:
    codec, source, translation = trained.codec, "the cat sat", "it was old"
    tokens = codec.encode_source(source), codec.encode_target(translation)
    groups = [group_words(codec, ids) for ids in tokens]
    weights = np.full((len(tokens[1]), len(tokens[0])), 0.01)
    for ours, theirs in ((2, 0), (0, 1), (1, 2)):
        weights[np.ix_(groups[1][theirs], groups[0][ours])] = 0.5
    assert align_words(codec, source, translation, tokens, weights) == [
        ((8, 11), (0, 2)),
        ((0, 3), (3, 6)),
        ((4, 7), (7, 10)),
    ]


def test_a_word_that_none_attends_to_most_goes_with_the_one_that_does_more_than_others(trained: TrainedModel) -> None:
    codec, source, translation = trained.codec, "the cat", "it was old"
    tokens = codec.encode_source(source), codec.encode_target(translation)
    weights = np.full((len(tokens[1]), len(tokens[0])), 0.01)
    groups = [group_words(codec, ids) for ids in tokens]
    weights[:, groups[0][0]] = 0.9
    weights[np.ix_(groups[1][1], groups[0][1])] = 0.1
    found = align_words(codec, source, translation, tokens, weights)
    assert found is not None
    assert found[-1] == ((4, 7), (3, 6))
    assert [other for one, other in found if one == (0, 3)] == [(0, 2), (3, 6), (7, 10)]


def test_words_are_found_in_the_text_of_their_tokens(trained: TrainedModel) -> None:
    codec = trained.codec
    ids = codec.encode_source("the cat, it was old")
    found = word_spans(codec, codec.source, "The cat, it was old", ids)
    assert found is not None
    assert [token for tokens, _ in found for token in tokens] == list(range(len(ids) - 1))
    places = ["The cat, it was old"[span[0] : span[1]] for _, span in found if span]
    assert [place for place in places if place != ","] == ["The", "cat", "it", "was", "old"]
    assert word_spans(codec, codec.source, "another text", ids) is None
    assert group_words(codec, [EOS]) == []
    unknown = word_spans(codec, codec.source, "xyz", [UNK, EOS])
    assert unknown == [([0], None)]
