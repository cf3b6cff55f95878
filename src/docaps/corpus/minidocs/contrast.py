"""Contrastive items in minimal sets: the same words but for the antecedent, so that only context can tell."""

from collections.abc import Callable, Iterator
from functools import partial
from math import ceil
from random import Random

from docaps.corpus.contrastive import ContrastiveItem
from docaps.corpus.minidocs.cast import draw_cast
from docaps.corpus.minidocs.documents import MiniDocument
from docaps.corpus.minidocs.lexicon import load_lexicon
from docaps.corpus.minidocs.phenomena import PHENOMENA, Phenomenon
from docaps.corpus.minidocs.planning import DISTANCES, plan_last_span
from docaps.corpus.minidocs.story import StoryBuilder
from docaps.errors import CorpusError

WINDOW = 3
_ATTEMPTS = 1000
Run = tuple[str, ...]


def collect_windows(documents: tuple[MiniDocument, ...]) -> set[Run]:
    """Gather every run of three source sentences."""
    return {
        document.source[start : start + WINDOW]
        for document in documents
        for start in range(len(document.source) - WINDOW + 1)
    }


def make_items(
    rng: Random, count: int, seen: set[Run], phenomena: tuple[Phenomenon, ...] = PHENOMENA
) -> Iterator[ContrastiveItem]:
    """Make at least `count` items for each phenomenon, with every form at every distance equally often."""
    used: set[Run] = set()
    for phenomenon in phenomena:
        round_size = len(DISTANCES) * sum(len(tags) for _, tags in phenomenon.contrasts)
        number = 0
        for _ in range(ceil(count / round_size)):
            for form, tags in phenomenon.contrasts:
                for distance in DISTANCES:
                    number += 1
                    draw = partial(_draw_set, rng, phenomena, phenomenon, form, tags, distance)
                    yield from _make_new_set(draw, f"{phenomenon.name}-{number:04}", seen, used)


def _make_new_set(
    draw: Callable[[str], list[ContrastiveItem]], name: str, seen: set[Run], used: set[Run]
) -> list[ContrastiveItem]:
    """Draw sets until one has histories that are neither in training nor in an earlier set."""
    for _ in range(_ATTEMPTS):
        items = draw(name)
        whole = {(*item.history, item.source) for item in items}
        if whole & used or any(item.history[-WINDOW:] in seen for item in items):
            continue
        used |= whole
        return items
    raise CorpusError(f"no new items for {name} after {_ATTEMPTS} attempts; ask for fewer items or documents")


def _draw_set(
    rng: Random,
    phenomena: tuple[Phenomenon, ...],
    phenomenon: Phenomenon,
    form: str,
    tags: tuple[str, ...],
    distance: int,
    name: str,
) -> list[ContrastiveItem]:
    """Tell one story up to its last sentence, once for each variant of that sentence's event."""
    builder = StoryBuilder(rng, draw_cast(rng, load_lexicon()), phenomena)
    spans, length = plan_last_span(rng, distance)
    events = builder.draw_events(spans, phenomenon)
    last = builder.draw_event(phenomenon, form=form)
    story = builder.build(length, [*events, (spans[-1], last)])
    return [_cut_item(story.tell({length - 1: last.select(tag)}), name, tag) for tag in tags]


def _cut_item(document: MiniDocument, name: str, tag: str) -> ContrastiveItem:
    """Make an item of a document's last sentence; the variants of one story count as one document."""
    label = document.labels[len(document.source) - 1]
    return ContrastiveItem(
        id=f"{name}-{tag}",
        document=name,
        phenomenon=label.phenomenon,
        form=label.form,
        distance=label.distance,
        history=document.source[:-1],
        target_history=document.target[:-1],
        source=document.source[-1],
        right=document.target[-1],
        wrong=label.wrong,
    )
