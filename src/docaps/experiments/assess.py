"""Assessing a run: translate, score, compare, trace; everything ends in files under `assessment/`.

scores.json          BLEU on the test part (or the development part if there is no test part)
translations.jsonl   a document a line: source, reference, translation
contrastive.json     accuracy, chance and counts, where the corpus has contrastive items
routing.json         what the routing did for some sentences, where the system has any
request.json         what was assessed: corpus, weights, search; the same request is not worked on twice
"""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from docaps.batches.windows import windows_of_document
from docaps.config import DecodingSettings, upgrade_settings
from docaps.corpus.contrastive import ContrastiveItem, read_items
from docaps.corpus.documents import Document, ParallelDocument, all_sentences, count_sentences
from docaps.corpus.store import Store
from docaps.errors import RunError
from docaps.evaluation.bleu import bleu
from docaps.evaluation.contrastive import accuracy, chance, counts
from docaps.files import read_json, replacing_directory, sha256, write_json, write_text_atomically
from docaps.runs.directory import Run
from docaps.runs.results import read_translations
from docaps.translation.loading import TrainedModel, load_trained
from docaps.translation.routing import trace_window
from docaps.translation.scoring import score_contrastive
from docaps.translation.translator import Translator

Labels = Mapping[int, Mapping[int, Mapping[str, Any]]]
"""For a document's number and a sentence's number: the phenomenon and the distance of what decides it."""

TRACED_SENTENCES = 4


def assess(run: Run, store: Store, *, decoding: DecodingSettings | None = None, labels: Labels | None = None) -> None:
    """Measure all there is to measure about a finished run; nothing is done twice."""
    trained = load_trained(run.path)
    settings = decoding or trained.decoding
    request = {"corpus": store.hash, "weights": sha256(run.weights), "search": settings.model_dump()}
    if _is_up_to_date(run, request):
        return
    part = assessed_part(store)
    documents = store.raw(part)
    with replacing_directory(run.assessment) as directory:
        hypotheses = translate_part(writer(run, trained, settings), settings, part, documents, directory, labels or {})
        if store.contrastive is not None:
            write_json(directory / "contrastive.json", contrast(trained, store.contrastive))
        if trained.model.history:
            places = choose_places(documents, labels or {}, trained.model.history)
            traced = [trace(trained, documents[d], d, s, hypotheses[d].sentences[s]) for d, s in places]
            write_json(directory / "routing.json", traced)
        write_json(directory / "request.json", request)


def writer(run: Run, trained: TrainedModel, decoding: DecodingSettings) -> TrainedModel:
    """Return the model as it writes translations that are measured; choices are always scored in float32."""
    return trained if decoding.precision == "float32" else load_trained(run.path, decoding.precision)


def assessed_part(store: Store) -> Literal["dev", "test"]:
    """Return the part that runs are assessed on: the test part, if there is one."""
    return "test" if store.has("test") else "dev"


def trace_chosen(run: Run, store: Store, places: Sequence[tuple[int, int]]) -> None:
    """Let the routing of an assessed run be shown for chosen sentences first: (document, sentence), counted from 1.

    A run without routing has nothing to show.
    """
    path = run.assessment / "routing.json"
    if not places or not path.exists():
        return
    documents = store.raw(assessed_part(store))
    check_places(documents, places)
    translated = read_translations(run.assessment / "translations.jsonl")
    trained = load_trained(run.path)
    chosen = [trace(trained, documents[d - 1], d - 1, s - 1, translated[d - 1].hypothesis[s - 1]) for d, s in places]
    shown = {(sample["document"], sample["sentence"]) for sample in chosen}
    others = [one for one in read_json(path, error=RunError) if (one["document"], one["sentence"]) not in shown]
    write_json(path, [*chosen, *others])


def check_places(documents: Sequence[ParallelDocument], places: Sequence[tuple[int, int]]) -> None:
    """Refuse sentences that are not there."""
    for document, sentence in places:
        if not 1 <= document <= len(documents):
            raise RunError(f"--sentence {document}:{sentence}: there are {len(documents):,} documents")
        there = len(documents[document - 1].source)
        if not 1 <= sentence <= there:
            raise RunError(f"--sentence {document}:{sentence}: document {document} has {there:,} sentences")


