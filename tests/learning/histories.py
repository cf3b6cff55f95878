"""Small documents whose pronouns depend on the history, and models trained on them or on shuffled documents.

As a program, train a sentence model and a document model and print the diagnosis of the latter:

python -m tests.learning.histories FOLDER own|shuffled|free [SYSTEM]

Documents that are `free` have no pronouns: a noun has two translations, and the one that was chosen first is kept.
"""

import json
import random
import sys
from pathlib import Path

import torch

from docaps.config import PreparationSettings, Recipe
from docaps.corpus.annotations import Annotation, AnnotationHeader, write_annotations
from docaps.corpus.mining.sentences import Words
from docaps.corpus.mining.token_texts import TokenDocuments
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.corpus.store import Store
from docaps.diagnosis import DiagnosisOptions
from docaps.diagnosis.data import DataOptions
from docaps.diagnosis.run import diagnose_run
from docaps.training.stages import train_recipe

NOUNS = {"church": "Kirche", "garden": "Garten", "house": "Haus", "lamp": "Lampe", "coat": "Mantel", "book": "Buch"}
PRONOUNS = ("sie", "er", "es")  # in the order of the nouns
WORDS = {"lift": ("Aufzug", "Fahrstuhl"), "screen": ("Monitor", "Bildschirm"), "tin": ("Dose", "Büchse")}
PLACES = {"here": "hier", "there": "dort", "outside": "draußen", "upstairs": "oben"}
QUALITIES = {"old": "alt", "new": "neu", "cheap": "billig", "heavy": "schwer", "dark": "dunkel"}
Pair = tuple[str, str]


def draw_document(rng: random.Random) -> list[Pair]:
    """Draw a document: twice a noun, perhaps another sentence, and a pronoun."""
    sentences: list[Pair] = []
    for _ in range(2):
        number = rng.randrange(len(NOUNS))
        noun, place, quality = (
            list(NOUNS.items())[number],
            rng.choice([*PLACES.items()]),
            rng.choice([*QUALITIES.items()]),
        )
        sentences.append((f"{noun[0]} {place[0]}", f"{noun[1]} {place[1]}"))
        if rng.random() < 0.5:
            other = rng.choice([*PLACES.items()])
            sentences.append((f"nobody {other[0]}", f"niemand {other[1]}"))
        sentences.append((f"it was {quality[0]}", f"{PRONOUNS[number % 3]} war {quality[1]}"))
    return sentences


def draw_free_document(rng: random.Random) -> list[Pair]:
    """Draw a document: twice a noun and a word for it, perhaps another sentence, and the noun again."""
    sentences: list[Pair] = []
    for noun in rng.sample([*WORDS], 2):
        word, place, quality = rng.choice(WORDS[noun]), rng.choice([*PLACES.items()]), rng.choice([*QUALITIES.items()])
        sentences.append((f"{noun} {place[0]}", f"{word} {place[1]}"))
        if rng.random() < 0.5:
            other = rng.choice([*PLACES.items()])
            sentences.append((f"nobody {other[0]}", f"niemand {other[1]}"))
        sentences.append((f"{noun} was {quality[0]}", f"{word} war {quality[1]}"))
    return sentences


def shuffled(documents: list[list[Pair]], rng: random.Random) -> list[list[Pair]]:
    """Shuffle the sentences of all documents, so that the history of a sentence says nothing about it."""
    sentences = [pair for document in documents for pair in document]
    rng.shuffle(sentences)
    left = iter(sentences)
    return [[next(left) for _ in document] for document in documents]


def write(path: Path, documents: list[list[Pair]]) -> tuple[Path, Path]:
    """Write both sides of a part."""
    sides = path.with_suffix(".en"), path.with_suffix(".de")
    for number, side in enumerate(sides):
        side.write_text("".join("<d>\n" + "".join(f"{pair[number]}\n" for pair in one) for one in documents))
    return sides


def prepare_documents(folder: Path, kind: str, documents: int = 400) -> Store:
    """Prepare a corpus whose training part is shuffled or not; the development part is not."""
    rng = random.Random(3)
    draw = draw_free_document if kind == "free" else draw_document
    train = [draw(rng) for _ in range(documents)]
    parts = {
        "train": write(folder / "train", shuffled(train, rng) if kind == "shuffled" else train),
        "dev": write(folder / "dev", [draw(rng) for _ in range(60)]),
    }
    return prepare(CorpusFiles(parts, None), PreparationSettings(merges=300, minimum_frequency=1), folder / "prepared")[
        0
    ]


def annotate(store: Store, path: Path) -> Path:
    """Annotate the word that an earlier sentence decides and, as a control, the last word, which the sentence does."""
    records: list[Annotation] = []
    tokens = TokenDocuments(store.codec, store.split("dev"))
    for number in range(len(tokens.split)):
        source, target = (tokens.sentence(number, target=side) for side in (False, True))
        words = Words(target.text)
        if " was " in source.text:
            for name, place in (("decided", 0), ("control", len(words) - 1)):
                marked = target.tokens_of(words, [place])
                records.append(Annotation(sentence=number + 1, phenomenon=name, tokens=marked))
    write_annotations(path, AnnotationHeader(corpus=store.hash, part="dev"), records)
    return path


def recipe(system: str = "qcn") -> Recipe:
    """Return a recipe for a tiny sentence model, and a document model that starts from it."""
    stage = {"batch_tokens": 500, "learning_rate": 3e-3, "warmup": 20, "validate_every": 10_000}
    return Recipe.model_validate(
        {
            "name": "histories",
            "precision": "float32",
            "model": {"size": 32, "heads": 2, "feed_forward": 64, "encoder_layers": 1, "decoder_layers": 1},
            "history": {"sentences": 2},
            "qcn": {"normalise": True},
            "concat": {"mode": "n-to-n", "discount": 0.01, "shift": 4},
            "stage": {
                "sentence": {**stage, "steps": 60, "dropout": 0.0},
                "document": {**stage, "steps": 160, "dropout": 0.0, "system": system, "init_from": "sentence"},
            },
        }
    )


def main(folder: Path, kind: str, system: str = "qcn") -> None:
    """Train, diagnose, print."""
    torch.set_num_threads(1)
    store = prepare_documents(folder, kind)
    runs = train_recipe(recipe(system), store, folder / "runs")
    data = DataOptions(annotations=annotate(store, folder / "annotations.jsonl"))
    print(json.dumps(diagnose_run(runs[-1].path, data, DiagnosisOptions(bleu=False))))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
