"""The Python API: a trained model that translates and scores documents.

import docaps

model = docaps.load("runs/demo/runs/document")
story = model.translate(["Anna bought a red blouse in the sale.", "It fitted Anna like a glove."])
story.texts, story[1].score
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import overload

from docaps.config import DecodingSettings, TranslationPrecision
from docaps.corpus.documents import Document, ParallelDocument
from docaps.corpus.formats.text import split_sentences
from docaps.errors import DocapsError
from docaps.translation.glossary import Forms, Glossary, make_glossary
from docaps.translation.glossary_files import read_glossary
from docaps.translation.scoring import Likelihood, score_documents
from docaps.translation.trained_model import Formality, TrainedModel, load_trained
from docaps.translation.translator import Control, TranslatedSentence, TranslationOptions, Translator

GlossaryLike = Glossary | Path | str | Mapping[str, Forms] | Iterable[tuple[Forms, Forms]]
"""A glossary, the name of its file, or pairs of a term and its translation."""


@dataclass(frozen=True, slots=True, repr=False)
class Translation(Sequence[TranslatedSentence]):
    """The translation of a document: a sequence of translated sentences with their scores, and the source."""

    source: tuple[str, ...]
    sentences: tuple[TranslatedSentence, ...]

    @property
    def texts(self) -> list[str]:
        """The translated sentences as text."""
        return [sentence.text for sentence in self.sentences]

    @property
    def text(self) -> str:
        """The whole translation, its sentences separated by spaces."""
        return " ".join(text for text in self.texts if text)

    def __len__(self) -> int:
        return len(self.sentences)

    @overload
    def __getitem__(self, index: int) -> TranslatedSentence: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[TranslatedSentence, ...]: ...

    def __getitem__(self, index: int | slice) -> TranslatedSentence | tuple[TranslatedSentence, ...]:
        return self.sentences[index]

    def __repr__(self) -> str:
        pairs = enumerate(zip(self.source, self.sentences, strict=True), start=1)
        rows = [f"{number}  {source}\n   {one.text}  ({one.score:.2f})" for number, (source, one) in pairs]
        return "\n".join([f"Translation of {len(self)} sentence{'' if len(self) == 1 else 's'}", *rows])

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        head = "<tr><th>source</th><th>translation</th><th>score</th></tr>"
        rows = "".join(
            f"<tr><td>{escape(source)}</td><td>{escape(sentence.text)}</td><td>{sentence.score:.2f}</td></tr>"
            for source, sentence in zip(self.source, self.sentences, strict=True)
        )
        return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"


class DocumentTranslator:
    """A trained model that translates documents, each sentence in the context of its document."""

    def __init__(self, trained: TrainedModel, name: str) -> None:
        self._trained, self._name = trained, name

    def __repr__(self) -> str:
        codec, view = self._trained.codec, self._trained.model.view
        return f"<docaps model {self._name}: {codec.source.code} to {codec.target.code}, {view}>"

    @property
    def decoding(self) -> DecodingSettings:
        """The run's decoding settings: the defaults of each call."""
        return self._trained.decoding

    def translate(
        self,
        document: Sequence[str] | str,
        *,
        history: Sequence[str] = (),
        use_context: bool = True,
        beam: int | None = None,
        nbest: int = 1,
        routing: bool = False,
        glossary: GlossaryLike | None = None,
        formality: Formality | None = None,
    ) -> Translation:
        """Translate a document: one translated sentence for each sentence; an empty one stays empty.

        Args:
            document: its sentences in order; a single text is split into sentences first.
            history: sentences before the document: read, not translated.
            use_context: whether the model may look at other sentences of the document.
            beam: hypotheses kept at each step; 1 is greedy search. The default is the run's setting.
            nbest: how many translations of each sentence to return as `alternatives`.
            routing: whether to return the routing's traces of each history word.
            glossary: terms that the translation must keep to: a glossary file, pairs of a term and its translation
                (either may be a list of forms), or a glossary that was read before.
            formality: how the translation addresses people, if the model learnt to choose.
        """
        source = Document(tuple(_checked(self.split(document) if isinstance(document, str) else document)))
        options = TranslationOptions(use_context, tuple(_checked(history)), routing)
        control = self._control(glossary, formality)
        ((_, found),) = self._translator(beam, nbest, control).stream([source], options)
        return Translation(source.sentences, found)

    def translate_documents(
        self,
        documents: Iterable[Sequence[str]],
        *,
        use_context: bool = True,
        beam: int | None = None,
        glossary: GlossaryLike | None = None,
        formality: Formality | None = None,
    ) -> Iterator[Translation]:
        """Translate documents as they come, some thousand sentences at a time, in bounded memory."""
        sources = (Document(tuple(_checked(document))) for document in documents)
        translator = self._translator(beam, 1, self._control(glossary, formality))
        for document, found in translator.stream(sources, TranslationOptions(use_context)):
            yield Translation(document.sentences, found)

    def score(self, source: Sequence[str], target: Sequence[str], *, use_context: bool = True) -> list[Likelihood]:
        """Return the log-probability of each given translation of a document's sentences."""
        if len(source) != len(target):
            raise DocapsError(f"{len(source)} source sentences, but {len(target)} target sentences")
        pair = ParallelDocument(tuple(_checked(source)), tuple(_checked(target)))
        ((_, found),) = score_documents(self._trained, [pair], use_context=use_context)
        return list(found)

    def split(self, text: str) -> list[str]:
        """Split a text in the source language into sentences."""
        return [" ".join(sentence.split()) for sentence in split_sentences(text, self._trained.codec.source.code)]

    def glossary(self, terms: GlossaryLike) -> Glossary:
        """Read a glossary for the model's language pair, for use in several calls."""
        if isinstance(terms, Glossary):
            return terms
        if isinstance(terms, str | Path):
            codec = self._trained.codec
            return read_glossary(Path(terms), source=codec.source.code, target=codec.target.code)
        return make_glossary(terms)

    def _control(self, glossary: GlossaryLike | None, formality: Formality | None) -> Control:
        """Return what translations must keep to."""
        return Control(None if glossary is None else self.glossary(glossary), formality)

    def _translator(self, beam: int | None, nbest: int, control: Control) -> Translator:
        """Return a translator with the run's settings, changed as a call asks for."""
        changes = {"beam": beam or max(self.decoding.beam, nbest), "nbest": nbest}
        decoding = DecodingSettings.model_validate(self.decoding.model_dump() | changes)
        if decoding.nbest > decoding.beam:
            raise DocapsError(f"nbest={nbest} needs a beam as wide: found beam={beam}")
        warn = partial(warnings.warn, stacklevel=4)
        return Translator(self._trained, decoding, control=control, warn=warn)


def _checked(sentences: Sequence[object]) -> Iterator[str]:
    """Yield the sentences; refuse what is not a list of strings."""
    if isinstance(sentences, str):
        raise DocapsError("expected a list of sentences, found one text: put it into a list")
    for number, sentence in enumerate(sentences, start=1):
        if not isinstance(sentence, str):
            raise DocapsError(f"sentence {number}: expected a text, found {type(sentence).__name__}")
        yield sentence


def load(run: Path, precision: TranslationPrecision = "float32") -> DocumentTranslator:
    """Load the model of a finished run."""
    return DocumentTranslator(load_trained(run, precision), str(run))
