"""Running texts in, running texts out: how clients that know no sentences are served with context.

The texts of a request are one document in their order: each is cut into sentences, and every sentence is translated
with those before it as its history, across texts; what the client gives as `context` comes before the first. The space
between sentences is kept as it was.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fastapi import Request
from pydantic import ValidationError

from docaps.corpus.formats.format import Alignment
from docaps.corpus.formats.text import split_sentences
from docaps.errors import DocapsError
from docaps.web.http_errors import HttpError, validation_error
from docaps.web.middleware import START_TIME
from docaps.web.schemas import SentenceConfidence, SentenceTranslation, TranslationRequest
from docaps.web.service import Service
from docaps.web.streaming import collect
from docaps.web.tagged_text import TaggedText, TagHandling, read_tagged

Split = Literal["0", "1", "nonewlines"]
"""Where a text is cut: nowhere, at line ends and after sentences, or after sentences only."""


@dataclass(frozen=True)
class SplitText:
    """The sentences of a text and what stands before, between and after them."""

    sentences: tuple[str, ...]
    gaps: tuple[str, ...]

    def join(self, sentences: Sequence[str], alignments: Sequence[Alignment | None] = ()) -> str:  # noqa: ARG002
        """Return the text with other sentences; there is nothing in them to align."""
        pairs = zip(self.gaps, sentences, strict=False)
        return "".join(part for pair in pairs for part in pair) + self.gaps[-1]


def split_running_text(text: str, language: str, split: Split = "1") -> SplitText:
    """Cut a text into sentences; each is one line without double spaces."""
    parts = [text] if split == "0" else _cut(text, language, by_line=split == "1")
    sentences, gaps = [], [""]
    for part in parts:
        sentence = part.strip()
        if not sentence:
            gaps[-1] += part
            continue
        start = len(part) - len(part.lstrip())
        gaps[-1] += part[:start]
        gaps.append(part[start + len(sentence) :])
        sentences.append(" ".join(sentence.split()))
    return SplitText(tuple(sentences), tuple(gaps))


def _cut(text: str, language: str, *, by_line: bool) -> list[str]:
    """Return the parts of a text, with all its space."""
    lines = text.splitlines(keepends=True) if by_line else [text]
    return [part for line in lines for part in (_cut_line(line, language) if line.strip() else [line])]


def _cut_line(line: str, language: str) -> list[str]:
    """Return the sentences of a line as they stand in it: the splitter may change or drop space."""
    parts, start = [], 0
    for sentence in split_sentences(line, language):
        found = line.find(sentence.strip(), start)
        if found < 0:
            return [line]
        end = found + len(sentence.strip())
        parts.append(line[start:end])
        start = end
    return [*parts, line[start:]]


@dataclass(frozen=True)
class TextRequest:
    """Texts to translate as one document."""

    texts: Sequence[str]
    model: str
    language: str
    context: str = ""
    split: Split = "1"
    tags: TagHandling | None = None
    """How to read the tags of the texts; None if they are plain."""
    nbest: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of a translation request."""


@dataclass(frozen=True)
class TranslatedText:
    """The translations of a text, the best first; how much its sentences can be trusted, and the terms they miss."""

    ranked: list[str]
    confidence: list[SentenceConfidence]
    missing_terms: int

    @property
    def best(self) -> str:
        """The best translation."""
        return self.ranked[0]


@dataclass(frozen=True)
class TranslatedTexts:
    """The translations of texts in order, and a warning if they are far from what the model knows."""

    texts: list[TranslatedText]
    warning: str | None


async def translate_texts(service: Service, asked: TextRequest, request: Request) -> TranslatedTexts:
    """Translate texts with the sentences before each sentence in view."""
    # In a thread: splitting long texts must not block other requests.
    parts = await asyncio.to_thread(_split_all, asked)
    history = await asyncio.to_thread(split_running_text, asked.context, asked.language)
    sentences = [sentence for part in parts for sentence in part.sentences]
    try:
        document = TranslationRequest(
            sentences=sentences,
            history=list(history.sentences[-service.limits.sentences :]),
            model=asked.model,
            nbest=asked.nbest,
            alignment=any(isinstance(part, TaggedText) and part.document.marks for part in parts),
            **asked.options,
        )
    except ValidationError as error:
        raise validation_error(error.errors(), skip=0) from None
    pending = await service.accept(document, request.scope[START_TIME])
    response = await collect(pending, request)
    found = iter(response.translations)
    texts = [_assemble(part, [next(found) for _ in part.sentences], asked.nbest) for part in parts]
    return TranslatedTexts(texts, response.warning)


def _assemble(part: SplitText | TaggedText, own: Sequence[SentenceTranslation], nbest: int) -> TranslatedText:
    """Put the translated sentences of a text together."""
    ranked = [[one.translation, *(two.translation for two in (one.alternatives or [])[1:])] for one in own]
    best = [part.join([one[0] for one in ranked], [as_alignment(one) for one in own])]
    best += [part.join([one[min(rank, len(one) - 1)] for one in ranked]) for rank in range(1, nbest)]
    missing = sum(map(count_missing, own))
    return TranslatedText(list(dict.fromkeys(best)), [one.confidence for one in own if one.confidence], missing)


def count_missing(sentence: SentenceTranslation) -> int:
    """Return how many terms of the glossary could not be written in a sentence."""
    return sum(term.state == "missing" for term in sentence.terms or ())


def as_alignment(sentence: SentenceTranslation) -> Alignment | None:
    """Return the word alignment of a sentence as formats need it."""
    return None if sentence.alignment is None else [(pair[0], pair[1]) for pair in sentence.alignment]


def _split_all(asked: TextRequest) -> Sequence[SplitText | TaggedText]:
    if asked.tags is None:
        return [split_running_text(text, asked.language, asked.split) for text in asked.texts]
    try:
        return [read_tagged(text, asked.language, asked.tags, split=asked.split != "0") for text in asked.texts]
    except DocapsError as error:
        raise HttpError(422, str(error)) from None
