"""Train a model whose sources have a tag that decides the form of address; print its translations with each tag.

python -m tests.learning.addresses FOLDER
"""

import sys
from pathlib import Path

import torch
from tests.invariants import tiny

from docaps.config import PreparationSettings
from docaps.corpus.annotations import Annotation, AnnotationHeader, write_annotations
from docaps.corpus.documents import Document
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.training.stages import train_recipe
from docaps.translation.trained_model import load_trained
from docaps.translation.translator import Control, Translator

VERBS = [("see", "siehst", "sehen"), ("hear", "hörst", "hören"), ("sing", "singst", "singen")]
"""Every source has both translations; only the tag tells which."""


def main(folder: Path) -> None:
    """Prepare a corpus, train, and translate."""
    rows = [(f"you {verb}", f"du {informal}", f"Sie {formal}") for verb, informal, formal in VERBS]
    files = {}
    for part in ("train", "dev"):
        files[part] = (folder / f"{part}.en", folder / f"{part}.de")
        for path, columns in zip(files[part], ((0, 0), (1, 2)), strict=True):
            path.write_text("".join(f"{row[column]}\n" for row in rows for column in columns) * 3, encoding="utf-8")
    settings = PreparationSettings(merges=80, minimum_frequency=1, marks=("formal", "informal"))
    store, _ = prepare(CorpusFiles(files), settings, folder / "prepared")
    count = len(store.split("train"))
    labels = [
        Annotation(sentence=number, phenomenon="formality", label=("Sie", "du")[number % 2])
        for number in range(1, count + 1)
    ]
    write_annotations(folder / "labels", AnnotationHeader(corpus=store.hash, part="train"), labels)
    stage = {"formality": str(folder / "labels"), "formality_share": 0.9, "steps": 400, "batch_tokens": 200}
    changes = {**stage, "validate_every": 100, "result": "last"}
    recipe = tiny.recipe(**{f"stage__sentence__{name}": value for name, value in changes.items()})
    (run,) = train_recipe(recipe, store, folder / "runs", stages=["sentence"])
    for formality in ("informal", "formal"):
        translator = Translator(load_trained(run.path), control=Control(formality=formality))
        ((*found,),) = translator.translate([Document(tuple(row[0] for row in rows))])
        for sentence in found:
            print(sentence.text)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]))
