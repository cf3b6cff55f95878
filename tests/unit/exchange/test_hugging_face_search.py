"""Settings of the search that a folder comes with: what is the same here is kept, and the rest is named."""

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from safetensors.torch import load_file, save_file
from tests.unit.exchange.published import ENGLISH, Both, both, sentences

from docaps import progress
from docaps.batches.windows import Window
from docaps.config import DecodingSettings
from docaps.exchange.hugging_face import read_folder
from docaps.translation.search import search_windows


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What is said on stderr."""
    text = io.StringIO()
    monkeypatch.setattr(progress.REPORTER, "console", Console(file=text, width=200))
    monkeypatch.setattr(progress.REPORTER, "enabled", True)
    return text


def with_search(published: Both, folder: Path, **values: Any) -> Path:
    """Copy a folder, with other settings of the search."""
    shutil.copytree(published.folder, folder)
    path = folder / "generation_config.json"
    found = {**json.loads(path.read_text(encoding="utf-8")), **values}
    path.write_text(json.dumps({key: value for key, value in found.items() if value is not ...}), encoding="utf-8")
    return folder


def best(found: Both, lines: list[str]) -> tuple[list[list[int]], list[float]]:
    """Return the best translations of a beam of 4 and their log-probabilities, as docaps finds them."""
    decoding = found.ours.decoding.model_copy(update={"length_penalty": 0.0})
    windows = [Window(found.ours.codec.encode_source(line), ()) for line in lines]
    pairs = [pair for group in search_windows(found.ours, windows, decoding) for pair in zip(*group, strict=True)]
    hypotheses = [one for _, (one, *_) in sorted(pairs, key=lambda pair: pair[0])]
    return [found.published_ids(one.tokens) for one in hypotheses], [one.log_probability for one in hypotheses]


@pytest.mark.parametrize("renormalised", [False, True])
def test_probabilities_without_padding_are_those_of_transformers(
    published: Both, tmp_path: Path, renormalised: bool
) -> None:
    """Padding is probable here, so that it matters whether its probability is shared out among the other entries."""
    folder = with_search(published, tmp_path / "opus-mt-en-de", renormalize_logits=renormalised)
    tensors = load_file(folder / "model.safetensors")
    pad = published.tokenizer.pad_token_id
    tensors["final_logits_bias"][0, pad] = 6.0
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    found, lines = both(folder), sentences(ENGLISH, 30, seed=12)
    given = found.tokenizer(lines, return_tensors="pt", padding=True)
    options = {"length_penalty": 0.0, "output_scores": True, "return_dict_in_generate": True}
    expected = found.theirs.generate(**given, **options)
    words = [[word for word in line if word not in (pad, 0)] for line in expected.sequences.tolist()]
    translations, scores = best(found, lines)
    assert translations == words
    # There the end of a translation of the greatest length costs nothing.
    shorter = [row for row, line in enumerate(words) if len(line) < 38]
    assert len(shorter) > 20
    theirs = expected.sequences_scores.tolist()
    assert [scores[row] for row in shorter] == pytest.approx([theirs[row] for row in shorter], abs=1e-4)


def test_the_longest_translation_may_be_told_without_the_start(published: Both, tmp_path: Path) -> None:
    folder = with_search(published, tmp_path / "opus-mt-en-de", max_new_tokens=7, max_length=50)
    assert read_folder(folder).decoding.length_margin == 7
    found, lines = both(folder), sentences(ENGLISH, 20, seed=13)
    given = found.tokenizer(lines, return_tensors="pt", padding=True)
    expected = found.theirs.generate(**given, length_penalty=0.0)
    assert expected.shape[1] == 8
    marks = (found.tokenizer.pad_token_id, found.tokenizer.eos_token_id)
    assert best(found, lines)[0] == [[word for word in line if word not in marks] for line in expected.tolist()]


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"early_stopping": True}, "early_stopping = True"),
        ({"length_penalty": 1.3}, "length_penalty = 1.3"),
        ({"forced_bos_token_id": 5}, "forced_bos_token_id = 5"),
        ({"suppress_tokens": [3, 4]}, "suppress_tokens = [3, 4]"),
        ({"no_repeat_ngram_size": 3, "do_sample": True}, "no_repeat_ngram_size = 3, do_sample = True"),
        ({"bad_words_ids": [[113], [7, 8]]}, "bad_words_ids = [[7, 8]]"),
    ],
)
def test_what_docaps_does_not_have_is_named(
    published: Both, tmp_path: Path, said: io.StringIO, values: dict[str, Any], named: str
) -> None:
    pad = published.tokenizer.pad_token_id
    if "bad_words_ids" in values:
        values = {"bad_words_ids": [[pad], [7, 8]]}
    read_folder(with_search(published, tmp_path / "opus-mt-en-de", **values))
    assert f"settings of the search that docaps does not have, left out: {named}\n" in said.getvalue()


def test_what_does_nothing_is_not_named(published: Both, tmp_path: Path, said: io.StringIO) -> None:
    neutral = {"early_stopping": False, "length_penalty": 0, "no_repeat_ngram_size": 0, "repetition_penalty": 1.0}
    nothing = {"suppress_tokens": [], "forced_bos_token_id": None, "do_sample": False, "min_length": 0}
    decoding = read_folder(with_search(published, tmp_path / "a-en-de", **neutral, **nothing)).decoding
    assert (decoding.length_penalty, "left out" in said.getvalue()) == (0.0, False)
    read_folder(with_search(published, tmp_path / "b-en-de", num_beams=1, early_stopping=True, length_penalty=2.0))
    assert "left out" not in said.getvalue()  # a greedy search has neither


def test_an_old_folder_tells_its_search_in_config(published: Both, tmp_path: Path) -> None:
    folder = with_search(published, tmp_path / "opus-mt-en-de")
    kept = {"num_beams": 6, "max_length": 31, "length_penalty": 0.0}
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **kept}), encoding="utf-8")
    (folder / "generation_config.json").unlink()
    found = read_folder(folder).decoding
    assert (found.beam, found.length_margin, found.length_penalty) == (6, 30, 0.0)
    assert found.longest_source == 63


def test_a_folder_that_tells_nothing_has_our_search(published: Both, tmp_path: Path) -> None:
    folder = with_search(published, tmp_path / "opus-mt-en-de")
    (folder / "generation_config.json").unlink()
    assert read_folder(folder).decoding == DecodingSettings(longest_source=63)


def test_a_tokenizer_may_leave_its_unknown_entry_out(published: Both, tmp_path: Path) -> None:
    folder = with_search(published, tmp_path / "opus-mt-en-de")
    path = folder / "tokenizer_config.json"
    for told in (None, {"content": "<unk>", "lstrip": False}):
        path.write_text(json.dumps({"source_lang": "en", "target_lang": "de", "unk_token": told}), encoding="utf-8")
        assert read_folder(folder).codec.vocabulary.pieces == published.ours.codec.vocabulary.pieces
