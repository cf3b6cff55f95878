"""`docaps prepare`: raw documents to a store of token ids."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docaps.cli.console import (
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

if TYPE_CHECKING:
    from docaps.config import PreparationSettings
    from docaps.corpus.preparation import CorpusFiles
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
    format: FormatOption = None,
    train_starts: StartsOption = None,
    dev_starts: StartsOption = None,
    test_starts: StartsOption = None,
    set: SetOption = None,
    json: JsonOption = False,
) -> None:
    """Tokenise documents, learn joint subwords on the training part, and store token ids.

    Files hold one sentence a line, a line <d> before each document, the same lines on both sides; other formats (see
    --format) are detected by content. Plain, gzip or zstd; - is stdin. A file that holds both sides is given twice.
    The same inputs and settings are not prepared twice.

    Example: docaps prepare --train train.en train.de --dev dev.en dev.de --out data/prepared
    """
    from docaps.config import load_recipe, recipe_path
    from docaps.corpus.preparation import CorpusFiles
    from docaps.errors import CorpusError

    given_settings = {"source_language": source_language, "target_language": target_language, "merges": merges}
    overrides = [f"preparation.{key}={dumps(value)}" for key, value in given_settings.items() if value is not None]
    parts = {"train": train, "dev": dev} | ({"test": test} if test else {}) | ({"extra": extra} if extra else {})
    settings = load_recipe(recipe_path(recipe) if recipe else None, [*(set or ()), *overrides]).preparation
    settings = _with_languages(settings, list(parts.values()))
    starts = {"train": train_starts, "dev": dev_starts, "test": test_starts}
    starts_files = {name: path for name, path in starts.items() if path is not None}
    if test_starts and not test:
        raise CorpusError("--test-starts without --test: give the test part too")
    store, built = _prepare(CorpusFiles(parts, contrastive, format, starts_files), settings, out)
    if json:
        counts = store.manifest["counts"]
        print_json({"path": str(out), "built": built, "vocabulary": store.manifest["vocabulary"], **counts})
    else:
        _print(out, store.manifest, built, recipe or "RECIPE")


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


def _prepare(inputs: "CorpusFiles", settings: "PreparationSettings", out: Path) -> "tuple[Store, bool]":
    """Prepare a corpus, from pipes too; store the command with it, unless a pipe makes it unrepeatable."""
    from docaps.corpus.preparation import prepare as prepare_corpus
    from docaps.corpus.preparation import spooled

    with spooled(inputs.parts) as files:
        command = _command(inputs, settings, out) if files == inputs.parts else ""
        return prepare_corpus(replace(inputs, parts=files), settings, out, command=command)


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
