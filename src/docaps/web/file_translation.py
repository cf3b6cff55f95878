"""Translate uploaded files in the background: read, translate on the queue of all requests, write.

A few files are translated at a time, the others wait on disk. A file is translated in parts, each with the sentences
before it as its history, so that it shares the queue and its limits with other requests.
"""

import asyncio
import logging
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from docaps import progress
from docaps.corpus.documents import Document
from docaps.corpus.formats import encode_translations, iterate_documents
from docaps.corpus.formats.format import DEFAULT_CHOICES
from docaps.corpus.formats.writing import AlignedTranslation, Languages
from docaps.errors import DocapsError
from docaps.web.file_store import FileRequest, FileStore, StoredFile, result_name
from docaps.web.http_errors import HttpError, validation_error
from docaps.web.language_pairs import LanguagePairs
from docaps.web.model_worker import RequestError
from docaps.web.schemas import ModelCard, SentenceTranslation, TranslationRequest
from docaps.web.service import Service
from docaps.web.streaming import TIMED_OUT, PendingTranslation
from docaps.web.text_translation import as_alignment, count_missing

LOG = logging.getLogger("docaps.web")
AT_A_TIME = 4
"""Files that are held in memory and translated at the same time."""
PART = 500
"""Sentences that are queued at once."""
PART_CHARACTERS = 200_000
"""Characters of them, but for a longer sentence."""
MOST_SENTENCES = 100_000
LONGEST = 3600.0
"""Seconds for the translation of a file."""
ENOUGH_SENTENCES = 50
"""Sentences by which the language of a file is told."""
OPTION = re.compile(r"--([a-z]+) (\S+)")


@dataclass
class FileTranslator:
    """Translates the files of a store with the models of a service."""

    service: Service
    store: FileStore
    pairs: LanguagePairs
    _running: set["asyncio.Task[None]"] = field(default_factory=set)
    _turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_A_TIME))

    def begin(self, file: StoredFile) -> "asyncio.Task[None]":
        """Translate a file in the background; the task never fails."""
        task = asyncio.create_task(self._translate(file))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def stop(self) -> None:
        """Give up all files that are not finished."""
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _translate(self, file: StoredFile) -> None:
        async with self._turn:
            request = file.request
            if file not in self.store or request is None:
                return
            file.status, file.begun = "translating", time.monotonic()
            try:
                async with asyncio.timeout(LONGEST):
                    await self._run(file, request)
            except TimeoutError:
                file.fail(HttpError(503, TIMED_OUT))
            except HttpError as error:
                file.fail(error)
            except RequestError:
                file.fail(HttpError(500, "the server failed on this file"))
            except Exception:
                LOG.exception("a file could not be translated")
                file.fail(HttpError(500, "the server failed on this file; see its log"))
            finally:
                self.store.discard_upload(file)

    async def _run(self, file: StoredFile, request: FileRequest) -> None:
        documents, card = await self._read(file, request)
        due = [sentence for document in documents for sentence in _to_translate(document)]
        file.sentences, file.characters = len(due), sum(map(len, due))
        translated: list[AlignedTranslation] = []
        for one in documents:
            sentences = await self._translate_document(file, card, request, one)
            alignments = [as_alignment(sentence) for sentence in sentences]
            translated.append((one, [sentence.translation for sentence in sentences], alignments))
        content = await asyncio.to_thread(_write, file, translated, card)
        if file not in self.store:
            return
        self.store.grow(file, len(content))
        await asyncio.to_thread(file.result.write_bytes, content)
        file.result_name = result_name(file.name, card.target_language)
        file.status, file.touched = "done", time.monotonic()

    async def _read(self, file: StoredFile, request: FileRequest) -> tuple[list[Document], ModelCard]:
        """Return the documents of a file, and the model to translate them with."""
        card = self.pairs.card(request.model)
        documents = await asyncio.to_thread(_read, file, card)
        if request.detect is not None:
            start = " ".join(sentence for one in documents[:1] for sentence in one.sentences[:ENOUGH_SENTENCES])
            found = self.pairs.choose(None, request.detect, start, fields=("source", "target"))
            if found.source_language != card.source_language:  # it was split by the rules of another language
                documents = await asyncio.to_thread(_read, file, found)
            card = found
        return documents, card

    async def _translate_document(
        self, file: StoredFile, card: ModelCard, asked: FileRequest, document: Document
    ) -> list[SentenceTranslation]:
        """Translate a document part by part; what is only read as context has an empty translation."""
        found: list[SentenceTranslation] = []
        options = {**asked.options, "alignment": any(document.marks)}
        limit = self.service.limits.sentences
        for start, end in _parts(document.sentences, min(PART, limit)):
            part = document.sentences[start:end]
            context = frozenset(one for one in range(len(part)) if start + one in document.context_only)
            if len(context) == len(part):
                found += [SentenceTranslation(source=one, translation="", score=0, log_probability=0) for one in part]
                continue
            history = document.sentences[max(0, start - min(card.history, limit)) : start]
            pending = await self._queue(card, part, history, options, context)
            try:
                async for sentence in pending.sentences():
                    if sentence is not None:
                        file.translated += len(found) not in document.context_only
                        found.append(sentence)
                        file.missing_terms += count_missing(sentence)
                    if file not in self.store:
                        raise HttpError(404, "the file was deleted")
            finally:
                pending.queued.cancelled = True
            file.warning = pending.warning or file.warning
        return found

    async def _queue(
        self,
        card: ModelCard,
        part: Sequence[str],
        history: Sequence[str],
        options: Mapping[str, Any],
        context: frozenset[int],
    ) -> PendingTranslation:
        """Queue a part, in which some sentences are only context; wait while the queue is full."""
        try:
            request = TranslationRequest(sentences=list(part), history=list(history), model=card.name, **options)
        except ValidationError as error:
            raise validation_error(error.errors(), skip=0) from None
        while True:
            try:
                return await self.service.accept(request, time.monotonic(), promptly=True, context_only=context)
            except HttpError as error:
                if error.status_code != 429:
                    raise
                await asyncio.sleep(float((error.headers or {}).get("Retry-After", 1)))


