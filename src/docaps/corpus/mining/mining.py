"""Mining: learn from a corpus, search it, and return contrastive items and annotations.

1. learn: genders and translations, from the training part or the documents themselves
2. search: the rules, document by document (several processes)
3. items of some parts, balanced by answer; annotations of the training part or of the documents
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain

from docaps import progress
from docaps.corpus.annotations import Annotation, AnnotationHeader
from docaps.corpus.contrastive import ContrastiveItem
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.mining.formality import FORMALITY
from docaps.corpus.mining.items import MinedItem, Writer, balance, make_items, sort_items
from docaps.corpus.mining.knowledge import DocumentFindings, Knowledge, Search, Sides, choose_phenomena, learn, search
from docaps.corpus.mining.rule_tables import load_rules
from docaps.corpus.mining.sentences import Finding, Words
from docaps.corpus.mining.token_texts import TokenDocuments, write_text
from docaps.corpus.processes import WorkerPool, available_workers
from docaps.corpus.store import Split, Store
from docaps.corpus.text.codec import Codec
from docaps.errors import CorpusError

TRAIN = "train"


@dataclass(frozen=True, slots=True)
class MiningOptions:
    """What is searched, and which items are kept."""

    phenomena: str | None = None
    """Names separated by commas; None: all that have rules."""
    history: int = 3
    """How many sentences back the deciding one may be; items have as many."""
    leave_out: frozenset[str] = frozenset()
    """Source words whose two translations are two meanings."""
    balanced: bool = True
    annotate: str = TRAIN
    """The part of a prepared corpus that is annotated."""
    seed: int = 1
    workers: int = field(default_factory=available_workers)


@dataclass(frozen=True, slots=True)
class Mined:
    """What was found: contrastive items, how many there were before balancing, and annotations."""

    items: list[ContrastiveItem]
    found: int
    header: AnnotationHeader
    annotations: list[Annotation]
    options: dict[str, dict[str, str]]
    """Source words with the two translations that were compared."""


@dataclass(slots=True)
class _Result:
    """What has been found so far."""

    items: list[MinedItem] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)


def mine_store(store: Store, options: MiningOptions, parts: Sequence[str] = ()) -> Mined:
    """Mine a prepared corpus: items of the named parts (default: dev and test), annotations of one part."""
    settings = store.manifest["settings"]
    rules = load_rules(settings["source_language"], settings["target_language"])
    wanted = Search(choose_phenomena(options.phenomena, rules), options.history)
    _is_there(store, options.annotate, required=True)
    named = [name for name in parts or ("dev", "test") if _is_there(store, name, required=bool(parts))]
    tokens, result = TokenDocuments(store.codec, store.split(TRAIN)), _Result()
    with WorkerPool(options.workers) as pool:
        train = _read_train(tokens)
        count = sum(len(source) for source, _ in train)
        knowledge = _without(learn(train, rules, pool, count), options)
        found = list(search(train, knowledge, wanted, pool, TRAIN, count))
        if options.annotate == TRAIN:
            result.annotations += _annotate(_with_starts(train, found), tokens)
        else:
            marked = TokenDocuments(store.codec, store.split(options.annotate))
            result.annotations += _annotate_part(marked, knowledge, wanted, pool, options.annotate)
        for name in named:
            if name == TRAIN:
                write = (_writer(store, target=False), _writer(store, target=True))
                result.items += make_items(_named(train, name), found, history=options.history, write=write)
            else:
                documents = [(one.source, one.target) for one in store.raw(name)]
                result.items += _search_items(documents, name, knowledge, wanted, pool)
    return _finish(result, knowledge, AnnotationHeader(corpus=store.hash, part=options.annotate), options)


def mine_documents(
    documents: Sequence[ParallelDocument],
    languages: tuple[str, str],
    options: MiningOptions,
    train: Iterable[ParallelDocument] | None = None,
) -> Mined:
    """Mine documents: items and annotations of all; genders and translations are learnt from `train`, if given."""
    rules = load_rules(*languages)
    wanted = Search(choose_phenomena(options.phenomena, rules), options.history)
    sides, result = [(one.source, one.target) for one in documents], _Result()
    learnt = sides if train is None else ((one.source, one.target) for one in train)
    with WorkerPool(options.workers) as pool:
        knowledge = _without(learn(learnt, rules, pool), options)
        found = list(search(sides, knowledge, wanted, pool, "documents", sum(len(one) for one, _ in sides)))
    names = [one.id or str(number) for number, one in enumerate(documents, start=1)]
    result.items += make_items(zip(names, sides, strict=True), found, history=options.history)
    result.annotations += _annotate(_with_starts(sides, found))
    return _finish(result, knowledge, AnnotationHeader(), options)


def annotate_split(codec: Codec, split: Split, history: int) -> list[Annotation]:
    """Annotate encoded documents by the rules; genders and translations are learnt from them, too."""
    rules, tokens = load_rules(codec.source.code, codec.target.code), TokenDocuments(codec, split)
    wanted = Search(choose_phenomena(None, rules), history)
    with WorkerPool(available_workers()) as pool:
        documents = [tokens.document(number) for number in range(len(tokens))]
        knowledge = learn(documents, rules, pool, len(split))
        return _annotate_part(tokens, knowledge, wanted, pool, "documents")


def _annotate_part(
    tokens: TokenDocuments, knowledge: Knowledge, wanted: Search, pool: WorkerPool, name: str
) -> list[Annotation]:
    """Search encoded documents, and return the annotations of what is found."""
    documents = [tokens.document(number) for number in range(len(tokens))]
    found = search(documents, knowledge, wanted, pool, name, len(tokens.split))
    return list(_annotate(_with_starts(documents, list(found)), tokens))


def _without(knowledge: Knowledge, options: MiningOptions) -> Knowledge:
    """Forget the translations of the words that are left out."""
    kept = {word: pair for word, pair in knowledge.options.items() if word not in options.leave_out}
    return replace(knowledge, options=kept)


def _is_there(store: Store, name: str, *, required: bool) -> bool:
    """Return whether the corpus has a part; refuse a missing one that was named."""
    if required and not store.has(name):
        raise CorpusError(f"the prepared corpus has no {name} part", path=store.path)
    return store.has(name)


def _read_train(tokens: TokenDocuments) -> list[Sides]:
    """Return the text of the training part."""
    numbers = range(len(tokens))
    return [tokens.document(number) for number in progress.track(numbers, "read the training part", len(numbers))]


def _writer(store: Store, *, target: bool) -> Writer:
    """Return a function that writes the text of token ids for people."""
    codec = store.codec
    return lambda text: write_text(codec, text, target=target)


def _named(documents: Sequence[Sides], part: str) -> Iterable[tuple[str, Sides]]:
    """Name documents by their part and number."""
    return ((f"{part}-{number}", sides) for number, sides in enumerate(documents, start=1))


def _search_items(
    documents: Sequence[Sides], part: str, knowledge: Knowledge, wanted: Search, pool: WorkerPool
) -> Iterable[MinedItem]:
    """Return the items of a part."""
    count = sum(len(source) for source, _ in documents)
    found = search(documents, knowledge, wanted, pool, part, count)
    return make_items(_named(documents, part), found, history=wanted.reach)


def _with_starts(
    documents: Sequence[Sides], found: Sequence[DocumentFindings]
) -> Iterable[tuple[int, DocumentFindings]]:
    """Pair the findings of each document with the number of sentences before it."""
    starts = chain([0], accumulate(len(source) for source, _ in documents))
    return zip(starts, found, strict=False)


def _annotate(
    found: Iterable[tuple[int, DocumentFindings]], tokens: TokenDocuments | None = None
) -> Iterator[Annotation]:
    """Yield the annotations of documents, each given with its number of sentences before, in the order of sentences.

    Every sentence that addresses somebody is labelled with its form; without token ids, no positions are given.
    """
    for start, document in found:
        decided = {one.sentence for one in document.findings if one.phenomenon == FORMALITY}
        marks = [_of_finding(start, one, tokens) for one in (*document.findings, *document.likely)]
        marks += [
            Annotation(sentence=start + number + 1, phenomenon=FORMALITY, label=label)
            for number, label in enumerate(document.addresses)
            if label is not None and number not in decided
        ]
        yield from sorted(marks, key=lambda one: one.sentence)


def _of_finding(start: int, found: Finding, tokens: TokenDocuments | None) -> Annotation:
    """Return the annotation of a finding, with its tokens if they are known."""
    number = start + found.sentence
    positions: tuple[int, ...] = ()
    if tokens is not None:
        text = tokens.sentence(number, target=True)
        positions = text.tokens_of(Words(text.text), found.places)
    return Annotation(
        sentence=number + 1,
        phenomenon=found.phenomenon,
        label=found.label,
        distance=found.distance or None,
        tokens=positions,
    )


def _finish(result: _Result, knowledge: Knowledge, header: AnnotationHeader, options: MiningOptions) -> Mined:
    """Balance the items."""
    items = balance(result.items, options.seed) if options.balanced else sort_items(one.item for one in result.items)
    return Mined(items, len(result.items), header, result.annotations, knowledge.options)
