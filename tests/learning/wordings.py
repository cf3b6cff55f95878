"""Mini-documents whose wording only earlier translations decide, and a model trained on them.

As a program, train a sentence model and a document model; print the right choices of the latter and its diagnosis.

python -m tests.learning.wordings FOLDER SYSTEM SETTINGS, where SETTINGS are a list of KEY=VALUE in JSON.
"""

import json
import sys
from pathlib import Path

import torch

from docaps.config import load_recipe, recipe_path
from docaps.corpus.contrastive.contrastive_set import read_items
from docaps.corpus.minidocs import generate_corpus
from docaps.corpus.minidocs.generation import write_files
from docaps.corpus.minidocs.phenomena import choose_phenomena
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.corpus.store import Store
from docaps.diagnosis import DiagnosisOptions
from docaps.diagnosis.choices import answer_items
from docaps.diagnosis.data import DataOptions
from docaps.diagnosis.run import diagnose_run
from docaps.evaluation.contrastive import measure_accuracy
from docaps.training.stages import train_recipe
from docaps.translation.trained_model import load_trained

DOCUMENTS, ITEMS = 3000, 240
SETTINGS = (
    "preparation.merges=3000",
    "model.size=64",
    "model.feed_forward=256",
    "stage.sentence.steps=400",
    "stage.document.steps=800",
    "stage.document.batch_tokens=1000",
    "stage.document.inherited_rate=1.0",
    "stage.document.inherited_exempt=[]",
)


def prepare_documents(folder: Path) -> Store:
    """Generate and prepare documents; the items stay outside the corpus, so that a diagnosis has the documents only."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = generate_corpus(documents=DOCUMENTS, seed=1, items=ITEMS, phenomena=choose_phenomena("wording"))
    write_files(folder, corpus)
    parts = {part: (folder / f"{part}.en", folder / f"{part}.de") for part in ("train", "dev", "test")}
    recipe = load_recipe(recipe_path("minidocs"), list(SETTINGS))
    return prepare(CorpusFiles(parts, None), recipe.preparation, folder / "prepared")[0]


def main(folder: Path, system: str, settings: list[str]) -> None:
    """Train, test, diagnose, print."""
    torch.set_num_threads(1)
    store = prepare_documents(folder)
    recipe = load_recipe(recipe_path("minidocs"), [*SETTINGS, f"stage.document.system={system}", *settings])
    run = train_recipe(recipe, store, folder / "runs")[-1]
    trained = load_trained(run.path)
    answers = answer_items(trained, read_items(folder / "contrastive.jsonl"))
    found = measure_accuracy([answer.item for answer in answers], [answer.decision for answer in answers])
    diagnosis = diagnose_run(run.path, DataOptions(), DiagnosisOptions(bleu=False))
    print(
        json.dumps(
            {
                "all": found.all.accuracy,
                "by_distance": {distance: one.accuracy for distance, one in found.by_distance.items()},
                "by_form": {form: one.accuracy for form, one in found.by_form.items()},
                "verdict_code": diagnosis["verdict_code"],
                "verdict": diagnosis["verdict"],
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]))
