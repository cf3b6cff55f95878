"""A task that only the history decides, and a tiny model that learns it: prints its share of right answers."""

import random
import sys
from typing import cast

import torch

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


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(train_and_test(cast(SystemName, sys.argv[1])))
