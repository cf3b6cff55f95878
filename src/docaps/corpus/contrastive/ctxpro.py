"""ctxpro: does the model's translation contain the word that the context requires?

A JSON list, and a file of inputs with one line for each item: up to nine previous sentences and the sentence,
separated by `<eos> `. Reference: Wicks and Post (2023), https://github.com/rewicks/ctxpro
"""

from pathlib import Path

from docaps.corpus.contrastive.contrastive_set import ContrastiveSet, GenerativeItem, SetOptions, join_sets
from docaps.corpus.contrastive.records import JsonRecord, read_record_list, read_sentences, same_sentence
from docaps.corpus.formats.format import shorten
from docaps.errors import CorpusError

SEPARATOR = "<eos>"
INPUTS, ITEMS = ".inputs", ".json"


def read_ctxpro(path: Path, options: SetOptions) -> ContrastiveSet:
    """Read the JSON file and the inputs, given one of them, or all those of the model's languages in a directory."""
    if not path.is_dir():
        return _read_pair(*_find_pair(path))
    pair = f".{options.source_language}-{options.target_language}."
    names = sorted(name for name in path.iterdir() if name.suffix == ITEMS and pair in name.name)
    if not names:
        message = f"no files of ctxpro here: expected some such as gender.opensubtitles{pair}dev.json"
        raise CorpusError(message, path=path)
    return join_sets([_read_pair(*_find_pair(name)) for name in names])


def _find_pair(path: Path) -> tuple[Path, Path]:
    """Return the JSON file and the inputs that belong together: side by side, or in `jsons` and `inputs`."""
    stem = path.name.removesuffix(ITEMS).removesuffix(INPUTS)
    folder = path.parent
    jsons = [folder / f"{stem}{ITEMS}", folder.parent / "jsons" / f"{stem}{ITEMS}"]
    inputs = [folder / f"{stem}{INPUTS}", folder / stem, folder.parent / "inputs" / stem]
    for candidates in (jsons, inputs):
        if not any(map(Path.is_file, candidates)):
            looked = ", ".join(map(str, candidates))
            message = f"ctxpro has a JSON file and a file of inputs; none of these is there: {looked}"
            raise CorpusError(message, path=path)
    return next(filter(Path.is_file, jsons)), next(filter(Path.is_file, inputs))


def _read_pair(path: Path, inputs: Path) -> ContrastiveSet:
    """Read items and their inputs; refuse the first item without an input, or input without an item."""
    records, lines = read_record_list(path), read_sentences(inputs)
    if len(records) > len(lines):
        message = f"item {len(lines) + 1:,} of {len(records):,} has no input: {inputs} has {len(lines):,} lines"
        raise records[len(lines)].fault(f"{message}; get both files anew")
    if len(lines) > len(records):
        message = f"no item for this line: {path} has {len(records):,} items, and this file {len(lines):,} lines"
        raise CorpusError(f"{message}; get both files anew", path=inputs, line=len(records) + 1)
    phenomenon = path.name.removeprefix("mini.").split(".")[0]
    pairs = enumerate(zip(records, lines, strict=True), start=1)
    items = tuple(_make_item(record, line, inputs, number, phenomenon) for number, (record, line) in pairs)
    return ContrastiveSet(items, {path.name: len(items)})


def _make_item(record: JsonRecord, line: str, inputs: Path, number: int, phenomenon: str) -> GenerativeItem:
    """Return the item of a record and its line of inputs."""
    *history, source = [part.strip() for part in line.split(SEPARATOR)]
    if not source:
        raise CorpusError(f"no sentence after the last {SEPARATOR}", path=inputs, line=number)
    if record.has("src segment") and not same_sentence(record.sentence("src segment"), source):
        message = f"the sentence {shorten(source)!r} is not that of {record.path}:{record.line}"
        raise CorpusError(f"{message}: the files do not belong together", path=inputs, line=number)
    expected = record.sentence("expected")
    return GenerativeItem(
        id=f"{phenomenon}-{number}",
        source=source,
        phenomenon=phenomenon,
        form=record.text("rule") if record.has("rule") else "",
        distance=record.integer("ante distance") if record.has("ante distance") else None,
        pronoun=expected.lower() if record.has("src pronoun") else None,
        document=record.text("document id") if record.has("document id") else None,
        history=tuple(history),
        expected=(expected,),
    )
