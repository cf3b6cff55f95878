"""The translation service: loaded models, checks of requests against the limits, and queueing."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, groupby
from pathlib import Path

from docaps.config import SYSTEMS, TranslationPrecision
from docaps.corpus.formats.text import split_paragraphs, split_sentences
from docaps.errors import DocapsError, RunError
from docaps.runs.directory import Run
from docaps.translation.glossary import Glossary, make_glossary
from docaps.translation.glossary_files import parse_glossary
from docaps.translation.trained_model import TrainedModel, load_trained
from docaps.translation.translator import Control, TranslationOptions
from docaps.web.http_errors import HttpError, invalid
from docaps.web.metrics import Metrics
from docaps.web.model_worker import Engine, ModelWorker
from docaps.web.request_queue import PartialResult, QueuedRequest, RequestSettings
from docaps.web.schemas import Limits, ModelCard, TermPairs, TranslationRequest
from docaps.web.streaming import PendingTranslation

ALIGNED_WORD = 32
"""Characters that the alignment of a word takes in an answer."""


@dataclass
class Service:
    """Models by name, the default first; accepts requests until it drains."""

    workers: Mapping[str, ModelWorker]
    cards: list[ModelCard]
    limits: Limits
    metrics: Metrics
    draining: bool = False
    active: int = 0
    """Translation requests whose response is not yet complete."""

    @property
    def ready(self) -> bool:
        """Return whether the service accepts requests."""
        return not self.draining and all(worker.alive for worker in self.workers.values())

    def start(self) -> None:
        """Start all workers."""
        for worker in self.workers.values():
            worker.start()

    def stop(self) -> None:
        """Stop all workers."""
        for worker in self.workers.values():
            worker.stop()

    async def accept(
        self,
        request: TranslationRequest,
        start: float,
        *,
        promptly: bool = False,
        context_only: frozenset[int] = frozenset(),
    ) -> PendingTranslation:
        """Check a request against the limits and queue it; its time counts from `start` on the monotonic clock.

        With `promptly`, each sentence is delivered as soon as it is finished, else all of them together. The sentences
        numbered in `context_only` are not translated.
        """
        worker = self._find_worker(request.model)
        self._check(request)
        sources, paragraphs = await self._read_document(request, worker.trained.codec.source.code)
        self._check_answer(request, sources)
        own = worker.trained.decoding
        beam = request.beam or min(max(own.beam, request.nbest), self.limits.beam)
        decoding = own.model_copy(update={"beam": beam, "nbest": request.nbest})
        settings = RequestSettings(
            decoding, TranslationOptions(request.context, routing=request.routing, alignment=request.alignment)
        )
        control = await self._read_control(request, worker.trained)
        arrived: asyncio.Queue[PartialResult] = asyncio.Queue()
        deliver = partial(_deliver, asyncio.get_running_loop(), arrived)
        queued = QueuedRequest(
            sources,
            tuple(request.history),
            settings,
            deliver,
            promptly,
            control,
            await asyncio.to_thread(self._most_routed_words, worker) if request.routing else None,
            context_only=context_only,
        )
        if sources and not worker.queue.put(queued, self.limits.queue):
            raise HttpError(429, "the queue is full", headers={"Retry-After": str(worker.delay)})
        translated = sum(len(one) for number, one in enumerate(sources) if number not in context_only)
        self.metrics.count_characters(worker.name, translated)
        deadline = start + self.limits.seconds
        return PendingTranslation(request, worker.name, sources, paragraphs, queued, arrived, deadline)

    async def _read_document(
        self, request: TranslationRequest, language: str
    ) -> tuple[tuple[str, ...], list[int] | None]:
        """Return the sentences; for running text, also the number of sentences in each paragraph."""
        if request.sentences is not None:
            return tuple(request.sentences), None
        # In a thread: splitting a long text must not block other requests.
        paragraphs = await asyncio.to_thread(split_text, request.text or "", language)
        sentences = tuple(sentence for paragraph in paragraphs for sentence in paragraph)
        self._check_sentences("text", sentences)
        return sentences, list(map(len, paragraphs))

    async def _read_control(self, request: TranslationRequest, trained: TrainedModel) -> Control:
        """Return what the translation must keep to."""
        if request.formality is not None:
            try:
                trained.tag(request.formality)
            except DocapsError as fault:
                raise invalid("the formality cannot be chosen", "formality", str(fault)) from None
        glossary = None
        if request.glossary:
            # In a thread: a large glossary must not block other requests.
            codes = {"source": trained.codec.source.code, "target": trained.codec.target.code}
            glossary = await asyncio.to_thread(read_terms, request.glossary, self.limits, **codes)
        return Control(glossary, request.formality)

    def _find_worker(self, name: str | None) -> ModelWorker:
        """Find a model; the name is only compared with those of loaded models."""
        if name is None:
            return next(iter(self.workers.values()))
        if name not in self.workers:
            raise invalid("no such model", "model", f"one of {', '.join(self.workers)}")
        return self.workers[name]

    def _check(self, request: TranslationRequest) -> None:
        """Reject what exceeds the limits before any work is done."""
        self._check_sentences("sentences", request.sentences or ())
        self._check_sentences("history", request.history)
        beam = max(request.beam or 1, request.nbest)
        if beam > self.limits.beam:
            raise invalid("the beam is too wide", "beam", f"at most {self.limits.beam}, found {beam}")

    def _check_answer(self, request: TranslationRequest, sentences: Sequence[str]) -> None:
        """Reject n-best lists and alignments of more text than an answer may have, as estimated from the request."""
        if request.nbest == 1 and not request.alignment:
            return
        size = request.nbest * sum(map(len, sentences))
        if request.alignment:
            size += ALIGNED_WORD * sum(len(sentence.split()) for sentence in sentences)
        if size > self.limits.answer:
            found = f"at most {self.limits.answer} characters, estimated {size}"
            raise invalid("the answer is too large", "nbest" if request.nbest > 1 else "alignment", found)

    def _most_routed_words(self, worker: ModelWorker) -> int | None:
        """Return how many history words the routing of an answer may have; None without routing."""
        return self.limits.routing // worker.routing_numbers if worker.routing_numbers else None

    def _check_sentences(self, field: str, sentences: Sequence[str]) -> None:
        most, longest = self.limits.sentences, self.limits.characters
        if len(sentences) > most:
            raise invalid("too many sentences", field, f"at most {most} sentences, found {len(sentences)}")
        for index, sentence in enumerate(sentences):
            if len(sentence) > longest:
                found = f"at most {longest} characters, found {len(sentence)}"
                raise invalid("a sentence is too long", f"{field}.{index}", found)


def _deliver(loop: asyncio.AbstractEventLoop, arrived: "asyncio.Queue[PartialResult]", part: PartialResult) -> None:
    """Hand translations from a worker's thread to the event loop, unless that is closed."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(arrived.put_nowait, part)


