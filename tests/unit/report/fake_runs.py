"""Run directories as training and assessment leave them, with a little English and German of our own."""

import itertools
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# source, reference, what a model without context writes, label (phenomenon, distance) of sentences that need context
Line = tuple[str, str, str, tuple[str, int] | None]

DOCUMENTS: list[list[Line]] = [
    [
        ("Anna bought a new coat in Bremen.", "Anna kaufte in Bremen einen neuen Mantel.", "=", None),
        ("The shop was full of people.", "Der Laden war voller Menschen.", "=", None),
        (
            "It was warm and cost little.",
            "Er war warm und kostete wenig.",
            "Es war warm und kostete wenig.",
            ("pronoun", 2),
        ),
        (
            "She wore it all winter.",
            "Sie trug ihn den ganzen Winter.",
            "Sie trug es den ganzen Winter.",
            ("pronoun", 3),
        ),
    ],
    [
        ("We sat down by the river.", "Wir setzten uns an den Fluss.", "=", None),
        (
            "The bank was steep and green.",
            "Das Ufer war steil und grün.",
            "Die Bank war steil und grün.",
            ("ambiguity", 1),
        ),
        ("A boat went by.", "Ein Boot fuhr vorbei.", "=", None),
        ("Nobody spoke for a while.", "Eine Weile sprach niemand.", "Niemand sprach eine Weile.", None),
    ],
    [
        ("Could you help me, Doctor Weber?", "Könnten Sie mir helfen, Doktor Weber?", "=", None),
        ("My hand hurts.", "Meine Hand tut weh.", "=", None),
        ("Do you see the cut?", "Sehen Sie den Schnitt?", "Siehst du den Schnitt?", ("address", 2)),
    ],
    [
        ("The lamp stood on the table.", "Die Lampe stand auf dem Tisch.", "=", None),
        ("It was old.", "Sie war alt.", "Es war alt.", ("pronoun", 1)),
        ("Paul had found it at a market.", "Paul hatte sie auf einem Markt gefunden.", "=", ("pronoun", 2)),
    ],
    [
        ("He wrote to his mother.", "Er schrieb seiner Mutter.", "=", None),
        ("The letter was short.", "Der Brief war kurz.", "Der Buchstabe war kurz.", ("ambiguity", 1)),
    ],
    [("The train was late.", "Der Zug hatte Verspätung.", "=", None), ("We waited.", "Wir warteten.", "=", None)],
]
PHENOMENA = {"pronoun": 1 / 3, "ambiguity": 1 / 2, "address": 1 / 2, "ellipsis": 1 / 2, "profession": 1 / 2}


def write_sentence_run(folder: Path) -> Path:
    """Write the run of a model without context: right where no context is needed, elsewhere guessing."""
    run = folder / "sentence"
    write_run(run, name="sentence", system="transformer")
    write_assessment(run, right=False, bleu=61.2)
    return run


def write_document_run(folder: Path) -> Path:
    """Write the run of a model with context and regulariser, with routing samples."""
    run = folder / "document"
    write_run(run, name="document", system="qcn+reg", init_from="../sentence", pcc=True)
    write_assessment(run, right=True, bleu=88.4)
    samples = [routing_sample(0, 2, capsules=4), routing_sample(1, 1, capsules=4), routing_sample(0, 3, capsules=4)]
    write_json(run / "assessment" / "routing.json", samples)
    return run


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def write_lines(path: Path, values: Sequence[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), encoding="utf-8")


def write_run(
    run: Path,
    *,
    name: str,
    system: str,
    init_from: str | None = None,
    pcc: bool = False,
    logged: int = 90,
    collapsed: bool = False,
) -> None:
    """Write what training leaves: run.json and metrics.jsonl, with so many lines about the loss."""
    description = {
        "name": name,
        "system": system,
        "status": "finished",
        "seed": 1,
        "parameters": 1_483_904 if init_from is None else 1_714_560,
        "steps": 900,
        "seconds": 121.3,
        "precision": "float32",
        "created": "2026-11-15T20:00:00+00:00",
        "settings": {
            "system": {"name": system},
            "dropout": 0.1 if init_from is None else 0.2,
            "model": {"size": 128, "heads": 4, "encoder_layers": 2, "decoder_layers": 2},
            "history": {"sentences": 3},
        },
        "versions": {"docaps": "0.1.0", "torch": "2.13.0", "python": "3.11.7"},
        "corpus": {"path": "data/minidocs", "hash": "sha256:" + "4f9c" * 16},
        "init_from": init_from,
    }
    write_json(run / "run.json", description)
    write_lines(run / "metrics.jsonl", metrics(pcc=pcc, logged=logged, collapsed=collapsed))


