"""The signals of a stage: read from its settings and its files of annotations, counted for the log."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from docaps.batches.halves import find_halves
from docaps.batches.sampling import usable_sentences
from docaps.batches.signals import Emphasis, Selection, Signals, Tags
from docaps.batches.windows import Indices
from docaps.config import StageSettings
from docaps.corpus.annotations import Annotation, read_annotations
from docaps.corpus.store import Split, Store
from docaps.errors import ConfigError
from docaps.files import sha256

FILES = ("select", "emphasis", "formality")
"""Settings of a stage that name a file of annotations."""
FORMALITY = "formality"
_FORMS = {"du": "informal", "ihr": "informal", "Sie": "formal", "informal": "informal", "formal": "formal"}
"""The mark of each label."""
Numbers = Mapping[str, int | float]


def find_annotations(name: str, store: Store) -> Path:
    """Return the path of a file that a recipe names: in the working directory, else in that of the prepared corpus."""
    path = Path(name)
    for found in (path, store.path / path):
        if found.is_file():
            return found
    where = "" if path.is_absolute() else f" in the working directory or in {store.path}"
    raise ConfigError(f"no such file of annotations{where}", path=path)


def hash_annotations(settings: StageSettings, store: Store) -> dict[str, str]:
    """Return the SHA-256 of each file of annotations of a stage, by setting: another file makes another run."""
    named = {name: getattr(settings, name) for name in FILES}
    return {name: sha256(find_annotations(file, store)) for name, file in named.items() if file is not None}


def read_signals(settings: StageSettings, store: Store, split: Split, *, seed: int) -> Signals:
    """Read the files of a stage, and return its signals."""
    reader = _Reader(settings, store, split)
    return Signals(
        seed=seed,
        source_dropout=settings.source_dropout,
        history_sampling=settings.history_sampling,
        halves=find_halves(split, store.codec, settings.split) if settings.split else None,
        selection=None if settings.select is None else reader.selection(settings.select),
        emphasis=None if settings.emphasis is None else reader.emphasis(settings.emphasis),
        formality=None if settings.formality is None else reader.tags(settings.formality),
    )


@dataclass(frozen=True)
class _Reader:
    """Reads the annotations of a stage; a file that two settings name is read once."""

    settings: StageSettings
    store: Store
    split: Split
    _read: dict[str, list[Annotation]] = field(default_factory=dict)

    @cached_property
    def usable(self) -> Indices:
        return usable_sentences(self.split)

    def selection(self, file: str) -> Selection:
        """Return the selected sentences that are trained on; the best of several scores counts, and none is 1."""
        scores = dict[int, float]()
        for one in self._records(file, self.settings.select_phenomena):
            score = 1.0 if one.score is None else one.score
            if score < 0:
                message = f"select: the score of sentence {one.sentence:,} is {score:g}, expected 0 or more"
                raise ConfigError(message, path=find_annotations(file, self.store))
            scores[one.sentence - 1] = max(score, scores.get(one.sentence - 1, 0.0))
        chosen = np.intersect1d(self.usable, np.array([number for number, score in scores.items() if score], np.int64))
        share = self.settings.select_share or 0.0
        if not len(chosen):
            raise self._without_effect("select", file, "no sentence that is trained on")
        if len(chosen) == len(self.usable) and share < 1:
            raise self._without_effect("select", file, f"every sentence, so that {share:.0%} of a batch cannot hold")
        return Selection(share, chosen, np.array([scores[number] for number in chosen.tolist()]))

    def emphasis(self, file: str) -> Emphasis:
        """Return the emphasised tokens of the sentences that are trained on."""
        usable, found = set(self.usable.tolist()), dict[int, set[int]]()
        for one in self._records(file, self.settings.emphasis_phenomena):
            if one.tokens and one.sentence - 1 in usable:
                found.setdefault(one.sentence - 1, set()).update(one.tokens)
        if not found:
            raise self._without_effect("emphasis", file, "no target token of a sentence that is trained on")
        tokens = {number: np.array(sorted(positions)) for number, positions in found.items()}
        return Emphasis(self.settings.emphasis_weight or 1.0, tokens)

    def tags(self, file: str) -> Tags:
        """Return the tags of labelled sentences; one whose labels disagree has none."""
        marks, usable, found = self.store.codec.vocabulary.marks, set(self.usable.tolist()), dict[int, set[str]]()
        if missing := sorted(set(_FORMS.values()) - marks.keys()):
            message = f"formality: the prepared corpus has no mark {' and no mark '.join(missing)}: prepare it with"
            raise ConfigError(f'{message} preparation.marks = ["formal", "informal"]', path=self.store.path)
        for one in self._records(file, None):
            if one.phenomenon in (None, FORMALITY) and one.sentence - 1 in usable:
                found.setdefault(one.sentence - 1, set()).add(self._form(one, file))
        tags = {number: marks[forms.pop()] for number, forms in found.items() if len(forms) == 1}
        if not tags:
            raise self._without_effect("formality", file, "no sentence that is trained on")
        return Tags(self.settings.formality_share or 0.0, tags)

    def _form(self, one: Annotation, file: str) -> str:
        """Return the mark for a label."""
        if one.label not in _FORMS:
            found = "no label" if one.label is None else f"the label {one.label!r}"
            message = f"formality: sentence {one.sentence:,} has {found}, expected {', '.join(_FORMS)}"
            raise ConfigError(message, path=find_annotations(file, self.store))
        return _FORMS[one.label]

    def _records(self, file: str, phenomena: Sequence[str] | None) -> Iterator[Annotation]:
        """Yield the records of a file for sentences that the stage has, of these phenomena; None: of all."""
        path = find_annotations(file, self.store)
        if file not in self._read:
            self._read[file] = read_annotations(path, self.store)
        records = self._read[file]
        there = {one.phenomenon for one in records}
        if unknown := [name for name in phenomena or () if name not in there]:
            names = ", ".join(sorted(filter(None, there))) or "none"
            raise ConfigError(f"no annotation of the phenomenon {unknown[0]!r}; the file has: {names}", path=path)
        return (one for one in records if phenomena is None or one.phenomenon in phenomena)

    def _without_effect(self, setting: str, file: str, what: str) -> ConfigError:
        return ConfigError(f"{setting}: the file marks {what}", path=find_annotations(file, self.store))


def count_signals(signals: Signals, split: Split) -> dict[str, Numbers]:
    """Return the numbers of each signal of a stage, by setting."""
    usable = usable_sentences(split)
    counts: dict[str, Numbers] = {}
    if signals.source_dropout:
        counts["source_dropout"] = {"share": signals.source_dropout}
    if signals.history_sampling:
        counts["history_sampling"] = {}
    if signals.halves is not None:
        possible = int((signals.halves.source[usable] > 0).sum())
        counts["split"] = {"sentences": possible, "of": len(usable), "share": signals.halves.share}
    if signals.selection is not None:
        others = 0 if signals.selection.share == 1 else len(usable) - len(signals.selection.sentences)
        drawn, chosen = signals.selection.count(others), len(signals.selection.sentences)
        total = {"sentences": chosen, "of": len(usable), "drawn": drawn, "examples": drawn + others}
        counts["select"] = {**total, "share": drawn / (drawn + others), "times": drawn / chosen}
    if signals.emphasis is not None:
        tokens = sum(map(len, signals.emphasis.tokens.values()))
        sentences, of = len(signals.emphasis.tokens), int(split.target.lengths[usable].sum())
        counts["emphasis"] = {"tokens": tokens, "of": of, "sentences": sentences, "weight": signals.emphasis.weight}
    if signals.formality is not None:
        counts["formality"] = {"sentences": len(signals.formality.tags), "of": len(usable)}
        counts["formality"] = {**counts["formality"], "share": signals.formality.share}
    return counts


_WORDING = {
    "source_dropout": "{share:.0%} of the words of each source are hidden",
    "history_sampling": "each example has a random number of the sentences in view",
    "split": "{share:.0%} of {sentences:,} sentences (of {of:,}) are cut in halves, others in each epoch",
    "select": "{share:.1%} of each batch from {sentences:,} selected sentences of {of:,}; an epoch draws {drawn:,} "
    "of its {examples:,} examples from them, each {times:.1f} times",
    "emphasis": "{tokens:,} of {of:,} target tokens, in {sentences:,} sentences, weigh {weight:g} in the loss",
    "formality": "{share:.0%} of the sources of {sentences:,} labelled sentences (of {of:,}) get a tag",
}


def describe_signals(counts: Mapping[str, Numbers]) -> dict[str, str]:
    """Return a sentence about each signal of a stage, by setting."""
    return {name: _WORDING[name].format(**numbers) for name, numbers in counts.items()}
