"""Measuring a run of a grid: every score of both held-out parts, with signatures; the report needs nothing else.

results.json              scores of dev and test, the corpus (the paper's Table 1), the machine
counts.json               counts of each test document, from which scores and their significance follow
held-out/dev/             translations of the development part, and their counts; of trials, likelihoods too
assessment/               translations of the test part, contrastive accuracy, routing (as for any run)

The model was chosen on the development part, in training; the test part is translated once.
"""

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from docaps.corpus.documents import Document, count_sentences
from docaps.corpus.store import Store
from docaps.errors import RunError
from docaps.evaluation.statistics import Metric, Table
from docaps.evaluation.systems import Wishes, choose_metrics
from docaps.experiments.assess import Labels, assess, translate_part, writer
from docaps.files import read_json, replacing_directory, write_json
from docaps.runs.directory import Run
from docaps.runs.results import TranslatedDocument, read_translations
from docaps.translation.trained_model import load_trained

METRICS = ("bleu", "dbleu", "chrf", "meteor")
VERSION = 1


def measure(run: Run, store: Store, *, labels: Labels | None = None, command: str = "", trial: bool = False) -> None:
    """Measure a finished run once, from its translations to `results.json`, which is written last.

    Of a trial, the development part alone.
    """
    if run.results.exists():
        return
    parts = {}
    if not trial:
        assess(run, store, labels=labels)
        parts["test"] = run.assessment
    if trial or (store.has("dev") and store.has("test")):
        parts["dev"] = _translate_dev(run, store)
    _write_results(run, store, parts, command)


def measure_test_part(run: Run, store: Store) -> None:
    """Measure a run of no grid: the test part alone, once for each corpus."""
    assess(run, store)
    if measured_hash(run) != store.hash:
        _write_results(run, store, {"test": run.assessment}, str(run.read().get("command") or ""))


def measured_hash(run: Run) -> str | None:
    """Return the hash of the corpus that a run was measured on; None: it was not."""
    found = read_json(run.results, error=RunError) if run.results.exists() else {}
    return str(found["data"]["hash"]) if found.get("data", {}).get("hash") else None


def _write_results(run: Run, store: Store, parts: Mapping[str, Path], command: str) -> None:
    """Score the translations in folders, and write down the scores with all that they depend on."""
    metrics, found = _metrics(store), {}
    for part, folder in parts.items():
        found[part], counts = _score(metrics, folder)
        write_json(run.counts(part), {key: table.tolist() for key, table in counts.items()})
    description = run.read()
    write_json(
        run.results,
        {
            "version": VERSION,
            **{key: description.get(key) for key in ("name", "system", "seed", "parameters", "steps", "seconds")},
            "command": command,
            "parts": found,
            "data": describe_data(store),
            "machine": describe_machine(),
        },
    )


def _translate_dev(run: Run, store: Store) -> Path:
    """Translate the development part, once."""
    folder = run.held_out_dev
    if not (folder / "translations.jsonl").exists():
        trained = load_trained(run.path)
        with replacing_directory(folder) as directory:
            own = writer(run, trained, trained.decoding)
            translate_part(own, trained.decoding, "dev", store.raw("dev"), directory, {})
    return folder


def _metrics(store: Store) -> list[Metric]:
    """Choose the metrics that know the corpus's language."""
    language = str(store.manifest["settings"]["target_language"])
    known = {metric.key for metric in choose_metrics(Wishes(language=language))}
    return choose_metrics(Wishes(tuple(key for key in METRICS if key in known), language))


def _score(metrics: Sequence[Metric], folder: Path) -> tuple[dict[str, Any], dict[str, Table]]:
    """Score the translations in a folder; return scores and counts."""
    documents = read_translations(folder / "translations.jsonl")
    hypotheses, references = _sides(documents)
    counts = {metric.key: metric.count(hypotheses, references) for metric in metrics}
    stored = read_json(folder / "scores.json", error=RunError)
    scores = {
        metric.key: {
            "name": metric.name,
            "score": float(metric.score(counts[metric.key].sum(axis=0, keepdims=True))[0]),
            "signature": metric.signature,
        }
        for metric in metrics
    }
    known = {key: stored[key] for key in ("set", "documents", "sentences", "seconds", "search")}
    return {**known, "scores": scores}, counts


def _sides(documents: Sequence[TranslatedDocument]) -> tuple[list[Document], list[Document]]:
    return (
        [Document(document.hypothesis) for document in documents],
        [Document(document.reference) for document in documents],
    )


def describe_data(store: Store) -> dict[str, Any]:
    """Count the parts of the corpus, as the paper's Table 1 does, and say how it was prepared."""
    counts: Mapping[str, Mapping[str, int]] = store.manifest["counts"]
    parts = {
        name: {**count, "average": count["sentences"] / max(count["documents"], 1)}
        for name, count in counts.items()
        if name != "extra"
    }
    settings = store.manifest["settings"]
    return {
        **{key: settings[key] for key in ("source_language", "target_language")},
        "hash": store.hash,
        "vocabulary": len(store.codec.vocabulary),
        "parts": parts,
        "preparation": settings,
        "command": store.manifest.get("command"),
    }


def describe_machine() -> dict[str, Any]:
    """Say what the numbers were measured on."""
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def count_held_out(store: Store) -> dict[str, int]:
    """Count the sentences of each part that runs are measured on."""
    return {part: count_sentences(store.raw(part)) for part in ("dev", "test") if store.has(part)}
