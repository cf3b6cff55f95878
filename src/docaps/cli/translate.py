"""`docaps translate`: documents in, documents out."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docaps.cli.console import JsonOption, print_json

if TYPE_CHECKING:
    from docaps.translation.translator import TranslatedSentence


def translate(
    run: Annotated[Path, typer.Argument(help="A finished run directory.")],
    file: Annotated[Path, typer.Argument(help="Documents to translate; - is stdin.")] = Path("-"),
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write here instead of to stdout.")] = None,
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
    from docaps.corpus.documents import Document
    from docaps.corpus.formats import DOCUMENT_MARK, format_documents, read_lines, split_documents
    from docaps.errors import DocapsError
    from docaps.files import write_text_atomically
    from docaps.translation.loading import load_trained
    from docaps.translation.translator import Translator

    if out is not None and out.exists() and not overwrite:
        raise DocapsError("exists already: give --overwrite to replace it", path=out)
    lines = list(read_lines(file))
    documents = split_documents(lines, file)
    trained = load_trained(run)
    decoding = trained.decoding.model_copy(update={"beam": beam} if beam else {})
    translated = Translator(trained, decoding).translate(documents, use_context=not no_context)
    if json:
        sides = zip(documents, translated, strict=True)
        print_json({"documents": [_as_json(document.sentences, sentences) for document, sentences in sides]})
        return
    text = format_documents(Document(tuple(sentence.text for sentence in sentences)) for sentences in translated)
    if lines[0] != DOCUMENT_MARK:
        text = text.removeprefix(f"{DOCUMENT_MARK}\n")
    if out is None:
        sys.stdout.write(text)
    else:
        write_text_atomically(out, text)


def _as_json(source: tuple[str, ...], sentences: "tuple[TranslatedSentence, ...]") -> dict[str, Any]:
    """Put each sentence beside its translation."""
    pairs = zip(source, sentences, strict=True)
    return {"sentences": [{"source": text, "translation": one.text, "score": one.score} for text, one in pairs]}
