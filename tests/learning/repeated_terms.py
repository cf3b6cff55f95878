"""Train a model that translates a name in two ways; report and mend that by the model's own attention.

Print, as JSON, the plain translations, those made alike, and what is said of either.

python -m tests.learning.repeated_terms FOLDER
"""

import json
import sys
from itertools import product
from pathlib import Path

import torch
from tests.invariants import tiny

from docaps.config import PreparationSettings
from docaps.corpus.documents import Document
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.training.stages import train_recipe
from docaps.translation.consistency import ConsistencyMode, ConsistentTranslator
from docaps.translation.trained_model import load_trained

DETERMINERS = {"the": "unser", "a": "ein"}
ADJECTIVES = {"": "", "big ": "großer ", "old ": "alter "}
NOUNS = {"Zoo": "Tierpark", "cat": "Kater", "dog": "Hund", "horse": "Gaul"}
VERBS = {"ran": "lief", "sat": "saß", "slept": "schlief", "came": "kam"}
OTHER_NAME = "Garten"
"""What a big Zoo is called."""
STORY = ("the Zoo slept", "a old Zoo came", "the big Zoo sat", "the dog ran", "a Zoo ran")


def pairs() -> list[tuple[str, str]]:
    """Return all sentences and their translations."""
    found = []
    for one, two, three, four in product(DETERMINERS, ADJECTIVES, NOUNS, VERBS):
        noun = OTHER_NAME if three == "Zoo" and two == "big " else NOUNS[three]
        found.append((f"{one} {two}{three} {four}", f"{DETERMINERS[one]} {ADJECTIVES[two]}{noun} {VERBS[four]}"))
    return found


def main(folder: Path) -> None:
    """Prepare a corpus, train, and translate."""
    files = {}
    for part in ("train", "dev"):
        files[part] = (folder / f"{part}.en", folder / f"{part}.de")
        for side, path in enumerate(files[part]):
            path.write_text("".join(f"{pair[side]}\n" for pair in pairs()), encoding="utf-8")
    settings = PreparationSettings(merges=200, minimum_frequency=1)
    store, _ = prepare(CorpusFiles(files), settings, folder / "prepared")
    stage = {"steps": 400, "batch_tokens": 300, "validate_every": 200, "result": "last"}
    sizes = {"size": 32, "feed_forward": 64, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    changes = {f"stage__sentence__{name}": value for name, value in stage.items()}
    recipe = tiny.recipe(**changes, **{f"model__{name}": value for name, value in sizes.items()})
    (run,) = train_recipe(recipe, store, folder / "runs", stages=["sentence"])
    trained = load_trained(run.path)
    modes: tuple[ConsistencyMode, ...] = ("report", "enforce")
    for mode in modes:
        said: list[str] = []
        translator = ConsistentTranslator(trained, mode=mode, report=said.append, warn=said.append)
        (found,) = translator.translate([Document(STORY)])
        print(json.dumps({"texts": [sentence.text for sentence in found], "said": said}))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]))
