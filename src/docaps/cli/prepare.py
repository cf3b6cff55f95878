"""`docaps prepare`: raw documents to a store of token ids."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docaps.cli.console import (
    AddressOption,
    EngineOption,
    FormatOption,
    JsonOption,
    SetOption,
    complete_recipe,
    language_of_names,
    print_json,
    print_next,
    print_table,
    typed,
)
from docaps.cli.engines import Workers

if TYPE_CHECKING:
    from docaps.config import PreparationSettings
    from docaps.corpus.preparation import CorpusFiles
    from docaps.corpus.processes import TaskPool
    from docaps.corpus.store import Store

Pair = tuple[Path, Path]
StartsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Plain lines: on which lines of that part, from 0, documents start.")
]


RecipeOption = Annotated[
    str | None,
    typer.Option(autocompletion=complete_recipe, help="Take the preparation settings of a recipe (a file or a name)."),
]
SourceLanguageOption = Annotated[
    str | None,
    typer.Option(
        metavar="CODE",
        help="Language of the source (default: the recipe's, or what the names end in, as train.en, or else en).",
    ),
]
TargetLanguageOption = Annotated[
    str | None, typer.Option(metavar="CODE", help="Language of the target (likewise, or else de).")
]


CodecOption = Annotated[
    Path | None,
    typer.Option(metavar="RUN", help="Encode as this run does, such as an imported one; nothing is learnt."),
]


def prepare(
    train: Annotated[Pair, typer.Option(metavar="SOURCE TARGET", help="The two sides of the training part.")],
    dev: Annotated[Pair, typer.Option(metavar="SOURCE TARGET", help="The two sides of the development part.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory of the prepared corpus.")],
    test: Annotated[Pair | None, typer.Option(metavar="SOURCE TARGET", help="The two sides of the test part.")] = None,
    extra: Annotated[
        Pair | None,
        typer.Option(metavar="SOURCE TARGET", help="More sentence pairs, without documents, for stages that use them."),
    ] = None,
    contrastive: Annotated[Path | None, typer.Option(help="Contrastive items (JSON Lines) that go with it.")] = None,
    recipe: RecipeOption = None,
    source_language: SourceLanguageOption = None,
    target_language: TargetLanguageOption = None,
    merges: Annotated[int | None, typer.Option(help="Joint BPE merge operations (default: 30000).")] = None,
    codec: CodecOption = None,
    format: FormatOption = None,
    train_starts: StartsOption = None,
    dev_starts: StartsOption = None,
    test_starts: StartsOption = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
    set: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Tokenise documents, learn joint subwords on the training part, and store token ids.

    Files hold one sentence a line, a line <d> before each document, the same lines on both sides; other formats (see
    --format) are detected by content. Plain, gzip or zstd; - is stdin. A file that holds both sides is given twice.

    Example: docaps prepare --train train.en train.de --dev dev.en dev.de --out data/prepared

    Example: docaps prepare --codec runs/opus --train train.en train.de --dev dev.en dev.de --out data/prepared
    """
    from docaps.corpus.preparation import CorpusFiles
    from docaps.errors import CorpusError

    parts = {"train": train, "dev": dev} | ({"test": test} if test else {}) | ({"extra": extra} if extra else {})
    given = {"source_language": source_language, "target_language": target_language, "merges": merges}
    settings, text = _choose_settings(recipe, set or [], given, list(parts.values()), codec)
    if test_starts and not test:
        raise CorpusError("--test-starts without --test: give the test part too")
    starts = {"train": train_starts, "dev": dev_starts, "test": test_starts}
    files = CorpusFiles(parts, contrastive, format, {name: path for name, path in starts.items() if path}, text)
    with Workers(engine, address).pool("tokenised text") as pool:
        store, built = _prepare(files, settings, out, pool)
    found = store.manifest
    if json:
        print_json({"path": str(out), "built": built, "vocabulary": found["vocabulary"], **found["counts"]})
    else:
        _print(out, found, built, recipe or "RECIPE")


