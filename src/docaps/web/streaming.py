"""Translations as they are made: server-sent events, and clients that go away."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator

from fastapi import Request
from pydantic import BaseModel

from docaps.web.faults import RefusalError
from docaps.web.messages import Answer, End, Fault, Sentence, Step, dump
from docaps.web.service import Reception

LOG = logging.getLogger("docaps.web")
SILENCE = 10.0
"""Seconds after which a waiting client is told that the server still lives."""
TOO_SLOW = "the translation took too long"


class GoneError(Exception):
    """The client has closed its connection."""


async def collect(reception: Reception, request: Request, seconds: float) -> Answer:
    """Wait for all sentences, but not longer than allowed, nor longer than the client does."""
    work = asyncio.ensure_future(_gather(reception))
    gone = asyncio.ensure_future(_until_gone(request))
    try:
        await asyncio.wait({work, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        if gone.done():
            raise GoneError
        raise RefusalError(503, TOO_SLOW, retry=5)
    finally:
        reception.leave()
        for task in (work, gone):
            task.cancel()


async def _gather(reception: Reception) -> Answer:
    found = [sentence async for sentence in reception.sentences()]
    return Answer(translations=found, model=reception.model, paragraphs=_paragraphs(reception))


def _paragraphs(reception: Reception) -> list[int] | None:
    counts = reception.source.paragraphs
    return None if counts is None else list(counts)


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def events(reception: Reception, seconds: float) -> AsyncIterator[str]:
    """Go through a translation as events; a fault is the last of them."""
    total = len(reception.source.sentences)
    try:
        async with contextlib.aclosing(_patiently(reception.sentences(), seconds)) as sentences:
            index = 0
            async for sentence in sentences:
                if sentence is None:
                    yield ": still at work\n\n"
                    continue
                yield as_event("sentence", Step(index=index, total=total, **sentence.model_dump()))
                index += 1
        yield as_event("done", End(model=reception.model, sentences=total, paragraphs=_paragraphs(reception)))
    except TimeoutError:
        yield as_event("error", Fault(error=TOO_SLOW))
    except Exception:
        LOG.exception("a stream failed")
        yield as_event("error", Fault(error="the server failed at this document"))
    finally:
        reception.leave()


async def _patiently(sentences: AsyncIterator[Sentence], seconds: float) -> AsyncGenerator[Sentence | None]:
    """Go through sentences until the time is up; None for every silence."""
    end = time.monotonic() + seconds
    following = asyncio.ensure_future(anext(sentences, None))
    try:
        while True:
            patience = min(SILENCE, end - time.monotonic())
            if patience <= 0:
                raise TimeoutError
            done, _ = await asyncio.wait({following}, timeout=patience)
            if not done:
                yield None
                continue
            sentence = following.result()
            if sentence is None:
                return
            yield sentence
            following = asyncio.ensure_future(anext(sentences, None))
    finally:
        following.cancel()


def as_event(name: str, message: BaseModel) -> str:
    """Write an event; JSON has no line ends, so one line of data is enough."""
    return f"event: {name}\ndata: {dump(message)}\n\n"
