"""Assess a run: translate, score, compare, trace; everything is written to files under `assessment/`.

scores.json          BLEU on the test part (or the development part if there is no test part)
translations.jsonl   a document a line: source, reference, translation
contrastive.json     accuracy, chance and counts, where the corpus has contrastive items
routing.json         routing coefficients of some sentences, where the system has any
request.json         what was assessed: corpus, weights, search; the same request is not repeated
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from docaps.batches.windows import windows_of_document
from docaps.config import DecodingSettings, upgrade_settings
from docaps.corpus.contrastive import read_items
from docaps.corpus.documents import Document, ParallelDocument, all_sentences, count_sentences
from docaps.corpus.store import Store
from docaps.errors import RunError
from docaps.evaluation.contrastive import accuracy, chance, counts
from docaps.evaluation.translation_metrics import bleu
from docaps.files import read_json, replacing_directory, sha256, write_json, write_text_atomically
from docaps.runs.directory import ASSESSMENT_FILES, Run
from docaps.runs.results import read_routing, read_translations
from docaps.translation.routing_traces import trace_window
from docaps.translation.scoring import score_contrastive
from docaps.translation.trained_model import TrainedModel, load_trained
from docaps.translation.translator import Translator

Part = Literal["dev", "test"]
Labels = Mapping[int, Mapping[int, Mapping[str, Any]]]
"""By document number and sentence number: the phenomenon, and the distance of what decides it."""

TRACED_SENTENCES = 4


def assess(run: Run, store: Store, *, labels: Labels | None = None) -> None:
    """Assess a finished run, unless the same assessment exists; choices are always scored in float32."""
    trained = load_trained(run.path)
    request = {"corpus": store.hash, "weights": sha256(run.weights), "search": trained.decoding.model_dump()}
    if _is_up_to_date(run, request):
        return
    part = assessed_part(store)
    documents = store.raw(part)
    with replacing_directory(run.assessment, own=ASSESSMENT_FILES, error=RunError) as directory:
        hypotheses = translate_part(run, trained, store, part, directory, labels or {})
        if store.contrastive is not None:
            write_json(directory / "contrastive.json", contrast(trained, store.contrastive))
        if trained.model.history:
            chosen = choose_sentences(documents, labels or {}, trained.model.history)
            traced = [trace(trained, documents[d], d, s, hypotheses[d].sentences[s]) for d, s in chosen]
            write_json(directory / "routing.json", traced)
        write_json(directory / "request.json", request)


def assessed_part(store: Store) -> Part:
    """Return the part that runs are assessed on: the test part if there is one."""
    return "test" if store.has("test") else "dev"


def trace_chosen(run: Run, store: Store, sentences: Sequence[tuple[int, int]]) -> None:
    """Put the routing of chosen sentences, (document, sentence) from 1, first in an assessed run's `routing.json`."""
    path = run.assessment / "routing.json"
    if not sentences or not path.exists():  # a run without routing stays as it is
        return
    documents = store.raw(assessed_part(store))
    for document, sentence in sentences:
        if not 1 <= document <= len(documents):
            raise RunError(f"--sentence {document}:{sentence}: there are {len(documents):,} documents")
        if not 1 <= sentence <= (count := len(documents[document - 1].source)):
            raise RunError(f"--sentence {document}:{sentence}: document {document} has {count:,} sentences")
    translated, before = read_translations(run.assessment / "translations.jsonl"), read_routing(path)
    if [len(one.source) for one in translated] != [len(one.source) for one in documents]:
        raise RunError("not translations of this corpus: remove the folder", path=run.assessment)
    trained = load_trained(run.path)
    chosen = [trace(trained, documents[d - 1], d - 1, s - 1, translated[d - 1].hypothesis[s - 1]) for d, s in sentences]
    shown = {(sample["document"], sample["sentence"]) for sample in chosen}
    write_json(path, [*chosen, *(one for one in before if (one["document"], one["sentence"]) not in shown)])


