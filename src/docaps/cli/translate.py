"""`docaps translate`: documents in, documents out."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docaps.cli.console import FormatOption, JsonOption, StartsOption, format_json

if TYPE_CHECKING:
    from docaps.corpus.codec import Codec
    from docaps.corpus.documents import Document
    from docaps.translation.translator import TranslatedSentence


def translate(
    run: Annotated[Path, typer.Argument(help="A finished run directory.")],
    file: Annotated[Path, typer.Argument(help="Documents to translate; - is stdin.")] = Path("-"),
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write here; - is stdout, the default.")] = None,
    format: FormatOption = None,
    starts: StartsOption = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses kept at each step; 1 is greedy.")] = None,
    no_context: Annotated[bool, typer.Option("--no-context", help="Hide the earlier sentences, to compare.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file given with --out.")] = False,
    json: JsonOption = False,
) -> None:
    """Translate documents, sentence by sentence, each with the sentences before it in view.

    One sentence a line, a line <d> before each document (none: the file is one document), or another format of
    docs/file-formats.md, running text among them: known by its content. The output has the same format: the same
    documents, the same number of sentences, empty lines and paragraphs kept.

    Example: docaps translate runs/demo/runs/document < story.en > story.de
    """
    from docaps.corpus.formats import read_documents
    from docaps.errors import DocapsError
    from docaps.files import write_text_atomically
    from docaps.translation.loading import load_trained
    from docaps.translation.translator import Translator

    place = None if out == Path("-") else out
    if place is not None and place.exists() and not overwrite:
        raise DocapsError("exists already: give --overwrite to replace it", path=place)
    trained = load_trained(run)
    documents = read_documents(
        file, format=format, language=trained.codec.source.code, starts=starts, running_text=True
    )
    _check_place(place, documents[0], json)
    decoding = trained.decoding.model_copy(update={"beam": beam} if beam else {})
    translated = Translator(trained, decoding).translate(documents, use_context=not no_context)
    if not json:
        _write(place, documents, translated, trained.codec)
    elif place is None:
        typer.echo(_as_json_text(documents, translated), nl=False)
    else:
        write_text_atomically(place, _as_json_text(documents, translated))


def _check_place(place: Path | None, document: "Document", json: bool) -> None:
    """Say before the work begins that documents of a directory are written to a directory, and others to a file."""
    from docaps.corpus.formats import DIRECTORY, format_of
    from docaps.errors import DocapsError

    if format_of(document) == DIRECTORY and place is None and not json:
        raise DocapsError("the documents are a directory: name one to write to with --out")
    if format_of(document) == DIRECTORY and place is not None and place.is_file():
        raise DocapsError("is a file: name a directory to write to with --out", path=place)
    if place is not None and place.is_dir() and (json or format_of(document) != DIRECTORY):
        raise DocapsError("is a directory: name a file to write to with --out", path=place)


def _write(
    place: Path | None,
    documents: "Sequence[Document]",
    translated: "Sequence[tuple[TranslatedSentence, ...]]",
    codec: "Codec",
) -> None:
    """Write translated documents in the format they were read in."""
    from docaps.corpus.formats import format_translations, write_translations

    texts = [tuple(sentence.text for sentence in sentences) for sentences in translated]
    pairs = zip(documents, texts, strict=True)
    if place is None:
        for piece in format_translations(pairs, language=codec.source.code, target_language=codec.target.code):
            typer.echo(piece, nl=False)
    else:
        write_translations(place, pairs, language=codec.source.code, target_language=codec.target.code)


def _as_json_text(documents: "Sequence[Document]", translated: "Sequence[tuple[TranslatedSentence, ...]]") -> str:
    """Write translated documents as one JSON object."""
    sides = zip(documents, translated, strict=True)
    return format_json({"documents": [_as_json(document, sentences) for document, sentences in sides]})


def _as_json(document: "Document", sentences: "tuple[TranslatedSentence, ...]") -> dict[str, Any]:
    """Put each sentence beside its translation."""
    pairs = zip(document.sentences, sentences, strict=True)
    name = {} if document.id is None else {"id": document.id}
    return {**name, "sentences": [{"source": text, "translation": one.text, "score": one.score} for text, one in pairs]}
