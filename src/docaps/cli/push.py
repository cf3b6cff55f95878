"""`docaps push`: upload a run to the Hugging Face hub."""

from pathlib import Path
from typing import Annotated

import typer

from docaps.cli.console import JsonOption, print_json


def push(
    run: Annotated[Path, typer.Argument(help="A finished run directory.")],
    name: Annotated[str, typer.Argument(metavar="USER/MODEL", help="Its name on the hub; made if it is new.")],
    private: Annotated[bool, typer.Option("--private", help="Make a new model private.")] = False,
    json: JsonOption = False,
) -> None:
    """Upload a run to the Hugging Face hub: weights, text settings, settings and model card.

    Others load it with docaps.load("USER/MODEL"). The training log, results and translations stay. Log in first, with
    hf auth login or HF_TOKEN.

    Example: docaps push runs/opus-qcn/document anna/opus-qcn-en-de --private
    """
    from docaps.exchange.hub import push_run

    address = push_run(run, name, private=private)
    if json:
        print_json({"run": str(run), "name": name, "commit": address})
    else:
        typer.echo(f'{address}\nload it with docaps.load("{name}")')
