"""Small models in the form that Hugging Face publishes, made by its own library with random weights."""

import io
import json
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from docaps.corpus.text.vocabulary import BOS, PAD
from docaps.exchange.hugging_face import read_folder
from docaps.exchange.importing import write_run
from docaps.translation.trained_model import TrainedModel, load_trained

transformers = pytest.importorskip("transformers", reason="transformers is not installed (docaps[dev])")

ENGLISH = [
    *("the", "cat", "dog", "house", "river", "saw", "bought", "found"),
    *("old", "young", "red", "blue", "small", "children", "garden", "letter", "market"),
]
GERMAN = [
    *("die", "der", "Katze", "Hund", "Haus", "Fluss", "sah", "kaufte", "fand"),
    *("alte", "junge", "rote", "blaue", "kleine", "Kinder", "Garten", "Brief", "Markt"),
]


def sentences(words: list[str], count: int, seed: int = 1) -> list[str]:
    """Return made-up sentences of some words."""
    draw = random.Random(seed)
    return [" ".join(draw.choices(words, k=draw.randint(2, 9))).capitalize() + "." for _ in range(count)]


def train_pieces(lines: Iterable[str], path: Path, size: int = 90) -> list[str]:
    """Train a SentencePiece model as Opus-MT does, and return its pieces."""
    from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=size, hard_vocab_limit=False, minloglevel=2
    )
    path.write_bytes(model.getvalue())
    processor = SentencePieceProcessor(model_proto=model.getvalue())
    return [processor.id_to_piece(number) for number in range(processor.get_piece_size())]


def write_tokenizer(
    folder: Path, source: Iterable[str], target: Iterable[str], marks: tuple[str, ...] = ()
) -> tuple[Any, dict[str, int]]:
    """Write the vocabulary of two SentencePiece models in Opus-MT's order; return tokenizer and numbers of marks."""
    text = dict.fromkeys(piece for piece in (*source, *target) if piece not in ("<unk>", "<s>", "</s>"))
    names = ["</s>", "<unk>", *text, *marks, "<pad>"]
    numbers = {name: number for number, name in enumerate(names)}
    (folder / "vocab.json").write_text(json.dumps(numbers), encoding="utf-8")
    tokenizer = transformers.MarianTokenizer(
        *(str(folder / name) for name in ("source.spm", "target.spm", "vocab.json")), source_lang="en", target_lang="de"
    )
    tokenizer.save_pretrained(folder)
    pad = len(names) - 1
    special = {"pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0, "forced_eos_token_id": 0}
    return tokenizer, special


def make_folder(
    folder: Path,
    *,
    seed: int = 0,
    spread: float = 0.3,
    end_bias: float = 0.0,
    marks: tuple[str, ...] = (),
    **config: Any,
) -> Path:
    """Write a MarianMT model of random weights with its tokenizer, as `save_pretrained` does."""
    folder.mkdir(parents=True)
    source = train_pieces(sentences(ENGLISH, 400), folder / "source.spm")
    target = train_pieces(sentences(GERMAN, 400), folder / "target.spm")
    _, special = write_tokenizer(folder, source, target, marks)
    special |= {key: config.pop(key) for key in special if key in config}
    size = special["pad_token_id"] + 1
    sizes = {"d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    given = {**sizes, **heads, **special, "max_position_embeddings": 64, "activation_function": "swish"}
    torch.manual_seed(seed)
    model = transformers.MarianMTModel(
        transformers.MarianConfig(vocab_size=size, **{**given, "scale_embedding": True, **config})
    )
    for name, weight in model.named_parameters():
        if "embed_positions" not in name and "norm" not in name:
            torch.nn.init.normal_(weight, std=spread if weight.ndim > 1 else 0.1)
    torch.nn.init.normal_(model.final_logits_bias, std=0.5)
    model.final_logits_bias[:, 0] += end_bias
    model.generation_config = transformers.GenerationConfig(
        bad_words_ids=[[size - 1]], max_length=40, num_beams=4, **special
    )
    model.save_pretrained(folder)
    return folder


@dataclass(frozen=True)
class Both:
    """A published model as its own library loads it, and as a run."""

    folder: Path
    theirs: Any
    tokenizer: Any
    ours: TrainedModel

    @property
    def rows(self) -> list[int]:
        """The number there of each entry of our vocabulary; -1 for our padding if theirs starts translations."""
        numbers, start = self.tokenizer.get_vocab(), self.theirs.config.decoder_start_token_id
        found = [numbers.get(piece, -1) for piece in self.ours.codec.vocabulary.pieces]
        pad = self.tokenizer.pad_token_id
        found[PAD], found[BOS] = -1 if start == pad else pad, start
        return found

    def published_ids(self, ids: Iterable[int]) -> list[int]:
        """Return our token ids as theirs."""
        rows = self.rows
        return [rows[number] for number in ids]


def both(folder: Path) -> Both:
    """Load a folder with its own library, and import it."""
    transformers.utils.logging.disable_progress_bar()
    theirs = transformers.MarianMTModel.from_pretrained(folder).eval()
    run = write_run(read_folder(folder), folder.with_name(f"{folder.name}.run"))
    return Both(folder, theirs, transformers.MarianTokenizer.from_pretrained(folder), load_trained(run.path))
