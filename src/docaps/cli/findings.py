"""A diagnosis on the terminal: the verdict, a table with bars, and the sentences that show it."""

from collections.abc import Mapping, Sequence
from typing import Any

import typer
from rich.text import Text

from docaps.cli.console import print_table
from docaps.cli.histogram import bar

TITLES = {"true": "true", "shuffled": "another document's", "none": "none", "against": "the other model"}
BAR = 18
Found = Mapping[str, Any]


def print_findings(found: Found) -> None:
    """Print everything that was found."""
    against = found["against"]
    typer.echo(f"Verdict: {found['verdict']}.")
    for sentence in found["explanation"]:
        typer.echo(f"  {sentence}")
    typer.echo("")
    other = None if against is None else against["name"]
    _print_conditions(found, other)
    _print_distances(found)
    _print_choices(found, other)
    _print_traces(found["traces"])
    _print_cxmi(found)
    _print_sentences("History helped most", found["better"])
    _print_sentences("History harmed most", found["worse"])
    typer.echo(f"\n{found['signature']}")


def title_of(condition: str, other: str | None = None) -> str:
    """Name a condition for people."""
    if condition == "against" and other:
        return f"(run {other})"
    return TITLES.get(condition, f"the {condition}")


def _print_conditions(found: Found, other: str | None) -> None:
    """Print a row for each history, with a bar for the change of perplexity against no history."""
    rows = [row for row in found["conditions"] if row["perplexity"] is not None]
    none = next(row["perplexity"] for row in rows if row["condition"] == "none")
    changes = [row["perplexity"] / none - 1 for row in rows]
    bars = _bars(changes)
    columns = _columns(rows)
    table = [
        [
            title_of(row["condition"], other),
            f"{row['perplexity']:.3f}",
            f"{100 * change:+.1f} %",
            drawn,
            *_chances(found, row["condition"]),
            *(write(row[key]) for key, _, write in columns),
        ]
        for row, change, drawn in zip(rows, changes, bars, strict=True)
    ]
    header = ["history", "perplexity", "change", "", "p to none", "p to true", *(name for _, name, _ in columns)]
    size = f"{found['documents']:,} documents, {found['sentences']:,} sentences"
    print_table(f"{size}; p over documents, of perplexity", header, table, texts=(0, 3))


def _bars(changes: Sequence[float]) -> list[Text]:
    """Draw a bar for each change of perplexity: green where it falls, red where it rises."""
    most = max(map(abs, changes), default=0.0) or 1.0
    return [Text(bar(abs(change), most, BAR), style="green" if change < 0 else "red") for change in changes]


def _columns(rows: Sequence[Found]) -> list[tuple[str, str, Any]]:
    """Choose the columns that were measured."""
    known = [
        ("bleu", "BLEU", lambda value: f"{value:.1f}"),
        ("accuracy", "right choices", lambda value: f"{100 * value:.1f} %"),
    ]
    return [column for column in known if all(row[column[0]] is not None for row in rows)]


def _chances(found: Found, condition: str) -> list[str]:
    """Write the p-values of a condition against none and against the true history, the larger of both tests."""
    return [_chance(found, condition, other) for other in ("none", "true")]


def _chance(found: Found, one: str, other: str) -> str:
    for row in found["comparisons"]:
        if row["measure"] == "perplexity" and {row["condition"], row["baseline"]} == {one, other}:
            return f"{max(row['p_bootstrap'], row['p_randomisation']):.3f}"
    return ""


def _print_distances(found: Found) -> None:
    """Print what each sentence of the history adds to the nearer ones."""
    rows = found["by_distance"]["perplexity"]
    bars = _bars([-row["gain"] for row in rows])
    table: list[list[str | Text]] = [
        [str(row["distance"]), f"{-100 * row['gain']:+.2f} %", drawn, f"{row['p']:.3f}"]
        for row, drawn in zip(rows, bars, strict=True)
    ]
    if table:
        title = "What each sentence of the history adds to the nearer ones"
        print_table(title, ["distance", "perplexity", "", "p"], table, texts=(0, 2))


def _print_choices(found: Found, other: str | None) -> None:
    """Print right choices by phenomenon and by the distance of what decides them."""
    choices = found["choices"]
    if not choices:
        return
    groups = {**_named("", choices["by_phenomenon"]), **_named("distance ", choices["by_distance"])}
    conditions = list(choices["by_phenomenon"])
    table = [[name, *(f"{100 * groups[name][condition]:.1f} %" for condition in conditions)] for name in groups]
    title = f"Right choices among {choices['items']:,} items (chance {100 * choices['chance']:.1f} %), by history"
    print_table(title, ["", *(title_of(condition, other) for condition in conditions)], table)


def _named(prefix: str, groups: Found) -> dict[str, dict[str, float]]:
    """Turn condition -> group -> share around."""
    names = dict.fromkeys(name for group in groups.values() for name in group)
    return {f"{prefix}{name}": {condition: group[name] for condition, group in groups.items()} for name in names}


def _print_traces(traces: Sequence[Found]) -> None:
    """Print what the model tells about its use of the history."""
    table = [
        [
            "" if number else trace["title"],
            place["place"],
            *(f"{place[key]:.3f}" for key in ("mean", "deviation", "least", "most")),
        ]
        for trace in traces
        for number, place in enumerate(trace["places"])
    ]
    if table:
        header = ["what the model tells", "where", "mean", "deviation", "least", "most"]
        print_table("With the true history", header, table, texts=(0, 1))


def _print_cxmi(found: Found) -> None:
    """Print the CXMI of the text."""
    cxmi = found["cxmi"]
    known = [f"CXMI: {cxmi['per_token']:.4f} bits a token"]
    if cxmi["low"] is not None:
        known.append(f"95 % interval {cxmi['low']:.4f} to {cxmi['high']:.4f}")
    if cxmi["per_sentence"] is not None:
        known.append(f"{cxmi['per_sentence']:.2f} bits a sentence with a history")
        known.append(f"above 0 in {100 * cxmi['share_above_0']:.0f} % of them")
    typer.echo(", ".join(known))


def _print_sentences(title: str, records: Sequence[Found]) -> None:
    """Print sentences with their histories, and translations with and without them where there are any."""
    if not records:
        return
    typer.echo(f"\n{title}:")
    for record in records:
        head = f"document {record['document']}, sentence {record['sentence']}: {record['cxmi']:+.2f} bits"
        lines = [f"{head} ({record['against_shuffled']:+.2f} against another document's history)"]
        lines += [f"      {sentence}" for sentence in record["history"]]
        lines += [f"    > {record['source']}", f"    = {record['reference']}"]
        with_history, without = (record.get(f"translation_{key}") for key in ("true", "none"))
        if with_history != without:
            lines += [f"    with history:    {with_history}", f"    without history: {without}"]
        typer.echo("  " + "\n".join(lines))
