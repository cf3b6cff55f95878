"""The contrastive sets that can be read: one table from name to reader."""

from collections.abc import Callable
from pathlib import Path

from docaps.corpus.contrastive.contrapro import read_contrapro_json
from docaps.corpus.contrastive.contraprotext import read_contrapro_text
from docaps.corpus.contrastive.ctxpro import read_ctxpro
from docaps.corpus.contrastive.interface import ContrastiveSet, SetOptions
from docaps.corpus.contrastive.items import with_pronoun
from docaps.corpus.contrastive.jsonl import read_any_items
from docaps.corpus.contrastive.mtgeneval import read_mt_geneval
from docaps.errors import CorpusError

CONTRAPRO = "contrapro"


def read_set(name: str, path: Path, options: SetOptions | None = None) -> ContrastiveSet:
    """Read a contrastive set by its name."""
    wishes = options or SetOptions()
    if name not in SETS:
        raise CorpusError(f"no contrastive set '{name}': choose {', '.join(SETS)}")
    if not path.exists():
        raise CorpusError("no such file", path=path)
    if name != CONTRAPRO and (wishes.context_dir or wishes.context_lines is not None):
        raise CorpusError(f"--context-dir and --context-lines go with --set {CONTRAPRO}, not with {name}")
    return SETS[name](path, wishes)


def _read_contrapro(path: Path, options: SetOptions) -> ContrastiveSet:
    """Read the published file, or what the authors' script makes of it."""
    if path.is_file() and path.name.removesuffix(".gz").removesuffix(".zst").endswith(".json"):
        return read_contrapro_json(path, options)
    if options.context_dir:
        raise CorpusError("extracted text has its contexts with it: leave --context-dir out", path=path)
    return read_contrapro_text(path, options)


def _read_minidocs(path: Path, options: SetOptions) -> ContrastiveSet:
    """Read the items of a corpus of mini-documents, by the name of the file or of the corpus."""
    return _read_jsonl(path / "contrastive.jsonl" if path.is_dir() else path, options)


def _read_jsonl(path: Path, options: SetOptions) -> ContrastiveSet:  # noqa: ARG001
    items = tuple(map(with_pronoun, read_any_items(path)))
    return ContrastiveSet(items, {path.name: len(items)})


SETS: dict[str, Callable[[Path, SetOptions], ContrastiveSet]] = {
    CONTRAPRO: _read_contrapro,
    "mt-geneval": read_mt_geneval,
    "ctxpro": read_ctxpro,
    "minidocs": _read_minidocs,
    "jsonl": _read_jsonl,
}
