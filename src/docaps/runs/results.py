"""The results in a run directory: description, metrics, scores, translations, routing.

Only files are read, so that a report needs no model, corpus or PyTorch. All files are checked here.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median_low
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AliasPath, BeforeValidator, Field, TypeAdapter, ValidationError

from docaps.errors import RunError
from docaps.files import parse_json, read_json, read_text
from docaps.runs.contrastive_results import ContrastiveResult, parse_contrastive_result
from docaps.runs.diagnosis_results import Diagnosis, Text, parse_diagnosis
from docaps.runs.directory import Run
from docaps.runs.measured_results import read_measured
from docaps.runs.training_log import pair_correlations, read_metrics

LARGEST_TRANSLATIONS = 2**30  # bytes
Value = TypeVar("Value")
Number = Annotated[float, BeforeValidator(lambda value: float("nan") if value is None else value)]
"""A number; null (an undefined correlation) becomes nan."""
Matrix = tuple[tuple[Number, ...], ...]  # [capsule][word]
Matrices = Annotated[tuple[Matrix, ...], BeforeValidator(lambda matrices: matrices or ())]


@dataclass(frozen=True, slots=True)
class Scores:
    """BLEU on a test set, with its signature and the search settings."""

    set: Text
    documents: int
    sentences: int
    bleu: Annotated[float, Field(alias=AliasPath("bleu", "score"))]
    signature: Annotated[Text, Field(alias=AliasPath("bleu", "signature"))]
    search: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AccuracyBreakdown:
    """A number (accuracy, chance level, count) for all items, and by phenomenon and distance."""

    all: float
    by_phenomenon: Mapping[str, float] = field(default_factory=dict)
    by_distance: Mapping[str, float] = field(default_factory=dict)
    by_phenomenon_and_distance: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Contrastive:
    """Accuracy on contrastive items, beside the chance level."""

    file: Text
    items: int
    accuracy: AccuracyBreakdown
    chance: AccuracyBreakdown
    counts: AccuracyBreakdown


@dataclass(frozen=True, slots=True)
class SentenceLabel:
    """The phenomenon that a sentence tests, and how many sentences back the answer lies."""

    phenomenon: Text
    distance: int


@dataclass(frozen=True, slots=True)
class TranslatedDocument:
    """Source, reference and translation of a document, sentence by sentence."""

    id: Text
    source: tuple[Text, ...]
    reference: tuple[Text, ...]
    hypothesis: tuple[Text, ...]
    labels: Annotated[Mapping[int, SentenceLabel], BeforeValidator(lambda labels: labels or {})] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        """Refuse documents whose parts differ in length."""
        source, reference, hypothesis = (len(part) for part in (self.source, self.reference, self.hypothesis))
        if not source == reference == hypothesis:
            lengths = f"{source} source, {reference} reference and {hypothesis} translated sentences"
            raise ValueError(f"document {self.id} has {lengths}; expected the same number of each")


@dataclass(frozen=True, slots=True)
class HistoryRouting:
    """The routing of a history sentence's words: one matrix per iteration (Figs. 6 and 7)."""

    distance: int | None  # None: all history sentences were routed together
    words: tuple[Text, ...]
    coupling: Matrices = ()
    pcc: Matrices = ()
    side: Literal["source", "target"] = "source"

    def __post_init__(self) -> None:
        """Refuse matrices that do not have a value for each word."""
        for size in (len(row) for matrix in (*self.coupling, *self.pcc) for row in matrix):
            if size != len(self.words):
                raise ValueError(f"a capsule has {size} values for {len(self.words)} words ({' '.join(self.words)})")


@dataclass(frozen=True, slots=True)
class RoutingSample:
    """A sentence, its translation, and the routing of its history."""

    document: Text
    sentence: int
    source: Text
    translation: Text
    history: tuple[HistoryRouting, ...]


@dataclass(frozen=True, slots=True)
class RunResults:
    """Everything read from one run directory; None or empty if missing."""

    path: Path
    name: str
    system: str
    status: str
    description: Mapping[str, Any]  # the whole of run.json
    training: tuple[Mapping[str, float], ...]
    validation: tuple[Mapping[str, float], ...]
    scores: Scores | None
    contrastive: Contrastive | None
    translations: tuple[TranslatedDocument, ...]
    routing: tuple[RoutingSample, ...]
    diagnosis: Diagnosis | None = None
    measured: Mapping[str, Any] | None = None  # results.json: all scores, the data and the machine
    contrastive_sets: tuple[ContrastiveResult, ...] = ()  # of `docaps contrast --keep`

    @property
    def perplexity(self) -> float | None:
        """The lowest development perplexity during training."""
        return min((row["dev_perplexity"] for row in self.validation if "dev_perplexity" in row), default=None)

    @property
    def regularisation(self) -> Mapping[str, float] | None:
        """The last row of the log with the PCC of matched and mismatched pairs; a validation, if one measured it."""
        rows = (row for part in (self.validation, self.training) for row in reversed(part) if pair_correlations(row))
        return next(rows, None)

    @property
    def capsules(self) -> Mapping[str, float] | None:
        """The last validation that compared the capsules of sentences; None if none did."""
        return next((row for row in reversed(self.validation) if "capsule_overlap" in row), None)

    @property
    def speed(self) -> float | None:
        """Target tokens per second in training: the (lower) median of the logged values."""
        speeds = [row["tokens_per_second"] for row in self.training if "tokens_per_second" in row]
        return median_low(speeds) if speeds else None

    @property
    def settings(self) -> Mapping[str, Any]:
        """The resolved settings, nested as in the recipe."""
        return self._mapping("settings")

    @property
    def versions(self) -> Mapping[str, Any]:
        """The versions of the packages that the model was trained with."""
        return self._mapping("versions")

    @property
    def corpus(self) -> Mapping[str, Any]:
        """Path and hash of the training corpus."""
        return self._mapping("corpus")

    def _mapping(self, key: str) -> Mapping[str, Any]:
        value = self.description.get(key)
        return value if isinstance(value, Mapping) else {}


