"""What a run is diagnosed on: documents, contrastive items, and the model that it started from."""

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

Part = Literal["dev", "test"]


@dataclass(frozen=True, slots=True)
class Request:
    """What the user wants to look at; without any wish, the run's own corpus."""

    corpus: Path | None = None
    part: Part | None = None
    source: Path | None = None
    reference: Path | None = None
    format: str | None = None
    starts: Path | None = None
    set: tuple[str, Path] | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    items: int | None = None


@dataclass(frozen=True, slots=True)
class Material:
    """Documents and items, and where they come from."""

    documents: Sequence[ParallelDocument]
    items: Sequence[AnyItem] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)


def gather(run: Run, trained: TrainedModel, request: Request) -> Material:
    """Read what a run is to be diagnosed on."""
    _check(request)
    store = None if request.source else open_store(request.corpus or own_corpus(run))
    documents, origin = _read_part(run, store, request) if store else _read_files(trained, request)
    languages = trained.codec.source.code, trained.codec.target.code
    chosen = request.set or (("jsonl", store.contrastive) if store and store.contrastive else None)
    if chosen is None:
        return Material(spread(documents, request.limit), (), origin)
    found = read_set(*chosen, SetOptions(*languages, **request.context)).items
    named = {"set": chosen[0], "set_path": str(chosen[1])}
    return Material(spread(documents, request.limit), spread_documents(found, request.items), origin | named)


def _check(request: Request) -> None:
    """Refuse wishes that do not go together."""
    if request.reference and not request.source:
        raise CorpusError("--reference needs the documents it translates: give them with --source")
    if request.source and (request.corpus or request.part):
        raise CorpusError("--source and --corpus (or --part): give the one or the other")
    if not request.source and (request.format or request.starts):
        raise CorpusError("--format and --starts go with --source")
    if not request.set and any(value is not None for value in request.context.values()):
        raise CorpusError("--context-dir and --context-lines go with --set contrapro PATH")


def _read_part(run: Run, store: Store, request: Request) -> tuple[list[ParallelDocument], dict[str, Any]]:
    """Read a part of a prepared corpus: the development part unless another is wanted."""
    part = request.part or ("dev" if store.has("dev") else "test")
    if not store.has(part):
        raise CorpusError(
            f"the prepared corpus has no {part} part: give --part, or documents with --source", path=store.path
        )
    if request.corpus is None and store.hash != run.read().get("corpus", {}).get("hash"):
        progress.say(f"{store.path}: the corpus was prepared anew since the run was trained")
    return store.raw(part), {"corpus": str(store.path), "part": part}


def _read_files(trained: TrainedModel, request: Request) -> tuple[list[ParallelDocument], dict[str, Any]]:
    """Read documents in any format."""
    assert request.source is not None
    documents = read_parallel(
        request.source,
        request.reference,
        format=request.format,
        language=trained.codec.source.code,
        target_language=trained.codec.target.code,
        starts=request.starts,
    )
    return documents, {"source": str(request.source), "reference": str(request.reference or request.source)}


def find_base(run: Run) -> Path | None:
    """Find the sentence model that a run was begun from, beside it; through other document models, if need be."""
    for _ in range(len(list(run.path.resolve().parent.iterdir()))):
        begun = run.read().get("begun_from")
        found = begun and next((path for path in _siblings(run) if _is_same(path, begun)), None)
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


def _is_same(path: Path, begun: Mapping[str, Any]) -> bool:
    """Say whether a run is the very one that another was begun from: of the same name, made at the same time."""
    try:
        description = open_run(path).read()
    except RunError:
        return False
    return all(str(description.get(own)) == begun.get(key) for own, key in (("name", "run"), ("created", "created")))
