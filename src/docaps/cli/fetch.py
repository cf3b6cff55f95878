"""`docaps fetch`: download a public corpus, and check its files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docaps.cli.console import JsonOption, OverwriteOption, completing, print_json, print_next, print_table, typed

if TYPE_CHECKING:
    from docaps.corpus.fetch import Collection


CORPORA = ("ted", "news", "europarl")
CorpusArgument = Annotated[
    str, typer.Argument(autocompletion=completing(lambda: CORPORA), help=f"One of {', '.join(CORPORA)}.")
]


def fetch(
    corpus: CorpusArgument,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Directory for it (default: data/CORPUS).")] = None,
    pattern: Annotated[
        str | None,
        typer.Option("--from", metavar="URL", help="Addresses, with {part} and {language} for what differs."),
    ] = None,
    catalogue: Annotated[
        Path | None, typer.Option(help="Addresses, hashes and sizes of files (TOML or JSON, such as a fetch.json).")
    ] = None,
    attempts: Annotated[int, typer.Option(min=1, help="Attempts if the connection breaks.")] = 5,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for an answer.")] = 30.0,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Fetch the files of a public corpus that are not there yet, and check that they are parallel documents.

    A broken download is resumed. Files that you put in place yourself are used as they are. If no address is known,
    the command prints which files it needs, and from which page.

    Examples: docaps fetch ted --out data/ted;
    docaps fetch news --from https://example.org/{corpus}/{part}.{language}
    """
    from docaps.corpus.fetch import RetryPolicy, collect, find_addresses, known_corpus
    from docaps.corpus.fetch.collection import explain_missing
    from docaps.errors import FetchError

    wanted = known_corpus(corpus)
    addresses = find_addresses(wanted, pattern, catalogue)
    retries = RetryPolicy(attempts=attempts, timeout=timeout)
    found = collect(wanted, addresses, out or Path("data") / corpus, overwrite=overwrite, retries=retries)
    if json:
        _print_json(found)
    if found.missing or found.fault:
        raise FetchError(explain_missing(found) if found.missing else str(found.fault))
    if not json:
        _print(found)


def _print_json(found: "Collection") -> None:
    """Print the state of every file and the size of every part."""
    fetched = found.read_record().get("files", {})
    files = {name: {"state": state, **fetched.get(name, {})} for name, state in found.states.items()}
    summary = {"corpus": found.corpus.name, "path": str(found.folder), "files": files, "parts": found.parts}
    print_json({**summary, "missing": found.missing, "fault": found.fault})


def _print(found: "Collection") -> None:
    """Print the size of every part beside the paper's, and what to type next."""
    rows = []
    for name, part in found.parts.items():
        paper = found.corpus.parts[name]
        sizes = [f"{part['documents']:,}", f"{part['sentences']:,}", f"{part['average_document_length']:.2f}"]
        rows.append([name, *sizes, f"{paper.sentences:,}", f"{paper.average:.2f}"])
    header = ["part", "documents", "sentences", "average length", "in the paper", "average"]
    print_table(f"{found.corpus.title} in {found.folder}", header, rows)
    sides = {part: [found.folder / f"{part}.{language}" for language in ("en", "de")] for part in found.parts}
    options = [word for part, pair in sides.items() for word in (f"--{part}", *map(str, pair))]
    prepared = found.folder.with_name(found.folder.name + "-prepared")
    prepare = typed("prepare", "--recipe", "paper", *options, "--out", prepared)
    print_next([("look at it", typed("corpus", *sides["train"])), ("prepare", prepare)])
