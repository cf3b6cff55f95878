"""Every number of a page equals its file's, in its place: one from another run or column fails."""

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.unit.report.fake_grids import write_grid, write_trials
from tests.unit.report.fake_runs import write_diagnosis, write_document_run, write_kept, write_sentence_run
from tests.unit.report.page_reading import Node, read_page
from tests.unit.report.tracing import OWN_WORDS, Files, PageSources, trace_page, trace_tree

from docaps.report import build_page, read_results
from docaps.runs.grid_results import read_grids, runs_of, sentence_models_of

COMMANDS = [("Table 2: qcn, seed 1", "docaps experiment table2 --dir runs/x --seeds 1 --only qcn"), ("b", "c 2")]


@dataclass(frozen=True)
class Built:
    """A page, and what it may speak of."""

    page: str
    sources: PageSources

    def trace(self, page: str | None = None) -> int:
        return trace_page(self.page if page is None else page, self.sources)


def of_grid(folder: Path) -> Built:
    """Build the page of a grid's folder."""
    grids = read_grids(folder)
    paths, sentence_models = runs_of(folder, grids), sentence_models_of(folder, grids)
    page = build_page(
        [read_results(path) for path in paths],
        title="Report",
        commands=COMMANDS,
        grids=grids,
        sentence_models=[read_results(path) for path in sentence_models],
    )
    return Built(page, PageSources([*map(Files, paths)], grids, [*map(Files, sentence_models)], COMMANDS))


def of_runs(paths: list[Path], commands: list[tuple[str, str]]) -> Built:
    """Build the page of runs of no grid."""
    page = build_page([read_results(path) for path in paths], title="Report", commands=commands)
    return Built(page, PageSources([*map(Files, paths)], commands=commands))


def two_runs(folder: Path) -> list[Path]:
    found = [write_sentence_run(folder), write_document_run(folder)]
    for number, run in enumerate(found):
        write_kept(run, "geneval", "own", accuracy=0.5127 + 0.1 * number)
    write_diagnosis(found[1])
    return found


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Built:
    built = of_grid(write_grid(tmp_path_factory.mktemp("grid")))
    built.trace()  # whatever is then changed is all that is wrong
    return built


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Built:
    built = of_runs(two_runs(tmp_path_factory.mktemp("runs")), [])
    built.trace()
    return built


def test_every_number_of_a_grids_page_is_in_its_place(grid: Built) -> None:
    assert grid.trace() > 2000
    assert "Is context used?" in grid.page


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Built:
    built = of_grid(write_trials(tmp_path_factory.mktemp("trials")))
    built.trace()
    return built


def test_every_number_of_a_page_of_trials_is_in_its_place(trials: Built) -> None:
    assert trials.trace() > 500


def test_every_number_of_a_page_of_single_runs_is_in_its_place(small: Built, grid: Built) -> None:
    assert small.trace() > 500
    chosen = [
        run.path for run in grid.sources.runs if run.path.parts[-2:] in (("seed-1", "transformer"), ("seed-1", "qcn"))
    ]
    measured = of_runs(chosen, COMMANDS * 4)
    assert 'id="scores"' in measured.page
    assert measured.trace() > 500


def swap(page: str, one: str, other: str) -> str:
    return page.replace(one, "\0").replace(other, one).replace("\0", other)


def lines_of(page: str, number: int) -> tuple[str, str]:
    """Return two rows of the table of results, without their headings."""
    table = page.partition('<table id="results"')[2].partition("<tbody>")[2]
    rows = [row.partition("</th>")[2] for row in table.split("<tr>")[1:]]
    return rows[number], rows[number + 1]


def raised(pattern: str) -> Callable[[str], str]:
    """Return what raises the last digit of the first number that a pattern finds."""

    def change(page: str) -> str:
        found = re.search(pattern, page, flags=re.DOTALL)
        assert found is not None
        digit = (int(page[found.end(1) - 1]) + 1) % 10
        return f"{page[: found.end(1) - 1]}{digit}{page[found.end(1) :]}"

    return change


