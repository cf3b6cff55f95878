"""Taking a contrastive test: a model scores or translates the items of a set, and every answer is judged."""

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from docaps import __version__
from docaps.config import DecodingSettings
from docaps.corpus.contrastive import (
    AnyItem,
    ContrastiveItem,
    ContrastiveSet,
    GenerativeItem,
    SetOptions,
    read_set,
    spread,
    with_other_histories,
    without_history,
)
from docaps.corpus.documents import Document
from docaps.errors import DocapsError, RunError
from docaps.evaluation.contrastive import Decision, judge_scores, judge_translations, measure
from docaps.evaluation.proportions import LEVEL
from docaps.experiments.gathering import gather_all
from docaps.files import read_json, sha256, write_json
from docaps.runs.card import write_card
from docaps.runs.directory import open_run
from docaps.runs.grid_results import read_grids, runs_of
from docaps.translation.scoring import score_contrastive
from docaps.translation.trained_model import TrainedModel, load_trained
from docaps.translation.translator import Translator

History = Literal["own", "none", "shuffled"]
SHOWN_HISTORY = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """An item, the translation a model prefers or makes, the scores it was chosen by, and what that is worth."""

    item: AnyItem
    translation: str
    scores: tuple[float, ...]
    decision: Decision


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
) -> dict[str, Any]:
    """Let a finished run take the set `name` at `path`; `context` says where ContraPro's histories are.

    Under the name `keep` the result stays in the run; what is kept there of the same items and weights is not measured
    again.
    """
    kept = _kept_at(run, keep, history, whole=limit is None) if keep is not None else None
    trained = load_trained(run)
    languages = trained.codec.source.code, trained.codec.target.code
    found = read_set(name, path, SetOptions(*languages, **context, without_history=history == "none"))
    items = choose_items(found, history, limit)
    decoding = trained.decoding.model_copy(update={"beam": beam} if beam else {})
    asked = {
        "set": name,
        "history": history,
        "signature": sign(items, run, name, history),
        "search": {"beam": decoding.beam} if any(isinstance(item, GenerativeItem) for item in items) else None,
        "created": open_run(run).read()["created"],
    }
    if kept is not None and (before := _read_kept(kept, asked, examples)):
        return before
    result = {**asked, "path": str(path), "files": found.files}
    result |= summarise(take_test(trained, items, decoding), examples)
    if kept is not None:
        result["command"] = _command(run, path, asked, {**context, "beam": beam, "keep": keep})
        kept.parent.mkdir(exist_ok=True)
        write_json(kept, result)
        write_card(open_run(run))
    return result


def _command(run: Path, path: Path, asked: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return the command that takes a test again."""
    history = {"own": [], "none": ["--no-context"], "shuffled": ["--shuffled"]}[asked["history"]]
    given = [(f"--{name.replace('_', '-')}", str(value)) for name, value in options.items() if value is not None]
    words = ["docaps", "contrast", str(run), "--set", asked["set"], str(path), *history]
    return shlex.join([*words, *(word for pair in given for word in pair)])


def contrast_grid(
    directory: Path, name: str, path: Path, context: Mapping[str, Any], *, keep: str, beam: int | None = None
) -> list[dict[str, Any]]:
    """Let every finished run of a grid take and keep a set: with its own history, with none and with another's.

    A run that looks at no history takes it once. A fault of one is told when the others are through. Trials, by which
    settings are chosen, take no tests.
    """
    gather_all(directory)  # runs may have been finished since
    found: list[dict[str, Any]] = []
    faults: list[DocapsError] = []
    for run in (run for run in runs_of(directory, read_grids(directory)) if not _is_trial(run)):
        try:
            histories: Sequence[History] = ("own", "none", "shuffled") if load_trained(run).model.history else ("own",)
            for history in histories:
                result = contrast_run(run, name, path, context, history=history, beam=beam, keep=keep)
                found.append({"run": str(run), **result})
        except DocapsError as fault:
            faults.append(fault)
    if faults:
        raise RunError("\n".join([f"{len(faults)} runs have not taken the set:", *map(str, faults)]), path=directory)
    return found


def _is_trial(run: Path) -> bool:
    """Say whether a run of a grid was measured on the development part alone."""
    return "test" not in read_json(open_run(run).results, error=RunError)["parts"]


def _kept_at(run: Path, keep: str, history: History, *, whole: bool) -> Path:
    """Return the file that keeps a result under a name; only a whole test is kept."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", keep):
        raise RunError(f"--keep {keep}: a name has letters, digits, - and _ only")
    if not whole:
        raise RunError("--keep is for whole sets: leave --limit out")
    return open_run(run).choices / f"{keep}.{history}.json"


def _read_kept(path: Path, asked: Mapping[str, Any], examples: int) -> dict[str, Any] | None:
    """Return what was kept, if it answers what is asked now, with as many answers to look at."""
    if not path.exists():
        return None
    found = read_json(path, error=RunError)
    if not isinstance(found, dict) or any(found.get(key) != value for key, value in asked.items()):
        return None
    shown: list[Any] = found.get("examples", [])
    return {**found, "examples": shown[:examples]} if len(shown) >= min(examples, found["items"]) else None


