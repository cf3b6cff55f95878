"""Contrastive tests of runs: a set answered with one history, summarised, signed, and stored in the run on request."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

import torch

from docaps.config import TranslationPrecision
from docaps.corpus.contrastive import ContrastiveItem, ContrastiveSet, GenerativeItem, SetOptions, read_set
from docaps.corpus.contrastive.contrastive_set import AnyItem, spread, with_other_histories, without_history
from docaps.diagnosis import TranslationsShown
from docaps.diagnosis.choices import ItemAnswer, answer_items
from docaps.diagnosis.data import fingerprint, sign
from docaps.errors import DocapsError, RunError
from docaps.evaluation.contrastive import measure_accuracy
from docaps.evaluation.intervals import LEVEL
from docaps.files import read_json, write_json
from docaps.model.mixed_precision import choose_device, choose_translation_precision
from docaps.runs.card import write_card
from docaps.runs.contrastive_results import is_contrastive_result
from docaps.runs.directory import open_run
from docaps.runs.grid_results import read_grids, runs_of
from docaps.runs.measured_results import read_measured
from docaps.translation.trained_model import TrainedModel, describe_precision, load_trained

History = Literal["own", "none", "shuffled"]
HISTORY_OPTIONS: dict[History, list[str]] = {"own": [], "none": ["--no-context"], "shuffled": ["--shuffled"]}
SHOWN_HISTORY = 3


def contrast_run(
    run: Path,
    name: str,
    path: Path,
    context: Mapping[str, Any],
    *,
    history: History = "own",
    limit: int | None = None,
    beam: int | None = None,
    examples: int = 0,
    keep: str | None = None,
    translations: TranslationsShown = "reference",
    precision: TranslationPrecision | torch.dtype = "float32",
) -> dict[str, Any]:
    """Test a finished run on the set `name` at `path`; `context` says where ContraPro's histories are.

    With `keep`, the result is stored in the run under that name; a stored result of the same items and weights, in the
    same precision, is returned as it is.
    """
    stored = _stored_path(run, keep, history, limit) if keep is not None else None
    trained = load_trained(run, precision)
    languages = trained.codec.source.code, trained.codec.target.code
    found = read_set(name, path, SetOptions(*languages, **context, without_history=history == "none"))
    items = choose_items(found, history, limit)
    decoding = trained.decoding.model_copy(update={"beam": beam} if beam else {})
    shown = _translations_shown(trained, items, translations)
    signed = {"set": name, "items": len(items), "history": history, **fingerprint(open_run(run), items)}
    signed |= {"translations": shown} if translations == "own" else {}
    signed |= {"precision": (named := describe_precision(trained, open_run(run)))}
    identity = {
        "set": name,
        "history": history,
        "precision": named,
        "signature": sign(signed),
        "search": {"beam": decoding.beam} if any(isinstance(item, GenerativeItem) for item in items) else None,
        "created": open_run(run).read()["created"],
    }
    if stored is not None and (before := _read_stored(stored, identity, examples)):
        return before
    result = {**identity, "path": str(path), "files": found.files, "translations": shown}
    result |= summarise(answer_items(trained, items, decoding, translations), examples)
    if stored is not None:
        options = {**context, "beam": beam, "keep": keep, "precision": str(trained.writes_in).removeprefix("torch.")}
        words = [str(run), "--set", name, str(path), *HISTORY_OPTIONS[history]]
        words += ["--translations", translations] if translations == "own" else []
        result["command"] = _command(words, options)
        stored.parent.mkdir(exist_ok=True)
        write_json(stored, result)
        write_card(open_run(run))
    return result


def _command(words: Sequence[str], options: Mapping[str, object]) -> str:
    """Return the command that repeats a test."""
    given = [[f"--{key.replace('_', '-')}", str(value)] for key, value in options.items() if value is not None]
    return shlex.join(["docaps", "contrast", *words, *(word for option in given for word in option)])


def contrast_grid(
    directory: Path,
    name: str,
    path: Path,
    context: Mapping[str, Any],
    *,
    keep: str,
    beam: int | None = None,
    precision: TranslationPrecision = "float32",
) -> list[dict[str, Any]]:
    """Test every finished run of a grid with its own history, with none and with another's, and store the results.

    `auto` is the same precision for all runs, so never int8, which was perhaps checked for some of them.

    A run that looks at no history is tested once; trials, by which settings are chosen, are not tested. A failed run
    is reported when the others are done. The grid's results must be up to date, for they list its runs.
    """
    found, faults = list[dict[str, Any]](), list[DocapsError]()
    same = choose_translation_precision(precision, choose_device())
    for run in runs_of(directory, read_grids(directory)):
        measured = read_measured(open_run(run))
        if measured is None or "test" not in measured["parts"]:  # a trial
            continue
        try:
            histories: Sequence[History] = ("own", "none", "shuffled") if load_trained(run).model.history else ("own",)
            for history in histories:
                result = contrast_run(run, name, path, context, history=history, beam=beam, keep=keep, precision=same)
                found.append({"run": str(run), **result})
        except DocapsError as fault:
            faults.append(fault)
    if faults:
        raise RunError("\n".join([f"{len(faults)} runs have not taken the set:", *map(str, faults)]), path=directory)
    return found


def _translations_shown(
    trained: TrainedModel, items: Sequence[AnyItem], translations: TranslationsShown
) -> TranslationsShown | None:
    """Return what histories are shown with: the set's translations or the model's own; None if it reads none."""
    if not trained.model.view.translations or not any(item.history for item in items):
        return None
    return "reference" if translations == "reference" and any(item.target_history for item in items) else "own"


def _stored_path(run: Path, keep: str, history: History, limit: int | None) -> Path:
    """Return the file that stores a result under a name; refuse partial tests."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", keep):
        raise RunError(f"--keep {keep}: a name has letters, digits, - and _ only")
    if limit is not None:
        raise RunError("--keep is for whole sets: leave --limit out")
    return open_run(run).choices / f"{keep}.{history}.json"


