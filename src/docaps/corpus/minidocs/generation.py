"""Generation: documents from a seed, and corpora whose parts share no document."""

from random import Random

from docaps.corpus.minidocs.cast import draw_cast
from docaps.corpus.minidocs.contrast import collect_windows, make_items
from docaps.corpus.minidocs.documents import MiniCorpus, MiniDocument
from docaps.corpus.minidocs.lexicon import load_lexicon
from docaps.corpus.minidocs.phenomena import PHENOMENA, Phenomenon
from docaps.corpus.minidocs.planning import plan_spans
from docaps.corpus.minidocs.story import StoryBuilder


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
    """Generate a training corpus, and what to evaluate on: none of it can be learnt by heart from training."""
    rng, seen = Random(f"corpus {seed}"), set[tuple[str, ...]]()
    counts = (documents, dev, test)
    train, dev_part, test_part = (tuple(draw_documents(rng, count, seen, phenomena)) for count in counts)
    contrastive = make_items(Random(f"items {seed}"), items, collect_windows(train), phenomena)
    return MiniCorpus(train, dev_part, test_part, tuple(contrastive))


def draw_documents(
    rng: Random, count: int, seen: set[tuple[str, ...]], phenomena: tuple[Phenomenon, ...] = PHENOMENA
) -> list[MiniDocument]:
    """Draw documents whose source text is not in `seen`, and add them to it."""
    documents: list[MiniDocument] = []
    while len(documents) < count:
        document = _draw_document(rng, phenomena)
        if document.source not in seen:
            seen.add(document.source)
            documents.append(document)
    return documents


def _draw_document(rng: Random, phenomena: tuple[Phenomenon, ...]) -> MiniDocument:
    """Draw a story with one to three events, all phenomena about equally often."""
    spans, length = plan_spans(rng)
    builder = StoryBuilder(rng, draw_cast(rng, load_lexicon()), phenomena)
    return builder.build(length, builder.draw_events(spans)).tell()
