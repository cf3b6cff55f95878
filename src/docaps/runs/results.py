"""What one run directory has to say: its description, its metrics, and whatever of its assessment exists.

Only files are read, so a report can be made on a machine without a model, a corpus or PyTorch. Everything is checked
here, once: the rest of the package draws what it is handed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median_low
from typing import Any, TypeVar

from docaps.errors import RunError
from docaps.runs.contrastive_results import Kept, kept_choices
from docaps.runs.diagnosis_results import Diagnosis, diagnosis
from docaps.runs.directory import migrate

Value = TypeVar("Value")
Matrix = tuple[tuple[float, ...], ...]  # [capsule][word]


@dataclass(frozen=True, slots=True)
class Scores:
    """BLEU over a test set, with what is needed to compute it again."""

    set: str
    documents: int
    sentences: int
    bleu: float
    signature: str
    search: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One number (an accuracy, a chance level, a count) for all items, and by what the items test."""

    all: float
    by_phenomenon: Mapping[str, float]
    by_distance: Mapping[str, float]
    by_phenomenon_and_distance: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Contrastive:
    """How often the right translation scored above the wrong ones, beside what guessing would give."""

    file: str
    items: int
    accuracy: Breakdown
    chance: Breakdown
    counts: Breakdown


@dataclass(frozen=True, slots=True)
class Label:
    """What a sentence tests, and how many sentences back the answer lies."""

    phenomenon: str
    distance: int


@dataclass(frozen=True, slots=True)
class TranslatedDocument:
    """A document three times, sentence by sentence: as written, as a person and as the model translated it."""

    id: str
    source: tuple[str, ...]
    reference: tuple[str, ...]
    hypothesis: tuple[str, ...]
    labels: Mapping[int, Label]


@dataclass(frozen=True, slots=True)
class RoutedHistory:
    """Where the words of a history sentence went: one matrix per routing iteration (Figs. 6 and 7)."""

    distance: int | None  # None: all history sentences were routed together
    words: tuple[str, ...]
    coupling: tuple[Matrix, ...]
    pcc: tuple[Matrix, ...]


@dataclass(frozen=True, slots=True)
class RoutingSample:
    """A sentence, its translation, and the routing of the history it was translated with."""

    document: str
    sentence: int
    source: str
    translation: str
    history: tuple[RoutedHistory, ...]


@dataclass(frozen=True, slots=True)
class RunResults:
    """Everything read from one run directory; what the directory lacks is None or empty."""

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
    measured: Mapping[str, Any] | None = None  # results.json: every score, the data and the machine
    kept: tuple[Kept, ...] = ()  # contrastive sets that the run was to keep its answers to

    @property
    def perplexity(self) -> float | None:
        """The lowest perplexity of the development part in training."""
        return min((row["dev_perplexity"] for row in self.validation if "dev_perplexity" in row), default=None)

    @property
    def speed(self) -> float | None:
        """Target tokens a second in training: the (lower) median of what was logged."""
        speeds = [row["tokens_per_second"] for row in self.training if "tokens_per_second" in row]
        return median_low(speeds) if speeds else None

    @property
    def settings(self) -> Mapping[str, Any]:
        """The resolved settings, nested as in the recipe."""
        return self._mapping("settings")

    @property
    def versions(self) -> Mapping[str, Any]:
        """The programs that trained the model."""
        return self._mapping("versions")

    @property
    def corpus(self) -> Mapping[str, Any]:
        """Where the training text lay, and its hash."""
        return self._mapping("corpus")

    def _mapping(self, key: str) -> Mapping[str, Any]:
        value = self.description.get(key)
        return value if isinstance(value, Mapping) else {}


def score_of(run: RunResults, part: str, metric: str) -> float | None:
    """Find a score of a run of a grid on one of the held-out parts."""
    parts = run.measured["parts"] if run.measured else {}
    score = parts.get(part, {}).get("scores", {}).get(metric)
    return None if score is None else float(score["score"])


def read_results(run: Path) -> RunResults:
    """Read a run directory; what is not there yet is left out, what is broken is an error that names the file."""
    if not (run / "run.json").is_file():
        raise RunError("not a run directory: it has no run.json", path=run)
    name, system, status, description = _read(
        run / "run.json", lambda data: _description(migrate(data, run / "run.json"))
    )
    rows = _read_metrics(run / "metrics.jsonl")
    assessment = run / "assessment"
    return RunResults(
        path=run,
        name=name,
        system=system,
        status=status,
        description=description,
        training=tuple(row for row in rows if "loss" in row or "cross_entropy" in row),
        validation=tuple(row for row in rows if "dev_loss" in row or "dev_perplexity" in row),
        scores=_read_if_there(assessment / "scores.json", _scores),
        contrastive=_read_if_there(assessment / "contrastive.json", _contrastive),
        translations=read_translations(assessment / "translations.jsonl"),
        routing=_read_if_there(assessment / "routing.json", _routing) or (),
        diagnosis=_read_if_there(run / "diagnosis.json", diagnosis),
        measured=_read_if_there(run / "results.json", _measured),
        kept=_read_kept(run / "contrast"),
    )


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise RunError(f"cannot be read: {fault}", path=path) from None


def _parse(text: str, build: Callable[[Any], Value], path: Path, line: int | None = None) -> Value:
    """Turn JSON text into a value; any fault is reported with the file, and with the line where lines are records."""
    try:
        return build(json.loads(text))
    except json.JSONDecodeError as fault:
        raise RunError(f"not valid JSON: {fault.msg}", path=path, line=line or fault.lineno) from None
    except KeyError as fault:
        raise RunError(f"the key {fault} is missing", path=path, line=line) from None
    except (AttributeError, TypeError, ValueError) as fault:
        raise RunError(f"not in the expected form: {fault}", path=path, line=line) from None


