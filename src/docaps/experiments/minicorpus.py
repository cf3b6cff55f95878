"""Mini-documents as a corpus to experiment on: generated, written, prepared; nothing is done twice."""

from pathlib import Path

from docaps.config import PreparationSettings
from docaps.corpus.minidocs import MiniCorpus
from docaps.corpus.minidocs.generation import labels_as_json, write_files
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.corpus.store import Store
from docaps.experiments.assess import Labels
from docaps.files import replacing_directory

PARTS = ("train", "dev", "test")


def items_path(corpus: Path) -> Path:
    """Return where the contrastive items of a written corpus are."""
    return corpus / "contrastive.jsonl"


def write_once(directory: Path, corpus: MiniCorpus) -> None:
    """Write the mini-documents unless they are there."""
    if not items_path(directory).exists():
        with replacing_directory(directory) as temporary:
            write_files(temporary, corpus)


def prepare_once(text: Path, settings: PreparationSettings, out: Path) -> Store:
    """Prepare written mini-documents."""
    parts = {part: (text / f"{part}.en", text / f"{part}.de") for part in PARTS}
    store, _ = prepare(CorpusFiles(parts, items_path(text)), settings, out)
    return store


def labels_of_test(corpus: MiniCorpus) -> Labels:
    """Say which sentences of the test documents need what."""
    return {number: labels_as_json(document) for number, document in enumerate(corpus.test)}
