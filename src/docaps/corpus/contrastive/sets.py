"""The contrastive sets that can be read, by name.

Sets of other packages are found through the entry points `docaps.contrastive`; each names a function like the readers
below: path and `SetOptions` in, `ContrastiveSet` out. It is loaded when its name is first asked for.
"""

from collections.abc import Callable
from pathlib import Path

from docaps.corpus.contrastive.contrapro import read_contrapro
from docaps.corpus.contrastive.contrastive_set import ContrastiveSet, SetOptions, read_any_items, with_pronoun
from docaps.corpus.contrastive.ctxpro import read_ctxpro
from docaps.corpus.contrastive.mtgeneval import read_mt_geneval
from docaps.errors import ConfigError, CorpusError

SetReader = Callable[[Path, SetOptions], ContrastiveSet]
GROUP = "docaps.contrastive"
CONTRAPRO = "contrapro"


def read_set(name: str, path: Path, options: SetOptions | None = None) -> ContrastiveSet:
    """Read a contrastive set by its name."""
    options = options or SetOptions()
    reader = SETS[name] if name in SETS else _load_reader(name)
    if not path.exists():
        raise CorpusError("no such file", path=path)
    if name != CONTRAPRO and (options.context_dir or options.context_lines is not None):
        raise CorpusError(f"--context-dir and --context-lines go with --set {CONTRAPRO}, not with {name}")
    return reader(path, options)


def _load_reader(name: str) -> SetReader:
    """Return the reader of a plug-in, which cannot replace a built-in one."""
    from docaps.config import plugins

    entries = plugins.entries(GROUP)
    if name not in entries:
        raise CorpusError(f"no contrastive set '{name}': choose {', '.join([*SETS, *entries])}")
    reader: SetReader = plugins.load(entries[name])
    if not callable(reader):
        package, value = plugins.package(entries[name]), entries[name].value
        raise ConfigError(f"{package} adds a contrastive set {name!r}, but {value} is not a function, found {reader!r}")
    return reader


def _read_jsonl(path: Path, options: SetOptions) -> ContrastiveSet:  # noqa: ARG001
    """Read JSON Lines."""
    if path.is_dir():
        raise CorpusError("a directory: name a file of JSON Lines, or another set (such as --set minidocs)", path=path)
    items = tuple(map(with_pronoun, read_any_items(path)))
    return ContrastiveSet(items, {path.name: len(items)})


def _read_minidocs(path: Path, options: SetOptions) -> ContrastiveSet:
    """Read the items of a corpus of mini-documents, given the file or the corpus."""
    file = path / "contrastive.jsonl" if path.is_dir() else path
    if not file.exists():
        raise CorpusError("no contrastive.jsonl in it: expected a corpus that docaps minidocs --out wrote", path=path)
    return _read_jsonl(file, options)


SETS: dict[str, SetReader] = {
    CONTRAPRO: read_contrapro,
    "mt-geneval": read_mt_geneval,
    "ctxpro": read_ctxpro,
    "minidocs": _read_minidocs,
    "jsonl": _read_jsonl,
}
"""The built-in readers, by name."""
