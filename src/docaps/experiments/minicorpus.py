"""Mini-documents as the corpus of an experiment: generated, written and prepared, each once."""

from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from docaps.config import PreparationSettings
from docaps.corpus.minidocs import MiniCorpus, generate_corpus
from docaps.corpus.minidocs.generation import FILES, labels_as_json, write_files
from docaps.corpus.minidocs.phenomena import choose_phenomena
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.corpus.store import Store
from docaps.errors import CorpusError, RunError
from docaps.experiments.assess import Labels
from docaps.experiments.grid import Grid
from docaps.files import read_json, replacing_directory, write_json

PARTS = ("train", "dev", "test")
ITEMS, LABELS = "contrastive.jsonl", "labels.json"


def write_once(directory: Path, corpus: MiniCorpus) -> None:
    """Write the mini-documents unless they exist."""
    if not (directory / ITEMS).exists():
        with replacing_directory(directory, own=FILES, error=CorpusError) as temporary:
            write_files(temporary, corpus)


def prepare_once(text: Path, settings: PreparationSettings, out: Path) -> Store:
    """Prepare written mini-documents."""
    parts = {part: (text / f"{part}.en", text / f"{part}.de") for part in PARTS}
    store, _ = prepare(CorpusFiles(parts, text / ITEMS), settings, out)
    return store


def labels_of_test(corpus: MiniCorpus) -> Labels:
    """Return the phenomena and distances of the sentences of the test documents."""
    return {number: labels_as_json(document) for number, document in enumerate(corpus.test)}


def provide_corpora(grid: Grid) -> dict[int, Store]:
    """Return the corpus for each seed of a grid; mini-documents are generated and prepared unless they exist."""
    seeds = list(grid.seeds)
    if grid.source.corpus is None:
        with grid.lock("corpus"):
            for seed in seeds if grid.layout.per_seed else seeds[:1]:
                make_minidocs(grid, grid.corpus_home(seed), seed)
    return {seed: grid.store(seed) for seed in seeds} if grid.layout.per_seed else dict.fromkeys(seeds, grid.store())


def make_minidocs(grid: Grid, home: Path, seed: int = 1) -> Store:
    """Generate and prepare mini-documents for a seed of a grid; most layouts use those of seed 1 for all seeds."""
    text = home / "corpus"
    if not (home / LABELS).exists():
        drawn = seed if grid.layout.per_seed else 1
        phenomena = choose_phenomena(grid.source.phenomena)
        corpus = generate_corpus(documents=grid.source.documents, seed=drawn, phenomena=phenomena)
        write_once(text, corpus)
        write_json(home / LABELS, labels_of_test(corpus))
    return prepare_once(text, grid.recipe.preparation, home / "prepared")


def read_labels(grid: Grid, seed: int) -> Labels:
    """Return the labels of the test sentences for a seed, if there are any."""
    path = grid.corpus_home(seed) / LABELS
    found = read_json(path, error=RunError) if path.exists() else {}
    try:
        return TypeAdapter(dict[int, dict[int, dict[str, Any]]]).validate_python(found)
    except ValidationError as fault:
        raise RunError(f"not labels of sentences: {fault.errors()[0]['msg']}: remove it", path=path) from None
