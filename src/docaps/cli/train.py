"""`docaps train`: train the stages of a recipe, each in a run directory."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docaps.cli.console import (
    JsonOption,
    OverwriteOption,
    SetOption,
    StopAfterOption,
    complete_recipe,
    print_json,
    print_next,
    print_table,
    stop_after,
    typed,
    typed_command,
)
from docaps.cli.runs import summarise_run
from docaps.config.settings import Precision
from docaps.memory import keep_pages

if TYPE_CHECKING:
    from docaps.config import Recipe
    from docaps.corpus.store import Store


BudgetOption = Annotated[str | None, typer.Option(metavar="TIME", help="Time per stage, such as 90s, 30m or 1h30m.")]
RecipeArgument = Annotated[
    str, typer.Argument(autocompletion=complete_recipe, help="A recipe: a TOML file, or the name of a bundled one.")
]


def train(
    recipe: RecipeArgument,
    corpus: Annotated[Path, typer.Option(help="A prepared corpus.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory for the run directories, one per stage.")],
    stage: Annotated[list[str] | None, typer.Option(help="Only this stage.")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Steps per stage, instead of the recipe's.")] = None,
    budget: BudgetOption = None,
    init_from: Annotated[
        Path | None, typer.Option(metavar="RUN", help="A finished run whose weights the first stage starts from.")
    ] = None,
    precision: Annotated[
        Precision | None,
        typer.Option(help="Number format of matrix products; auto: bfloat16 if the hardware supports it."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of weights, data order and dropout.")] = None,
    set: SetOption = None,
    stop: StopAfterOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Train nothing: print the stages and how much their signals mark.")
    ] = False,
    overwrite: OverwriteOption = False,
    json: JsonOption = False,
) -> None:
    """Train the stages of a recipe in order; finished stages are kept, an interrupted one resumes where it stopped.

    Ctrl-C or SIGTERM saves the state first, and so does --stop-after, for training in pieces of any length. Several
    processes: torchrun --nproc-per-node 2 -m docaps train ... With --init-from, settings of [model] that the recipe
    does not say are those of that run.

    Example: docaps train minidocs --corpus data/prepared --out runs/first --budget 10m

    Example: docaps train recipe.toml --corpus data/prepared --out runs/first --dry-run

    Example: docaps train opus-qcn --corpus data/prepared --init-from runs/opus --out runs/opus-qcn
    """
    keep_pages()  # before torch is imported
    from docaps.corpus.store import open_store
    from docaps.errors import RunError

    if out.exists() and not out.is_dir():
        raise RunError("is a file: name a directory for the runs with --out", path=out)
    shortcuts = {"seed": seed, "precision": precision, "stage.*.steps": steps, "stage.*.budget": budget}
    settings = _load(recipe, set or [], shortcuts, stage)
    settings = _with_model_of(init_from, settings) if init_from else settings
    stop_after(stop)
    store = open_store(corpus)
    if dry_run:
        _preview(settings, store, stage, json)
    else:
        _train(settings, store, out, json, stages=stage, overwrite=overwrite, init_from=init_from)


def _train(recipe: "Recipe", store: "Store", out: Path, json: bool, **options: Any) -> None:
    """Train the stages in this process or in those that torchrun started; the main one prints the runs."""
    from docaps.experiments.measure import watch_bleu
    from docaps.runs.card import write_card
    from docaps.training.distributed import process_group
    from docaps.training.stages import train_recipe

    with process_group(recipe.distribution) as group:
        probe = watch_bleu(recipe, store, group)
        runs = train_recipe(recipe, store, out, probe=probe, group=group, **options)
        if group.is_main:
            for run in runs:
                write_card(run, command=typed_command())
            _show([run.path for run in runs], json)


def _load(name: str, overrides: list[str], shortcuts: Mapping[str, object], stages: list[str] | None) -> "Recipe":
    """Load the recipe with all overrides; `stage.*` applies to each stage that is trained."""
    from docaps.config import load_recipe, parse_duration, recipe_path
    from docaps.errors import ConfigError

    try:
        parse_duration(str(shortcuts["stage.*.budget"] or "1s"))
    except ValueError as fault:
        raise ConfigError(f"--budget {fault}") from None
    path = recipe_path(name)
    chosen = stages or list(load_recipe(path, overrides).stage)
    given = [(key, value) for key, value in shortcuts.items() if value is not None]
    more = [f"{key.replace('*', stage)}={value}" for key, value in given for stage in (chosen if "*" in key else [""])]
    return load_recipe(path, [*overrides, *more])


def _with_model_of(run: Path, recipe: "Recipe") -> "Recipe":
    """Complete the settings of the model by those of the run whose weights the training starts from."""
    from docaps.runs.directory import open_run

    settings = open_run(run).read().get("settings") or {}
    stored = settings.get("system", {}).get("model", {})
    said = recipe.model.model_fields_set
    return recipe.with_changes({"model": {key: value for key, value in stored.items() if key not in said}})


def _preview(recipe: "Recipe", store: "Store", stages: list[str] | None, json: bool) -> None:
    """Print the stages that would be trained, and how many sentences their signals mark."""
    from docaps.batches.sampling import usable_sentences
    from docaps.batches.stage_signals import count_signals, describe_signals, read_signals
    from docaps.training.stages import choose_stages

    values, signals = list[dict[str, Any]](), list[list[str]]()
    for name in choose_stages(recipe, stages):
        settings = recipe.stage[name]
        data = store.split("train", extra=settings.extra)
        counts = count_signals(read_signals(settings, store, data, seed=recipe.seed), data)
        sizes = {"steps": settings.steps, "sentences": len(usable_sentences(data))}
        values.append({"stage": name, "system": settings.system, **sizes, "signals": counts})
        signals += [[name, setting, words] for setting, words in describe_signals(counts).items()]
    if json:
        print_json({"stages": values})
        return
    rows = [[one["stage"], one["system"], f"{one['steps']:,}", f"{one['sentences']:,}"] for one in values]
    print_table("Stages", ["stage", "system", "steps", "training sentences"], rows)
    if signals:
        print_table("Signals", ["stage", "setting", "what it does"], signals)


def _show(paths: list[Path], json: bool) -> None:
    """Print the trained runs and the next commands."""
    summaries = [summarise_run(path) for path in paths]
    if json:
        print_json({"runs": summaries})
        return
    formats = {"parameters": ",", "steps": ",", "dev_perplexity": ".2f", "seconds": ".0f"}
    rows = [[row["path"], row["system"], *(f"{row[key]:{form}}" for key, form in formats.items())] for row in summaries]
    print_table("Trained", ["run", "system", "parameters", "steps", "dev perplexity", "seconds"], rows)
    translate = f"{typed('translate', paths[-1])} < document.txt > translation.txt"
    print_next([("translate", translate), ("look", typed("report", *paths, "--out", "report.html"))])
