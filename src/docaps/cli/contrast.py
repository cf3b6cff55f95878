"""`docaps contrast`: how often a model prefers the right translation where only context decides."""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docaps.cli import console
from docaps.cli.translate import PrecisionOption

if TYPE_CHECKING:
    from docaps.diagnosis.contrastive_answers import History


def _list_sets() -> list[str]:
    """List all sets; packages may add some."""
    from docaps.config import plugins
    from docaps.corpus.contrastive.sets import GROUP, SETS

    return [*SETS, *plugins.entries(GROUP)]


def _check_set(name: str) -> str:
    """Refuse the name of an unknown set."""
    from docaps.corpus.contrastive.sets import SETS

    known = list(SETS) if name in SETS else _list_sets()
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? There" if near else "there"
        raise typer.BadParameter(f"no contrastive set {name!r}: {hint} are {', '.join(known)}.")
    return name


SetOption = Annotated[
    str,
    typer.Option(
        "--set",
        metavar="NAME",
        callback=_check_set,
        autocompletion=console.completing(_list_sets),
        help="Which set it is: contrapro, mt-geneval, ctxpro, minidocs, jsonl or that of a plug-in.",
    ),
]
ShuffledOption = Annotated[
    bool, typer.Option("--shuffled", help="Give each item the history of another one, to compare.")
]
LimitOption = Annotated[int | None, typer.Option(min=1, help="Use only this many items, evenly over the whole set.")]
BeamOption = Annotated[int | None, typer.Option(min=1, help="ctxpro: hypotheses kept at each step; 1 is greedy.")]
ExamplesOption = Annotated[
    int | None, typer.Option(min=0, help="How many answers to show (default: none; with --json, 10).")
]
KeepOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Store the result in the run, where docaps report shows it.")
]
JSON_EXAMPLES = 10
COLUMNS = ["accuracy", "95 % interval", "chance", "count"]


def contrast(
    run: Annotated[Path, typer.Argument(help="A finished run directory, or the folder of a grid.")],
    path: Annotated[Path, typer.Argument(help="The set: one of its files, or its directory.")],
    set: SetOption = "jsonl",
    context_dir: console.ContextDirOption = None,
    context_lines: console.ContextLinesOption = None,
    no_context: Annotated[bool, typer.Option("--no-context", help="Hide the history, to compare.")] = False,
    shuffled: ShuffledOption = False,
    limit: LimitOption = None,
    beam: BeamOption = None,
    examples: ExamplesOption = None,
    keep: KeepOption = None,
    translations: console.TranslationsOption = "reference",
    precision: PrecisionOption = "auto",
    json: console.JsonOption = False,
) -> None:
    """Test choices that need context: accuracy by phenomenon, distance and pronoun, with intervals and chance.

    The model scores right and wrong translations with their history; a tie is wrong. For ctxpro it translates, and is
    right if the translation holds the expected word. --precision float32 is exact; the others decide nearly all alike.

    Give any file of a set, or its directory. contrapro: the authors' JSON file, with --context-dir, or extracted text;
    mt-geneval: its three files side by side; ctxpro: a JSON file beside its inputs; minidocs: what docaps minidocs
    wrote; jsonl: an object a line: "source", "right", "wrong": [...]; also "history": [...], "phenomenon", "distance".

    For a grid (docaps experiment), every run is tested with its own history, with none and with another's, and the
    results are stored; stored results are not measured again.

    Example: docaps contrast runs/table2 --set mt-geneval geneval/ --keep mt-geneval
    """
    from docaps.diagnosis.contrastive_answers import contrast_run
    from docaps.errors import CorpusError
    from docaps.runs.grid_results import is_grid

    history = _choose_history(no_context, shuffled)
    context, own = {"context_dir": context_dir, "context_lines": context_lines}, translations == "own"
    if is_grid(run):
        if keep is None or no_context or shuffled or limit or examples or own:
            raise CorpusError("a grid takes a whole set with every history, and keeps it: only --keep NAME", path=run)
        tested = _test_grid(run, set, path, context, keep=keep, beam=beam, precision=precision)
        (console.print_json if json else _print_grid)(tested)
        return
    more: dict[str, Any] = {"limit": limit, "beam": beam, "keep": keep, "translations": translations}
    more["examples"] = examples if examples is not None else JSON_EXAMPLES if json else 0
    result = contrast_run(run, set, path, context, history=history, precision=precision, **more)
    (console.print_json if json else _print)(result)
    if history == "own" and not json:
        given = {"--limit": limit, "--keep": keep, "--translations": translations if own else None}
        _print_next(run, set, path, given | {"--precision": None if precision == "auto" else precision})