def _parts(sentences: Sequence[str], most: int) -> Iterator[tuple[int, int]]:
    """Yield where each part begins and ends: it has at most so many sentences, and no more text than a part may."""
    start = characters = 0
    for number, sentence in enumerate(sentences):
        characters += len(sentence)
        if number > start and (number - start == most or characters > PART_CHARACTERS):
            yield start, number
            start, characters = number, len(sentence)
    if start < len(sentences):
        yield start, len(sentences)


def _to_translate(document: Document) -> Iterator[str]:
    """Yield the sentences of a document that are not only context."""
    return (one for number, one in enumerate(document.sentences) if number not in document.context_only)


def _read(file: StoredFile, card: ModelCard) -> list[Document]:
    """Read the documents of a file; an error names the file as the client does."""
    try:
        with progress.listening() as heard:
            documents = list(_limited(iterate_documents(file.path, running_text=True, **_codes(file, card))))
        file.notes = [_as_client(note, file) for note in heard]
        return documents
    except DocapsError as error:
        raise HttpError(422, _as_client(str(error), file)) from None
    except (OSError, MemoryError, RecursionError) as error:
        LOG.warning("an uploaded file could not be read: %r", error)
        raise HttpError(422, f"{file.name} cannot be read") from None


def _limited(documents: Iterator[Document]) -> Iterator[Document]:
    count = 0
    for document in documents:
        count += len(document.sentences)
        if count > MOST_SENTENCES:
            raise HttpError(422, f"the file has more than {MOST_SENTENCES} sentences: split it")
        yield document


def _as_client(message: str, file: StoredFile) -> str:
    """Return a message about a file with its name; options of the command are parameters of an upload here."""
    return OPTION.sub(r"\1=\2", message.replace(str(file.path), file.name))


def _write(file: StoredFile, translated: Sequence[AlignedTranslation], card: ModelCard) -> bytes:
    """Return the translation of a file in its format."""
    with progress.listening() as heard:
        content = b"".join(encode_translations(translated, **_codes(file, card)))
    file.notes += [_as_client(note, file) for note in heard]
    return content


def _codes(file: StoredFile, card: ModelCard) -> Languages:
    """Return the languages and the client's choices, which reading and writing share."""
    choices = file.request.choices if file.request else DEFAULT_CHOICES
    return Languages(language=card.source_language, target_language=card.target_language, choices=choices)
