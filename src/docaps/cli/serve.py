"""`docaps serve`: the HTTP service and its web page."""

import importlib.util
import os
from pathlib import Path
from typing import Annotated

import typer

from docaps.cli.console import JsonOption, print_json
from docaps.cli.translate import PrecisionOption
from docaps.errors import DocapsError
from docaps.web.schemas import MAX_BEAM, Limits

USUAL = Limits()
TOKEN = "DOCAPS_TOKEN"
REQUIRED = ("fastapi", "uvicorn", "httptools", "prometheus_client", "py3langid", "python_multipart")
"""Packages of the extra `serve`."""


def serve(
    runs: Annotated[list[Path], typer.Argument(help="Finished run directories; the first is the default model.")],
    host: Annotated[str, typer.Option(help="Address to listen on; by default, only this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 is any free port.")] = 8000,
    token_file: Annotated[
        Path | None, typer.Option(help=f"File with the bearer token that clients need; or set {TOKEN}.")
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Allow pages of this origin to call the API (CORS)."),
    ] = None,
    max_sentences: Annotated[int, typer.Option(min=1, help="Maximum sentences per request.")] = USUAL.sentences,
    max_characters: Annotated[int, typer.Option(min=1, help="Maximum characters per sentence.")] = USUAL.characters,
    max_body: Annotated[int, typer.Option(min=100, help="Maximum bytes per request.")] = USUAL.body,
    max_file: Annotated[int, typer.Option(min=100, help="Maximum bytes of an uploaded file.")] = USUAL.file,
    max_queue: Annotated[int, typer.Option(min=1, help="Maximum queued sentences per model.")] = USUAL.queue,
    max_beam: Annotated[int, typer.Option(min=1, max=MAX_BEAM, help="Maximum beam width.")] = USUAL.beam,
    max_routing: Annotated[int, typer.Option(min=1, help="Maximum numbers in a routing.")] = USUAL.routing,
    max_terms: Annotated[int, typer.Option(min=1, help="Maximum terms of a glossary.")] = USUAL.terms,
    timeout: Annotated[float, typer.Option(min=0.1, help="Maximum seconds per request.")] = USUAL.seconds,
    precision: PrecisionOption = "auto",
    json: JsonOption = False,
) -> None:
    """Serve translations over HTTP, with a web page to try them.

    POST /v1/translate takes {"sentences": [...], "history": [...]}; the page /docs describes the rest.
    Clients of DeepL and LibreTranslate are served, too. On Ctrl-C or SIGTERM, accepted requests are finished first.

    Example: docaps serve runs/demo/runs/document runs/demo/runs/sentence
    """
    limits = Limits(
        max_body, max_file, max_sentences, max_characters, max_beam, max_queue, max_routing, timeout, terms=max_terms
    )
    token = _read_token(token_file)
    _check_packages()
    from docaps.web.access import Access, check_origin, local_hosts
    from docaps.web.app import build_app
    from docaps.web.server import bind, run_server, url_of
    from docaps.web.service import load_service

    origins = tuple(map(check_origin, origin or ()))
    access = Access(token, local_hosts(host, origins), origins)
    with bind(host, port) as listening:
        service = load_service(runs, limits, precision)
        if access.token is None and access.hosts is None:
            typer.echo(f"docaps: no token: every client that reaches {host} is served: set {TOKEN}", err=True)
        app, url = build_app(service, access), url_of(listening)
        complete = run_server(app, service, listening, lambda: _announce(url, list(service.workers), json))
    outcome = "all accepted requests were answered" if complete else "some accepted requests were not answered"
    typer.echo(f"docaps: stopped; {outcome}", err=True)


def _check_packages() -> None:
    for package in REQUIRED:
        if importlib.util.find_spec(package) is None:
            raise DocapsError(f"docaps serve needs {package}: pip install 'docaps[serve]'")


def _announce(url: str, models: list[str], json: bool) -> None:
    """Say where the service listens."""
    typer.echo(f"docaps: serving {', '.join(models)} at {url} (Ctrl-C stops)", err=True)
    if json:
        print_json({"url": url, "models": models})


def _read_token(path: Path | None) -> str | None:
    """Read the token from a file or the environment; a command line is visible to other users."""
    if path is None and TOKEN not in os.environ:
        return None
    try:
        token = (os.environ[TOKEN] if path is None else path.read_text(encoding="utf-8")).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DocapsError(f"cannot read the token: {error}", path=path) from None
    if not token:
        raise DocapsError("holds no token: write one into it" if path else f"{TOKEN} is empty: unset it", path=path)
    if not (token.isascii() and token.isprintable()):  # other characters are not safe in a header
        raise DocapsError("a token must consist of printable ASCII characters", path=path)
    return token