def read_terms(given: TermPairs | str, limits: Limits, *, source: str, target: str) -> Glossary:
    """Return the glossary of a request for a language pair; refuse one that is not well-formed, or too large."""
    message = "the glossary cannot be used"
    try:
        if isinstance(given, str):
            glossary = parse_glossary(given, source=source, target=target)
        else:
            glossary = make_glossary([(one[0], one[1]) for one in given])
    except DocapsError as fault:
        raise invalid(message, "glossary", str(fault)) from None
    if len(glossary) > limits.terms:
        raise invalid(message, "glossary", f"at most {limits.terms} terms, found {len(glossary)}")
    longest = max((len(form) for term in glossary.terms for form in (*term.source, *term.target)), default=0)
    if longest > limits.term:
        raise invalid(message, "glossary", f"a form has at most {limits.term} characters, found {longest}")
    return glossary


def split_text(text: str, language: str) -> list[list[str]]:
    """Split running text into paragraphs of sentences; blank lines always separate paragraphs."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    blocks = [list(block) for has_text, block in groupby(lines, key=bool) if has_text]
    return [
        [" ".join(sentence.split()) for sentence in split_sentences(paragraph, language)]
        for block in blocks
        for paragraph in split_paragraphs(block)
    ]


def load_service(paths: Sequence[Path], limits: Limits, precision: TranslationPrecision = "float32") -> Service:
    """Load the models of finished runs; each is named by the last parts of its path."""
    metrics, engine = Metrics(), Engine()
    workers: dict[str, ModelWorker] = {}
    cards: list[ModelCard] = []
    for path, name in zip(paths, name_runs(paths), strict=True):
        trained = engine.pool.submit(load_trained, path, precision).result()
        if trained.model.view.shuffled:
            message = "is a control that reads other documents, here those of other clients: use docaps translate"
            raise RunError(message, path=path)
        workers[name] = ModelWorker(name, trained, metrics, engine)
        cards.append(_describe_model(name, path, trained, default=not cards))
    return Service(workers, cards, limits, metrics)


def _describe_model(name: str, path: Path, trained: TrainedModel, *, default: bool) -> ModelCard:
    system = str(Run(path).read()["settings"]["system"].get("name", "transformer"))
    return ModelCard(
        name=name,
        system=system,
        title=SYSTEMS[system].title if system in SYSTEMS else system,
        source_language=trained.codec.source.code,
        target_language=trained.codec.target.code,
        history=trained.model.history,
        beam=trained.decoding.beam,
        parameters=sum(weight.numel() for weight in trained.model.parameters()),
        formality=bool(trained.tags),
        default=default,
    )


def name_runs(paths: Sequence[Path]) -> list[str]:
    """Name runs by the last parts of their paths, as many as make the names unique."""
    parts = [path.resolve().parts[1:] for path in paths]
    names = []
    for path, own in zip(paths, parts, strict=True):
        if parts.count(own) > 1:
            raise RunError("is given twice: give each run once", path=path)
        unique = next(size for size in count(1) if sum(other[-size:] == own[-size:] for other in parts) == 1)
        names.append("/".join(own[-unique:]))
    return names
