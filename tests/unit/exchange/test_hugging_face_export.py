"""What is exported is what was imported, and other programs translate alike."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from tests.unit.exchange.published import ENGLISH, Both, both, make_folder, sentences, transformers

from docaps.batches.windows import Window
from docaps.config import DecodingSettings
from docaps.errors import DocapsError
from docaps.exchange.hugging_face import read_folder
from docaps.exchange.hugging_face_export import write_folder
from docaps.model.checkpoint import read_weights, write_tensors
from docaps.translation.search import search_windows
from docaps.translation.trained_model import load_trained

SHAPES = [{}, {"share_encoder_decoder_embeddings": False}, {"tie_word_embeddings": False}]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_round_trip_changes_no_bit(shape: dict[str, bool], tmp_path: Path) -> None:
    found = both(make_folder(tmp_path / "opus-mt-en-de", **shape))
    out = tmp_path / "exported-en-de"
    out.mkdir()
    write_folder(tmp_path / "opus-mt-en-de.run", out)
    before, after = read_folder(found.folder), read_folder(out)
    assert before.weights.keys() == after.weights.keys()
    assert all(torch.equal(before.weights[name], after.weights[name]) for name in before.weights)
    assert (before.settings, before.decoding) == (after.settings, after.decoding)
    assert before.codec.vocabulary.pieces == after.codec.vocabulary.pieces
    again = both(out)
    lines = sentences(ENGLISH, 20, seed=9)
    given = found.tokenizer(lines, return_tensors="pt", padding=True)
    assert torch.equal(given["input_ids"], again.tokenizer(lines, return_tensors="pt", padding=True)["input_ids"])
    assert torch.equal(found.theirs.generate(**given), again.theirs.generate(**given))


def test_a_trained_run_with_sentencepiece_is_exported(sentencepiece_run: Path, tmp_path: Path) -> None:
    """Its padding and its begin mark are two entries, which its own training learnt."""
    write_folder(sentencepiece_run, tmp_path)
    found = both(tmp_path)
    assert found.tokenizer.convert_ids_to_tokens(found.theirs.config.decoder_start_token_id) == "<s>"
    original, imported = load_trained(sentencepiece_run).model, found.ours.model
    for name, weight in original.named_parameters():
        assert torch.equal(weight, imported.get_parameter(name)), name


def test_an_exported_trained_run_reads_and_writes_alike(sentencepiece_run: Path, tmp_path: Path) -> None:
    """Its tokenizer makes the same tokens, of odd text as well, and its model the same translations."""
    write_folder(sentencepiece_run, tmp_path)
    theirs = transformers.MarianMTModel.from_pretrained(tmp_path).eval()
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path)
    ours = load_trained(sentencepiece_run)
    codec, numbers = ours.codec, tokenizer.convert_tokens_to_ids(list(ours.codec.vocabulary.pieces))
    lines = [*sentences(ENGLISH, 40, seed=3), "ﬁ 漢字 ☃ e\u0301", "  two  blanks ", "<s> &amp; >>x", ""]
    for line in lines:
        source = tokenizer(line, split_special_tokens=True)["input_ids"]
        target = tokenizer(text_target=line, split_special_tokens=True)["input_ids"]
        assert source == [numbers[token] for token in codec.encode_source(line)], line
        assert target == [numbers[token] for token in codec.encode_target(line)], line
    marks = {tokenizer.pad_token_id, tokenizer.eos_token_id, (start := theirs.config.decoder_start_token_id)}
    given = tokenizer(lines[:40], return_tensors="pt", padding=True)
    written = theirs.generate(**given, num_beams=1, max_length=21).tolist()
    decoding = DecodingSettings(beam=1, length_factor=1e-6, length_margin=20)
    windows = [Window(codec.encode_source(line), ()) for line in lines[:40]]
    for places, found in search_windows(ours, windows, decoding):
        for place, (best, *_) in zip(places, found, strict=True):
            assert [numbers[token] for token in best.tokens] == [word for word in written[place] if word not in marks]
    tokens = tokenizer(text_target="Die alte Katze.")["input_ids"]
    assert tokenizer.decode([start, *tokens], skip_special_tokens=True).strip() == "Die alte Katze."


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"norm": "pre"}, "norms after sub-layers only"),
        ({"positions": "marian"}, "other positions"),
    ],
)
def test_what_marian_does_not_have_is_refused(
    published: Both, tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(published.folder.with_name(f"{published.folder.name}.run"), run)
    described = json.loads((run / "run.json").read_text(encoding="utf-8"))
    described["settings"]["system"]["model"].update(changes)
    if changes.get("norm") == "pre":
        norms = {
            f"{side}_norm.{kind}": torch.ones(16) for side in ("encoder", "decoder") for kind in ("weight", "bias")
        }
        write_tensors(run / "model.safetensors", {**read_weights(run / "model.safetensors"), **norms})
    (run / "run.json").write_text(json.dumps(described), encoding="utf-8")
    with pytest.raises(DocapsError, match=f"cannot be exported to hf: .*{message}"):
        write_folder(run, tmp_path)
