"""`docaps contrast`: how often a model prefers the right translation where only context can tell."""

from pathlib import Path
from typing import Annotated

import typer

from docaps.cli.console import JsonOption, print_json, print_table


def contrast(
    run: Annotated[Path, typer.Argument(help="A finished run directory.")],
    path: Annotated[
        Path, typer.Argument(help="Contrastive items (JSON Lines), such as data/minidocs/contrastive.jsonl.")
    ],
    json: JsonOption = False,
) -> None:
    """Score right and wrong translations with their history; print accuracy by phenomenon and distance.

    Example: docaps contrast runs/demo/runs/document runs/demo/corpus/contrastive.jsonl
    """
    from docaps.experiments.assess import contrast as contrast_file
    from docaps.translation.loading import load_trained

    result = contrast_file(load_trained(run), path)
    if json:
        print_json(result)
        return
    accuracy, chance, counts = result["accuracy"], result["chance"], result["counts"]
    rows = [["all", *_numbers(accuracy["all"], chance["all"], counts["all"])]]
    for name, by_distance in accuracy["by_phenomenon_and_distance"].items():
        rows.append([name, *_numbers(*(part["by_phenomenon"][name] for part in (accuracy, chance, counts)))])
        for distance in by_distance:
            parts = (part["by_phenomenon_and_distance"][name][distance] for part in (accuracy, chance, counts))
            rows.append([f"  distance {distance}", *_numbers(*parts)])
    print_table("Right choices", ["items", "accuracy", "chance", "count"], rows)


def _numbers(accuracy: float, chance: float, count: int) -> list[str]:
    """Write shares in per cent."""
    return [f"{100 * accuracy:.1f} %", f"{100 * chance:.1f} %", f"{count:,}"]
