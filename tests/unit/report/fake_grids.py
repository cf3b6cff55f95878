"""A grid's folder as `docaps experiment` leaves it; every run has numbers of its own, so that each can be traced."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.unit.report.fake_runs import (
    routing_sample,
    write_assessment,
    write_diagnosis,
    write_json,
    write_kept,
    write_lines,
    write_run,
)

SYSTEMS = {
    "transformer": "Transformer",
    "transformer+reg": "Transformer + regularisation",
    "qcn": "Transformer + QCN",
    "qcn+reg": "Transformer + QCN + regularisation",
    "zhang": "Transformer-DocNMT (Zhang et al. 2018)",
    "han": "HAN-DocNMT (Miculicich et al. 2018)",
    "san": "SAN-DocNMT (Maruf et al. 2019)",
    "concat": "concatenation, k to 1",
    "capsnet": "plain capsules, no query",
    "qcn-shuffled": "control: histories of other documents",
    "qcn-noise": "control: a random memory",
}
METRICS = {"bleu": "BLEU", "dbleu": "d-BLEU", "chrf": "chrF2++", "meteor": "METEOR"}
DATA = {
    "source_language": "en",
    "target_language": "de",
    "hash": "4f9c" * 16,
    "vocabulary": 5871,
    "parts": {
        "train": {"documents": 8011, "sentences": 67_913, "average": 8.4775},
        "dev": {"documents": 103, "sentences": 853, "average": 8.2816},
        "test": {"documents": 207, "sentences": 1_677, "average": 8.1014},
    },
}
DIAGNOSED = ("qcn", "qcn+reg")
LOGGED = 180
"""More lines than a chart has points."""
DEV = 5.4321
"""By how much the scores of the development part are higher."""
MACHINE = {"system": "Linux-6.1", "processor": "A Fine Processor", "cores": 2, "threads": 1, "gpu": None}


def write_grid(folder: Path, *, seeds: Sequence[int] = (1, 2), figures: bool = True, routing: bool = True) -> Path:
    """Write Table 2 with some seeds and, if wanted, Figure 4 with the first."""
    noise = random.Random(3)
    write_json(folder / "grid.json", {"version": 1})
    rows = [write_row(folder, name, title, name, seeds, noise, routing=routing) for name, title in SYSTEMS.items()]
    for row in rows[1:]:
        row["against"] = {key: difference(noise) for key in METRICS}
    found = grid("table2", "Table 2: the systems, and controls", rows, seeds)
    models = [write_sentence_model(folder, seed) for seed in seeds]
    write_json(folder / "table2.json", found | {"sentence_models": models})
    if figures:
        points = [
            write_row(folder, f"history-{k}", f"{k} history sentences", "qcn+reg", seeds[:1], noise) | {"value": k}
            for k in range(1, 7)
        ]
        found = grid("history", "Figure 4: history sentences (M = 4, 4 iterations)", points, seeds[:1])
        write_json(folder / "history.json", found | {"axis": "history.sentences", "baseline": None})
    return folder


def write_sentence_model(folder: Path, seed: int) -> dict[str, Any]:
    """Write the run that the rows of a seed start from; return what a grid says of it."""
    run = folder / f"seed-{seed}" / "sentence"
    write_run(run, name="sentence", system="transformer", logged=LOGGED)
    description = vary_run(run, seed)
    lowest = min(row["dev_perplexity"] for row in read_lines(run / "metrics.jsonl") if "dev_perplexity" in row)
    known = {key: description[key] for key in ("seed", "steps", "seconds")}
    return {**known, "path": f"seed-{seed}/sentence", "perplexity": lowest}


def write_trials(folder: Path, *, seeds: Sequence[int] = (1,)) -> Path:
    """Write trials: two rows of Table 2 once more, and one that was measured on the development part alone."""
    noise = random.Random(5)
    rows = [write_row(folder, name, SYSTEMS[name], name, seeds, noise) for name in ("transformer", "qcn")]
    rows.append(write_row(folder, "mean", "query from the mean of the words", "qcn", seeds, noise))
    for place, row in enumerate(rows):
        row |= {"choices": None, "baseline": "transformer" if place else None}
        row["histories"] = {
            history: {"perplexity": 17.12345 + place + number / 7, "against": difference(noise) if place else None}
            for number, history in enumerate(("true", "shuffled", "none") if place else ("true",))
        }
        for one in (*row["means"].values(), *row["documents"].values()):
            one |= {name: value + DEV for name, value in one.items() if value is not None}
    rows[2]["against"] = {key: difference(noise) for key in METRICS}
    write_json(folder / "grid.json", {"version": 1})
    found = grid("trials", "Trials: the QCN with one setting changed", rows, seeds)
    write_json(folder / "trials.json", found | {"part": "dev"})
    return folder


def grid(name: str, title: str, rows: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> dict[str, Any]:
    return {
        "experiment": name,
        "title": title,
        "axis": None,
        "baseline": "transformer",
        "recipe": "minidocs",
        "steps": {"sentence": 1203, "document": 1807},
        "corpus": {"documents": 8011, "phenomena": "pronoun,ambiguity"},
        "seeds": list(seeds),
        "draws": 1009,
        "seed": 1,
        "rows": list(rows),
    }


def difference(noise: random.Random) -> dict[str, float]:
    gap = noise.uniform(0.5, 4)
    ends = {"low": gap - 0.4137, "high": gap + 0.4137}
    return {"difference": gap, **ends, "p_bootstrap": noise.choice([0.0019, 0.2317]), "p_randomisation": 0.0029}


def write_row(
    folder: Path,
    name: str,
    title: str,
    system: str,
    seeds: Sequence[int],
    noise: random.Random,
    *,
    routing: bool = True,
) -> dict[str, Any]:
    scores = {seed: {key: noise.uniform(40, 90) for key in METRICS} for seed in seeds}
    choices = {seed: noise.uniform(0.4, 0.9) for seed in seeds}
    for seed in seeds:
        run = folder / f"seed-{seed}" / name
        write_grid_run(run, name, system, seed, scores[seed], choices[seed], routing=routing)
        if name in DIAGNOSED and seed == seeds[0]:
            write_diagnosis(run)
            vary_diagnosis(run)
    means = {key: sum(scores[seed][key] for seed in seeds) / len(seeds) for key in METRICS}
    ends = {key: {"low": mean - 1.2345, "high": mean + 1.2345} for key, mean in means.items()}
    drawn = {key: {"low": mean - 2.3456, "high": mean + 2.3456} for key, mean in means.items()}
    several = len(seeds) > 1
    share = sum(choices.values()) / len(choices)
    return {
        "row": name,
        "title": title,
        "system": system,
        "value": None,
        "runs": [
            {
                "seed": seed,
                "path": f"seed-{seed}/{name}",
                "command": f"docaps experiment table2 --dir runs/x --seeds {seed} --only {name}",
                "test": scores[seed],
            }
            for seed in seeds
        ],
        "means": {
            key: {"mean": mean, **(ends[key] if several else {"low": None, "high": None})}
            for key, mean in means.items()
        },
        "documents": drawn,
        "choices": {
            "mean": share,
            "low": share - 0.0613 if several else None,
            "high": share + 0.0617 if several else None,
        },
    }


def write_grid_run(
    run: Path, name: str, system: str, seed: int, scores: Mapping[str, float], choices: float, *, routing: bool = True
) -> None:
    """Write a run of a grid, all files but the weights."""
    regularised, collapsed = system.endswith("+reg"), system == "transformer+reg"
    write_run(run, name=name, system=system, init_from="sentence", pcc=regularised, logged=LOGGED, collapsed=collapsed)
    watch_bleu(run, scores["bleu"])
    vary_run(run, seed)
    write_assessment(run, right=system != "transformer", bleu=scores["bleu"], choices=choices)
    if routing and system.startswith("qcn"):
        places = [(0, 2), (1, 1), (0, 3), (3, 2)]
        samples = [routing_sample(d, s, capsules=4, seed=f"{name}, {seed}") for d, s in places]
        write_json(run / "assessment" / "routing.json", samples)
    noise = random.Random(f"choices of {name}, {seed}")
    for history in ("own", "none", "shuffled"):
        write_kept(run, "geneval", history, accuracy=noise.uniform(0.45, 0.75))
    signed = {
        key: {"name": title, "score": scores[key], "signature": f"{key}|v:2.6.1"} for key, title in METRICS.items()
    }
    part = {"set": "test", "documents": 207, "sentences": 1677, "seconds": 17.3, "search": {"beam": 4}}
    dev = {key: {**score, "score": score["score"] + DEV} for key, score in signed.items()}
    parts = {"test": {**part, "scores": signed}, "dev": {**part, "set": "dev", "scores": dev}}
    write_json(run / "results.json", {"version": 1, "name": name, "parts": parts, "data": DATA, "machine": MACHINE})


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def watch_bleu(run: Path, bleu: float) -> None:
    """Add the BLEU of the development part to the validations of a run."""
    rows = read_lines(run / "metrics.jsonl")
    found = [row | ({"dev_bleu": bleu * row["step"] / 907} if "dev_loss" in row else {}) for row in rows]
    write_lines(run / "metrics.jsonl", found)


def vary_run(run: Path, seed: int) -> dict[str, Any]:
    """Give a run a size, a time and a log of its own; return its description."""
    noise = random.Random(f"log of {run.name}, {seed}")
    own = {"seed": seed, "steps": noise.randrange(1000, 9000), "seconds": noise.uniform(70, 90_000)}
    own["parameters"] = noise.randrange(1_000_000, 9_000_000)
    description = json.loads((run / "run.json").read_text(encoding="utf-8")) | own
    write_json(run / "run.json", description)
    level = noise.uniform(0.8, 1.3)
    rows = [
        {key: _vary(key, value, level, noise) for key, value in row.items()}
        for row in read_lines(run / "metrics.jsonl")
    ]
    write_lines(run / "metrics.jsonl", rows)
    return description


def _vary(key: str, value: float, level: float, noise: random.Random) -> float:
    if key == "tokens_per_second":
        return noise.uniform(4000, 20_000)
    if key in ("dev_pcc", "dev_pcc_mismatched", "retrieval"):
        return value * level
    kept = ("step", "seconds", "learning_rate", "retrieval_chance")
    factor = 1 if key in kept else level * noise.uniform(0.9, 1.1)
    return value * factor * (17 if key == "dev_perplexity" else 1)


def vary_diagnosis(run: Path) -> None:
    """Give a diagnosis numbers of its own, each once."""
    noise = random.Random(f"diagnosis of {run.parent.name}, {run.name}")
    found = json.loads((run / "diagnosis.json").read_text(encoding="utf-8"))
    for row in found["conditions"]:
        row |= {"bleu": noise.uniform(40, 90), "accuracy": noise.uniform(0.4, 0.9)}
        row["perplexity"] *= noise.uniform(1, 1.2)
    for row in found["comparisons"]:
        row |= {"p_bootstrap": noise.uniform(0, 0.4), "p_randomisation": noise.uniform(0, 0.4)}
    for row in found["by_distance"]["perplexity"]:
        row["gain"] = noise.uniform(-0.1, 0.1)
    for row in (*found["better"], *found["worse"]):
        row["cxmi"] *= noise.uniform(0.5, 1)
    for row in found["traces"]:
        row["places"] = [place | {"mean": noise.random(), "deviation": noise.random()} for place in row["places"]]
    write_json(
        run / "diagnosis.json",
        found | {"documents": noise.randrange(100, 999), "sentences": noise.randrange(1000, 9999)},
    )
