"""An imported MarianMT model computes what transformers computes, and its tokenizer is MarianTokenizer."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.unit.exchange.published import ENGLISH, GERMAN, Both, both, make_folder, sentences

from docaps.batches.batch import collate
from docaps.batches.windows import Window
from docaps.corpus.text.vocabulary import EOS, PAD
from docaps.exchange.hugging_face import read_folder
from docaps.exchange.vocabulary_rows import SILENT
from docaps.translation.search import search_windows

SHAPES: dict[str, dict[str, Any]] = {
    "as published": {},
    "unlike": {"activation_function": "gelu", "encoder_layers": 3, "decoder_layers": 1, "scale_embedding": False},
    "two tables": {"activation_function": "relu", "share_encoder_decoder_embeddings": False, "d_model": 24},
    "own output": {"tie_word_embeddings": False, "encoder_attention_heads": 4, "decoder_attention_heads": 4},
    "wide": {"d_model": 256, "encoder_ffn_dim": 512, "decoder_ffn_dim": 512, "encoder_layers": 1},
    "starts with the end": {"decoder_start_token_id": 0},
    "starts with a word": {"decoder_start_token_id": 7},
    "three tables": {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False},
}


@torch.inference_mode()
def assert_same(found: Both) -> None:
    """Compare encoder states, logits and loss on some pairs."""
    sources, targets = sentences(ENGLISH, 20, seed=5), sentences(GERMAN, 20, seed=6)
    given = found.tokenizer(sources, text_target=targets, return_tensors="pt", padding=True)
    labels = given.pop("labels")
    theirs = found.theirs(**given, labels=labels.masked_fill(labels == found.tokenizer.pad_token_id, -100))
    codec = found.ours.codec
    pairs = zip(sources, targets, strict=True)
    windows = [Window(codec.encode_source(one), (), codec.encode_target(other)) for one, other in pairs]
    batch = collate(windows, found.ours.model.view)
    states = found.ours.model.encode(batch).states
    assert (states - theirs.encoder_last_hidden_state)[batch.source_mask].abs().max() < 1e-5
    prediction, real = found.ours.model(batch), batch.translations != PAD
    # What is silent here cannot be written: padding, and a start that is another entry as well.
    columns = [row for row, bias in enumerate(found.ours.model.get_parameter("embeddings.bias")) if bias > SILENT / 2]
    assert len(columns) >= len(found.tokenizer)
    expected = theirs.logits[:, :, [found.rows[column] for column in columns]]
    assert (prediction.logits[:, :, columns] - expected)[real].abs().max() < 1e-5
    loss = -prediction.log_probabilities(batch.translations)[real].mean()
    assert abs(float(loss - theirs.loss)) < 1e-5


@pytest.mark.parametrize("name", SHAPES)
def test_every_form_computes_and_translates_alike(name: str, tmp_path: Path) -> None:
    size = SHAPES[name].get("d_model", 16)
    assert_same(both(make_folder(tmp_path / "a-en-de", seed=2, spread=1.2 / size**0.5, **SHAPES[name])))
    found = both(make_folder(tmp_path / "b-en-de", spread=2 / size**0.5, end_bias=ENDING[name], **SHAPES[name]))
    for beam in (1, 4):
        assert_same_translations(found, beam, count=30)


ENDING = dict.fromkeys(SHAPES, 6.0) | {"unlike": 8.0, "two tables": 5.0, "own output": 4.0, "three tables": 4.0}
"""With these scores of the end, translations end at different lengths."""


def assert_same_translations(found: Both, beam: int, *, count: int) -> None:
    """Compare translations token for token; the length penalties are not the same, so that there is none.

    With a beam, translations of the greatest length are left out: there, their end costs nothing.
    """
    sources, expected = sentences(ENGLISH, count, seed=7), []
    for first in range(0, count, 50):
        given = found.tokenizer(sources[first : first + 50], return_tensors="pt", padding=True)
        expected += found.theirs.generate(**given, num_beams=beam, length_penalty=0.0).tolist()
    marks = (found.tokenizer.pad_token_id, found.tokenizer.eos_token_id)
    decoding = found.ours.decoding.model_copy(update={"beam": beam, "length_penalty": 0.0})
    windows, compared = [Window(found.ours.codec.encode_source(source), ()) for source in sources], 0
    for numbers, hypotheses in search_windows(found.ours, windows, decoding):
        for number, (best, *_) in zip(numbers, hypotheses, strict=True):
            words = [word for word in expected[number][1:] if word not in marks]
            if beam == 1 or max(len(words), len(best.tokens)) < decoding.length_margin - 1:
                assert found.published_ids(best.tokens) == words, sources[number]
                compared += 1
    assert compared > count / 3
    assert beam > 1 or len(set(map(tuple, expected))) > 2, "the model writes the same whatever it reads"


@pytest.mark.parametrize("beam", [1, 4])
def test_translations_are_the_same_token_for_token(published: Both, beam: int) -> None:
    assert_same_translations(published, beam, count=200)


ODD = (
    "\u2581 \u00a0\u3000\t\u200b\u200d\ufeff\x85\u2028\x1c\x00\x07e\u0301éﬁ①Ǆ"
    "中文ไทยعربي😀\ue581\ue580\ufffd<>|&;@#%^~`'\"„“«‚…—-.,!?09ⅷ½²"
)
PHRASES = (
    *(">>deu<<", ">>xyz<<", ">>", "<<", "@@", "@-@", "&amp;", "\u2581\u2581", "<0xE2>", "  "),
    *("</s>", "<unk>", "<pad>", "<s>"),
)


def odd_lines(count: int, seed: int) -> list[str]:
    """Return lines of words, odd characters, phrases that mean something elsewhere, and characters of all blocks."""
    draw = random.Random(seed)

    def part() -> str:
        blocks = ((32, 0x2FFF), (0x3000, 0xD7FF), (0x10000, 0x1FFFF))
        return draw.choice(
            (
                draw.choice(ENGLISH + GERMAN),
                draw.choice(ENGLISH + GERMAN),
                "".join(draw.choices(ODD, k=draw.randint(1, 6))),
                draw.choice(PHRASES),
                "".join(chr(draw.randint(*draw.choice(blocks))) for _ in range(3)),
            )
        )

    return [draw.choice(("", " ", "  ")).join(part() for _ in range(draw.randint(0, 8))) for _ in range(count)]


def assert_same_tokens(published: Both, count: int) -> None:
    """Compare the tokens of odd lines on both sides, and the texts of any tokens."""
    codec, tokenizer = published.ours.codec, published.tokenizer
    for line in odd_lines(count, seed=1):
        # Departure: `</s>` in a text is text, never the mark of an end.
        source = tokenizer(line, split_special_tokens=True)["input_ids"]
        target = tokenizer(text_target=line, split_special_tokens=True)["input_ids"]
        assert published.published_ids(codec.encode_source(line)) == source, line
        assert published.published_ids(codec.encode_target(line)) == target, line
    draw, numbers = random.Random(2), {row: number for number, row in enumerate(published.rows)}
    for _ in range(count):
        ids = [draw.randrange(len(numbers) - 1) for _ in range(draw.randint(0, 12))]
        expected = tokenizer.decode(ids, skip_special_tokens=True)
        assert codec.decode_target([numbers[one] for one in ids]) == expected


def test_odd_text_is_tokenised_alike(published: Both) -> None:
    assert_same_tokens(published, 5000)


def test_a_mark_of_the_target_language_is_one_token(published: Both) -> None:
    first, *_, last = published.ours.codec.encode_source(">>deu<< the cat")
    assert (published.ours.codec.pieces([first]), last) == ([">>deu<<"], EOS)


def test_settings_of_the_search_come_along(published: Both) -> None:
    decoding = published.ours.decoding
    assert (decoding.beam, decoding.length_margin, decoding.longest_source) == (4, 39, 63)
    assert int(decoding.longest_source * decoding.length_factor) == 0  # 40 words there count the start


@pytest.mark.parametrize("zipped", [True, False])
def test_a_folder_with_pickled_weights_is_the_same(published: Both, tmp_path: Path, zipped: bool) -> None:
    """As older models are published: every name, positions included; before 2020 not in a zip file."""
    folder = tmp_path / "old"
    shutil.copytree(published.folder, folder)
    (folder / "model.safetensors").unlink()
    tensors = published.theirs.state_dict()
    assert "model.encoder.embed_positions.weight" in tensors
    torch.save(tensors, folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    assert (folder / "pytorch_model.bin").read_bytes().startswith(b"PK") is zipped
    stored = read_folder(folder).weights
    assert all(torch.equal(stored[name], one) for name, one in read_folder(published.folder).weights.items())
    tensors["model.encoder.embed_positions.weight"] = tensors["model.encoder.embed_positions.weight"].flip(0)
    torch.save(tensors, folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
    with pytest.raises(Exception, match="other positions than sinusoids"):
        read_folder(folder)


def test_half_precision_becomes_float32(published: Both, tmp_path: Path) -> None:
    folder = tmp_path / "half"
    shutil.copytree(published.folder, folder)
    halves = {name: one.half() for name, one in published.theirs.state_dict().items()}  # positions included
    (folder / "model.safetensors").unlink()
    torch.save(halves, folder / "pytorch_model.bin")
    before, after = read_folder(published.folder).weights, read_folder(folder).weights
    assert {one.dtype for one in after.values()} == {torch.float32}
    assert all(torch.equal(after[name], one.half().float()) for name, one in before.items())


def test_languages_come_from_the_name_or_from_options(published: Both, tmp_path: Path) -> None:
    folder = tmp_path / "opus-mt-fr-nl"
    shutil.copytree(published.folder, folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    del settings["source_lang"], settings["target_lang"]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    codec = read_folder(folder).codec
    assert (codec.source.code, codec.target.code) == ("fr", "nl")
    codec = read_folder(folder, languages=("pl", None)).codec
    assert (codec.source.code, codec.target.code) == ("pl", "nl")
    with pytest.raises(Exception, match="give it with --source-language"):
        read_folder(folder.rename(tmp_path / "model"))
