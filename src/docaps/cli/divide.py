"""`docaps divide`: draw a share of a corpus's documents, and write them and the rest."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docaps.cli.console import (
    FormatOption,
    JsonOption,
    OverwriteOption,
    StartsOption,
    print_json,
    print_next,
    print_table,
    typed,
)

if TYPE_CHECKING:
    from docaps.corpus.division import PartSize

ApartFromOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Leave out drawn documents that share a long sentence with this file, of either language; may be "
        "repeated.",
    ),
]


def divide(
    source: Annotated[Path, typer.Argument(help="Documents of the source.")],
    target: Annotated[Path, typer.Argument(help="Documents of the target.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory for the parts.")],
    share: Annotated[float, typer.Option(min=0.0001, max=0.9999, help="Share of the documents that is drawn.")] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Draws other documents.")] = 1,
    apart: Annotated[
        bool, typer.Option("--apart", help="Leave out drawn documents that share a long sentence with the rest.")
    ] = False,
    apart_from: ApartFromOption = None,
    long: Annotated[int, typer.Option(min=0, help="Sentences of more characters than this are long.")] = 40,
    format: FormatOption = None,
    starts: StartsOption = None,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Divide a parallel corpus by documents, for a test of your own.

    Writes drawn.LANG.gz, rest.LANG.gz (one sentence a line, <d> before each document) and divided.json. Which documents
    are drawn depends on their text, the seed and the share alone, so the same text is on the same side in every copy.
    Files are read compressed or plain, one document at a time.

    Examples: docaps divide scenes.en.gz scenes.de.gz --share 0.1 --out data/scenes;
    docaps divide big.en.zst big.de.zst --apart --apart-from dev.en --apart-from dev.de --out data/big
    """
    from docaps.corpus.division import DivisionOptions
    from docaps.corpus.division import divide as divide_corpus
    from docaps.corpus.formats import iterate_documents, iterate_parallel
    from docaps.corpus.text.languages import language_in_name

    _check_absent(out, overwrite=overwrite)
    options = DivisionOptions(share, seed, apart, long)
    for path in (source, target, *(apart_from or ())):
        _check_file(path)
    read = partial(iterate_parallel, source, target, format=format, starts=starts)
    others = [partial(iterate_documents, path) for path in apart_from or ()]
    endings = language_in_name(source) or "source", language_in_name(target) or "target"
    sizes = divide_corpus(read, endings, out, options, others)
    if json:
        counts = {part: {"documents": size.documents, "sentences": size.sentences} for part, size in sizes.items()}
        print_json({"path": str(out), **counts})
    else:
        _print(out, endings, sizes)


def _check_file(path: Path) -> None:
    """Refuse standard input, which can be read only once."""
    from docaps.corpus.formats.text_input import STDIN
    from docaps.errors import CorpusError

    if path == STDIN:
        raise CorpusError("is read more than once, which standard input cannot be: give files", path=path)


def _check_absent(out: Path, *, overwrite: bool) -> None:
    """Refuse to replace an earlier division without --overwrite."""
    from docaps.errors import CorpusError

    if out.is_file():
        raise CorpusError("is a file, expected a directory: choose another --out", path=out)
    if out.exists() and any(out.iterdir()) and not overwrite:
        raise CorpusError("exists already: give --overwrite to replace it", path=out)


def _print(out: Path, endings: tuple[str, str], sizes: "Mapping[str, PartSize]") -> None:
    """Print the sizes of the parts, and the next command."""
    rows: list[list[Any]] = [[part, f"{size.documents:,}", f"{size.sentences:,}"] for part, size in sizes.items()]
    print_table(str(out), ["part", "documents", "sentences"], rows)
    drawn, rest = ([out / f"{part}.{ending}.gz" for ending in endings] for part in ("drawn", "rest"))
    prepare = typed("prepare", "--train", *rest, "--dev", "DEV.en", "DEV.de", "--test", *drawn, "--out", "PREPARED")
    print_next([("prepare", prepare)])