def _is_up_to_date(run: Run, request: Mapping[str, Any]) -> bool:
    path = run.assessment / "request.json"
    if not path.exists():
        return False
    found = read_json(path, error=RunError)
    return {**found, "search": upgrade_settings(DecodingSettings, found.get("search", {}))} == dict(request)


def translate_part(
    trained: TrainedModel,
    decoding: DecodingSettings,
    part: str,
    documents: Sequence[ParallelDocument],
    directory: Path,
    labels: Labels,
) -> list[Document]:
    """Translate a part of the corpus; write the translations and their BLEU."""
    start = time.monotonic()
    translated = Translator(trained, decoding).translate([Document(document.source) for document in documents])
    seconds = time.monotonic() - start
    hypotheses = [Document(tuple(sentence.text for sentence in sentences)) for sentences in translated]
    references = [Document(document.target) for document in documents]
    result = bleu(list(all_sentences(hypotheses)), list(all_sentences(references)))
    scores = {
        "set": part,
        "documents": len(documents),
        "sentences": count_sentences(documents),
        "bleu": {"score": result.score, "signature": result.signature},
        "seconds": round(seconds, 1),
        "search": {
            "beam": decoding.beam,
            "length_penalty": decoding.length_penalty,
            "precision": str(trained.writes_in).removeprefix("torch."),
        },
    }
    write_json(directory / "scores.json", scores)
    rows = [
        _translation_row(number, document, hypothesis, labels.get(number, {}))
        for number, (document, hypothesis) in enumerate(zip(documents, hypotheses, strict=True))
    ]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_text_atomically(directory / "translations.jsonl", lines)
    return hypotheses


def _translation_row(
    number: int, document: ParallelDocument, hypothesis: Document, labels: Mapping[int, Mapping[str, Any]]
) -> dict[str, Any]:
    """Put source, reference and translation of a document together."""
    return {
        "id": str(number + 1),
        "source": document.source,
        "reference": document.target,
        "hypothesis": hypothesis.sentences,
        "labels": {str(sentence): dict(label) for sentence, label in labels.items()},
    }


def contrast(trained: TrainedModel, path: Path) -> dict[str, Any]:
    """Return contrastive accuracy, chance and counts on a file of items."""
    items = read_items(path)
    return {"file": path.name, "items": len(items), **contrast_items(trained, items)}


def contrast_items(trained: TrainedModel, items: Sequence[ContrastiveItem]) -> dict[str, Any]:
    """Score items with a model and break the result down."""
    scores = score_contrastive(trained, items)
    return {
        "accuracy": accuracy(items, scores).as_dict(),
        "chance": chance(items).as_dict(),
        "counts": counts(items).as_dict(),
    }


def choose_places(documents: Sequence[ParallelDocument], labels: Labels, history: int) -> list[tuple[int, int]]:
    """Choose sentences to show the routing of: labelled ones of each phenomenon in turn, else any with full history."""
    full = [(d, s) for d, document in enumerate(documents) for s in range(history, len(document.source))]
    by_kind: dict[str, list[tuple[int, int]]] = {}
    for place in full:
        label = labels.get(place[0], {}).get(place[1], {})
        by_kind.setdefault(str(label.get("phenomenon", "")), []).append(place)
    kinds = [by_kind[kind] for kind in sorted(by_kind) if kind] or [by_kind.get("", [])]
    chosen: list[tuple[int, int]] = []
    for turn in range(TRACED_SENTENCES):
        kind = kinds[turn % len(kinds)]
        fresh = [place for place in kind if place[0] not in {d for d, _ in chosen}]
        chosen.extend(fresh[:1])
    return chosen


def trace(
    trained: TrainedModel, document: ParallelDocument, number: int, sentence: int, translation: str
) -> dict[str, Any]:
    """Return the words of a sentence's history with their coupling coefficients and correlations."""
    history = trained.model.history
    encoded = [trained.codec.encode_source(text) for text in document.source[: sentence + 1]]
    window = list(windows_of_document(encoded, history))[sentence]
    return {
        "document": str(number + 1),
        "sentence": sentence,
        "source": document.source[sentence],
        "translation": translation,
        "history": [entry.as_dict() for entry in trace_window(trained, window)],
    }