MUTATIONS: dict[str, Callable[[str], str]] = {
    "rows of two runs": lambda page: swap(page, *lines_of(page, 0)),
    "headings of two phenomena": lambda page: swap(page, ">pronoun</th>", ">address</th>"),
    "headings of two distances": lambda page: swap(page, ">1 back</th>", ">3 back</th>"),
    "headings of two columns": lambda page: swap(page, ">Perplexity</th>", ">BLEU</th>"),
    "headline": raised(r'class="headline">[^<]*?gets [\d.]*?(\d)\u202f%'),
    "BLEU in words": raised(r'class="second">BLEU[^<]*: ([\d.]+)'),
    "parameters": raised(r'id="results".*?<td>(\d[\d\u202f]+)</td>'),
    "training time": raised(r'id="results".*?<td>(\d+)\u202fmin'),
    "chance": raised(r"<tfoot><tr>.*?<td>(\d[\d.]*)</td>"),
    "items": raised(r">Items</th>.*?<td>(\d+)</td>"),
    "dot of accuracy": raised(r"<title>1 back, qcn\+reg: ([\d.]+)"),
    "mark of chance": raised(r"<title>1 back, chance: ([\d.]+)"),
    "interval of choices": raised(r'class="interval">\[([\d.]+)'),
    "dot of choices": raised(r"<title>own history, qcn\+reg: ([\d.]+)"),
    "perplexity with a history": raised(r'class="conditions".*?<td>([\d.]+)</td>'),
    "change of perplexity": raised(r'class="conditions".*?<td>[+−]([\d.]+)'),
    "p-value": raised(r'class="conditions".*?<td>(0\.\d+)</td>'),
    "bar": raised(r'class="value">[+−]([\d.]+)'),
    "bits": raised(r"<b>\+([\d.]+) bits"),
    "inside the model": raised(r"<td>iteration 0</td><td>([\d.]+)</td>"),
    "differing words": raised(r"(\d+) differing word"),
    "number of a sentence": raised(r'class="number">(\d+)<'),
    "square of a map": raised(r"<title>[^<]*capsule 2: c = ([\d.]+)</title>"),
    "range of a map": raised(r"Iteration 2 <span[^>]*>c from ([\d.]+)"),
    "end of a curve": raised(r"ends at ([\d.]+)"),
    "setting": raised(r">dropout</th><td>([\d.]+)<"),
    "steps of a run": raised(r">steps</th><td colspan=\"2\">(\d+)<"),
    "number from nowhere": lambda page: page.replace("<h2", "<p>12</p><h2", 1),
}


def expect_notice(built: Built, change: Callable[[str], str]) -> None:
    """Change a page, and see that the tracing fails."""
    changed = change(built.page)
    assert changed != built.page
    with pytest.raises((AssertionError, KeyError)):
        built.trace(changed)


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_tracing_notices_what_is_changed(small: Built, name: str) -> None:
    expect_notice(small, MUTATIONS[name])


Place = tuple[Node, int | str, int]
"""Where a digit stands: in which element, in which of its texts or titles, and where in that."""


def digits_of(part: Node) -> list[Place]:
    """Return the places of all digits that a reader sees, or hears, and that the page does not say by itself."""
    found: list[Place] = []
    for node in part.all():
        if node.tag == "text" or "scale" in node.classes:
            continue
        texts = [(place, child) for place, child in enumerate(node.children) if isinstance(child, str)]
        titles = [(name, node.attributes[name]) for name in ("title", "aria-label") if name in node.attributes]
        for place, text in (*texts, *titles):
            plain = text.replace("\u202f", " ")
            said = re.sub("|".join(OWN_WORDS), lambda match: "x" * len(match.group()), plain)
            found += [(node, place, at) for at, letter in enumerate(said) if letter.isdecimal()]
    return found


def raise_digit(node: Node, place: int | str, at: int) -> None:
    text = node.attributes[place] if isinstance(place, str) else str(node.children[place])
    changed = f"{text[:at]}{(int(text[at]) + 1) % 10}{text[at + 1 :]}"
    if isinstance(place, str):
        node.attributes[place] = changed
    else:
        node.children[place] = changed


@pytest.mark.parametrize("number", range(54))
def test_no_digit_of_the_page_can_change_unnoticed(small: Built, number: int) -> None:
    tree = read_page(small.page)
    parts = [found for part in (tree.one("header"), *tree.all("section")) if (found := digits_of(part))]
    assert len(parts) == 8
    raise_digit(*random.Random(number).choice(parts[number % len(parts)]))
    with pytest.raises((AssertionError, KeyError)):
        trace_tree(tree, small.sources)


