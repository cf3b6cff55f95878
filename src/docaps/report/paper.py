"""The paper (Yang et al. 2019): its Tables 1 and 2, its settings, and where our experiments differ from them."""

from collections.abc import Mapping, Sequence
from typing import Any

from docaps.config import StageSettings
from docaps.runs.card import flatten
from docaps.runs.grid_results import Grid
from docaps.runs.results import RunResults
from docaps.runs.wording import decimal, is_regularised, listing, sees_context

CORPORA = ("TED", "News", "Europarl")

# System -> (BLEU, Meteor) on TED, News and Europarl (Table 2).
TABLE2: Mapping[str, tuple[tuple[float, float], ...]] = {
    "zhang": ((24.00, 44.69), (23.08, 42.40), (29.32, 46.72)),
    "han": ((24.58, 45.48), (25.03, 44.02), (28.60, 46.09)),
    "san": ((24.42, 45.38), (24.84, 44.27), (29.75, 47.22)),
    "transformer": ((23.28, 44.17), (21.67, 41.11), (28.72, 46.22)),
    "transformer+reg": ((24.55, 45.57), (22.09, 41.77), (29.42, 47.59)),
    "qcn": ((24.41, 46.09), (22.22, 41.90), (29.48, 47.49)),
    "qcn+reg": ((25.19, 45.91), (22.37, 41.88), (29.82, 47.86)),
}

# Part -> (sentence pairs, average length of a document) of TED, News and Europarl (Table 1).
TABLE1: Mapping[str, tuple[tuple[int, float], ...]] = {
    "train": ((206_126, 121.39), (236_287, 38.93), (1_666_904, 14.14)),
    "dev": ((8_967, 96.42), (2_169, 26.78), (3_587, 14.95)),
    "test": ((2_271, 98.74), (2_999, 19.35), (5_134, 14.26)),
}

# What the paper's text says about its figures, whose values it does not print.
FIGURES: Mapping[str, str] = {
    "history": "The paper (on TED) has its best Meteor with one history sentence and its best BLEU with two; it chose "
    "three.",
    "capsules": "The paper (on TED) has its best Meteor with two capsules and its best BLEU with four; it chose four.",
    "rounds": "The paper gives no figure for this; it has four iterations.",
}

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
    "system.qcn.reads": "embeddings",
    "system.qcn.sides": "source",
    "system.qcn.current": False,
    "system.qcn.sharpness": 1.0,
    "system.qcn.attends": "encoder",
    "system.regulariser.weight": 1.0,  # Eq. 11 adds the PCC as it is
    "stage.learning_rate": 1e-4,
    "stage.schedule": "fixed",
    "stage.warmup": 0,
    "stage.dropout": 0.2,
    **{f"stage.dropout_{part}": 0.2 for part in ("embeddings", "sublayers", "attention", "feed_forward")},  # "all"
    "stage.inherited_rate": 1.0,
    "stage.optimizer": "adam",
    "stage.beta2": 0.999,  # Adam's default
    "stage.accumulate": 1,
    "stage.extra": False,
}
OUR_CHOICES: Mapping[str, Any] = {
    "system.model.norm": "post",
    "system.history.positions": False,
    "system.qcn.scope": "sentence",
    "system.qcn.squash_words": True,
    "system.qcn.gradient": "all",
    "system.qcn.gate": False,
    "system.qcn.silent": False,
    "system.qcn.start": "random",
    "system.qcn.distances": False,
    "system.context.start": "random",
    "system.regulariser.correlation": "capsules",
    "system.regulariser.positions": True,
}
"""Our interpretation where the paper is silent or unclear."""
DROPOUT_WITHOUT_CONTEXT = 0.1
BATCHES = {"TED": 1500, "News": 900, "Europarl": 900}
_OF_QUERIES = ("system.qcn.query", "system.qcn.guide_capsules", "system.qcn.guide_agreement")
_LONG_SENTENCES = "Long sentences: the authors left them out for lack of memory; our recipes keep them all."
_METRICS = (
    "Other metrics: we use sacreBLEU on raw text and our own METEOR 1.5 (signatures below); the paper does not say "
    "which implementations it used. So compare rows within a column, not across columns."
)
Compared = tuple[str, Mapping[str, Any], Mapping[str, Sequence[Any]]]
"""The name of a run, its settings, and the accepted values of each."""


def is_table2(grid: Grid) -> bool:
    """Return whether a grid repeats the paper's Table 2; other tables have no counterpart in the paper."""
    return str(grid["experiment"]) == "table2"


def find_corpus(sentences: Mapping[str, int]) -> str | None:
    """Return the corpus of the paper that has parts of these sizes; None if there is none."""
    matching = (all(sentences.get(part) == row[place][0] for part, row in TABLE1.items()) for place in range(3))
    return next((name for name, matches in zip(CORPORA, matching, strict=True) if matches), None)


def _corpus_of(results: Sequence[RunResults]) -> str | None:
    """Return the corpus of the paper that the runs were measured on, recognised by its sizes; None if another one."""
    found = (run.measured["data"]["parts"] for run in results if run.measured)
    parts: Mapping[str, Any] = next(found, {})
    return find_corpus({name: part["sentences"] for name, part in parts.items()})


