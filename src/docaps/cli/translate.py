"""`docaps translate`: documents in, documents out."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docaps.cli.console import JsonOption, format_json

if TYPE_CHECKING:
    from docaps.corpus.documents import Document
    from docaps.translation.translator import TranslatedSentence


def translate(
    run: Annotated[Path, typer.Argument(help="A finished run directory.")],
    file: Annotated[Path, typer.Argument(help="Documents to translate; - is stdin.")] = Path("-"),
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write here; - is stdout, the default.")] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Hypotheses kept at each step; 1 is greedy.")] = None,
    no_context: Annotated[bool, typer.Option("--no-context", help="Hide the earlier sentences, to compare.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file given with --out.")] = False,
    json: JsonOption = False,
) -> None:
    """Translate documents, sentence by sentence, each with the sentences before it in view.

    One sentence a line, a line <d> before each document (none: the file is one document). The output has the same
    lines: the same documents, the same number of sentences, empty lines kept.

    Example: docaps translate runs/demo/runs/document < story.en > story.de
    """
    from docaps.corpus.formats import DOCUMENT_MARK, read_lines, split_documents
    from docaps.errors import DocapsError
    from docaps.files import write_text_atomically
    from docaps.translation.loading import load_trained
    from docaps.translation.translator import Translator

    place = None if out == Path("-") else out
    if place is not None and place.exists() and not overwrite:
        raise DocapsError("exists already: give --overwrite to replace it", path=place)
    trained = load_trained(run)
    lines = list(read_lines(file))
    documents = split_documents(lines, file)
    decoding = trained.decoding.model_copy(update={"beam": beam} if beam else {})
    translated = Translator(trained, decoding).translate(documents, use_context=not no_context)
    marked = lines[0] == DOCUMENT_MARK
    text = _as_json_text(documents, translated) if json else _as_lines(translated, marked)
    if place is None:
        typer.echo(text, nl=False)
    else:
        write_text_atomically(place, text)


def _as_lines(translated: "Sequence[tuple[TranslatedSentence, ...]]", marked: bool) -> str:
    """Write translated documents one sentence a line; `marked` says whether a mark comes first."""
    from docaps.corpus.documents import Document
    from docaps.corpus.formats import DOCUMENT_MARK, format_documents

    text = format_documents(Document(tuple(sentence.text for sentence in sentences)) for sentences in translated)
    return text if marked else text.removeprefix(f"{DOCUMENT_MARK}\n")


def _as_json_text(documents: "Sequence[Document]", translated: "Sequence[tuple[TranslatedSentence, ...]]") -> str:
    """Write translated documents as one JSON object."""
    sides = zip(documents, translated, strict=True)
    return format_json({"documents": [_as_json(document.sentences, sentences) for document, sentences in sides]})


def _as_json(source: tuple[str, ...], sentences: "tuple[TranslatedSentence, ...]") -> dict[str, Any]:
    """Put each sentence beside its translation."""
    pairs = zip(source, sentences, strict=True)
    return {"sentences": [{"source": text, "translation": one.text, "score": one.score} for text, one in pairs]}
