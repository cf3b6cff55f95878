"""A small corpus of sentences long enough to be cut in halves, with marks in its vocabulary, and its annotations."""

from pathlib import Path
from typing import Any

from docaps.config import PreparationSettings
from docaps.corpus.annotations import Annotation, AnnotationHeader, write_annotations
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.corpus.store import Store

NOUNS = [("cat", "die Katze", "sie"), ("dog", "der Hund", "er"), ("horse", "das Pferd", "es")]


def pair(number: int) -> tuple[str, str]:
    """A sentence of nine words or more, or every third time a short one with the pronoun."""
    english, german, pronoun = NOUNS[number // 3 % 3]
    if number % 3 == 2:
        return "it was old", f"{pronoun} war alt"
    times = " and then again" * (number % 4)
    return f"the {english} came here, and it slept{times}", f"{german} kam her, und {pronoun} schlief{times}"


def prepared(directory: Path) -> Store:
    """Three documents to train on, and one for development."""
    parts = {}
    for part, sizes in (("train", (12, 9, 6)), ("dev", (6,))):
        parts[part] = (directory / f"{part}.en", directory / f"{part}.de")
        for side, path in enumerate(parts[part]):
            documents = ("<d>\n" + "".join(f"{pair(number)[side]}\n" for number in range(size)) for size in sizes)
            path.write_text("".join(documents), encoding="utf-8")
    settings = PreparationSettings(merges=80, minimum_frequency=1, marks=("formal", "informal"))
    return prepare(CorpusFiles(parts), settings, directory / "prepared")[0]


def annotate(path: Path, store: Store) -> None:
    """Write annotations of all kinds: the short sentences with scores, their first token, and labels of others."""
    count = len(store.split("train"))
    pronouns = [
        Annotation(sentence=number, phenomenon="pronoun", score=1.0 + number % 2, tokens=(0,))
        for number in range(3, count + 1, 3)
    ]
    labels = [
        Annotation(sentence=number, phenomenon="formality", label=("du", "ihr", "Sie")[number % 3])
        for number in range(1, count + 1, 2)
    ]
    write_annotations(path, AnnotationHeader(corpus=store.hash, part="train"), [*pronouns, *labels])


def signals(file: Path | str) -> dict[str, Any]:
    """The settings of a stage with all signals of its data."""
    return {
        "source_dropout": 0.2,
        "history_sampling": True,
        "split": 0.5,
        "select": str(file),
        "select_share": 0.4,
        "select_phenomena": ["pronoun"],
        "emphasis": str(file),
        "emphasis_weight": 4.0,
        "emphasis_phenomena": ["pronoun"],
        "formality": str(file),
        "formality_share": 0.5,
    }
