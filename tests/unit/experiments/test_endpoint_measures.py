"""Endpoints are measured once for each run, with the histories that the plan names, and never replaced unseen."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.unit.experiments.toy_grid import read, toy, work

from docaps.corpus.contrastive import ContrastiveItem, write_items
from docaps.diagnosis.choices import answer_items
from docaps.errors import ConfigError, RunError
from docaps.experiments import endpoint_measures
from docaps.experiments.aggregate import aggregate_grid
from docaps.experiments.endpoint_comparison import compare_endpoints, list_runs, measure_endpoints
from docaps.experiments.endpoint_measures import EndpointMeter, EndpointPart, EndpointRequest, answer_with_histories
from docaps.experiments.grid import Grid, write_request
from docaps.experiments.rows import LAYOUTS
from docaps.report.endpoint_tables import endpoints_as_markdown, gain_of
from docaps.report.figures import compose
from docaps.report.page import build_page
from docaps.report.sections.endpoint_section import gain_panels
from docaps.runs.directory import Run
from docaps.runs.endpoint_results import read_endpoints
from docaps.runs.grid_results import read_grids
from docaps.runs.results import read_results
from docaps.translation.trained_model import load_trained

pytestmark = pytest.mark.usefixtures("small")
ROWS = ("transformer", "qcn-target")


def items() -> list[ContrastiveItem]:
    """Return items of three documents, with translations of their histories."""
    return [
        ContrastiveItem(
            id=str(number),
            source="It was old.",
            right=f"{pronoun} war alt.",
            wrong=tuple(f"{other} war alt." for other in ("Er", "Sie", "Es") if other != pronoun),
            phenomenon="pronoun",
            pronoun=pronoun.lower(),
            document=f"d{number % 4}",
            history=("Anna saw the dog.", f"She has a {noun}."),
            target_history=("Anna sah den Hund.", f"Sie hat {noun}."),
        )
        for number, (pronoun, noun) in enumerate([("Er", "skirt"), ("Sie", "blouse"), ("Es", "dress")] * 4)
    ]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with items and with a further test part."""
    folder = tmp_path_factory.mktemp("texts")
    write_items(folder / "items.jsonl", items())
    for language, words in (("en", ("The dog came.", "It was old.")), ("de", ("Der Hund kam.", "Er war alt."))):
        text = "".join(f"<d>\n{words[0]}\n{words[1]} {number}\n" for number in range(4))
        (folder / f"more.{language}").write_text(text)
    return folder


@pytest.fixture(scope="module")
def request_(texts: Path) -> EndpointRequest:
    part = EndpointPart("more", texts / "more.en", texts / "more.de")
    return EndpointRequest((part,), {"pronoun": texts / "items.jsonl"})


@pytest.fixture(scope="module")
def series(small: None, tmp_path_factory: pytest.TempPathFactory) -> Grid:
    """Return a finished grid of the long comparison, with two kept checkpoints."""
    grid = toy(tmp_path_factory.mktemp("series") / "grid", layout=LAYOUTS["series"], only=ROWS)
    stages = grid.recipe.stage
    document = stages["document"].model_copy(update={"keep_at": (0.5, 1.0)})
    grid = replace(grid, recipe=grid.recipe.model_copy(update={"stage": {**stages, "document": document}}))
    write_request(grid)
    work(grid)
    aggregate_grid(grid)
    return grid


@pytest.fixture(scope="module")
def measured(series: Grid, request_: EndpointRequest) -> Path:
    """Return the folder of the grid with all endpoints measured."""
    (results,) = read_grids(series.directory)
    measure_endpoints(series.directory, results, request_, series.store())
    compare_endpoints(series.directory, results, request_)
    return series.directory


