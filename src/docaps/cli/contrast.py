"""`docaps contrast`: how often a model prefers the right translation where only context can tell."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from docaps.cli.console import (
    ContextDirOption,
    ContextLinesOption,
    JsonOption,
    command_name,
    print_json,
    print_next,
    print_table,
    quote,
)

ShuffledOption = Annotated[
    bool, typer.Option("--shuffled", help="Give each item the earlier sentences of another one, to compare.")
]
LimitOption = Annotated[int | None, typer.Option(min=1, help="Take only so many items, evenly over the whole set.")]
ExamplesOption = Annotated[
    int | None, typer.Option(min=0, help="How many answers to show (default: none; with --json, 10).")
]
KeepOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Keep the result in the run, where docaps report shows it.")
]
SetName = Literal["contrapro", "mt-geneval", "ctxpro", "minidocs", "jsonl"]
JSON_EXAMPLES = 10


def contrast(
    run: Annotated[Path, typer.Argument(help="A finished run directory, or the folder of a grid.")],
    path: Annotated[Path, typer.Argument(help="The set: a file of it, or its directory.")],
    set: Annotated[SetName, typer.Option("--set", help="Which set it is (docs/contrastive-sets.md).")] = "jsonl",
    context_dir: ContextDirOption = None,
    context_lines: ContextLinesOption = None,
    no_context: Annotated[bool, typer.Option("--no-context", help="Hide the earlier sentences, to compare.")] = False,
    shuffled: ShuffledOption = False,
    limit: LimitOption = None,
    beam: Annotated[int | None, typer.Option(min=1, help="ctxpro: hypotheses kept at each step; 1 is greedy.")] = None,
    examples: ExamplesOption = None,
    keep: KeepOption = None,
    json: JsonOption = False,
) -> None:
    """Test choices that need context: accuracy by phenomenon, distance and pronoun, with intervals and chance.

    The model scores right and wrong translations with their history; a tie is wrong. In ctxpro it translates, and is
    right if the expected word stands in the translation. Formats: docs/contrastive-sets.md.

    Example: docaps contrast runs/demo/runs/document --set minidocs runs/demo/corpus

    Of a grid (docaps experiment), every run takes the set, with its own history, with none and with another's, and
    keeps the results; those that are kept already are not measured again.

    Example: docaps contrast runs/table2 --set mt-geneval geneval/ --keep mt-geneval
    """
    from docaps.cli.experiment import write_tables
    from docaps.diagnosis.contrastive_test import History, contrast_grid, contrast_run
    from docaps.errors import CorpusError
    from docaps.runs.grid_results import is_grid

    if no_context and shuffled:
        raise CorpusError("--no-context and --shuffled: give the one or the other")
    context = {"context_dir": context_dir, "context_lines": context_lines}
    history: History = "none" if no_context else "shuffled" if shuffled else "own"
    shown = examples if examples is not None else JSON_EXAMPLES if json else 0
    if is_grid(run):
        if keep is None or no_context or shuffled or limit or examples:
            raise CorpusError("a grid takes a whole set with every history, and keeps it: only --keep NAME", path=run)
        write_tables(run)  # runs may have finished since the results were written
        found = contrast_grid(run, set, path, context, keep=keep, beam=beam)
        print_json({"runs": found}) if json else _print_grid(found)
        return
    result = contrast_run(run, set, path, context, history=history, limit=limit, beam=beam, examples=shown, keep=keep)
    if json:
        print_json(result)
        return
    _print(result)
    if history == "own":
        call = f"{command_name()} contrast {quote(run)} --set {set} {quote(path)}" + (f" --keep {keep}" if keep else "")
        print_next([("without history", f"{call} --no-context"), ("with another's", f"{call} --shuffled")])


def _print(result: Mapping[str, Any]) -> None:
    """Print the table, what its numbers are, and the answers asked for."""
    details = result["details"]
    whole = {key: result[key] for key in ("accuracy", "chance", "items", "ties")} | result["interval"]
    rows = [_row("all", whole)]
    for name, values in details["by_phenomenon"].items():
        rows.append(_row(name, values))
        by_distance = details["by_phenomenon_and_distance"].get(name, {})
        rows += [_row(f"  distance {distance}", part) for distance, part in by_distance.items()]
    rows += [_row(f"pronoun {name}", values) for name, values in details["by_pronoun"].items()]
    rows += [_row(f"form {name}", values) for name, values in details["by_form"].items()]
    print_table("Right choices", ["items", "accuracy", "95 % interval", "chance", "count"], rows)
    methods = dict.fromkeys([result["interval"]["method"], *_methods(details)])
    typer.echo(f"Intervals: {', '.join(methods)}. Ties, counted as wrong: {result['ties']:,}.")
    typer.echo(result["signature"])
    for example in result["examples"]:
        typer.echo(_show(example))


def _print_grid(found: Sequence[Mapping[str, Any]]) -> None:
    """Print a line for each run and history."""
    from docaps.runs.contrastive_results import HISTORIES

    rows = [_row(result["run"], {**result, **result["interval"]}) for result in found]
    named = [[name, HISTORIES[result["history"]], *rest] for (name, *rest), result in zip(rows, found, strict=True)]
    print_table(
        "Right choices", ["run", "history", "accuracy", "95 % interval", "chance", "count"], named, texts=(0, 1)
    )


def _methods(details: Mapping[str, Any]) -> list[str]:
    """List how the intervals of the groups were found."""
    groups = (group for key, group in details.items() if key != "by_phenomenon_and_distance")
    return [values["method"] for group in groups for values in group.values()]


def _row(name: str, values: Mapping[str, Any]) -> list[str]:
    """Write shares in per cent."""
    interval = f"{100 * values['low']:.1f}-{100 * values['high']:.1f} %"
    shares = [f"{100 * values['accuracy']:.1f} %", interval, f"{100 * values['chance']:.1f} %"]
    return [name, *shares, f"{values['items']:,}"]


def _show(example: Mapping[str, Any]) -> str:
    """Write an answer: history, source, what was wanted and what the model prefers or wrote."""
    history = [f"    {sentence}" for sentence in example["history"]]
    answer = example.get("chosen", example.get("translation"))
    wanted = example.get("right") or " or ".join(example["expected"])
    verdict = "right" if example["correct"] else f"wrong; wanted: {wanted}"
    head = f"\n{example['id']} ({example['phenomenon']})"
    return "\n".join([head, *history, f"  > {example['source']}", f"  < {answer}  [{verdict}]"])
