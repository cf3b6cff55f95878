"""Sample documents: source, translations and reference side by side, with the words that differ marked."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from markupsafe import Markup

from docaps.report.templating import render
from docaps.runs.results import RunResults, SentenceLabel, TranslatedDocument
from docaps.runs.wording import describe_system, label_runs, name_seeds, sentence_case

_TOKEN = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive words with one verdict; the stretches of a sentence joined are the sentence."""

    text: str
    verdict: Literal["same", "right", "wrong"]


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
        return any(stretch.verdict != "same" for words in self.translations for stretch in words)


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
        differing = set[int]().union(*(_differing(hypothesis, other) for other in others))
        marked.append(_stretches(hypothesis, differing, _differing(hypothesis, reference)))
    return marked


def choose_documents(
    results: Sequence[RunResults], *, documents: int = 5, sentences: int = 30
) -> list[ComparedDocument]:
    """Choose the documents that the first and the last run translate most differently; excerpt long ones."""
    tables = [{(one.id, one.source): one for one in run.translations} for run in results if run.translations]
    keys = [key for key in tables[0] if all(key in table for table in tables)] if tables else []
    shared = [[table[key] for table in tables] for key in keys]
    ranked = sorted(shared, key=lambda versions: sum(_count_differences(versions)), reverse=True)[:documents]
    return [_compare_document(versions, sentences) for versions in ranked]


def _count_differences(versions: Sequence[TranslatedDocument]) -> list[int]:
    """Count in each sentence the words in which the first version differs from the last, or else the reference."""
    other = versions[-1].hypothesis if len(versions) > 1 else versions[0].reference
    pairs = zip(versions[0].hypothesis, other, strict=True)
    return [len(_differing(left, right)) + len(_differing(right, left)) for left, right in pairs]


def _compare_document(versions: Sequence[TranslatedDocument], most: int) -> ComparedDocument:
    """Compare the versions of a document; of a long one, in the window of sentences with most differences."""
    first, length = versions[0], len(versions[0].source)
    differences = _count_differences(versions)
    start = max(range(max(1, length - most + 1)), key=lambda start: sum(differences[start : start + most]))
    shown = range(start, min(start + most, length))
    return ComparedDocument(first.id, length, sum(differences), tuple(_compare_at(versions, index) for index in shown))


def _compare_at(versions: Sequence[TranslatedDocument], index: int) -> ComparedSentence:
    first = versions[0]
    translations = compare_sentence([version.hypothesis[index] for version in versions], first.reference[index])
    label = first.labels.get(index)
    return ComparedSentence(index + 1, first.source[index], tuple(translations), first.reference[index], label)


def _differing(text: str, other: str) -> set[int]:
    """Return the positions of words that do not occur in `other`, in the same order."""
    words = _TOKEN.findall(text)
    # autojunk would ignore frequent words of long sentences, among them the articles and pronouns we look for.
    blocks = difflib.SequenceMatcher(None, words, _TOKEN.findall(other), autojunk=False).get_matching_blocks()
    return set(range(len(words))).difference(*(range(block.a, block.a + block.size) for block in blocks))


def _stretches(text: str, differing: set[int], wrong: set[int]) -> tuple[Stretch, ...]:
    """Split a sentence where the verdict changes; spaces inside a stretch belong to it."""
    words = list(_TOKEN.finditer(text))
    verdicts = [
        "same" if place not in differing else "wrong" if place in wrong else "right" for place in range(len(words))
    ]
    stretches, end = [], 0
    for verdict, group in groupby(zip(words, verdicts, strict=True), key=lambda pair: pair[1]):
        found = [word for word, _ in group]
        start, stop = found[0].start(), found[-1].end()
        stretches += [Stretch(text[end:start], "same"), Stretch(text[start:stop], verdict)]
        end = stop
    return tuple(stretch for stretch in (*stretches, Stretch(text[end:], "same")) if stretch.text)
