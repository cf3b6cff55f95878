"""Deliver translations, at once or as server-sent events, and cancel work for clients that disconnect."""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass

from fastapi import Request
from pydantic import BaseModel
from starlette.requests import ClientDisconnect

from docaps.translation.confidence import describe_distance
from docaps.translation.translator import TranslatedSentence, as_row
from docaps.web.http_errors import HttpError, routing_error
from docaps.web.request_queue import PartialResult, QueuedRequest, RoutingTooLargeError
from docaps.web.schemas import (
    ErrorResponse,
    SentenceTranslation,
    StreamedSentence,
    StreamEnd,
    TranslationRequest,
    TranslationResponse,
    to_json,
)

LOG = logging.getLogger("docaps.web")
KEEPALIVE_SECONDS = 10.0
"""Interval of the comments that keep a silent stream open."""
TIMED_OUT = "the translation took too long"


@dataclass
class PendingTranslation:
    """An accepted request whose translations arrive in order, in one or more parts."""

    request: TranslationRequest
    model: str
    sources: tuple[str, ...]
    paragraphs: list[int] | None
    """For running text: the number of sentences in each paragraph."""
    queued: QueuedRequest
    arrived: asyncio.Queue[PartialResult]
    deadline: float
    """When to give up, on the monotonic clock."""
    _words: int = 0
    _rare_words: int = 0

    @property
    def warning(self) -> str | None:
        """Say it if the document is far from what the model knows; to be asked at the end."""
        return describe_distance(self._words, self._rare_words)

    async def sentences(self) -> AsyncGenerator[SentenceTranslation | None]:
        """Yield the translated sentences, and None after each silent interval; raise TimeoutError at the deadline."""
        ready: deque[TranslatedSentence] = deque()
        for source in self.sources:
            while (left := self.deadline - time.monotonic()) <= 0 or not ready:
                if left <= 0:
                    raise TimeoutError
                try:
                    async with asyncio.timeout(min(KEEPALIVE_SECONDS, left)):
                        part = await self.arrived.get()
                except TimeoutError:
                    yield None
                    continue
                if isinstance(part, Exception):
                    raise part
                ready.extend(part)
            sentence = ready.popleft()
            if sentence.confidence is not None:
                self._words += sentence.confidence.words
                self._rare_words += sentence.confidence.rare_words
            row = dict(as_row(source, sentence))
            if sentence.alignment is not None:
                row["alignment"] = sentence.alignment
            if self.request.routing:
                row.setdefault("routing", [])
            yield SentenceTranslation.model_validate(row)


async def collect(pending: PendingTranslation, request: Request) -> TranslationResponse:
    """Wait for the whole translation; stop at the deadline (503) or when the client disconnects."""

    async def translate() -> list[SentenceTranslation]:
        return [sentence async for sentence in pending.sentences() if sentence is not None]

    translating, disconnected = asyncio.ensure_future(translate()), asyncio.ensure_future(wait_for_disconnect(request))
    try:
        await asyncio.wait({translating, disconnected}, return_when=asyncio.FIRST_COMPLETED)
        if not translating.done():
            raise ClientDisconnect
        found = translating.result()
        return TranslationResponse(
            translations=found, model=pending.model, paragraphs=pending.paragraphs, warning=pending.warning
        )
    except TimeoutError:
        raise HttpError(503, TIMED_OUT, headers={"Retry-After": "5"}) from None
    finally:
        pending.queued.cancelled = True  # what is not yet translated
        translating.cancel()
        disconnected.cancel()


async def wait_for_disconnect(request: Request) -> None:
    """Return when the client of a request that was read has disconnected."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def stream_events(pending: PendingTranslation) -> AsyncIterator[str]:
    """Yield a translation as server-sent events; an error is the last of them."""
    total = len(pending.sources)
    index = 0
    try:
        async with contextlib.aclosing(pending.sentences()) as sentences:
            async for sentence in sentences:
                if sentence is None:
                    yield ": still translating\n\n"
                    continue
                yield _event("sentence", StreamedSentence(index=index, total=total, **sentence.model_dump()))
                index += 1
        end = StreamEnd(model=pending.model, sentences=total, paragraphs=pending.paragraphs, warning=pending.warning)
        yield _event("done", end)
    except TimeoutError:
        yield _event("error", ErrorResponse(error=TIMED_OUT))
    except RoutingTooLargeError as error:
        yield _event("error", routing_error(error).message())
    except Exception:
        LOG.exception("a stream failed")
        yield _event("error", ErrorResponse(error="the server failed on this document"))
    finally:
        pending.queued.cancelled = True


def _event(name: str, message: BaseModel) -> str:
    """Format an event; JSON contains no line breaks, so one data line is enough."""
    return f"event: {name}\ndata: {to_json(message)}\n\n"