def score_of(run: RunResults, part: str, metric: str) -> float | None:
    """Return a score of a run on one of the held-out parts, if it was measured."""
    parts = run.measured["parts"] if run.measured else {}
    score = parts.get(part, {}).get("scores", {}).get(metric)
    return None if score is None else float(score["score"])


def read_results(path: Path) -> RunResults:
    """Read a run directory; missing files are skipped, broken ones raise an error that names the file."""
    run = Run(path)
    if not run.description.is_file():
        raise RunError("not a run directory: it has no run.json", path=path)
    description = run.read()
    name, system = _check(description, lambda found: (str(found["name"]), str(found["system"])), run.description)
    rows = _read_metrics(run.metrics)
    return RunResults(
        path=path,
        name=name,
        system=system,
        status=str(description.get("status", "unknown")),
        description=description,
        training=tuple(row for row in rows if "loss" in row or "cross_entropy" in row),
        validation=tuple(row for row in rows if _is_validation(row)),
        scores=_read(run.assessment / "scores.json", TypeAdapter(Scores).validate_python),
        contrastive=_read(run.assessment / "contrastive.json", TypeAdapter(Contrastive).validate_python),
        translations=read_translations(run.assessment / "translations.jsonl"),
        routing=_read(run.assessment / "routing.json", TypeAdapter(tuple[RoutingSample, ...]).validate_python) or (),
        diagnosis=_read(run.diagnosis, parse_diagnosis),
        measured=read_measured(run),
        contrastive_sets=tuple(
            _check(
                read_json(file, error=RunError), partial(parse_contrastive_result, file.name.partition(".")[0]), file
            )
            for file in sorted(run.choices.glob("*.*.json"))
        ),
    )


def read_scores(path: Path) -> dict[str, Any]:
    """Return the set, its size, the seconds and the search settings of a stored translation."""
    keys = ("set", "documents", "sentences", "seconds", "search")
    found = read_json(path, error=RunError)
    _check(found, TypeAdapter(Scores).validate_python, path)
    return _check(found, lambda found: {key: found[key] for key in keys}, path)


def read_routing(path: Path) -> list[dict[str, Any]]:
    """Return the routing of some sentences as it is stored."""
    found = read_json(path, error=RunError)
    _check(found, TypeAdapter(tuple[RoutingSample, ...]).validate_python, path)
    return [dict(sample) for sample in found]


def read_contrastive(run: Run) -> dict[str, Any]:
    """Return the accuracy on contrastive items as it is stored; nothing if there are none."""
    path = run.assessment / "contrastive.json"
    if not path.exists():
        return {}
    found = read_json(path, error=RunError)
    _check(found, TypeAdapter(Contrastive).validate_python, path)
    return dict(found)


def read_translations(path: Path) -> tuple[TranslatedDocument, ...]:
    """Read translated documents, one per line; none if there is no such file."""
    if not path.is_file():
        return ()
    build = TypeAdapter(TranslatedDocument).validate_python
    lines = enumerate(read_text(path, error=RunError, limit=LARGEST_TRANSLATIONS).split("\n"), start=1)
    return tuple(
        _check(line, lambda line: build(parse_json(line)), path, number) for number, line in lines if line.strip()
    )


def _read(path: Path, build: Callable[[Any], Value]) -> Value | None:
    """Read a JSON file; None if there is none."""
    return _check(read_json(path, error=RunError), build, path) if path.is_file() else None


def _check(data: Any, build: Callable[[Any], Value], path: Path, line: int | None = None) -> Value:
    """Build a value from the content of a file; errors name the file, and the line of a JSON Lines file."""
    try:
        return build(data)
    except json.JSONDecodeError as fault:
        raise RunError(f"not valid JSON: {fault.msg}", path=path, line=line) from None
    except ValidationError as fault:
        raise RunError(_explain(fault), path=path, line=line) from None
    except KeyError as fault:
        raise RunError(f"the key {fault} is missing", path=path, line=line) from None
    except (ArithmeticError, AttributeError, TypeError, ValueError) as fault:
        raise RunError(f"not in the expected form: {fault}", path=path, line=line) from None


def _explain(fault: ValidationError) -> str:
    """Describe the first error that pydantic found."""
    first = fault.errors()[0]
    if first["type"] == "missing":
        return f"the key {first['loc'][-1]!r} is missing"
    place = ".".join(map(str, first["loc"]))
    return f"not in the expected form: {f'{place}: ' if place else ''}{first['msg'].removeprefix('Value error, ')}"


def _read_metrics(path: Path) -> list[Mapping[str, float]]:
    """Read the numbers of the training log by step; a step logged twice (after a resume) counts once."""
    rows: dict[tuple[float, bool], Mapping[str, float]] = {}
    for data in read_metrics(path):
        row = {key: float(value) for key, value in data.items() if isinstance(value, int | float)}
        rows[row["step"], _is_validation(row)] = row
    return sorted(rows.values(), key=lambda row: row["step"])


def _is_validation(row: Mapping[str, float]) -> bool:
    return "dev_loss" in row or "dev_perplexity" in row