def _is_up_to_date(run: Run, request: Mapping[str, Any]) -> bool:
    path = run.assessment / "request.json"
    if not path.exists():
        return False
    found = read_json(path, error=RunError)
    if not isinstance(found, dict) or not isinstance(found.get("search"), dict):
        return False
    return {**found, "search": upgrade_settings(DecodingSettings, found["search"])} == dict(request)


def translate_part(
    run: Run, trained: TrainedModel, store: Store, part: Part, directory: Path, labels: Labels
) -> list[Document]:
    """Translate a part of the corpus, and write the translations and their BLEU."""
    return translate_documents(run, trained, store.raw(part), part, directory, labels)


def translate_documents(
    run: Run,
    trained: TrainedModel,
    documents: Sequence[ParallelDocument],
    name: str,
    directory: Path,
    labels: Labels | None = None,
) -> list[Document]:
    """Translate documents in the precision of the run's search; write the translations and their BLEU."""
    decoding, labels = trained.decoding, labels or {}
    model = trained if decoding.precision == "float32" else load_trained(run.path, decoding.precision)
    start = time.monotonic()
    translated = Translator(model).translate([Document(document.source) for document in documents])
    seconds = time.monotonic() - start
    hypotheses = [Document(tuple(sentence.text for sentence in sentences)) for sentences in translated]
    references = [Document(document.target) for document in documents]
    precision = str(model.writes_in).removeprefix("torch.")
    scores = {
        "set": name,
        "documents": len(documents),
        "sentences": count_sentences(documents),
        "bleu": asdict(bleu(list(all_sentences(hypotheses)), list(all_sentences(references)))),
        "seconds": round(seconds, 1),
        "search": {"beam": decoding.beam, "length_penalty": decoding.length_penalty, "precision": precision},
    }
    write_json(directory / "scores.json", scores)
    lines = []
    for number, (document, hypothesis) in enumerate(zip(documents, hypotheses, strict=True)):
        sides = {"source": document.source, "reference": document.target, "hypothesis": hypothesis.sentences}
        row = {"id": str(number + 1), **sides, "labels": labels.get(number, {})}
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    write_text_atomically(directory / "translations.jsonl", "".join(lines))
    return hypotheses


def contrast(trained: TrainedModel, path: Path) -> dict[str, Any]:
    """Return contrastive accuracy, chance and counts on a file of items."""
    items = read_items(path)
    scores = score_contrastive(trained, items)
    return {
        "file": path.name,
        "items": len(items),
        "accuracy": asdict(accuracy(items, scores)),
        "chance": asdict(chance(items)),
        "counts": asdict(counts(items)),
    }


def choose_sentences(documents: Sequence[ParallelDocument], labels: Labels, history: int) -> list[tuple[int, int]]:
    """Choose sentences to trace: labelled ones of each phenomenon in turn, else any with full history."""
    by_kind: dict[str, list[tuple[int, int]]] = {}
    for number, document in enumerate(documents):
        for sentence in range(history, len(document.source)):
            label = labels.get(number, {}).get(sentence, {})
            by_kind.setdefault(str(label.get("phenomenon", "")), []).append((number, sentence))
    kinds = [by_kind[kind] for kind in sorted(by_kind) if kind] or [by_kind.get("", [])]
    chosen: list[tuple[int, int]] = []
    for number in range(TRACED_SENTENCES):
        fresh = [one for one in kinds[number % len(kinds)] if one[0] not in {d for d, _ in chosen}]
        chosen.extend(fresh[:1])
    return chosen


def trace(
    trained: TrainedModel, document: ParallelDocument, number: int, sentence: int, translation: str
) -> dict[str, Any]:
    """Return the words of a sentence's history with their coupling coefficients and correlations."""
    encoded = [trained.codec.encode_source(text) for text in document.source[: sentence + 1]]
    window = list(windows_of_document(encoded, trained.model.history))[sentence]
    return {
        "document": str(number + 1),
        "sentence": sentence,
        "source": document.source[sentence],
        "translation": translation,
        "history": [entry.as_dict() for entry in trace_window(trained, window)],
    }