def metrics(*, pcc: bool, logged: int = 90, collapsed: bool = False) -> list[dict[str, float]]:
    noise = random.Random(7)
    start, floor = (2.1, 0.32) if pcc else (6.6, 0.55)
    rows: list[dict[str, float]] = []
    for step in range(900 // logged, 901, 900 // logged):
        nll = floor + start * math.exp(-step / 140) + noise.uniform(-0.05, 0.05)
        row = {
            "step": step,
            "loss": nll,
            "cross_entropy": nll,
            "tokens_per_second": 9100.0,
            "learning_rate": 3e-4,
            "seconds": step / 8,
        }
        if pcc:
            matched = 0.9 - 0.7 * math.exp(-step / 200)
            row |= {"pcc": matched, "pcc_mismatched": 0.35 * matched, "loss": nll - matched}
        rows.append(row)
        if step % 100 == 0:
            loss = floor + start * math.exp(-step / 150) + 0.08
            rows.append({"step": step, "dev_loss": loss, "dev_perplexity": math.exp(loss), "seconds": step / 8})
            if pcc:
                rows[-1] |= retrieval(0.85 - 0.7 * math.exp(-step / 200), collapsed=collapsed)
    return rows


def retrieval(matched: float, *, collapsed: bool) -> dict[str, float]:
    """What a validation says of the regulariser."""
    found = {"dev_pcc": matched, "dev_pcc_mismatched": matched * (0.9951 if collapsed else 0.31)}
    return found | {"retrieval": 0.0313 if collapsed else 0.51 * matched, "retrieval_chance": 1 / 64}


def write_assessment(run: Path, *, right: bool, bleu: float, choices: float | None = None) -> None:
    """Write what assessment leaves, apart from routing; `choices` is the share of right ones."""
    signature = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
    scores = {"set": "test", "documents": 200, "sentences": 1500, "bleu": {"score": bleu, "signature": signature}}
    search = {"beam": 4, "length_penalty": 0.6}
    write_json(run / "assessment" / "scores.json", {**scores, "seconds": 12.0, "search": search})
    write_json(run / "assessment" / "contrastive.json", contrastive(right=right, choices=choices))
    documents = [translated(str(index + 1), lines, right=right) for index, lines in enumerate(DOCUMENTS)]
    write_lines(run / "assessment" / "translations.jsonl", documents)


def write_kept(run: Path, name: str, history: str, *, accuracy: float, created: str | None = None) -> None:
    """Write what `docaps contrast --keep` leaves: choices of 803 items, in two groups."""
    description = json.loads((run / "run.json").read_text(encoding="utf-8"))

    def share(value: float, items: int) -> dict[str, Any]:
        ends = {"low": value - 0.0314, "high": value + 0.0317, "method": "wilson"}
        return {"accuracy": value, **ends, "chance": 0.5, "items": items, "ties": 0}

    whole = share(accuracy, 803)
    groups = {"masculine": share(accuracy + 0.0471, 411), "feminine": share(accuracy - 0.0523, 392)}
    kept = {
        "set": "mt-geneval",
        "history": history,
        "created": created or description["created"],
        "signature": f"set:mt-geneval|items:803|history:{history}|data:{name}|weights:77ab|docaps:0.1.0",
        "interval": {key: whole.pop(key) for key in ("low", "high", "method")},
        **whole,
        "details": {
            "by_phenomenon": {"gender": share(accuracy, 803)},
            "by_distance": {},
            "by_pronoun": {},
            "by_form": groups,
        },
        "examples": [],
    }
    write_json(run / "contrast" / f"{name}.{history}.json", kept)


def contrastive(*, right: bool, choices: float | None = None) -> dict[str, Any]:
    noise = random.Random(int(right) if choices is None else choices)
    whole = 0.981 if right else 0.389
    guesses, items = itertools.count(), itertools.count(251)

    def accuracy(chance: float) -> float:
        return 0.99 - noise.uniform(0, 0.04) if right else chance + noise.uniform(-0.03, 0.03)

    return {
        "file": "contrastive.jsonl",
        "items": 2400,
        "accuracy": breakdown(whole if choices is None else choices, accuracy),
        "chance": breakdown(0.389, lambda chance: chance + 0.003 * next(guesses)),
        "counts": breakdown(2400, lambda _: next(items)),
    }


def breakdown(total: float, value: Any) -> dict[str, Any]:
    return {
        "all": total,
        "by_phenomenon": {name: value(chance) for name, chance in PHENOMENA.items()},
        "by_distance": {str(distance): value(0.389) for distance in (1, 2, 3)},
        "by_phenomenon_and_distance": {
            name: {str(distance): value(chance) for distance in (1, 2, 3)} for name, chance in PHENOMENA.items()
        },
    }


def translated(identity: str, lines: Sequence[Line], *, right: bool) -> dict[str, Any]:
    labels = {
        str(index): {"phenomenon": label[0], "distance": label[1]}
        for index, (_, _, _, label) in enumerate(lines)
        if label is not None
    }
    return {
        "id": identity,
        "source": [source for source, _, _, _ in lines],
        "reference": [reference for _, reference, _, _ in lines],
        "hypothesis": [reference if right or plain == "=" else plain for _, reference, plain, _ in lines],
        "labels": labels,
    }


def routing_sample(
    document: int, sentence: int, *, capsules: int, iterations: int = 4, seed: str = ""
) -> dict[str, Any]:
    lines = DOCUMENTS[document]
    noise = random.Random(f"{seed} {100 * document + sentence}" if seed else 100 * document + sentence)
    history = [
        {"distance": distance, **routed(lines[sentence - distance][0], capsules, iterations, noise)}
        for distance in range(1, min(3, sentence) + 1)
    ]
    source, translation = lines[sentence][:2]
    return {
        "document": str(document + 1),
        "sentence": sentence,
        "source": source,
        "translation": translation,
        "history": history,
    }


def routed(text: str, capsules: int, iterations: int, noise: random.Random) -> dict[str, Any]:
    """Make routing as the paper shows it: equal at first, then more and more decided."""
    words = text.replace(".", " .").split()
    pull = [[noise.gauss(0.9 if capsule == 1 else 0, 0.6) for _ in words] for capsule in range(capsules)]
    base = [noise.uniform(-0.35, 0.4) for _ in words]
    drift = [[noise.uniform(-0.12, 0.12) for _ in words] for _ in range(capsules)]
    coupling, pcc = [], []
    for step in range(iterations):
        powers = [[math.exp(0.6 * step * value) for value in row] for row in pull]
        totals = [sum(column) for column in zip(*powers, strict=True)]
        coupling.append([[value / total for value, total in zip(row, totals, strict=True)] for row in powers])
        pcc.append([[start + step * move for start, move in zip(base, row, strict=True)] for row in drift])
    return {"words": words, "coupling": coupling, "pcc": pcc}


def made_up_phenomena() -> list[dict[str, Any]]:
    """Return the verdicts on two phenomena, one of them without tokens."""

    def comparisons(*rows: tuple[str, str, float]) -> list[dict[str, Any]]:
        return [
            {"condition": one, "baseline": other, "difference": gain, "low": gain - 0.1, "high": gain + 0.1, "p": 0.003}
            for one, other, gain in rows
        ]

    tokens = {
        "tokens": 1212,
        "comparisons": comparisons(("true", "none", 0.314), ("true", "shuffled", 0.271), ("shuffled", "none", 9.0)),
        "smallest_gain": 0.052,
        "over_all": {"share": 0.003, "needed": 0.482, "visible": False, "possible": True, "blind": True},
    }
    choices = {
        "items": 370,
        "accuracy": {"true": 0.699, "shuffled": 0.612, "none": 0.597},
        "comparisons": comparisons(("true", "none", 0.102), ("true", "shuffled", 0.087)),
        "smallest_gain": 0.061,
    }
    used = {"phenomenon": "pronoun", "verdict": "context used", "verdict_code": "used", "level": 0.0125}
    unused = {"phenomenon": "ellipsis", "verdict": "context not used", "verdict_code": "not_used", "level": 0.0125}
    return [
        {**used, "explanation": ["with 370 items a gain of 6.1 points"], "tokens": tokens, "choices": choices},
        {**unused, "explanation": ["no difference"], "tokens": None, "choices": {**choices, "smallest_gain": None}},
    ]


def write_diagnosis(run: Path) -> None:
    """Write what a diagnosis leaves."""
    perplexities = {"true": 1.011, "shuffled": 1.157, "none": 1.104, "nearest 1": 1.073, "against": 1.079}
    sentence = {
        "document": "60",
        "sentence": 7,
        "history": [source for source, _, _, _ in DOCUMENTS[0][:3]],
        "source": DOCUMENTS[0][3][0],
        "reference": DOCUMENTS[0][3][1],
        "cxmi": 11.29,
        "against_shuffled": 10.1,
        "translation_true": DOCUMENTS[0][3][1],
        "translation_none": DOCUMENTS[0][3][2],
    }
    tests = [("true", "none", 0.002), ("true", "shuffled", 0.004), ("shuffled", "none", 0.031)]
    place = {"place": "iteration 0", "mean": 1.0, "deviation": 0.0}
    found = {
        "verdict": "context lowers perplexity by 8.4 %, p = 0.002; shuffled history hurts; gain comes from distance 1",
        "verdict_code": "used",
        "explanation": ["perplexity is 6.3 % below the sentence model's, p = 0.001"],
        "created": "2026-11-15T20:00:00+00:00",
        "part": "dev",
        "documents": 100,
        "sentences": 857,
        "against": {"name": "sentence"},
        "conditions": [
            {"condition": name, "perplexity": value, "bleu": 90.0, "accuracy": 0.5}
            for name, value in perplexities.items()
        ],
        "comparisons": [
            {"measure": measure, "condition": one, "baseline": other, "p_bootstrap": 0.001, "p_randomisation": p}
            for measure, extra in (("perplexity", 0.0), ("bleu", 0.5))
            for one, other, p in [(one, other, p + extra) for one, other, p in tests]
        ],
        "by_distance": {"perplexity": [{"distance": 1, "gain": 0.03, "p": 0.001}, {"distance": 2, "gain": 0, "p": 1}]},
        "cxmi": {"per_token": 0.127},
        "better": [sentence],
        "worse": [{**sentence, "cxmi": -0.5, "translation_none": sentence["translation_true"]}],
        "traces": [{"title": "entropy of c", "places": [place]}],
        "signature": "documents:100|items:600",
    }
    write_json(run / "diagnosis.json", found)
