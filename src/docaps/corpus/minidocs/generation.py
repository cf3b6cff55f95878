"""Generation: documents from a seed, corpora whose parts share no document, contrastive items, and their files.

Contrastive items come in minimal sets: the same words except for the antecedent, so that only context can decide.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

from docaps.corpus.contrastive import ContrastiveItem, write_items
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.formats import write_parallel
from docaps.corpus.minidocs.lexicon import load_lexicon
from docaps.corpus.minidocs.phenomena import PHENOMENA, Phenomenon
from docaps.corpus.minidocs.rendering import draw_cast
from docaps.corpus.minidocs.story import DISTANCES, MiniDocument, StoryBuilder, plan_last_span, plan_spans
from docaps.errors import CorpusError
from docaps.files import replacing_directory

FILES = (*(f"{part}.{code}" for part in ("train", "dev", "test") for code in ("en", "de")), "contrastive.jsonl")
"""The files of a corpus."""
WINDOW = 3
_ATTEMPTS = 1000
Sentences = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MiniCorpus:
    """Training, development and test documents, and contrastive items from yet other documents."""

    train: tuple[MiniDocument, ...]
    dev: tuple[MiniDocument, ...]
    test: tuple[MiniDocument, ...]
    contrastive: tuple[ContrastiveItem, ...]

    @property
    def parts(self) -> dict[str, tuple[MiniDocument, ...]]:
        """The documents of each part."""
        return {"train": self.train, "dev": self.dev, "test": self.test}


def generate_documents(count: int, seed: int, phenomena: tuple[Phenomenon, ...] = PHENOMENA) -> list[MiniDocument]:
    """Generate documents, no two of them the same."""
    return draw_documents(Random(f"documents {seed}"), count, set(), phenomena)


def generate_corpus(
    *,
    documents: int,
    seed: int,
    dev: int = 100,
    test: int = 200,
    items: int = 1200,
    phenomena: tuple[Phenomenon, ...] = PHENOMENA,
) -> MiniCorpus:
    """Generate a training corpus and evaluation data, none of which can be memorised from training."""
    rng, seen = Random(f"corpus {seed}"), set[Sentences]()
    counts = (documents, dev, test)
    train, dev_part, test_part = (tuple(draw_documents(rng, count, seen, phenomena)) for count in counts)
    sources = [document.source for document in train]
    windows = {source[start : start + WINDOW] for source in sources for start in range(len(source) - WINDOW + 1)}
    contrastive = make_items(Random(f"items {seed}"), items, windows, phenomena)
    return MiniCorpus(train, dev_part, test_part, tuple(contrastive))


def draw_documents(
    rng: Random, count: int, seen: set[Sentences], phenomena: tuple[Phenomenon, ...] = PHENOMENA
) -> list[MiniDocument]:
    """Draw stories with one to three events whose source text is not in `seen`, and add them to it."""
    documents: list[MiniDocument] = []
    while len(documents) < count:
        spans, length = plan_spans(rng)
        builder = StoryBuilder(rng, draw_cast(rng, load_lexicon()), phenomena)
        document = builder.build(length, builder.draw_events(spans)).write()
        if document.source not in seen:
            seen.add(document.source)
            documents.append(document)
    return documents


def make_items(
    rng: Random, count: int, seen: set[Sentences], phenomena: tuple[Phenomenon, ...] = PHENOMENA
) -> Iterator[ContrastiveItem]:
    """Make at least `count` items for each phenomenon, with every form at every distance equally often."""
    used: set[Sentences] = set()
    for phenomenon in phenomena:
        rounds = ceil(count / (len(DISTANCES) * sum(len(tags) for _, tags in phenomenon.contrasts)))
        sets = product(range(rounds), phenomenon.contrasts, DISTANCES)
        for number, (_, contrast, distance) in enumerate(sets, start=1):
            name = f"{phenomenon.name}-{number:04}"
            draw = partial(_draw_set, rng, phenomena, phenomenon, contrast, distance, name)
            yield from _find_new_set(draw, name, seen, used)


def _find_new_set(
    draw: Callable[[], list[ContrastiveItem]], name: str, seen: set[Sentences], used: set[Sentences]
) -> list[ContrastiveItem]:
    """Draw sets until one has histories that are neither in training nor in an earlier set."""
    for _ in range(_ATTEMPTS):
        items = draw()
        whole = {(*item.history, item.source) for item in items}
        if not whole & used and not any(item.history[-WINDOW:] in seen for item in items):
            used |= whole
            return items
    raise CorpusError(f"no new items for {name} after {_ATTEMPTS} attempts; ask for fewer items or documents")


def _draw_set(
    rng: Random,
    phenomena: tuple[Phenomenon, ...],
    phenomenon: Phenomenon,
    contrast: tuple[str, tuple[str, ...]],
    distance: int,
    name: str,
) -> list[ContrastiveItem]:
    """Draw a story, and write it once for each variant of the event in its last sentence."""
    builder = StoryBuilder(rng, draw_cast(rng, load_lexicon()), phenomena)
    spans, length = plan_last_span(rng, distance)
    events = builder.draw_events(spans, phenomenon)
    form, tags = contrast
    last = phenomenon.draw(rng, builder.cast, builder.topics, form=form)
    story = builder.build(length, [*events, (spans[-1], last)])
    return [_make_item(story.write(last.select(tag)), name, tag) for tag in tags]


def _make_item(document: MiniDocument, name: str, tag: str) -> ContrastiveItem:
    """Return the item of a document's last sentence; the variants of one story count as one document."""
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


def as_text(number: int, document: MiniDocument) -> str:
    """Format a document for people: source, translation, and what a sentence needs."""
    lines = [f"Document {number}"]
    for position, (source, target) in enumerate(zip(document.source, document.target, strict=True)):
        label = document.labels.get(position)
        need = f"   [{label.phenomenon}, needs the sentence {label.distance} before]" if label else ""
        lines += [f"  {source}", f"  {target}{need}", ""]
    return "\n".join(lines).rstrip()


def labels_as_json(document: MiniDocument) -> dict[int, dict[str, Any]]:
    """Return phenomenon, form and distance of each labelled sentence by its number."""
    return {
        position: {"phenomenon": label.phenomenon, "form": label.form, "distance": label.distance}
        for position, label in document.labels.items()
    }


def write_corpus(
    out: Path, *, documents: int, seed: int, phenomena: tuple[Phenomenon, ...] = PHENOMENA, overwrite: bool = False
) -> dict[str, int]:
    """Write a corpus: training, development and test documents, and contrastive items; return the counts."""
    empty = out.is_dir() and not any(out.iterdir())
    if out.exists() and not empty and not (out / "contrastive.jsonl").exists():  # not even with --overwrite
        raise CorpusError("exists and is not a corpus of mini-documents: choose another --out", path=out)
    if out.exists() and not overwrite:
        raise CorpusError("exists already: give --overwrite to replace it", path=out)
    corpus = generate_corpus(documents=documents, seed=seed, phenomena=phenomena)
    with replacing_directory(out, own=FILES, error=CorpusError) as directory:
        write_files(directory, corpus)
    counts = {f"{name} documents": len(part) for name, part in corpus.parts.items()}
    return counts | {"contrastive items": len(corpus.contrastive)}


def write_files(directory: Path, corpus: MiniCorpus) -> None:
    """Write the files of a corpus into a directory."""
    for name, part in corpus.parts.items():
        pairs = [ParallelDocument(document.source, document.target) for document in part]
        write_parallel(directory / f"{name}.en", directory / f"{name}.de", pairs)
    write_items(directory / "contrastive.jsonl", corpus.contrastive)
