"""What mining learns from a corpus before it searches: the gender of nouns, and words with two translations."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from docaps import progress
from docaps.corpus.contrastive.contrastive_set import PRONOUN
from docaps.corpus.mining.ellipsis import ELLIPSIS, find_ellipses
from docaps.corpus.mining.formality import FORMALITY, find_formality, label_document
from docaps.corpus.mining.genders import Genders, count_articles
from docaps.corpus.mining.pronouns import find_pronouns
from docaps.corpus.mining.repetition import COUNTED, REPETITION, WordCounts, count_words, find_options, find_repetitions
from docaps.corpus.mining.rule_tables import Rules
from docaps.corpus.mining.sentences import Finding, pairs_of
from docaps.corpus.processes import WorkerPool
from docaps.errors import ConfigError

PHENOMENA = (PRONOUN, FORMALITY, ELLIPSIS, REPETITION)
Sides = tuple[Sequence[str], Sequence[str]]
"""The sentences of a document, and their translations."""
CHUNK = 4000
"""Sentences of a task for one process."""


@dataclass(slots=True)
class Knowledge:
    """The rules of a language pair, and what a corpus tells about its words."""

    rules: Rules
    genders: Genders
    options: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched: phenomena, and how many sentences back the deciding one may be."""

    phenomena: tuple[str, ...]
    reach: int


@dataclass(frozen=True, slots=True)
class DocumentFindings:
    """What was found in one document, and the form of address that each of its sentences uses."""

    findings: tuple[Finding, ...]
    addresses: tuple[str | None, ...] = ()


def choose_phenomena(names: str | None, rules: Rules) -> tuple[str, ...]:
    """Return the phenomena named, or all that have rules; refuse one without."""
    known = [name for name in PHENOMENA if getattr(rules, name) is not None]
    wanted = [one.strip() for one in names.split(",")] if names else known
    for name in wanted:
        if name not in known:
            raise ConfigError(f"no rules for the phenomenon {name!r}: there are {', '.join(known)}")
    return tuple(name for name in known if name in wanted)


def learn(documents: Iterable[Sides], rules: Rules, pool: WorkerPool, total: int | None = None) -> Knowledge:
    """Learn from a corpus what the rules need."""
    genders, words, counted = Genders(rules.nouns), WordCounts(), 0
    with progress.start("learn genders and translations", total) as task:
        for chunk, (articles, counts) in pool.map(partial(_count, rules), _with_limit(documents)):
            genders.add(articles)
            words.add(counts)
            counted += chunk
            task.advance(chunk)
    genders.settle()
    options = find_options(words, genders) if rules.repetition else {}
    return Knowledge(rules, genders, options)


def _with_limit(documents: Iterable[Sides]) -> Iterator[tuple[list[Sides], bool]]:
    """Yield chunks of documents, and whether their words are counted: as long as there were few."""
    counted = 0
    for chunk in chunks(documents):
        yield chunk, counted < COUNTED
        counted += sum(len(source) for source, _ in chunk)


def _count(rules: Rules, task: tuple[list[Sides], bool]) -> tuple[int, tuple[dict[str, Counter[str]], WordCounts]]:
    """Count the articles of some documents and, if wanted, their words."""
    documents, with_words = task
    pairs = [pair for sides in documents for pair in pairs_of(*sides)]
    counts = count_words(pairs, rules.repetition) if with_words and rules.repetition else WordCounts()
    return len(pairs), (count_articles((pair.target for pair in pairs), rules.nouns), counts)


def chunks(documents: Iterable[Sides]) -> Iterator[list[Sides]]:
    """Yield lists of documents of about as many sentences."""
    chunk, size = list[Sides](), 0
    for document in documents:
        chunk.append(document)
        size += len(document[0])
        if size >= CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def search(
    documents: Iterable[Sides],
    knowledge: Knowledge,
    wanted: Search,
    pool: WorkerPool,
    what: str,
    total: int | None = None,
) -> Iterator[DocumentFindings]:
    """Yield what is found in each document, in order."""
    with progress.start(f"search {what}", total) as task:
        for count, found in pool.map(partial(_search, knowledge, wanted), chunks(documents)):
            yield from found
            task.advance(count)


def _search(knowledge: Knowledge, wanted: Search, documents: Sequence[Sides]) -> tuple[int, list[DocumentFindings]]:
    """Search some documents."""
    return sum(len(source) for source, _ in documents), [search_document(one, knowledge, wanted) for one in documents]


def search_document(document: Sides, knowledge: Knowledge, wanted: Search) -> DocumentFindings:
    """Return what is found in one document, in order of its sentences."""
    pairs, rules, found = pairs_of(*document), knowledge.rules, list[Finding]()
    addresses: tuple[str | None, ...] = ()
    if PRONOUN in wanted.phenomena and rules.pronoun:
        found += find_pronouns(pairs, rules.pronoun, knowledge.genders, wanted.reach)
    if FORMALITY in wanted.phenomena and rules.formality:
        addresses = tuple(label_document(pairs, rules.formality))
        found += find_formality(pairs, rules.formality, wanted.reach)
    if ELLIPSIS in wanted.phenomena and rules.ellipsis:
        found += find_ellipses(pairs, rules.ellipsis, wanted.reach)
    if REPETITION in wanted.phenomena:
        found += find_repetitions(pairs, knowledge.options, wanted.reach)
    return DocumentFindings(tuple(sorted(found, key=lambda one: one.sentence)), addresses)
