"""A task that needs the history, and a tiny model that learns it: prints its accuracy.

python -m tests.learning.pronouns SYSTEM TABLES [precisions | free], where TABLES are settings of systems in JSON. With
`precisions`: the accuracy of translations in float32, bfloat16 and int8. With `free` the gender is chosen freely in the
translation of the sentence before, and nothing on the source side shows it.
"""

import json
import random
import sys
from dataclasses import replace
from typing import Any

import torch

from docaps.batches.batch import Batch, collate
from docaps.batches.windows import View, Window, exchange_histories
from docaps.config import DecodingSettings, SystemSettings
from docaps.corpus.text.vocabulary import EOS
from docaps.model.builders import build_model
from docaps.model.fast.packing import pack
from docaps.model.interface import TranslationModel
from docaps.training.objective import compute_loss
from docaps.translation.search import search

IT, NOUNS, NOISE, PRONOUNS = 4, range(5, 14), range(14, 24), (24, 25, 26)


def draw(rng: random.Random, count: int, view: View, free: bool = False) -> tuple[Batch, torch.Tensor]:
    """Draw sentences `it noise`, to be translated by the gender (number modulo 3) of the noun in the sentence before.

    Two sentences before it there is noise, which is translated by itself, and a noun by an article and itself.
    """
    windows, genders = [], []
    for _ in range(count):
        noun, noise = rng.choice(NOUNS), [rng.choice(NOISE) for _ in range(4)]
        history = ([noise[0], noun, noise[1]], [noise[2]])
        gender = rng.randrange(3) if free else noun % 3
        translations = ([noise[0], PRONOUNS[gender], noun, noise[1]], [noise[2]])
        genders.append(gender)
        windows.append(Window([IT, noise[3], EOS], history, [PRONOUNS[gender], EOS], translations))
    if view.shuffled:
        windows = [window for (window,) in exchange_histories([[window] for window in windows])]
    return collate([replace(window, history=window.history[: view.history]) for window in windows], view), torch.tensor(
        genders
    )


def train(system: str, tables: dict[str, Any], free: bool = False) -> TranslationModel:
    """Train for a short time."""
    values = {
        "name": system,
        "model": {"size": 32, "heads": 2, "feed_forward": 64, "encoder_layers": 1, "decoder_layers": 1, "norm": "pre"},
        "history": {"sentences": 2},
        "qcn": {"normalise": True},
    }
    model = build_model(SystemSettings.model_validate({**values, **tables}), vocabulary=27, seed=1)
    rng = random.Random(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(250):
        batch, _ = draw(rng, 48, model.view, free)
        optimizer.zero_grad()
        compute_loss(model(batch), batch.translations, label_smoothing=0.0, regulariser_weight=1.0).total.backward()
        optimizer.step()
    return model.eval()


def test(model: TranslationModel, free: bool) -> float:
    """Return the accuracy of pronouns."""
    batch, genders = draw(random.Random(2), 600, model.view, free)
    guesses = model(batch).logits[:, 0, list(PRONOUNS)].argmax(dim=-1)
    return float((guesses == genders).float().mean())


def share_of_right_translations(model: TranslationModel) -> float:
    """Return the share of sentences that are translated correctly."""
    batch, genders = draw(random.Random(2), 600, View(2))
    found = search(model, replace(batch, target_input=None, target_output=None), DecodingSettings())
    right = [hypotheses[0].tokens == (PRONOUNS[gender],) for hypotheses, gender in zip(found, genders, strict=True)]
    return sum(right) / len(right)


if __name__ == "__main__":
    torch.set_num_threads(1)
    freely = "free" in sys.argv
    learnt = train(sys.argv[1], json.loads(sys.argv[2]), freely)
    if "precisions" in sys.argv:
        print(*(share_of_right_translations(pack(learnt, one)) for one in (torch.float32, torch.bfloat16, torch.int8)))
    else:
        print(test(learnt, freely))
