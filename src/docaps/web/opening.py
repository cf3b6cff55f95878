"""Runs become a service: models are loaded and named."""

from collections.abc import Sequence
from pathlib import Path

from docaps.config import SYSTEMS, TranslationPrecision
from docaps.errors import RunError
from docaps.runs.directory import Run
from docaps.translation.loading import TrainedModel, load_trained
from docaps.web.limits import Limits
from docaps.web.messages import ModelCard
from docaps.web.metrics import Metrics
from docaps.web.service import Service
from docaps.web.worker import Engine, Worker


def open_service(paths: Sequence[Path], limits: Limits, precision: TranslationPrecision = "float32") -> Service:
    """Load the models of finished runs; they are known by the last parts of their paths."""
    metrics = Metrics()
    engine = Engine()
    workers: list[Worker] = []
    cards: list[ModelCard] = []
    for path, name in zip(paths, name_runs(paths), strict=True):
        trained = engine.pool.submit(load_trained, path, precision).result()
        _check_privacy(path, trained)
        workers.append(Worker(name, trained, metrics, engine))
        cards.append(_card(name, path, trained, default=not cards))
    return Service(workers, cards, limits, metrics)


def _check_privacy(path: Path, trained: TrainedModel) -> None:
    """Refuse a model that would look at the documents of other clients."""
    if trained.model.view.shuffled:
        message = "is a control that looks at other documents, here those of other clients: use docaps translate"
        raise RunError(message, path=path)


def _card(name: str, path: Path, trained: TrainedModel, *, default: bool) -> ModelCard:
    system = str(Run(path).read()["settings"]["system"].get("name", "transformer"))
    return ModelCard(
        name=name,
        system=system,
        title=SYSTEMS[system].title,
        source_language=trained.codec.source.code,
        target_language=trained.codec.target.code,
        history=trained.model.history,
        beam=trained.decoding.beam,
        parameters=sum(weight.numel() for weight in trained.model.parameters()),
        default=default,
    )


def name_runs(paths: Sequence[Path]) -> list[str]:
    """Name runs by the last parts of their paths, as many as tell them apart."""
    parts = [path.resolve().parts[1:] for path in paths]
    if len(set(parts)) < len(parts):
        twice = next(path for path, part in zip(paths, parts, strict=True) if parts.count(part) > 1)
        raise RunError("is named twice: name each run once", path=twice)
    names = []
    for own in parts:
        count = 1
        while sum(other[-count:] == own[-count:] for other in parts) > 1:
            count += 1
        names.append("/".join(own[-count:]))
    return names
