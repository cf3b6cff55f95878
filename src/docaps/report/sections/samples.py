"""Sample documents: source, translations and reference side by side, with the words that differ marked."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from markupsafe import Markup

from docaps.report.templating import render
from docaps.runs.results import RunResults, SentenceLabel, TranslatedDocument
from docaps.runs.wording import describe_system, label_runs, name_seeds, sentence_case

_TOKEN = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")


class WordVerdict(StrEnum):
    """How a stretch of a translation compares with the others and with the reference."""

    SAME = "same"
    RIGHT = "right"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive words with one verdict; the stretches of a sentence joined are the sentence."""

    text: str
    verdict: WordVerdict


@dataclass(frozen=True, slots=True)
class ComparedSentence:
    """A source sentence, its translation by each run, and the reference."""

    number: int  # counted from 1
    source: str
    translations: tuple[tuple[Stretch, ...], ...]
    reference: str
    label: SentenceLabel | None

    @property
    def differs(self) -> bool:
        """Return whether any word is marked."""
        return any(stretch.verdict is not WordVerdict.SAME for words in self.translations for stretch in words)


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """A document as all runs translated it; `sentences` may be an excerpt."""

    id: str
    length: int
    differences: int
    sentences: tuple[ComparedSentence, ...]


def samples_section(every: Sequence[RunResults], *, detailed: int | None = None) -> Markup:
    """Show up to five documents, first those that the first `detailed` runs translate most differently."""
    results = every[:detailed]
    translated = [(index, run) for index, run in enumerate(results) if run.translations]
    return render(
        "samples.html",
        documents=choose_documents(results),
        translated=len(translated[0][1].translations) if translated else 0,
        runs=[_column(run, index, every, results) for index, run in translated],
        missing=[f"{run.name}/assessment/translations.jsonl" for run in results if not run.translations],
    )


def _column(run: RunResults, index: int, every: Sequence[RunResults], shown: Sequence[RunResults]) -> dict[str, Any]:
    """Name a run, with its seed where the page has several and the label does not contain it."""
    label, seed = label_runs(shown)[index], name_seeds(every, [run])
    name = label if label.endswith(seed) else f"{label}{seed}"
    return {"index": index, "label": label, "name": name, "system": sentence_case(describe_system(run.system))}


def compare_sentence(hypotheses: Sequence[str], reference: str) -> list[tuple[Stretch, ...]]:
    """Mark in each translation the words in which the translations differ: right where the reference agrees.

    The words of a single translation are compared with the reference, and marked wrong where they differ.
    """
    marked = []
    for index, hypothesis in enumerate(hypotheses):
        others = [*hypotheses[:index], *hypotheses[index + 1 :]] or [reference]
        agreed = _agreeing(hypothesis, reference)
        differing = set[int]().union(*(_differing(hypothesis, other) for other in others))
        marked.append(_stretches(hypothesis, differing, agreed))
    return marked


def choose_documents(
    results: Sequence[RunResults], *, documents: int = 5, sentences: int = 30
) -> list[ComparedDocument]:
    """Choose the documents that the first and the last run translate most differently; excerpt long ones."""
    shared = _shared_documents([run.translations for run in results if run.translations])
    ranked = sorted(shared, key=count_differences, reverse=True)[:documents]
    return [_compare_document(versions, sentences) for versions in ranked]


def count_differences(versions: Sequence[TranslatedDocument]) -> int:
    """Count the words in which the first and the last version (or one version and the reference) differ."""
    return sum(_differences_by_sentence(versions))


def _shared_documents(runs: Sequence[Sequence[TranslatedDocument]]) -> list[list[TranslatedDocument]]:
    """Return the documents that every run translated from the same source."""
    if not runs:
        return []
    tables = [{(document.id, document.source): document for document in run} for run in runs]
    return [[table[key] for table in tables] for key in tables[0] if all(key in table for table in tables)]


def _compare_document(versions: Sequence[TranslatedDocument], most: int) -> ComparedDocument:
    first = versions[0]
    differences = _differences_by_sentence(versions)
    start = _densest_window(differences, most)
    shown = range(start, min(start + most, len(first.source)))
    return ComparedDocument(
        id=first.id,
        length=len(first.source),
        differences=sum(differences),
        sentences=tuple(_compare_at(versions, index) for index in shown),
    )


def _compare_at(versions: Sequence[TranslatedDocument], index: int) -> ComparedSentence:
    first = versions[0]
    translations = compare_sentence([version.hypothesis[index] for version in versions], first.reference[index])
    label = first.labels.get(index)
    return ComparedSentence(index + 1, first.source[index], tuple(translations), first.reference[index], label)


def _differences_by_sentence(versions: Sequence[TranslatedDocument]) -> list[int]:
    one, other = versions[0].hypothesis, versions[-1].hypothesis
    if len(versions) == 1:
        other = versions[0].reference
    return [len(_differing(left, right)) + len(_differing(right, left)) for left, right in zip(one, other, strict=True)]


def _densest_window(counts: Sequence[int], size: int) -> int:
    starts = range(max(1, len(counts) - size + 1))
    return max(starts, key=lambda start: sum(counts[start : start + size]))


def _words(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _agreeing(text: str, other: str) -> set[int]:
    """Return the positions of words that also occur in `other`, in the same order."""
    # autojunk would ignore frequent words of long sentences, among them the articles and pronouns we look for.
    matcher = difflib.SequenceMatcher(None, _words(text), _words(other), autojunk=False)
    return {position for block in matcher.get_matching_blocks() for position in range(block.a, block.a + block.size)}


def _differing(text: str, other: str) -> set[int]:
    return set(range(len(_words(text)))) - _agreeing(text, other)


def _stretches(text: str, differing: set[int], agreed: set[int]) -> tuple[Stretch, ...]:
    """Split a sentence where the verdict changes; spaces inside a stretch belong to it."""
    stretches: list[Stretch] = []
    end = 0
    for position, match in enumerate(_TOKEN.finditer(text)):
        verdict = (
            WordVerdict.SAME
            if position not in differing
            else WordVerdict.RIGHT
            if position in agreed
            else WordVerdict.WRONG
        )
        space, end = text[end : match.start()], match.end()
        if stretches and stretches[-1].verdict is verdict:
            stretches[-1] = Stretch(stretches[-1].text + space + match.group(), verdict)
            continue
        if space:
            stretches.append(Stretch(space, WordVerdict.SAME))
        stretches.append(Stretch(match.group(), verdict))
    return (*stretches, Stretch(text[end:], WordVerdict.SAME)) if text[end:] else tuple(stretches)