def _choose_settings(
    recipe: str | None, overrides: list[str], given: Mapping[str, Any], pairs: Sequence[Pair], codec: Path | None
) -> "tuple[PreparationSettings, Path | None]":
    """Return the settings of a preparation, and the folder of the codec if it is that of a run."""
    from docaps.config import load_recipe, recipe_path

    shortcuts = [f"preparation.{key}={dumps(value)}" for key, value in given.items() if value is not None]
    settings = load_recipe(recipe_path(recipe) if recipe else None, [*overrides, *shortcuts]).preparation
    return (_with_languages(settings, pairs), None) if codec is None else _with_codec(codec, settings, given)


def _with_codec(
    run: Path, settings: "PreparationSettings", given: Mapping[str, Any]
) -> "tuple[PreparationSettings, Path]":
    """Return settings with the languages of a run, and the folder of its codec; refuse options that contradict it."""
    from docaps.corpus.text.codec import load_codec
    from docaps.errors import CorpusError
    from docaps.runs.directory import open_run

    folder = open_run(run).text
    codec = load_codec(folder)
    languages = {"source_language": codec.source.code, "target_language": codec.target.code}
    for key, value in given.items():
        if value is not None and value != languages.get(key):
            option = f"--{key.replace('_', '-')} {value}"
            raise CorpusError(f"{option} contradicts --codec: text is encoded as {run} does. Leave it out")
    return settings.model_copy(update=languages), folder


def _with_languages(settings: "PreparationSettings", pairs: Sequence[Pair]) -> "PreparationSettings":
    """Complete languages that neither recipe nor option says: by the names of the files, or else the defaults."""
    from docaps import progress

    changed, said = {}, []
    for number, side in enumerate(("source", "target")):
        if (key := f"{side}_language") in settings.model_fields_set:
            continue
        names = [pair[number] for pair in pairs if pair[0] != pair[1]]  # a file with both sides is not named by one
        found = language_of_names(f"--{side}-language", f"the {side}", names)
        changed[key] = found[0] if found else getattr(settings, key)
        said.append(f"{side} {changed[key]}{'' if found else ' (default)'}")
    if said:
        progress.say(f"languages: {', '.join(said)} (others: --source-language, --target-language)")
    return settings.model_copy(update=changed)


def _prepare(
    inputs: "CorpusFiles", settings: "PreparationSettings", out: Path, workers: "TaskPool | None"
) -> "tuple[Store, bool]":
    """Prepare a corpus, from pipes too; store the command with it, unless a pipe makes it unrepeatable."""
    from docaps.corpus.preparation import prepare as prepare_corpus
    from docaps.corpus.preparation import spooled

    with spooled(inputs.parts) as files:
        command = _command(inputs, settings, out) if files == inputs.parts else ""
        return prepare_corpus(replace(inputs, parts=files), settings, out, workers=workers, command=command)


def _command(inputs: "CorpusFiles", settings: "PreparationSettings", out: Path) -> str:
    """Return the command that prepares this corpus, with all settings spelt out."""
    from docaps.runs.card import flatten

    words = ["docaps", "prepare"]
    for name, pair in inputs.parts.items():
        words += [f"--{name}", *map(str, pair)]
    for name, starts in inputs.starts.items():
        words += [f"--{name}-starts", str(starts)]
    words += ["--contrastive", str(inputs.contrastive)] if inputs.contrastive else []
    words += ["--format", inputs.format] if inputs.format else []
    words += ["--codec", str(inputs.codec.parent)] if inputs.codec else []
    for key, value in flatten(settings.model_dump(exclude_defaults=True), "preparation.").items():
        words += ["--set", f"{key}={dumps(value, ensure_ascii=False)}"]
    return shlex.join([*words, "--out", str(out)])


def _print(out: Path, manifest: Mapping[str, Any], built: bool, recipe: str) -> None:
    """Print the size of every part, what the filters dropped, and the next command."""
    keys = ("documents", "sentences", "usable")
    rows = [[name, *(f"{part[key]:,}" for key in keys)] for name, part in manifest["counts"].items()]
    state = "prepared" if built else "was prepared already: nothing to do"
    print_table(f"{out} {state}; vocabulary {manifest['vocabulary']:,}", ["part", *keys], rows)
    for name, counts in manifest["filters"].items():
        if dropped := [f"{count:,} of {part}" for part, count in counts.items() if count]:
            typer.echo(f"not trained on, {name}: {', '.join(dropped)}")
    print_next([("train", typed("train", recipe, "--corpus", out, "--out", "runs/NAME"))])
