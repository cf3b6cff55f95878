"""Writing mini-documents: for people to read, for programs, and as the files of a corpus."""

from pathlib import Path
from typing import Any

from docaps.corpus.contrastive import write_items
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.formats import write_parallel
from docaps.corpus.minidocs import MiniCorpus, MiniDocument, generate_corpus
from docaps.corpus.minidocs.phenomena import PHENOMENA, Phenomenon
from docaps.errors import CorpusError
from docaps.files import replacing_directory


def as_text(number: int, document: MiniDocument) -> str:
    """Write a document for people: source, translation, and what a sentence needs to know."""
    lines = [f"Document {number}"]
    labels = dict(document.labels)
    for place, (source, target) in enumerate(zip(document.source, document.target, strict=True)):
        label = labels.get(place)
        need = f"   [{label.phenomenon}, needs the sentence {label.distance} before]" if label else ""
        lines += [f"  {source}", f"  {target}{need}", ""]
    return "\n".join(lines).rstrip()


def as_json(document: MiniDocument) -> dict[str, Any]:
    """Write a document for programs."""
    return {"source": document.source, "target": document.target, "labels": labels_as_json(document)}


def labels_as_json(document: MiniDocument) -> dict[int, dict[str, Any]]:
    """Return phenomenon and distance of each labelled sentence by its number."""
    return {
        place: {"phenomenon": label.phenomenon, "form": label.form, "distance": label.distance}
        for place, label in dict(document.labels).items()
    }


def write_corpus(
    out: Path,
    *,
    documents: int,
    seed: int,
    phenomena: tuple[Phenomenon, ...] = PHENOMENA,
    overwrite: bool = False,
) -> dict[str, int]:
    """Write a corpus: training, development and test documents, and contrastive items; return the counts."""
    if out.exists() and not overwrite:
        raise CorpusError("exists already: give --overwrite to replace it", path=out)
    corpus = generate_corpus(documents=documents, seed=seed, phenomena=phenomena)
    with replacing_directory(out) as directory:
        write_files(directory, corpus)
    parts = {"train": corpus.train, "dev": corpus.dev, "test": corpus.test}
    return {f"{name} documents": len(part) for name, part in parts.items()} | {
        "contrastive items": len(corpus.contrastive)
    }


def write_files(directory: Path, corpus: MiniCorpus) -> None:
    """Write the files of a corpus into a directory."""
    for name, part in (("train", corpus.train), ("dev", corpus.dev), ("test", corpus.test)):
        pairs = [ParallelDocument(document.source, document.target) for document in part]
        write_parallel(directory / f"{name}.en", directory / f"{name}.de", pairs)
    write_items(directory / "contrastive.jsonl", corpus.contrastive)
