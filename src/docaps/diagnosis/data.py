"""The data of a diagnosis: documents, contrastive items, and the sentence model that a run started from."""

import contextlib
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from docaps import __version__, progress
from docaps.corpus.contrastive import SetOptions, read_set
from docaps.corpus.contrastive.contrastive_set import AnyItem, spread, spread_documents
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.formats import read_parallel
from docaps.corpus.store import Store, open_store
from docaps.diagnosis.marks import Marks, choose_marks, mark_by_rules, read_marks
from docaps.errors import CorpusError, RunError
from docaps.files import sha256
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
    annotations: Path | None = None

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
    """Documents, contrastive items, tokens that an earlier sentence decides, and where they come from."""

    documents: Sequence[ParallelDocument]
    items: Sequence[AnyItem] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)
    marks: Marks = field(default_factory=dict)


def read_data(run: Run, trained: TrainedModel, options: DataOptions) -> DiagnosisData:
    """Read the documents and the contrastive set to diagnose a run on."""
    options.check()
    languages = trained.codec.source.code, trained.codec.target.code
    chosen, place = options.set, None
    if options.source:
        documents = read_parallel(
            options.source,
            options.reference,
            format=options.format,
            language=languages[0],
            target_language=languages[1],
            starts=options.starts,
        )
        origin = {"source": str(options.source), "reference": str(options.reference or options.source)}
    else:
        store = open_store(options.corpus or own_corpus(run))
        documents, origin = _read_part(run, store, options)
        place = store, origin["part"]
        chosen = chosen or (("jsonl", store.contrastive) if store.contrastive else None)
    documents, marks = _choose_documents(trained, documents, options, place)
    origin |= {"annotations": str(options.annotations)} if options.annotations else {}
    if chosen is None:
        return DiagnosisData(documents, (), origin, marks)
    items = read_set(*chosen, SetOptions(*languages, **options.context)).items
    origin |= {"set": chosen[0], "set_path": str(chosen[1])}
    return DiagnosisData(documents, spread_documents(items, options.items), origin, marks)


def _choose_documents(
    trained: TrainedModel,
    documents: Sequence[ParallelDocument],
    options: DataOptions,
    place: tuple[Store, str] | None,
) -> tuple[list[ParallelDocument], Marks]:
    """Choose documents for a quick look, and mark their tokens; annotations count through all documents."""
    numbers = spread(range(len(documents)), options.limit)
    chosen = [documents[number] for number in numbers]
    if options.annotations is None:
        return chosen, mark_by_rules(chosen, trained.codec, trained.model.history)
    return chosen, choose_marks(read_marks(options.annotations, documents, trained.codec, place), numbers)


def _read_part(run: Run, store: Store, options: DataOptions) -> tuple[list[ParallelDocument], dict[str, Any]]:
    """Read a part of a prepared corpus, by default the development part."""
    part = options.part or ("dev" if store.has("dev") else "test")
    if not store.has(part):
        message = f"the prepared corpus has no {part} part: give --part, or documents with --source"
        raise CorpusError(message, path=store.path)
    if options.corpus is None and store.hash != run.read().get("corpus", {}).get("hash"):
        progress.say(f"{store.path}: the corpus was prepared anew since the run was trained")
    return store.raw(part), {"corpus": str(store.path), "part": part}


def find_sentence_model(run: Run) -> Path | None:
    """Find the sentence model that a run started from among its siblings, if need be through other document models."""
    siblings = sorted(path.parent for path in run.path.resolve().parent.glob("*/run.json"))
    for _ in siblings:
        start = run.read().get("begun_from")
        found = _find([path for path in siblings if path != run.path.resolve()], start) if start else None
        if found is None:
            return None
        if load_trained(found.path).model.history == 0:
            return found.path
        run = found
    return None


def _find(siblings: Sequence[Path], start: Mapping[str, Any]) -> Run | None:
    """Find the finished run with the name and the creation time of the one that another started from."""
    for path in siblings:
        with contextlib.suppress(RunError):
            description = (run := open_run(path)).read()
            if (str(description.get("name")), str(description.get("created"))) == (
                start.get("run"),
                start.get("created"),
            ):
                return run
    return None


def fingerprint(run: Run, data: Iterable[object]) -> dict[str, str]:
    """Return short hashes of the data and of a run's weights, for a signature."""
    text = "\n".join(map(repr, data)).encode("utf-8", "backslashreplace")
    return {"data": hashlib.sha256(text).hexdigest()[:12], "weights": sha256(run.weights)[:12]}


def sign(parts: Mapping[str, object]) -> str:
    """Return the signature of a result: what it depends on, and the version."""
    return "|".join(f"{key}:{value}" for key, value in {**parts, "docaps": __version__}.items())
