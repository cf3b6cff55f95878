"""From a published sentence model to a document model: a small Marian model learns to use context.

transformers trains it on the sentences of mini-documents, where it can only guess what an earlier sentence decides. It
is imported, and a second stage puts a QCN on top of it. It prints the right choices before and after:

pytest -m stress -s tests/learning/test_imported_model.py
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.cli.calling import succeed
from tests.unit.exchange.published import train_pieces, write_tokenizer

from docaps.corpus.minidocs.generation import write_corpus

transformers = pytest.importorskip("transformers", reason="transformers is not installed (docaps[dev])")
SENTENCE_STEPS, DOCUMENT_STEPS = 750, 1800


def sentences_of(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line != "<d>"]


def make_model(folder: Path, corpus: Path) -> tuple[Any, Any]:
    """Write vocabulary and tokenizer of the training sentences; return them with an untrained model."""
    folder.mkdir()
    source = train_pieces(sentences_of(corpus / "train.en"), folder / "source.spm", size=4000)
    target = train_pieces(sentences_of(corpus / "train.de"), folder / "target.spm", size=6000)
    tokenizer, special = write_tokenizer(folder, source, target)
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("layers", 2), ("ffn_dim", 512), ("attention_heads", 4))
    }
    torch.manual_seed(1)
    options = {"activation_function": "swish", "scale_embedding": True, "dropout": 0.0, "init_std": 0.05}
    sizes = {"vocab_size": special["pad_token_id"] + 1, "d_model": 128, "max_position_embeddings": 128}
    model = transformers.MarianMTModel(transformers.MarianConfig(**sizes, **sides, **options, **special))
    model.generation_config = transformers.GenerationConfig(max_length=128, num_beams=4, **special)
    return model, tokenizer


def train_on_sentences(model: Any, tokenizer: Any, corpus: Path) -> None:
    """Train on shuffled sentences, batches of similar length."""
    sources = tokenizer(sentences_of(corpus / "train.en"))["input_ids"]
    targets = tokenizer(text_target=sentences_of(corpus / "train.de"))["input_ids"]
    draw, pad = random.Random(1), model.config.pad_token_id
    order = sorted(range(len(sources)), key=lambda number: (len(targets[number]), draw.random()))
    batches = [order[start : start + 64] for start in range(0, len(order), 64)]
    draw.shuffle(batches)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / 100, (SENTENCE_STEPS - step) / (SENTENCE_STEPS - 100))
    )

    def padded(rows: list[list[int]], value: int) -> torch.Tensor:
        longest = max(map(len, rows))
        return torch.tensor([row + [value] * (longest - len(row)) for row in rows])

    model.train()
    for batch in batches[:SENTENCE_STEPS]:
        source, labels = padded([sources[one] for one in batch], pad), padded([targets[one] for one in batch], -100)
        loss = model(input_ids=source, attention_mask=(source != pad).long(), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        schedule.step()
    model.eval()


def right_choices(run: Path, items: Path) -> float:
    """Return the share of right choices of a run."""
    found = json.loads(succeed("contrast", run, items, "--json").out)
    share: float = found["accuracy"]
    return share


@pytest.mark.stress
@pytest.mark.learning
def test_an_imported_sentence_model_learns_to_use_context(tmp_path: Path) -> None:
    corpus, run, prepared = tmp_path / "mini", tmp_path / "opus", tmp_path / "prepared"
    write_corpus(corpus, documents=6000, seed=1)
    model, tokenizer = make_model(tmp_path / "opus-mt-en-de", corpus)
    train_on_sentences(model, tokenizer, corpus)
    model.save_pretrained(tmp_path / "opus-mt-en-de")
    succeed("import", tmp_path / "opus-mt-en-de", "--out", run)
    before = right_choices(run, corpus / "contrastive.jsonl")
    assert before == pytest.approx(0.46, abs=0.005)  # chance
    parts = [
        word
        for part in ("train", "dev", "test")
        for word in (f"--{part}", corpus / f"{part}.en", corpus / f"{part}.de")
    ]
    items = corpus / "contrastive.jsonl"
    succeed("prepare", "--codec", run, *parts, "--contrastive", items, "--out", prepared)
    changes = {
        **{"steps": DOCUMENT_STEPS, "freeze_inherited_steps": 100, "learning_rate": 2e-3, "inherited_rate": 0.2},
        **{"schedule": "linear", "warmup": 50, "dropout": 0.0, "label_smoothing": 0.0, "batch_tokens": 1500},
        **{"result": "last", "validate_every": 300},
    }
    settings = [f"--set=stage.document.{name}={value}" for name, value in changes.items()]
    options = ["--corpus", prepared, "--init-from", run, "--out", tmp_path / "runs"]
    succeed("train", "opus-qcn", *options, *settings)
    document = tmp_path / "runs" / "document"
    after = right_choices(document, items)
    print(f"right choices: {100 * before:.1f} % before, {100 * after:.1f} % after {DOCUMENT_STEPS:,} steps")
    assert after > 0.9
    found = succeed("diagnose", document, "--corpus", prepared, "--against", run, "--limit", "20", "--items", "200")
    assert "Verdict: context lowers perplexity" in found.out
