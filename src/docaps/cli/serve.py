"""`docaps serve`: a service over HTTP, and a page."""

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from docaps.cli.console import JsonOption, print_json
from docaps.cli.translate import PrecisionOption
from docaps.config import TranslationPrecision
from docaps.errors import DocapsError
from docaps.web.limits import DEFAULTS, HARDEST_BEAM, Limits

TOKEN = "DOCAPS_TOKEN"


def serve(
    runs: Annotated[list[Path], typer.Argument(help="Finished run directories; the first is the default.")],
    host: Annotated[str, typer.Option(help="Address to listen on; by default, only this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 is any free one.")] = 8000,
    token_file: Annotated[
        Path | None, typer.Option(help=f"File with a bearer token to ask for; or set {TOKEN}. By default none.")
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Let pages of this origin ask too (CORS); may be repeated."),
    ] = None,
    max_sentences: Annotated[int, typer.Option(min=1, help="Most sentences of a request.")] = DEFAULTS.sentences,
    max_characters: Annotated[int, typer.Option(min=1, help="Most characters of a sentence.")] = DEFAULTS.characters,
    max_body: Annotated[int, typer.Option(min=100, help="Most bytes of a request.")] = DEFAULTS.body,
    max_queue: Annotated[int, typer.Option(min=1, help="Most sentences that wait for a model.")] = DEFAULTS.queue,
    max_beam: Annotated[int, typer.Option(min=1, max=HARDEST_BEAM, help="Widest beam of a request.")] = DEFAULTS.beam,
    timeout: Annotated[float, typer.Option(min=0.1, help="Most seconds for a request.")] = DEFAULTS.seconds,
    precision: PrecisionOption = "auto",
    json: JsonOption = False,
) -> None:
    """Answer requests for translations over HTTP, and show a page to try them out.

    POST /v1/translate takes {"sentences": [...], "history": [...]}; docs/serving.md tells the rest. Requests of many
    clients are translated together. Ctrl-C or SIGTERM: what was accepted is answered first.

    Example: docaps serve runs/demo/runs/document runs/demo/runs/sentence
    """
    limits = Limits(max_body, max_sentences, max_characters, max_beam, max_queue, timeout)
    door = _Door(host, port, _read_token(token_file), tuple(origin or ()))
    _serve(runs, door, limits, precision, json)


@dataclass(frozen=True, slots=True)
class _Door:
    """Where the service listens, and to whom."""

    host: str
    port: int
    token: str | None
    origins: tuple[str, ...]


def _serve(runs: list[Path], door: _Door, limits: Limits, precision: TranslationPrecision, json: bool) -> None:
    """Load the models and answer until a signal comes."""
    for package in ("fastapi", "uvicorn"):
        if importlib.util.find_spec(package) is None:
            raise DocapsError(f"docaps serve needs {package}: pip install 'docaps[serve]'")
    from docaps.web.app import build_app
    from docaps.web.guard import LOCAL_NAMES, Access, is_loopback
    from docaps.web.opening import open_service
    from docaps.web.server import Address, address_of, serve

    local = is_loopback(door.host)
    with Address(door.host, door.port).take() as listening:
        service = open_service(runs, limits, precision)
        if door.token is None and not local:
            typer.echo(f"docaps: anybody who reaches {door.host} may translate: set {TOKEN}", err=True)
        listening.listen()  # from now on nobody is turned away, though the server needs a moment more
        typer.echo(f"docaps: {', '.join(service.workers)} at {address_of(listening)} (Ctrl-C ends)", err=True)
        if json:
            print_json({"url": address_of(listening), "models": list(service.workers)})
        own = f"[{door.host}]" if ":" in door.host else door.host.lower()
        access = Access(door.token, LOCAL_NAMES | {own} if local else None)
        answered = serve(build_app(service, access, origins=door.origins), service, listening)
    how = "all accepted requests were answered" if answered else "some accepted requests were not answered"
    typer.echo(f"docaps: stopped; {how}", err=True)


def _read_token(path: Path | None) -> str | None:
    """Read the token from a file or the environment, never from the command line, which others can see."""
    if path is None and TOKEN not in os.environ:
        return None
    try:
        token = (os.environ[TOKEN] if path is None else path.read_text(encoding="utf-8")).strip()
    except (OSError, UnicodeDecodeError) as fault:
        raise DocapsError(f"cannot read the token: {fault}", path=path) from None
    if not token:
        raise DocapsError("holds no token: write one into it" if path else f"{TOKEN} is empty: unset it", path=path)
    if not (token.isascii() and token.isprintable()):  # nothing else goes through a header unharmed
        raise DocapsError("a token is of printable ASCII characters", path=path)
    return token