def _test_grid(run: Path, *arguments: Any, **options: Any) -> dict[str, Any]:
    """Test all runs of a grid."""
    from docaps.cli.experiment import write_tables
    from docaps.diagnosis.contrastive_answers import contrast_grid

    write_tables(run)  # runs may have finished since the results were written
    return {"runs": contrast_grid(run, *arguments, **options)}


def _choose_history(no_context: bool, shuffled: bool) -> "History":
    """Return the history that the options ask for."""
    from docaps.errors import CorpusError

    if no_context and shuffled:
        raise CorpusError("--no-context and --shuffled: give the one or the other")
    return "none" if no_context else "shuffled" if shuffled else "own"


def _print_next(run: Path, name: str, path: Path, options: Mapping[str, int | str | None]) -> None:
    """Print the commands that do the same with other histories."""
    more = [word for option, value in options.items() if value is not None for word in (option, str(value))]
    call = console.typed("contrast", run, "--set", name, path, *more)
    console.print_next([("without history", f"{call} --no-context"), ("with another's", f"{call} --shuffled")])


def _print(result: Mapping[str, Any]) -> None:
    """Print the table of accuracies, the methods of the intervals, and the examples."""
    details = result["details"]
    rows = [["all", *_cells({**result, **result["interval"]})]]
    for name, values in details["by_phenomenon"].items():
        rows.append([name, *_cells(values)])
        by_distance = details["by_phenomenon_and_distance"].get(name, {})
        rows += [[f"  distance {distance}", *_cells(part)] for distance, part in by_distance.items()]
    for kind in ("pronoun", "form"):
        rows += [[f"{kind} {name}", *_cells(values)] for name, values in details[f"by_{kind}"].items()]
    console.print_table("Right choices", ["items", *COLUMNS], rows)
    groups = (group for key, group in details.items() if key != "by_phenomenon_and_distance")
    methods = [result["interval"]["method"], *(values["method"] for group in groups for values in group.values())]
    if result.get("translations"):  # stored results of earlier versions do not say
        shown = "those of the set" if result["translations"] == "reference" else "the model's own"
        typer.echo(f"Translations of the history: {shown}.")
    typer.echo(f"Intervals: {', '.join(dict.fromkeys(methods))}. Ties, counted as wrong: {result['ties']:,}.")
    typer.echo(result["signature"])
    for example in result["examples"]:
        typer.echo(_format_example(example))


def _print_grid(found: Mapping[str, Any]) -> None:
    """Print a row for each run and history."""
    from docaps.runs.contrastive_results import HISTORIES

    runs = [(result["run"], HISTORIES[result["history"]], result) for result in found["runs"]]
    rows = [[run, history, *_cells({**result, **result["interval"]})] for run, history, result in runs]
    console.print_table("Right choices", ["run", "history", *COLUMNS], rows, texts=(0, 1))


def _cells(values: Mapping[str, Any]) -> list[str]:
    """Write accuracy, interval and chance in per cent, and the number of items."""
    interval = f"{100 * values['low']:.1f}-{100 * values['high']:.1f} %"
    return [f"{100 * values['accuracy']:.1f} %", interval, f"{100 * values['chance']:.1f} %", f"{values['items']:,}"]


def _format_example(example: Mapping[str, Any]) -> str:
    """Write an answer: history, source, the model's answer and the expected one."""
    history = [f"    {sentence}" for sentence in example["history"]]
    expected = example.get("right") or " or ".join(example["expected"])
    verdict = "right" if example["correct"] else f"wrong; wanted: {expected}"
    answer = f"  < {example.get('chosen', example.get('translation'))}  [{verdict}]"
    return "\n".join([f"\n{example['id']} ({example['phenomenon']})", *history, f"  > {example['source']}", answer])