GRID_MUTATIONS: dict[str, Callable[[str], str]] = {
    "mean of Table 2": raised(r'<table id="table2".*?<td class="group">([\d.]+)'),
    "interval of Table 2": raised(r'<table id="table2".*?class="interval">\[([\d.]+)'),
    "difference": raised(r'title="difference \+([\d.]+)'),
    "number of the paper": raised(r'class="group theirs">([\d.]+)'),
    "metrics of Table 2": lambda page: swap(page, ">d-BLEU</th>", ">METEOR</th>"),
    "draws": raised(r"over documents, ([\d,]+) draws"),
    "sentence models": raised(r"rows start from: seed 1: ([\d,]+) steps"),
    "point of a figure": raised(r'id="history".*?<title>1: ([\d.]+)'),
    "table of a figure": raised(r'id="history".*?<tbody>.*?<td>([\d.]+)<'),
    "seed of charts": lambda page: page.replace("accuracy, %, seed 1", "accuracy, %, seed 2"),
    "seed of choices": lambda page: page.replace("right choices, %, seed 1", "right choices, %, seed 2"),
    "seed of curves": lambda page: page.replace("per token, seed 1", "per token, seed 2"),
    "seeds of sentence models": lambda page: swap(page, "seed 1 ends at", "seed 2 ends at"),
    "seed of samples": lambda page: page.replace(">qcn, seed 1<", ">qcn, seed 2<"),
    "seed of a diagnosis": lambda page: page.replace("run qcn, seed 1</h3>", "run qcn, seed 2</h3>", 1),
    "seed of routing": lambda page: "run qcn, seed 2</h3>".join(page.rsplit("run qcn, seed 1</h3>", 1)),
    "data": raised(r'id="data".*?<td>([\d\u202f]+)</td>'),
    "correlations that have met": raised(r"of mismatched pairs\): [^<(]*\(([\d.]+) and"),
    "retrieval of a collapsed run": raised(r"of mismatched pairs\): [^<]*?retrieval ([\d.]+)"),
    "seed of a collapsed run": lambda page: swap(page, "transformer+reg, seed 1 (", "transformer+reg, seed 2 ("),
    "end of retrieval": raised(r"found, dashed: chance[^;]*ends at ([\d.]+)"),
}


@pytest.mark.parametrize("name", GRID_MUTATIONS)
def test_the_tracing_notices_what_is_changed_of_a_grid(grid: Built, name: str) -> None:
    expect_notice(grid, GRID_MUTATIONS[name])


TRIAL_MUTATIONS: dict[str, Callable[[str], str]] = {
    "perplexity": raised(r'id="trials".*?<td>([\d.]+)'),
    "histories": lambda page: swap(page, "perplexity, no history", "perplexity, another&#39;s history"),
    "context gain": raised(r"<title>qcn, no history: \+([\d.]+)"),
    "end of an interval": raised(r"<title>mean, no history: \+[\d.]+ \[[+−][\d.]+, [+−]([\d.]+)"),
    "baseline": lambda page: swap(page, "mean, the row it is compared with", "mean, no history"),
    "side of the line": lambda page: page.replace(
        "qcn, the row it is compared with: −", "qcn, the row it is compared with: +"
    ),
}


@pytest.mark.parametrize("name", TRIAL_MUTATIONS)
def test_the_tracing_notices_what_is_changed_of_trials(trials: Built, name: str) -> None:
    expect_notice(trials, TRIAL_MUTATIONS[name])


def test_no_two_runs_of_the_grid_have_the_same_numbers(grid: Built) -> None:
    """Otherwise one could stand for the other."""
    for look_up in (
        lambda run: run.about["parameters"],
        lambda run: round(run.about["seconds"]),
        lambda run: f"{min(run.logged('dev_perplexity')):.2f}",
        lambda run: json.dumps(run.read("assessment/contrastive.json")["accuracy"]),
        lambda run: run.read("contrast/geneval.own.json")["accuracy"],
    ):
        assert len({look_up(run) for run in grid.sources.runs}) == len(grid.sources.runs)
