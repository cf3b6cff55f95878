"""The paper's Table 2, ours beside its own, with everything said that makes the two different."""

from collections.abc import Mapping, Sequence
from typing import Any

from docaps.report.grids import (
    NAMES,
    caption,
    has_choices,
    interval_text,
    metric_keys,
    right_choices,
    significance_mark,
    state_beginnings,
    state_unfinished,
)
from docaps.report.markup import Markup, element, join
from docaps.report.paper import CORPORA, TABLE2, find_corpus
from docaps.runs.card import flatten
from docaps.runs.grid_results import Grid
from docaps.runs.results import RunResults
from docaps.runs.wording import MISSING, is_regularised, listing, sees_context

# The paper's settings, by the names that runs have for them (section 4.1, Eqs. 5 and 11, Alg. 1).
PAPER_SETTINGS: Mapping[str, Any] = {
    "preparation.subwords": "bpe",
    "preparation.truecase": True,
    "preparation.merges": 30_000,
    "system.model.encoder_layers": 4,
    "system.model.decoder_layers": 4,
    "system.model.size": 512,
    "system.model.feed_forward": 2048,
    "system.model.heads": 8,
    "system.history.sentences": 3,
    "system.qcn.capsules": 4,
    "system.qcn.rounds": 4,
    "system.qcn.normalise": False,
    "system.qcn.query": "sum",
    "system.qcn.guide_capsules": True,
    "system.qcn.guide_agreement": True,
    "system.regulariser.weight": 1.0,  # Eq. 11 adds the PCC as it is
    "stage.learning_rate": 1e-4,
    "stage.schedule": "fixed",
    "stage.warmup": 0,
    "stage.dropout": 0.2,
    "stage.inherited_rate": 1.0,
    "stage.optimizer": "adam",
    "stage.beta2": 0.999,  # Adam's default
    "stage.accumulate": 1,
    "stage.extra": False,
}
OUR_READINGS: Mapping[str, Any] = {
    "system.model.norm": "post",
    "system.history.positions": False,
    "system.qcn.scope": "sentence",
    "system.qcn.squash_words": True,
    "system.qcn.gradient": "all",
    "system.qcn.gate": False,
    "system.qcn.silent": False,
    "system.regulariser.correlation": "capsules",
    "system.regulariser.positions": True,
}
"""What we take for the paper's where it says nothing, or too little (docs/equations.md)."""
DROPOUT_WITHOUT_CONTEXT = 0.1
BATCHES = {"TED": 1500, "News": 900, "Europarl": 900}
_OF_QUERIES = ("system.qcn.query", "system.qcn.guide_capsules", "system.qcn.guide_agreement")
_STARTED_OTHERWISE = ("zhang",)  # the paper does not say how it trained it; the note beneath the table says how we did


def table2_section(grid: Grid, results: Sequence[RunResults], place: str = "table2") -> Markup:
    """Show the rows with the paper's numbers beside them; `results` are the grid's own runs."""
    corpus = corpus_of(results)
    table = element(
        "table",
        element("caption", element("span", caption(grid).replace("`", ""))),
        _head(grid, corpus),
        element("tbody", *[_row(row, metric_keys(grid), has_choices(grid), corpus) for row in grid["rows"]]),
        id=place,
        class_="numbers",
    )
    return element(
        "section",
        element("h2", "Table 2", id=f"{place}-heading"),
        *[element("p", text, class_="doubt") for text in state_unfinished(grid)],
        element("ul", *[element("li", text) for text in state_differences(grid, results)], class_="doubt"),
        element("div", table, class_="scroll", data_scroll="Table 2"),
        element("p", _NOTE, class_="note"),
        *[element("p", text, class_="note") for text in state_beginnings(grid)],
        id=f"{place}-section",
        aria_labelledby=f"{place}-heading",
    )


_NOTE = (
    "All our rows start from one sentence model for each seed and have a second stage of the same steps, dropout and "
    "schedule, the sentence-level rows too (zhang trains its new weights only). The model of a run was chosen on the "
    "development part; the test part was translated once. A mark says that a row differs from the baseline, for better "
    "or worse; the number of rows and metrics is not accounted for: of twenty differences that are none, one gets it."
)