def paper_columns(results: Sequence[RunResults]) -> list[str]:
    """Return the corpora whose scores to show beside ours: that of the runs, or else all."""
    corpus = _corpus_of(results)
    return [corpus] if corpus else list(CORPORA)


def state_differences(grid: Grid, results: Sequence[RunResults]) -> list[str]:
    """List how our experiment differs from the paper's: data, settings, metrics."""
    corpus, found = _corpus_of(results), []
    if corpus is None:
        ours = "mini-documents" if "documents" in grid["corpus"] else grid["corpus"]["path"]
        found.append(f"Other data: our runs were trained and tested on {ours}, not on a corpus of the paper.")
    settings = [(run, _settings(run)) for run in results]
    papers = [(run.name, flat, _paper_settings(run.system, corpus)) for run, flat in settings]
    choices = [(run.name, flat, _of_system(OUR_CHOICES, run.system)) for run, flat in settings]
    for title, other in (
        ("Other settings than the paper's", _list_others(papers, "paper")),
        ("Other settings of the sentence models", _list_others(_sentence_models(grid, corpus), "paper")),
        ("Settings that the paper does not give", _list_others(choices, "our choice")),
    ):
        found += [f"{title}: {listing(other)}."] if other else []
    return [*found, _LONG_SENTENCES, _METRICS]


def _settings(run: RunResults) -> dict[str, Any]:
    """Return the settings of a run and of the preparation of its corpus, where known."""
    data = run.measured["data"] if run.measured else {}
    return flatten({"preparation": data.get("preparation") or {}, **_resolved(run.settings)})


def _resolved(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the dropout rates of a stage's parts only where they differ from that of all parts."""
    stage = settings.get("stage", {})
    stage = StageSettings.complete(stage) if "dropout" in stage else stage
    same = {name for name in stage if name.startswith("dropout_") and stage[name] in (None, stage.get("dropout"))}
    return {**settings, "stage": {name: value for name, value in stage.items() if name not in same}}


def _paper_settings(system: str, corpus: str | None) -> dict[str, Sequence[Any]]:
    """Return the paper's values for the settings that a system has."""
    found = _of_system(PAPER_SETTINGS, system)
    found["stage.batch_tokens"] = [BATCHES[corpus]] if corpus else sorted(set(BATCHES.values()))
    rates = () if sees_context(system) else [name for name in found if name.startswith("stage.dropout")]
    return {**found, **{name: [DROPOUT_WITHOUT_CONTEXT] for name in rates}}


def _of_system(values: Mapping[str, Any], system: str) -> dict[str, Sequence[Any]]:
    return {name: [value] for name, value in values.items() if _concerns(name, system)}


def _concerns(name: str, system: str) -> bool:
    """Return whether a system has a setting for which the paper gives a value."""
    if name.startswith("system.regulariser."):
        return is_regularised(system)
    if name.startswith(("system.history.", "system.context.")):
        return sees_context(system)
    if name in _OF_QUERIES:
        return system.startswith("qcn")
    if name.startswith("system.qcn."):
        return system.startswith(("qcn", "capsnet"))
    # The paper does not say how zhang was trained; the note below the table says how we did it.
    return (name, system) != ("stage.inherited_rate", "zhang")


def _sentence_models(grid: Grid, corpus: str | None) -> list[Compared]:
    """Return the stage settings of the sentence models, where the grid has them; the rows cover the rest."""
    known = [model for model in grid.get("sentence_models") or [] if "settings" in model]
    papers = _paper_settings("transformer", corpus)
    wanted = {name: values for name, values in papers.items() if name.startswith("stage.")}
    return [(f"seed {model['seed']}", flatten(_resolved(model["settings"])), wanted) for model in known]


def _list_others(compared: Sequence[Compared], whose: str) -> list[str]:
    """Describe each value of a setting that is not a wanted one, naming the runs unless all differ."""
    found = []
    for name in dict.fromkeys(name for _, _, wanted in compared for name in wanted):
        known = [(run, flat[name], wanted[name]) for run, flat, wanted in compared if name in flat and name in wanted]
        other = [(run, value, wanted) for run, value, wanted in known if value not in wanted]
        for value in dict.fromkeys(value for _, value, _ in other):
            runs = dict.fromkeys(run for run, own, _ in other if own == value)
            wanted = dict.fromkeys(str(one) for _, own, papers in other if own == value for one in papers)
            where = "" if len(runs) == len({run for run, _, _ in known}) else f"; only in {', '.join(runs)}"
            found.append(f"{name.removeprefix('system.')} {value} ({whose}: {' or '.join(wanted)}{where})")
    return found


def paper_scores(row: str, corpora: Sequence[str]) -> list[str]:
    """Return the paper's BLEU and Meteor of a row on some corpora, as text."""
    scores = TABLE2.get(row, ((None, None),) * len(CORPORA))
    return [decimal(score, 2) for name in corpora for score in scores[CORPORA.index(name)]]
