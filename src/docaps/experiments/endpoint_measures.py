"""Endpoints of runs: what is measured of each finished run of a grid besides its own corpus, each once.

endpoints/PART/              translations, scores and counts of a further test part
endpoints/SET.items.json     which contrastive items a run gets right, with its own history, another's and none
endpoints/STEP.checkpoint.json   choices and perplexity of weights that were kept in training

Each has a request: the weights, the text and the search that it was measured with. The same request is not measured
again; another one is an error, for no result may be replaced unseen.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from docaps import progress
from docaps.config import StageSettings, upgrade_settings
from docaps.corpus.contrastive import ContrastiveItem, read_items
from docaps.corpus.contrastive.contrastive_set import AnyItem
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.formats import read_parallel
from docaps.corpus.store import Store
from docaps.diagnosis import TranslationsShown
from docaps.diagnosis.ablation import score_histories
from docaps.diagnosis.choices import answer_items
from docaps.diagnosis.conditions import NONE, SHUFFLED, TRUE, vary_items
from docaps.diagnosis.evidence import perplexity_of
from docaps.errors import ConfigError, RunError
from docaps.evaluation.significance import score_of
from docaps.experiments.assess import translate_documents
from docaps.experiments.measure import count_translations, metrics_of
from docaps.files import read_json, replacing_directory, sha256, write_json
from docaps.runs.directory import ENDPOINT_FILES, Run
from docaps.translation.trained_model import TrainedModel, load_trained

SEED = 1
"""Of the other items whose histories are shown."""
HISTORIES = (TRUE, SHUFFLED, NONE)


@dataclass(frozen=True)
class EndpointPart:
    """A further test part: its two files, read when first needed."""

    name: str
    source: Path
    target: Path

    def read(self) -> list[ParallelDocument]:
        """Read the documents."""
        return read_parallel(self.source, self.target)

    def hash(self) -> str:
        """Identify the text."""
        return f"{sha256(self.source)} {sha256(self.target)}"


@dataclass(frozen=True)
class EndpointRequest:
    """What is to be measured of each run."""

    parts: Sequence[EndpointPart] = ()
    items: Mapping[str, Path] = field(default_factory=dict)
    checkpoints: bool = True

    def check(self) -> None:
        """Read all texts once: a fault is reported before anything is measured."""
        if not self.parts and not self.items:
            raise ConfigError("nothing to measure: give --part or --items")
        for part in self.parts:
            part.read()
        for path in self.items.values():
            read_items(path)


class EndpointMeter:
    """Measures the endpoints of one run; its model is loaded when first needed."""

    def __init__(self, run: Run, request: EndpointRequest, store: Store) -> None:
        self.run, self._request, self._store = run, request, store
        self._weights = sha256(run.weights)
        self._loaded: dict[int | None, TrainedModel] = {}

    def missing(self) -> Iterator[tuple[str, Path]]:
        """Yield names and paths of the endpoints that are not measured yet; refuse those of another request."""
        for name, path, request in self._wanted():
            if not is_stored(path, request):
                yield name, path

    def measure(self) -> None:
        """Measure what is missing."""
        for name, path in self.missing():
            progress.say(f"{self.run.path}: {name}")
            kind, _, what = name.partition(" ")
            if kind == "part":
                self._translate(next(part for part in self._request.parts if part.name == what), path.parent)
            elif kind == "items":
                self._answer(what, path)
            else:
                self._measure_checkpoint(int(what), path)

    def _wanted(self) -> Iterator[tuple[str, Path, dict[str, Any]]]:
        """Yield each endpoint: its name, the file that holds its request, and the request."""
        run = self.run
        for part in self._request.parts:
            yield f"part {part.name}", run.endpoints / part.name / "request.json", self._part_request(part)
        for name in self._request.items:
            yield f"items {name}", run.endpoints / f"{name}.items.json", self._items_request(name)
        for step in self._checkpoints():
            yield f"checkpoint {step}", run.endpoints / f"{step}.checkpoint.json", self._checkpoint_request(step)

    def _part_request(self, part: EndpointPart) -> dict[str, Any]:
        search = self.run.read()["settings"]["decoding"]
        return {"weights": self._weights, "text": part.hash(), "search": search}

    def _items_request(self, name: str) -> dict[str, Any]:
        return {"weights": self._weights, "items": sha256(self._request.items[name]), "seed": SEED}

    def _checkpoint_request(self, step: int) -> dict[str, Any]:
        items = {name: sha256(path) for name, path in self._request.items.items()}
        return {"weights": sha256(self.run.checkpoint(step)), "items": items, "corpus": self._store.hash, "seed": SEED}

    def _checkpoints(self) -> list[int]:
        """Return the steps whose weights were kept."""
        stage = upgrade_settings(StageSettings, self.run.read()["settings"]["stage"])
        steps = StageSettings.model_validate(stage).kept_steps if self._request.checkpoints else ()
        return [step for step in steps if self.run.checkpoint(step).exists()]

    def _load(self, step: int | None = None) -> TrainedModel:
        """Return the run's model, or that of a step; one is held at a time."""
        if step not in self._loaded:
            self._loaded = {step: load_trained(self.run.path, step=step)}
        return self._loaded[step]

    def _translate(self, part: EndpointPart, folder: Path) -> None:
        """Translate a part, and count."""
        trained = self._load()
        folder.parent.mkdir(exist_ok=True)
        with replacing_directory(folder, own=ENDPOINT_FILES, error=RunError) as directory:
            translate_documents(self.run, trained, part.read(), part.name, directory)
            metrics = metrics_of(trained.codec.target.code)
            counts = count_translations(directory / "translations.jsonl", metrics)
            write_json(directory / "counts.json", {key: table.tolist() for key, table in counts.items()})
            signatures = {metric.key: metric.signature for metric in metrics}
            write_json(directory / "request.json", {"request": self._part_request(part), "signatures": signatures})

    def _answer(self, name: str, path: Path) -> None:
        """Answer a set's items with each history, and with own translations of it, if the model reads any."""
        trained, items = self._load(), read_items(self._request.items[name])
        found: dict[str, Any] = {
            "request": self._items_request(name),
            "documents": [item.document for item in items],
            "labels": [item.pronoun or item.form for item in items],
            "chance": float(np.mean([item.chance for item in items])),
            "right": {"reference": answer_with_histories(trained, items)},
        }
        if trained.model.view.translations:
            found["right"]["own"] = answer_with_histories(trained, items, "own")
        path.parent.mkdir(exist_ok=True)
        write_json(path, found)

    def _measure_checkpoint(self, step: int, path: Path) -> None:
        """Measure choices, and perplexity of the development part, with the weights of a step."""
        trained, description = self._load(step), self.run.read()
        sets = {name: read_items(file) for name, file in self._request.items.items()}
        answers = {name: answer_with_histories(trained, items) for name, items in sets.items()}
        likelihoods = score_histories(trained, self._store.raw("dev"))
        found = {
            "request": self._checkpoint_request(step),
            "step": step,
            "tokens": round(description["tokens"] * step / description["steps"]),
            "choices": {
                name: {history: float(np.mean(right)) for history, right in found.items()}
                for name, found in answers.items()
            },
            "perplexity": {history: score_of(table, perplexity_of) for history, table in likelihoods.items()},
        }
        path.parent.mkdir(exist_ok=True)
        write_json(path, found)


def answer_with_histories(
    trained: TrainedModel, items: Sequence[ContrastiveItem], translations: TranslationsShown = "reference"
) -> dict[str, list[int]]:
    """Return for each history which items are right: own, another item's and none; of a sentence model, own only."""
    wanted = HISTORIES if trained.model.history else (TRUE,)
    varied: Iterator[tuple[str, list[AnyItem]]] = vary_items(items, trained.model.history, shuffles=1, seed=SEED)
    return {
        history: [int(answer.decision.right) for answer in answer_items(trained, shown, None, translations)]
        for history, shown in varied
        if history in wanted
    }


def is_stored(path: Path, request: Mapping[str, Any]) -> bool:
    """Return whether a result of this request is stored; refuse one of another request."""
    if not path.exists():
        return False
    found = read_json(path, error=RunError)
    before = found.get("request") if isinstance(found, dict) else None
    if before != dict(request):
        differing = [key for key in request if not isinstance(before, dict) or before.get(key) != request[key]]
        what = f"was measured with other {' and '.join(differing)}, and no result is replaced unseen"
        raise RunError(f"{what}: remove it to measure it again", path=path)
    return True