def corpus_of(results: Sequence[RunResults]) -> str | None:
    """Tell which corpus of the paper the runs were measured on, by its sizes; None: another one."""
    data = next((run.measured["data"] for run in results if run.measured), None)
    sizes = {name: part["sentences"] for name, part in data["parts"].items()} if data else {}
    return find_corpus(sizes)


def paper_columns(corpus: str | None) -> list[str]:
    """Choose the corpora whose numbers stand beside ours: the same one, or else all."""
    return [corpus] if corpus else list(CORPORA)


def state_differences(grid: Grid, results: Sequence[RunResults]) -> list[str]:
    """Say in what our numbers are not the paper's experiment: other text, other settings, other counting."""
    corpus = corpus_of(results)
    found = []
    if corpus is None:
        found.append(
            f"Other data: our runs learnt from and were tested on {_name(grid)}, not on a corpus of the paper."
        )
    compared = [(run.name, _settings(run), _paper_settings(run.system, corpus)) for run in results]
    readings = [(run.name, _settings(run), _our_readings(run.system)) for run in results]
    for title, other in (
        ("Other settings than the paper's", _list_others(compared, "paper")),
        ("Other settings of the sentence models", _list_others(_sentence_models(grid, corpus), "paper")),
        ("Settings that the paper does not give", _list_others(readings, "our reading of it")),
    ):
        found += [f"{title}: {listing(other)}."] if other else []
    return [*found, _LONG_SENTENCES, _COUNTING]


_LONG_SENTENCES = "Long sentences: the authors left them out for want of memory; our recipes leave out none."
_COUNTING = (
    "Other counting: our BLEU is sacreBLEU's on raw text, and METEOR our own of version 1.5 (signatures below); "
    "the paper does not say which it used. So compare rows within a column, not across."
)
Compared = tuple[str, Mapping[str, Any], Mapping[str, Sequence[Any]]]
"""The name of a run, its settings, and the values of which the paper has one."""


def _name(grid: Grid) -> str:
    corpus = grid["corpus"]
    return "mini-documents" if "documents" in corpus else str(corpus["path"])


def _settings(run: RunResults) -> dict[str, Any]:
    """Return the settings of a run, and those that its corpus was prepared with, where they are known."""
    data = run.measured["data"] if run.measured else {}
    return flatten({"preparation": data.get("preparation") or {}, **run.settings})


def _our_readings(system: str) -> dict[str, Sequence[Any]]:
    return {name: [value] for name, value in OUR_READINGS.items() if _concerns(name, system)}


def _paper_settings(system: str, corpus: str | None) -> dict[str, Sequence[Any]]:
    """Return the paper's values of the settings that concern a system."""
    found: dict[str, Sequence[Any]] = {
        name: [value] for name, value in PAPER_SETTINGS.items() if _concerns(name, system)
    }
    found["stage.batch_tokens"] = [BATCHES[corpus]] if corpus else sorted(set(BATCHES.values()))
    return found if sees_context(system) else {**found, "stage.dropout": [DROPOUT_WITHOUT_CONTEXT]}


def _concerns(name: str, system: str) -> bool:
    """Say whether a system has a setting, or the paper a value of it."""
    if name.startswith("system.regulariser."):
        return is_regularised(system)
    if name.startswith("system.history."):
        return sees_context(system)
    if name in _OF_QUERIES:
        return system.startswith("qcn")
    if name.startswith("system.qcn."):
        return system.startswith(("qcn", "capsnet"))
    return name != "stage.inherited_rate" or system not in _STARTED_OTHERWISE


def _sentence_models(grid: Grid, corpus: str | None) -> list[Compared]:
    """Return the first stage of each seed, where the grid has its settings; the rows tell of the model itself."""
    known = [model for model in grid.get("sentence_models") or [] if "settings" in model]
    papers = _paper_settings("transformer", corpus)
    wanted = {name: values for name, values in papers.items() if name.startswith("stage.")}
    return [(f"seed {model['seed']}", flatten(model["settings"]), wanted) for model in known]


