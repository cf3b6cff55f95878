"""The data of a diagnosis: documents, contrastive items, and the sentence model that a run started from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from docaps import progress
from docaps.corpus.contrastive import AnyItem, SetOptions, read_set, spread, spread_documents
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.formats import read_parallel
from docaps.corpus.store import Store, open_store
from docaps.errors import CorpusError, RunError
from docaps.runs.directory import Run, open_run, own_corpus
from docaps.translation.trained_model import TrainedModel, load_trained


@dataclass(frozen=True, slots=True)
class DataOptions:
    """What to diagnose a run on; by default, its own corpus."""

    corpus: Path | None = None
    part: Literal["dev", "test"] | None = None
    source: Path | None = None
    reference: Path | None = None
    format: str | None = None
    starts: Path | None = None
    set: tuple[str, Path] | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    items: int | None = None

    def check(self) -> None:
        """Refuse options that exclude each other."""
        if self.reference and not self.source:
            raise CorpusError("--reference needs the documents it translates: give them with --source")
        if self.source and (self.corpus or self.part):
            raise CorpusError("--source and --corpus (or --part): give the one or the other")
        if not self.source and (self.format or self.starts):
            raise CorpusError("--format and --starts go with --source")
        if not self.set and any(value is not None for value in self.context.values()):
            raise CorpusError("--context-dir and --context-lines go with --set contrapro PATH")


@dataclass(frozen=True, slots=True)
class DiagnosisData:
    """Documents and contrastive items, and where they come from."""

    documents: Sequence[ParallelDocument]
    items: Sequence[AnyItem] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)


def read_data(run: Run, trained: TrainedModel, options: DataOptions) -> DiagnosisData:
    """Read the documents and the contrastive set to diagnose a run on."""
    options.check()
    store = None if options.source else open_store(options.corpus or own_corpus(run))
    documents, origin = _read_part(run, store, options) if store else _read_files(trained, options)
    documents = spread(documents, options.limit)
    chosen = options.set or (("jsonl", store.contrastive) if store and store.contrastive else None)
    if chosen is None:
        return DiagnosisData(documents, (), origin)
    languages = trained.codec.source.code, trained.codec.target.code
    items = read_set(*chosen, SetOptions(*languages, **options.context)).items
    origin |= {"set": chosen[0], "set_path": str(chosen[1])}
    return DiagnosisData(documents, spread_documents(items, options.items), origin)


def _read_part(run: Run, store: Store, options: DataOptions) -> tuple[list[ParallelDocument], dict[str, Any]]:
    """Read a part of a prepared corpus, by default the development part."""
    part = options.part or ("dev" if store.has("dev") else "test")
    if not store.has(part):
        raise CorpusError(
            f"the prepared corpus has no {part} part: give --part, or documents with --source", path=store.path
        )
    if options.corpus is None and store.hash != run.read().get("corpus", {}).get("hash"):
        progress.say(f"{store.path}: the corpus was prepared anew since the run was trained")
    return store.raw(part), {"corpus": str(store.path), "part": part}


def _read_files(trained: TrainedModel, options: DataOptions) -> tuple[list[ParallelDocument], dict[str, Any]]:
    """Read documents in any format."""
    assert options.source is not None
    documents = read_parallel(
        options.source,
        options.reference,
        format=options.format,
        language=trained.codec.source.code,
        target_language=trained.codec.target.code,
        starts=options.starts,
    )
    return documents, {"source": str(options.source), "reference": str(options.reference or options.source)}


def find_sentence_model(run: Run) -> Path | None:
    """Find the sentence model that a run started from among its siblings, if need be through other document models."""
    for _ in range(len(list(run.path.resolve().parent.iterdir()))):
        start = run.read().get("begun_from")
        found = start and next((path for path in _siblings(run) if _is_same(path, start)), None)
        if not found:
            return None
        run = open_run(found)
        if load_trained(found).model.history == 0:
            return found
    return None


def _siblings(run: Run) -> list[Path]:
    """List the other runs in the directory of a run."""
    own = run.path.resolve()
    return sorted(path for path in own.parent.iterdir() if path != own and (path / "run.json").is_file())


def _is_same(path: Path, start: Mapping[str, Any]) -> bool:
    """Say whether a run has the name and the creation time of the one that another started from."""
    try:
        description = open_run(path).read()
    except RunError:
        return False
    return all(str(description.get(own)) == start.get(key) for own, key in (("name", "run"), ("created", "created")))
