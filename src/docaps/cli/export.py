"""`docaps export`: make a model of another program of a run."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from docaps.cli.console import JsonOption, OverwriteOption, print_json

Quantization = Literal[
    "int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16", "float16", "bfloat16", "float32"
]


def export(
    run: Annotated[Path, typer.Argument(help="A finished run directory of a sentence model or of concat.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The directory to write.")],
    to: Annotated[
        Literal["hf", "ctranslate2"],
        typer.Option(help="hf: a folder of Hugging Face MarianMT; ctranslate2: a model of CTranslate2."),
    ],
    quantization: Annotated[
        Quantization | None, typer.Option(help="How CTranslate2 stores the weights.", show_default="float32")
    ] = None,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Make a model of another program of a run whose system is a plain Transformer: sentence models and concat.

    hf needs norms after sub-layers and SentencePiece. A concat model expects earlier sentences in front of the
    sentence, each followed by <s>, and earlier translations likewise in front of its translation.

    Example: docaps export runs/opus --to ctranslate2 --out opus-ct2
    """
    from docaps.errors import ConfigError, RunError
    from docaps.exchange import ctranslate, hugging_face_export
    from docaps.files import replacing_directory

    if quantization is not None and to == "hf":
        raise ConfigError("--quantization is for --to ctranslate2 only: folders of Hugging Face hold float32")
    if out.exists() and (not out.is_dir() or any(out.iterdir())) and not overwrite:
        raise RunError("exists already: give --overwrite to replace it", path=out)
    files = hugging_face_export.FILES if to == "hf" else ctranslate.FILES
    with replacing_directory(out, own=files, error=RunError) as directory:
        if to == "hf":
            hugging_face_export.write_folder(run, directory)
        else:
            ctranslate.write_model(run, directory, quantization=quantization)
    if json:
        print_json({"path": str(out), "form": to})
    else:
        typer.echo(f"{out}: written in the form of {to}")