def choose_items(found: ContrastiveSet, history: History, limit: int | None) -> list[AnyItem]:
    """Take the items asked for, with the history asked for; another's history may come from an item left out."""
    items: Sequence[AnyItem] = found.items
    if history == "shuffled":
        items = with_other_histories(items)
    chosen = spread(items, limit)
    return without_history(chosen) if history == "none" else chosen


def take_test(
    trained: TrainedModel, items: Sequence[AnyItem], decoding: DecodingSettings | None = None
) -> list[Answer]:
    """Answer every item: score the translations it comes with, or translate it."""
    choices = [item for item in items if isinstance(item, ContrastiveItem)]
    tasks = [item for item in items if isinstance(item, GenerativeItem)]
    chosen = iter(_choose(trained, choices) if choices else [])
    written = iter(_write(trained, tasks, decoding) if tasks else [])
    return [next(chosen if isinstance(item, ContrastiveItem) else written) for item in items]


def _choose(trained: TrainedModel, items: Sequence[ContrastiveItem]) -> list[Answer]:
    """Let the model choose among the translations given."""
    scores = score_contrastive(trained, items)
    decisions = judge_scores(items, scores)
    return [
        Answer(item, (item.right, *item.wrong)[found.index(max(found))], tuple(found), decision)
        for item, found, decision in zip(items, scores, decisions, strict=True)
    ]


def _write(trained: TrainedModel, items: Sequence[GenerativeItem], decoding: DecodingSettings | None) -> list[Answer]:
    """Let the model translate, with no more history than it looks at."""
    translator, view = Translator(trained, decoding), trained.model.view
    # A shuffled view sees other documents: items that follow each other are often of the same one.
    shown = with_other_histories(items) if view.shuffled else items
    histories = [item.history[-view.history :] if view.history else () for item in shown]
    if view.translations:
        documents = [Document((*history, item.source)) for history, item in zip(histories, items, strict=True)]
        last = [sentences[-1] for sentences in translator.translate(documents)]
    else:  # nobody asks for the translation of a history
        last = translator.translate_with_histories([item.source for item in items], histories)
    decisions = judge_translations(items, [sentence.text for sentence in last])
    return [
        Answer(item, sentence.text, (sentence.score,), decision)
        for item, sentence, decision in zip(items, last, decisions, strict=True)
    ]


def summarise(answers: Sequence[Answer], examples: int) -> dict[str, Any]:
    """Return accuracy, chance and examples as plain JSON values."""
    found = measure([answer.item for answer in answers], [answer.decision for answer in answers])
    groups = {key: value for key, value in found.as_dict().items() if key.startswith("by_")}
    plain = ("by_phenomenon", "by_distance", "by_pronoun", "by_form")
    return {
        "items": found.all.items,
        "accuracy": found.all.accuracy,
        "interval": {"low": found.all.low, "high": found.all.high, "level": LEVEL, "method": found.all.method},
        "chance": found.all.chance,
        "ties": found.all.ties,
        **{key: {name: values["accuracy"] for name, values in groups[key].items()} for key in plain},
        "details": groups,
        "examples": [_as_json(answer) for answer in choose_examples(answers, examples)],
    }


def choose_examples(answers: Sequence[Answer], count: int) -> list[Answer]:
    """Choose answers to look at: wrong and right ones in turn, each from all phenomena in turn."""
    sides = [[answer for answer in answers if answer.decision.right is right] for right in (False, True)]
    turns = zip_longest(*map(_in_turn, sides))
    return [answer for pair in turns for answer in pair if answer is not None][:count]


def _in_turn(answers: Sequence[Answer]) -> list[Answer]:
    """Put answers in an order that takes one of each phenomenon, then the next of each."""
    groups: dict[str, list[Answer]] = {}
    for answer in answers:
        groups.setdefault(answer.item.phenomenon, []).append(answer)
    rounds = zip_longest(*groups.values())
    return [answer for group in rounds for answer in group if answer is not None]


def _as_json(answer: Answer) -> dict[str, Any]:
    """Write an answer for people who want to look at it."""
    item = answer.item
    wanted = (
        {"right": item.right, "wrong": list(item.wrong), "chosen": answer.translation}
        if isinstance(item, ContrastiveItem)
        else {"expected": list(item.expected), "translation": answer.translation}
    )
    return {
        "id": item.id,
        "correct": answer.decision.right,
        "phenomenon": item.phenomenon,
        "form": item.form,
        "distance": item.distance,
        "pronoun": item.pronoun,
        "history": list(item.history[-SHOWN_HISTORY:]),
        "source": item.source,
        **wanted,
        "scores": list(answer.scores),
    }


def sign(items: Sequence[AnyItem], run: Path, name: str, history: History) -> str:
    """Return what the numbers depend on: set, items, history, weights and version."""
    data = hashlib.sha256("\n".join(map(repr, items)).encode("utf-8", "backslashreplace")).hexdigest()
    weights = sha256(open_run(run).weights)
    parts = {"set": name, "items": len(items), "history": history, "data": data[:12], "weights": weights[:12]}
    return "|".join([*(f"{key}:{value}" for key, value in parts.items()), f"docaps:{__version__}"])