def _read(path: Path, build: Callable[[Any], Value]) -> Value:
    return _parse(_read_text(path), build, path)


def _read_if_there(path: Path, build: Callable[[Any], Value]) -> Value | None:
    return _read(path, build) if path.is_file() else None


def _read_kept(directory: Path) -> tuple[Kept, ...]:
    """Read what `docaps contrast --keep` left: NAME.HISTORY.json."""
    paths = sorted(directory.glob("*.*.json"))
    return tuple(_read(path, partial(kept_choices, path.name.partition(".")[0])) for path in paths)


def _read_metrics(path: Path) -> list[Mapping[str, float]]:
    """Read the training log; a last line torn by a crash is ignored, and a step logged twice (resumed) counts once."""
    if not path.is_file():
        return []
    # A tear can fall inside a letter: the halves are replaced, and the torn line then fails to parse like any other.
    lines = path.read_bytes().decode("utf-8", errors="replace").splitlines()
    rows: dict[tuple[float, bool], Mapping[str, float]] = {}
    for line_number, line in enumerate(lines, start=1):
        try:
            row = _parse(line, _metrics_row, path, line_number)
        except RunError:
            if line_number == len(lines):
                break
            raise
        rows[row["step"], "dev_loss" in row or "dev_perplexity" in row] = row
    return sorted(rows.values(), key=lambda row: row["step"])


def read_translations(path: Path) -> tuple[TranslatedDocument, ...]:
    """Read translated documents, one a line; none if there is no such file."""
    if not path.is_file():
        return ()
    lines = enumerate(_read_text(path).splitlines(), start=1)
    return tuple(_parse(line, _translated_document, path, line_number) for line_number, line in lines if line.strip())


def _description(data: Any) -> tuple[str, str, str, Mapping[str, Any]]:
    return str(data["name"]), str(data["system"]), str(data.get("status", "unknown")), dict(data)


def _metrics_row(data: Any) -> Mapping[str, float]:
    row = {key: float(value) for key, value in data.items() if isinstance(value, int | float)}
    return {"step": row.pop("step"), **row}


def _scores(data: Any) -> Scores:
    return Scores(
        set=str(data["set"]),
        documents=int(data["documents"]),
        sentences=int(data["sentences"]),
        bleu=float(data["bleu"]["score"]),
        signature=str(data["bleu"]["signature"]),
        search=dict(data.get("search", {})),
    )


def _measured(data: Any) -> Mapping[str, Any]:
    """Check the form of what was measured of a run of a grid; the values are shown as they are."""
    for part in data["parts"].values():
        for score in part["scores"].values():
            float(score["score"]), str(score["name"]), str(score["signature"])
    for part in data["data"]["parts"].values():
        int(part["documents"]), int(part["sentences"]), float(part["average"])
    return dict(data)


def _contrastive(data: Any) -> Contrastive:
    accuracy, chance, counts = (_breakdown(data[key]) for key in ("accuracy", "chance", "counts"))
    return Contrastive(str(data["file"]), int(data["items"]), accuracy, chance, counts)


def _breakdown(data: Any) -> Breakdown:
    return Breakdown(
        all=float(data["all"]),
        by_phenomenon=_numbers(data.get("by_phenomenon", {})),
        by_distance=_numbers(data.get("by_distance", {})),
        by_phenomenon_and_distance={
            str(phenomenon): _numbers(row) for phenomenon, row in data.get("by_phenomenon_and_distance", {}).items()
        },
    )


def _numbers(data: Any) -> dict[str, float]:
    return {str(key): float(value) for key, value in data.items()}


def _translated_document(data: Any) -> TranslatedDocument:
    source, reference, hypothesis = (tuple(map(str, data[key])) for key in ("source", "reference", "hypothesis"))
    if not len(source) == len(reference) == len(hypothesis):
        lengths = f"{len(source)} source, {len(reference)} reference and {len(hypothesis)} translated sentences"
        raise ValueError(f"document {data['id']} has {lengths}; expected the same number of each")
    labels = {
        int(sentence): Label(str(label["phenomenon"]), int(label["distance"]))
        for sentence, label in (data.get("labels") or {}).items()
    }
    return TranslatedDocument(str(data["id"]), source, reference, hypothesis, labels)


def _routing(data: Any) -> tuple[RoutingSample, ...]:
    return tuple(
        RoutingSample(
            document=str(sample["document"]),
            sentence=int(sample["sentence"]),
            source=str(sample["source"]),
            translation=str(sample["translation"]),
            history=tuple(map(_routed_history, sample["history"])),
        )
        for sample in data
    )


def _routed_history(data: Any) -> RoutedHistory:
    words = tuple(map(str, data["words"]))
    distance = None if data["distance"] is None else int(data["distance"])
    coupling, pcc = (tuple(_matrix(matrix, words) for matrix in data.get(key) or ()) for key in ("coupling", "pcc"))
    return RoutedHistory(distance, words, coupling, pcc)


def _matrix(data: Any, words: Sequence[str]) -> Matrix:
    """Read [capsule][word]; null (a correlation that is not defined) becomes nan."""
    matrix = tuple(tuple(float("nan") if value is None else float(value) for value in row) for row in data)
    for row in matrix:
        if len(row) != len(words):
            raise ValueError(f"a capsule has {len(row)} values for {len(words)} words ({' '.join(words)})")
    return matrix