def _list_others(compared: Sequence[Compared], whose: str) -> list[str]:
    """List the settings that differ, with the runs that they differ in unless that is all of them."""
    names = dict.fromkeys(name for _, _, wanted in compared for name in wanted)
    return [text for name in names for text in _other_values(name, compared, whose)]


def _other_values(name: str, compared: Sequence[Compared], whose: str) -> list[str]:
    """Write each value of a setting that is not the wanted one."""
    known = [(run, flat[name], wanted[name]) for run, flat, wanted in compared if name in flat and name in wanted]
    other = [(run, value, wanted) for run, value, wanted in known if value not in wanted]
    found = []
    for value in dict.fromkeys(value for _, value, _ in other):
        runs = dict.fromkeys(run for run, own, _ in other if own == value)
        wanted = dict.fromkeys(str(one) for _, own, papers in other if own == value for one in papers)
        where = "" if len(runs) == len({run for run, _, _ in known}) else f"; only in {', '.join(runs)}"
        found.append(f"{name.removeprefix('system.')} {value} ({whose}: {' or '.join(wanted)}{where})")
    return found


def _head(grid: Grid, corpus: str | None) -> Markup:
    keys = metric_keys(grid)
    ours, papers = len(keys) + has_choices(grid), paper_columns(corpus)
    first = [
        element("th", "Row", scope="col", rowspan=2),
        element("th", "Ours", scope="colgroup", colspan=ours, class_="group"),
    ]
    first += [element("th", f"Paper, {name}", scope="colgroup", colspan=2, class_="group") for name in papers]
    names = [NAMES[key] for key in keys] + ["right choices, %"] * has_choices(grid)
    second = [element("th", name, scope="col", class_=_opens(place)) for place, name in enumerate(names)]
    for _ in papers:
        second += [element("th", "BLEU", scope="col", class_="group"), element("th", "Meteor", scope="col")]
    return element("thead", element("tr", *first), element("tr", *second))


def _opens(place: int) -> str | None:
    return None if place else "group"


def _row(row: Mapping[str, Any], keys: Sequence[str], chosen: bool, corpus: str | None) -> Markup:
    heading = element(
        "th",
        element("span", row["title"], class_="system"),
        element("span", _seeds(row), class_="quiet"),
        scope="row",
    )
    cells = [element("td", *_score(row, key), class_=_opens(place)) for place, key in enumerate(keys)]
    if chosen:
        share, ends = right_choices(row)
        cells.append(element("td", share, *([element("span", ends, class_="interval")] if ends else [])))
    for name in paper_columns(corpus):
        bleu, meteor = _paper(row["row"], name)
        cells += [element("td", bleu, class_="group theirs"), element("td", meteor, class_="theirs")]
    return element("tr", heading, *cells)


def _seeds(row: Mapping[str, Any]) -> str:
    seeds = [str(run["seed"]) for run in row["runs"]]
    return f"{row['row']} · seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}"


def _score(row: Mapping[str, Any], key: str) -> list[str]:
    if key not in row["means"]:
        return [MISSING]
    mark = significance_mark(row, key)
    value = join([f"{row['means'][key]['mean']:.2f}", element("sup", mark, title=_explain(row, key)) if mark else ""])
    return [value, element("span", interval_text(row, key), class_="interval")]


def _explain(row: Mapping[str, Any], key: str) -> str:
    found = row["against"][key]
    p = f"p = {found['p_bootstrap']:.4f} (bootstrap), {found['p_randomisation']:.4f} (randomisation)"
    return f"difference {found['difference']:+.2f}, {p}"


def _paper(row: str, corpus: str) -> tuple[str, str]:
    found = TABLE2.get(row)
    return (MISSING, MISSING) if found is None else tuple(f"{x:.2f}" for x in found[CORPORA.index(corpus)])  # type: ignore[return-value]
