"""`docaps import`: make a run directory of a model that another program published."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docaps.cli.console import JsonOption, OverwriteOption, print_json, print_next, print_table, typed, typed_command

if TYPE_CHECKING:
    from docaps.exchange.importing import PublishedModel


def import_(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A folder of a Hugging Face MarianMT or an original Marian model, or a name on the hub.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The run directory to write.")],
    source_language: Annotated[
        str | None, typer.Option(help="Its source language, if the folder does not say.")
    ] = None,
    target_language: Annotated[str | None, typer.Option(help="Its target language, likewise.")] = None,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Make a run directory of a published model, such as one of Opus-MT.

    All commands work with it: translate, score, serve, diagnose, contrast, precision; and training can start from it
    (docaps train --init-from), with any of the systems that read context.

    Example: docaps import opus-mt-en-de --out runs/opus-en-de

    Example: docaps import Helsinki-NLP/opus-mt-en-de --out runs/opus-en-de
    """
    from docaps.exchange.importing import write_run

    found = _read(model, (source_language, target_language))
    write_run(found, out, overwrite=overwrite, command=typed_command())
    numbers = _numbers(found, out)
    if json:
        print_json(numbers)
        return
    rows = [[key.replace("_", " "), f"{one:,}" if isinstance(one, int) else one] for key, one in numbers.items()]
    print_table("Imported", ["", ""], rows)
    parts = ("--train", "SOURCE", "TARGET", "--dev", "SOURCE", "TARGET")
    prepare = typed("prepare", "--codec", out, *parts, "--out", "data/NAME")
    translate = f"{typed('translate', out)} < document.txt > translation.txt"
    print_next([("translate", translate), ("prepare documents", prepare)])


def _read(model: str, languages: tuple[str | None, str | None]) -> "PublishedModel":
    """Read a folder, or a model of the hub, in whatever form it is."""
    from docaps.errors import RunError
    from docaps.exchange.hub import fetch_marian, is_hub_name
    from docaps.exchange.hugging_face import is_marian_folder, read_folder
    from docaps.exchange.marian import find_model, read_model

    named = model if is_hub_name(model) else None
    folder = Path(model) if named is None else fetch_marian(named)
    if is_marian_folder(folder):
        return read_folder(folder, name=named, languages=languages)
    if not folder.exists():
        raise RunError("no such folder (a model on the hub is USER/MODEL)", path=folder)
    if weights := find_model(folder):
        return read_model(weights, name=named, languages=languages)
    raise RunError("no model here: expected a folder with config.json (Hugging Face) or *.npz (Marian)", path=folder)


def _numbers(model: "PublishedModel", out: Path) -> dict[str, str | int]:
    """Return what was imported, and how large it is."""
    settings, codec = model.settings, model.codec
    return {
        "path": str(out),
        "form": model.form,
        "source_language": codec.source.code,
        "target_language": codec.target.code,
        "parameters": model.parameters,
        "vocabulary": len(codec.vocabulary),
        "encoder_layers": settings.encoder_layers,
        "decoder_layers": settings.decoder_layers,
        "size": settings.size,
    }