def test_every_run_has_every_endpoint_and_nothing_is_measured_twice(
    series: Grid, measured: Path, request_: EndpointRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    (results,) = read_grids(measured)
    runs = list_runs(measured, results)
    names = ["seed-1/sentence", *(f"seed-{seed}/{row}" for row in ROWS for seed in (1, 2))]
    assert [str(run.path.relative_to(measured)) for run in runs] == names
    for run in runs:
        kept = [] if run.path.name == "sentence" else ["1.checkpoint.json", "2.checkpoint.json"]
        assert sorted(path.name for path in run.endpoints.iterdir()) == sorted([*kept, "more", "pronoun.items.json"])
    monkeypatch.setattr(endpoint_measures, "load_trained", lambda *_, **__: pytest.fail("measured twice"))
    measure_endpoints(measured, results, request_, series.store())


def test_answers_are_those_of_the_model_with_each_history(measured: Path) -> None:
    run = Run(measured / "seed-2" / "qcn-target")
    found, trained = read(run.endpoints / "pronoun.items.json"), load_trained(run.path)
    assert found["right"].keys() == {"reference", "own"}
    assert found["right"]["reference"].keys() == {"true", "shuffled", "none"}
    right = [int(one.decision.right) for one in answer_items(trained, items())]
    assert found["right"]["reference"]["true"] == right
    bare = [replace(item, history=(), target_history=()) for item in items()]
    assert found["right"]["reference"]["none"] == [int(one.decision.right) for one in answer_items(trained, bare)]
    own = [int(one.decision.right) for one in answer_items(trained, items(), translations="own")]
    assert found["right"]["own"]["true"] == own
    sentence = read(measured / "seed-1" / "transformer" / "endpoints" / "pronoun.items.json")
    assert {name: list(shown) for name, shown in sentence["right"].items()} == {"reference": ["true"]}
    assert found["labels"] == ["er", "sie", "es"] * 4
    assert found["chance"] == pytest.approx(1 / 3)


def test_the_last_checkpoint_is_the_model_of_the_last_step(measured: Path) -> None:
    run = Run(measured / "seed-1" / "qcn-target")
    first, last = (read(run.endpoints / f"{step}.checkpoint.json") for step in (1, 2))
    assert first["perplexity"] != last["perplexity"]
    assert (first["tokens"], last["tokens"]) == (round(run.read()["tokens"] / 2), run.read()["tokens"])
    answers = answer_with_histories(load_trained(run.path, step=2), items())
    assert last["choices"]["pronoun"] == {name: pytest.approx(np.mean(right)) for name, right in answers.items()}


def test_rows_are_compared_with_the_baseline_on_every_part(measured: Path) -> None:
    found = read_endpoints(measured)
    assert found is not None
    sentence, base, row = found["rows"]
    assert [one["row"] for one in found["rows"]] == ["sentence", *ROWS]
    assert (list(sentence["parts"]), list(row["parts"])) == (["more"], ["test", "more"])
    assert base["parts"]["more"]["bleu"]["against"] is None
    assert row["parts"]["more"]["bleu"]["against"].keys() >= {"difference", "low", "high", "p_bootstrap"}
    grid = read(measured / "series.json")
    assert row["parts"]["test"]["bleu"]["mean"] == grid["rows"][1]["means"]["bleu"]
    assert row["parts"]["test"]["bleu"]["against"] == grid["rows"][1]["against"]["bleu"]
    chosen = row["items"]["pronoun"]["reference"]
    right = [read(measured / f"seed-{seed}/qcn-target/endpoints/pronoun.items.json")["right"] for seed in (1, 2)]
    means = {name: np.mean([one["reference"][name] for one in right]) for name in ("true", "shuffled")}
    assert chosen["histories"]["true"]["share"] == pytest.approx(means["true"])
    assert chosen["gains"]["shuffled"]["difference"] == pytest.approx(means["true"] - means["shuffled"])
    first = right[0]["reference"]
    gained = sum(one > other for one, other in zip(first["true"], first["shuffled"], strict=True))
    assert chosen["gains"]["shuffled"]["gained"] == gained
    assert {len(one["checkpoints"]) for one in (base, row)} == {2}
    assert found["items"]["pronoun"]["labels"] == {"er": 4, "es": 4, "sie": 4}


def test_tables_and_pictures_have_all_rows(measured: Path) -> None:
    (grid,) = read_grids(measured)
    text = endpoints_as_markdown(grid["endpoints"])
    for words in ("| qcn-target, own translations |", "`more`", "`test`", "chance 33.3", "METEOR-1.5", "not worse"):
        assert words in text, words
    panels = gain_panels(grid["endpoints"])
    assert [panel.title for panel in panels] == ["pronoun", "Perplexity"]
    assert "million target tokens" in compose(panels, columns=2)
    results = [read_results(run.path) for run in list_runs(measured, grid)[1:]]
    page = build_page(results, title="series", grids=[grid])
    assert 'id="series-endpoints"' in page
    one = grid["endpoints"]["rows"][2]["checkpoints"][0]
    perplexity = one["perplexity"]
    assert gain_of(one, None) == pytest.approx(100 * (perplexity["shuffled"] - perplexity["true"]) / perplexity["true"])
    assert gain_of(grid["endpoints"]["rows"][1]["checkpoints"][0], "pronoun") is None


def test_results_of_other_items_or_weights_are_not_replaced(
    series: Grid, measured: Path, request_: EndpointRequest, tmp_path: Path
) -> None:
    run = Run(shutil.copytree(measured / "seed-1" / "qcn-target", tmp_path / "run"))
    others = tmp_path / "items.jsonl"
    write_items(others, items()[:6])
    meter = EndpointMeter(run, replace(request_, items={"pronoun": others}), series.store())
    with pytest.raises(RunError, match=r"pronoun\.items\.json: was measured with other items"):
        meter.measure()
    shutil.copy(run.checkpoint(1), run.weights)
    with pytest.raises(RunError, match="was measured with other weights, and no result is replaced unseen: remove"):
        EndpointMeter(run, request_, series.store()).measure()
    before = json.dumps(read(run.endpoints / "pronoun.items.json"))
    shutil.rmtree(run.endpoints / "more")
    with pytest.raises(RunError):
        EndpointMeter(run, request_, series.store()).measure()
    assert json.dumps(read(run.endpoints / "pronoun.items.json")) == before


def test_a_fault_in_a_text_is_reported_before_anything_is_measured(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing to measure"):
        EndpointRequest().check()
    (tmp_path / "items.jsonl").write_text('{"source": "a"}\n')
    with pytest.raises(Exception, match="'right' is missing"):
        EndpointRequest(items={"some": tmp_path / "items.jsonl"}).check()
