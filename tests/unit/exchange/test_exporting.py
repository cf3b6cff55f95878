"""A concat model is exported whole: other programs read earlier sentences as docaps does, in the documented form."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.unit.exchange.published import ENGLISH, GERMAN, Both, sentences, transformers

from docaps.batches.windows import Window, without_end_mark
from docaps.config import DecodingSettings
from docaps.corpus.text.vocabulary import BOS, SPECIALS
from docaps.exchange.ctranslate import write_model
from docaps.exchange.hugging_face import read_folder
from docaps.exchange.hugging_face_export import write_folder
from docaps.model.checkpoint import read_weights
from docaps.runs.directory import Run
from docaps.translation.search import search_windows
from docaps.translation.trained_model import TrainedModel, load_trained

LONGEST = 12
COUNT = 40


@dataclass(frozen=True)
class Document:
    """A sentence with two earlier ones and their translations, oldest first."""

    earlier: tuple[str, str]
    translated: tuple[str, str]
    sentence: str


def documents() -> list[Document]:
    sources, targets = sentences(ENGLISH, 3 * COUNT, seed=21), sentences(GERMAN, 2 * COUNT, seed=22)
    return [
        Document(
            (sources[3 * one], sources[3 * one + 1]), (targets[2 * one], targets[2 * one + 1]), sources[3 * one + 2]
        )
        for one in range(COUNT)
    ]


def make_concat(run: Path, out: Path, mode: str) -> Path:
    """Make a concat model of a sentence model: it has no other weights."""
    made = Run(Path(shutil.copytree(run, out)))
    description = made.read()
    description["settings"]["system"]["name"] = "concat"
    description["settings"]["system"]["concat"]["mode"] = mode
    description["settings"]["system"]["history"]["sentences"] = 2
    made.write(description)
    return made.path


def translate(trained: TrainedModel) -> list[list[int]]:
    """Translate as docaps does."""
    codec, decoding = (
        trained.codec,
        DecodingSettings(beam=1, length_penalty=0, length_factor=1e-6, length_margin=LONGEST),
    )
    windows = [
        Window(
            codec.encode_source(one.sentence),
            tuple(without_end_mark(codec.encode_source(text)) for text in reversed(one.earlier)),
            target_history=tuple(without_end_mark(codec.encode_target(text)) for text in reversed(one.translated))
            if trained.model.view.translations
            else (),
        )
        for one in documents()
    ]
    found = {}
    for numbers, hypotheses in search_windows(trained, windows, decoding):
        found |= {number: list(best.tokens) for number, (best, *_) in zip(numbers, hypotheses, strict=True)}
    return [found[number] for number in range(len(windows))]


@pytest.fixture(scope="module", params=["imported", "trained"])
def run(request: pytest.FixtureRequest, published: Both, sentencepiece_run: Path) -> Path:
    """A sentence model: one that was imported, whose padding starts translations there, and one that was not."""
    return (
        published.folder.with_name(f"{published.folder.name}.run") if request.param == "imported" else sentencepiece_run
    )


@pytest.fixture(scope="module", params=["k-to-1", "n-to-n"])
def concat(request: pytest.FixtureRequest, run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_concat(run, tmp_path_factory.mktemp("concat") / "run-en-de", request.param)


def test_transformers_translates_with_earlier_sentences_alike(concat: Path, tmp_path: Path) -> None:
    write_folder(concat, tmp_path)
    model = transformers.MarianMTModel.from_pretrained(tmp_path).eval()
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path)
    trained = load_trained(concat)
    assert tokenizer.convert_ids_to_tokens(model.config.decoder_start_token_id) == SPECIALS[BOS]
    marks = {tokenizer.pad_token_id, tokenizer.eos_token_id}
    ours = tokenizer.convert_tokens_to_ids(list(trained.codec.vocabulary.pieces))
    for one, tokens in zip(documents(), translate(trained), strict=True):
        given = tokenizer(" <s> ".join([*one.earlier, one.sentence]), return_tensors="pt")
        start = _start(model, tokenizer, one) if trained.model.view.translations else []
        options: dict[str, Any] = {"num_beams": 1, "max_new_tokens": LONGEST}
        if start:
            options["decoder_input_ids"] = torch.tensor([start])
        found = model.generate(**given, **options)[0, max(1, len(start)) :].tolist()
        assert [word for word in found if word not in marks] == [ours[token] for token in tokens]


def _start(model: Any, tokenizer: Any, one: Document) -> list[int]:
    """Return what the decoder reads first: each earlier translation behind a mark, and the mark of its own."""
    mark = model.config.decoder_start_token_id
    earlier = (tokenizer(text_target=text)["input_ids"][:-1] for text in one.translated)
    return [*(word for sentence in earlier for word in (mark, *sentence)), mark]


def test_ctranslate2_translates_with_earlier_sentences_alike(concat: Path, tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2", reason="ctranslate2 is not installed (docaps[dev])")
    write_model(concat, tmp_path)
    trained = load_trained(concat)
    codec, translator = trained.codec, ctranslate2.Translator(str(tmp_path), compute_type="float32", intra_threads=1)
    sources, starts = [], []
    for one in documents():
        earlier = [codec.pieces(without_end_mark(codec.encode_source(text))) for text in one.earlier]
        sources.append(
            [*(piece for text in earlier for piece in (*text, "<s>")), *codec.pieces(codec.encode_source(one.sentence))]
        )
        written = [codec.pieces(without_end_mark(codec.encode_target(text))) for text in one.translated]
        starts.append(
            [piece for text in written for piece in (*text, "<s>")] if trained.model.view.translations else []
        )
    options = {"target_prefix": starts, "min_decoding_length": 0}
    found = translator.translate_batch(
        sources, beam_size=1, max_decoding_length=LONGEST + max(map(len, starts)), **options
    )
    written = [one.hypotheses[0][len(start) :][: LONGEST - 1] for one, start in zip(found, starts, strict=True)]
    expected = [codec.pieces(tokens) for tokens in translate(trained)]
    assert written == expected
    assert len({len(one) for one in expected}) > 1


def test_what_is_read_in_front_of_a_sentence_matters(concat: Path) -> None:
    """Else the tests above would compare sentence models."""
    trained = load_trained(concat)
    alone = [Window(trained.codec.encode_source(one.sentence)) for one in documents()]
    decoding = DecodingSettings(beam=1, length_penalty=0, length_factor=1e-6, length_margin=LONGEST)
    found = {
        number: list(best.tokens)
        for numbers, all_ in search_windows(trained, alone, decoding)
        for number, (best, *_) in zip(numbers, all_, strict=True)
    }
    assert [found[number] for number in range(COUNT)] != translate(trained)


def test_a_concat_model_comes_back_bit_for_bit(concat: Path, tmp_path: Path) -> None:
    folder = tmp_path / "exported-en-de"
    folder.mkdir()
    write_folder(concat, folder)
    before, after = read_weights(concat / "model.safetensors"), read_folder(folder).weights
    assert all(torch.equal(after[name], weight) for name, weight in before.items())
