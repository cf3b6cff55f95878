"""Models learn what only an earlier sentence decides; `make stress` holds the demo to its promises."""

import json
import random
from pathlib import Path

import pytest
import torch
from tests.cli.calling import finish

from docaps.batches.batch import Batch, collate
from docaps.batches.windows import Window
from docaps.config import HistorySettings, ModelSettings, QcnSettings, SystemName, SystemSettings
from docaps.corpus.vocabulary import EOS
from docaps.model.variants import build_model
from docaps.training.objective import compute_loss

IT, NOUNS, NOISE, PRONOUNS = 4, range(5, 14), range(14, 24), (24, 25, 26)


def draw(rng: random.Random, count: int) -> tuple[Batch, torch.Tensor]:
    """Draw sentences `it noise`, to be translated by the gender (number modulo 3) of the noun two sentences before."""
    windows, genders = [], []
    for _ in range(count):
        noun = rng.choice(NOUNS)
        history = ([rng.choice(NOISE)], [rng.choice(NOISE), noun, rng.choice(NOISE)], [rng.choice(NOISE)])
        genders.append(noun % 3)
        windows.append(Window([IT, rng.choice(NOISE), EOS], history, [PRONOUNS[noun % 3], EOS]))
    return collate(windows, 3), torch.tensor(genders)


def train_and_test(system: SystemName) -> float:
    """Return the share of right pronouns after a short training."""
    settings = SystemSettings(
        name=system,
        model=ModelSettings(size=32, heads=2, feed_forward=64, encoder_layers=1, decoder_layers=1, norm="pre"),
        history=HistorySettings(sentences=3),
        qcn=QcnSettings(normalise=True),
    )
    model, rng = build_model(settings, vocabulary=27, seed=1), random.Random(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(250):
        batch, _ = draw(rng, 48)
        optimizer.zero_grad()
        compute_loss(model(batch), batch.translations, label_smoothing=0.0, regulariser_weight=1.0).total.backward()
        optimizer.step()
    batch, genders = draw(random.Random(2), 600)
    model.eval()
    guesses = model(batch).logits[:, 0, list(PRONOUNS)].argmax(dim=-1)
    return float((guesses == genders).float().mean())


@pytest.mark.learning
@pytest.mark.parametrize("system", ["qcn", "qcn+reg"])
def test_a_document_model_learns_what_the_history_decides(system: SystemName) -> None:
    assert train_and_test(system) > 0.95


@pytest.mark.learning
@pytest.mark.parametrize("system", ["transformer", "transformer+reg"])
def test_a_sentence_model_cannot(system: SystemName) -> None:
    assert train_and_test(system) < 0.45


@pytest.mark.stress
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_demo_keeps_its_promises(seed: int, tmp_path: Path) -> None:
    result = finish("demo", "--dir", tmp_path / "demo", "--seed", str(seed), "--json", threads=None)
    assert result.code == 0, result.err
    summary = json.loads(result.out)
    document, sentence, chance = (summary[key] for key in ("document", "sentence", "chance"))
    assert document["contrastive"]["by_phenomenon_and_distance"]["pronoun"]["1"] >= 0.95
    assert document["contrastive"]["all"] >= 0.9
    for name, share in chance["by_phenomenon"].items():
        assert sentence["contrastive"]["by_phenomenon"][name] == pytest.approx(share, abs=0.05)
    assert document["bleu"] > sentence["bleu"]
    assert summary["seconds"]["train"] < 300
    assert summary["seconds"]["total"] < 360


@pytest.mark.stress
def test_the_same_seed_gives_the_same_table_twice(tmp_path: Path) -> None:
    steps = ["--set", "stage.sentence.steps=300", "--set", "stage.document.steps=300"]
    tables = []
    for name in ("one", "two"):
        result = finish("demo", "--dir", tmp_path / name, "--json", *steps, threads=None)
        assert result.code == 0, result.err
        summary = json.loads(result.out)
        tables.append({key: summary[key] for key in ("sentence", "document", "chance")})
    assert tables[0] == tables[1]