def _read_stored(path: Path, identity: Mapping[str, Any], examples: int) -> dict[str, Any] | None:
    """Return a stored result if it is of the same test and has enough examples."""
    if not path.exists():
        return None
    found = read_json(path, error=RunError)
    if not is_contrastive_result(found) or any(found.get(key) != value for key, value in identity.items()):
        return None
    shown: list[Any] = found["examples"]
    return {**found, "examples": shown[:examples]} if len(shown) >= min(examples, found["items"]) else None


def choose_items(found: ContrastiveSet, history: History, limit: int | None) -> list[AnyItem]:
    """Select items with the history asked for; a shuffled history may come from an item that is left out."""
    chosen = spread(with_other_histories(found.items) if history == "shuffled" else found.items, limit)
    return without_history(chosen) if history == "none" else chosen


def summarise(answers: Sequence[ItemAnswer], examples: int) -> dict[str, Any]:
    """Return accuracy, chance and examples as plain JSON values."""
    found = measure_accuracy([answer.item for answer in answers], [answer.decision for answer in answers])
    groups = {key: value for key, value in asdict(found).items() if key.startswith("by_")}
    flat = ("by_phenomenon", "by_distance", "by_pronoun", "by_form")
    return {
        "items": found.all.items,
        "accuracy": found.all.accuracy,
        "interval": {"low": found.all.low, "high": found.all.high, "level": LEVEL, "method": found.all.method},
        "chance": found.all.chance,
        "ties": found.all.ties,
        **{key: {name: values["accuracy"] for name, values in groups[key].items()} for key in flat},
        "details": groups,
        "examples": [_as_json(answer) for answer in choose_examples(answers, examples)],
    }


def choose_examples(answers: Sequence[ItemAnswer], count: int) -> list[ItemAnswer]:
    """Choose examples: wrong and right answers alternate, and so do the phenomena within each."""
    sides: list[dict[str, list[ItemAnswer]]] = [{}, {}]
    for answer in answers:
        sides[answer.decision.right].setdefault(answer.item.phenomenon, []).append(answer)
    return _alternate([_alternate(list(side.values())) for side in sides])[:count]


def _alternate(groups: Sequence[Sequence[ItemAnswer]]) -> list[ItemAnswer]:
    """Take the first of each group, then the second of each, and so on."""
    return [answer for row in zip_longest(*groups) for answer in row if answer is not None]


def _as_json(answer: ItemAnswer) -> dict[str, Any]:
    """Return an answer as plain JSON values."""
    item = answer.item
    if isinstance(item, ContrastiveItem):
        outcome = {"right": item.right, "wrong": list(item.wrong), "chosen": answer.translation}
    else:
        outcome = {"expected": list(item.expected), "translation": answer.translation}
    known = {key: getattr(item, key) for key in ("phenomenon", "form", "distance", "pronoun")}
    shown = {"history": list(item.history[-SHOWN_HISTORY:]), "source": item.source}
    return {"id": item.id, "correct": answer.decision.right, **known, **shown, **outcome, "scores": list(answer.scores)}
