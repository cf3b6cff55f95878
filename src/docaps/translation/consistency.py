"""Consistency: the terms that a document repeats, how each is translated, and a second search that makes them alike.

A term is a run of at most four words that are names (with a capital inside a sentence) or rare in the training text.
Its translation is what the model's attention aligns with it, without short words around. Translations are alike if the
words of the shorter one are in the longer one with the same beginnings: inflected forms are no difference. What is
aligned with nothing clear is left out.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import regex

from docaps import progress
from docaps.corpus.documents import Document
from docaps.corpus.formats.format import Alignment
from docaps.corpus.text.known_words import KnownWords
from docaps.translation.glossary import Glossary, Hit, Term, Word, split_text
from docaps.translation.ordering import EncodedDocument, SearchedSentence
from docaps.translation.segments import SegmentedSentence
from docaps.translation.translator import InputWarnings, Session, TranslationOptions, Translator

ConsistencyMode = Literal["report", "enforce"]
MOST_WORDS = 4
RARE_SHARE = 1 / 20_000
"""A word that is less of the training text's running words than this is rare."""
SHORT = 3
"""Words of so many letters, in lower case, at either end of a translation are articles and the like."""
ALIKE = 0.6
"""The share of the longer word that two words must begin with alike."""
LONGEST_REPORT = 20
"""Terms of a document that are reported one by one."""
_MARKS = regex.compile(r"\p{M}")


@dataclass(slots=True)
class Usage:
    """How a document translates a term: groups of like translations with the sentences that have them, in order."""

    term: str
    groups: list[list[tuple[str, int]]] = field(default_factory=list)

    def add(self, translation: str, sentence: int) -> None:
        """Add an occurrence."""
        like = next((group for group in self.groups if are_alike(group[0][0], translation)), None)
        if like is None:
            self.groups.append([(translation, sentence)])
        else:
            like.append((translation, sentence))

    @property
    def usual(self) -> list[tuple[str, int]]:
        """The most frequent translations; of equally frequent ones the first."""
        return max(self.groups, key=len)

    @property
    def forms(self) -> tuple[str, ...]:
        """The usual translations, those with the fewest words: others may have a word too many."""
        fewest = min(len(text.split()) for text, _ in self.usual)
        return tuple(dict.fromkeys(text for text, _ in self.usual if len(text.split()) == fewest))

    def deviating(self) -> list[int]:
        """List the sentences with other translations than the usual one."""
        return sorted({sentence for group in self.groups if group is not self.usual for _, sentence in group})

    def __str__(self) -> str:
        groups = (
            f"{group[0][0]} ({', '.join(str(number + 1) for number in sorted({one for _, one in group}))})"
            for group in sorted(self.groups, key=len, reverse=True)
        )
        return f"{self.term}: {', '.join(groups)}"


def find_repeated(sentences: Sequence[str], known: KnownWords | None) -> Glossary:
    """Return the terms that a document repeats, in any case, without translations."""
    total = sum(known.counts.values()) if known is not None else 0
    counts: Counter[str] = Counter()
    for sentence in sentences:
        for run in _runs(sentence, known, total * RARE_SHARE):
            words = [word.lower() for word in run]
            ranges = ((start, end) for start in range(len(words)) for end in range(start + 1, start + MOST_WORDS + 1))
            counts.update(" ".join(words[start:end]) for start, end in ranges if end <= len(words))
    return Glossary(Term((form,), ()) for form, count in counts.items() if count > 1)


def _runs(sentence: str, known: KnownWords | None, limit: float) -> Iterator[list[Word]]:
    """Yield the runs of neighbouring names and rare words of a sentence."""
    run: list[Word] = []
    for place, word in enumerate(split_text(sentence)):
        counts = len(word) >= SHORT and word.isalpha() and _is_term_word(word, place, known, limit)
        if run and not (counts and sentence[run[-1].end : word.start].isspace()):
            yield run
            run = []
        if counts:
            run.append(word)
    if run:
        yield run


def _is_term_word(word: str, place: int, known: KnownWords | None, limit: float) -> bool:
    """Return whether a word is a name, inside a sentence, or rare."""
    rare = known is not None and known.counts.get(word.lower(), 0) < limit
    return rare or (place > 0 and word[0].isupper())


def are_alike(one: str, other: str) -> bool:
    """Return whether the longer of two translations has the words of the shorter one, but for endings and umlauts."""
    texts = (_MARKS.sub("", unicodedata.normalize("NFD", text.casefold())).split() for text in (one, other))
    fewer, more = sorted(texts, key=len)
    return all(any(_begin_alike(word, each) for each in more) for word in fewer)


def _begin_alike(one: str, other: str) -> bool:
    shared = next((place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    length = min(len(one), len(other)) if shared is None else shared
    return one == other or (length >= SHORT and length >= ALIKE * max(len(one), len(other)))


def aligned_text(hit: Hit, alignment: Alignment, translation: str) -> str | None:
    """Return the words of a translation that are aligned with a term, without short words around; None if unclear."""
    spans = [theirs for ours, theirs in alignment if hit.start <= ours[0] and ours[1] <= hit.end]
    if not spans:
        return None
    start, end = min(one[0] for one in spans), max(one[1] for one in spans)
    inside = [theirs for _, theirs in alignment if start <= theirs[0] and theirs[1] <= end]
    words = [] if len(inside) > len(spans) else translation[start:end].split()
    if start == 0 and _is_short(words[0].lower() if words else ""):  # its capital is that of the sentence
        words = words[1:]
    while words and _is_short(words[0]):
        words.pop(0)
    while words and _is_short(words[-1]):
        words.pop()
    text = " ".join(words).strip(".,;:!?\"'„“”»«()")
    return text or None


def _is_short(word: str) -> bool:
    return len(word) <= SHORT and word.islower()


class ConsistentTranslator(Translator):
    """A translator that reports, document by document, what it translates in different ways, or makes it alike."""

    whole = True

    def __init__(self, trained: Any, *, mode: ConsistencyMode, report: Callable[[str], None], **settings: Any) -> None:
        super().__init__(trained, **settings)
        self.mode, self.report, self.known_words = mode, report, trained.codec.known_words

    def open(self, options: TranslationOptions, task: progress.Task, warnings: InputWarnings) -> "ConsistentSession":
        """Return a session that looks at whole documents."""
        return ConsistentSession(self, options, task, warnings)


class ConsistentSession(Session):
    """Translates windows of whole documents, and those sentences again that translate a term unlike the others."""

    _translator: ConsistentTranslator

    def _settle(self, documents: Sequence[Document], found: list[SearchedSentence]) -> list[SearchedSentence]:
        """Report each document's terms; with `enforce`, search some sentences again."""
        settled: list[SearchedSentence] = []
        for number, sources in enumerate(_join_parts(documents)):
            own = found[len(settled) : len(settled) + len(sources)]
            usages = self._usages(sources, own)
            if usages and self._translator.mode == "enforce":
                history = self._earlier if self._start.documents + number == 0 else []
                own = self._search_again(sources, own, usages, EncodedDocument([], history))
            self._report(self._start.documents + number + 1, usages)
            settled += own
        return settled

    def _usages(self, sources: Sequence[str], found: Sequence[SearchedSentence]) -> list[Usage]:
        """Return the terms of a document that are translated in different ways."""
        repeated = find_repeated(sources, self._translator.known_words)
        taken = [{place for hit in one.sentence.hits for place in range(hit.start, hit.end)} for one in found]
        hits = [
            [hit for hit in repeated.find(source) if own.isdisjoint(range(hit.start, hit.end))]
            for source, own in zip(sources, taken, strict=True)
        ]
        texts = {number: self._translator.assemble(found[number]).text for number, own in enumerate(hits) if own}
        alignments = self._translator.align([(sources[number], found[number], text) for number, text in texts.items()])
        usages: dict[str, Usage] = {}
        for (number, text), alignment in zip(texts.items(), alignments, strict=True):
            for hit in hits[number]:
                if alignment is not None and (words := aligned_text(hit, alignment, text)) is not None:
                    (form,) = hit.term.source
                    usages.setdefault(form, Usage(hit.text)).add(words, number)
        return [usage for usage in usages.values() if len(usage.groups) > 1]

    def _search_again(
        self,
        sources: Sequence[str],
        found: Sequence[SearchedSentence],
        usages: Sequence[Usage],
        document: EncodedDocument,
    ) -> list[SearchedSentence]:
        """Search the sentences that deviate with the usual translations as terms; all, if the model reads its own."""
        wanted: dict[int, list[Term]] = defaultdict(list)
        for usage in usages:
            for number in usage.deviating():
                wanted[number].append(Term((usage.term.lower(),), usage.forms))
        document.sentences.extend(
            self._segment_again(source, one, wanted.get(number))
            for number, (source, one) in enumerate(zip(sources, found, strict=True))
        )
        (again,) = self._translator.search([document], self._view).searched
        return [new if new.sentence.segments else old for new, old in zip(again, found, strict=True)]

    def _segment_again(self, source: str, found: SearchedSentence, terms: list[Term] | None) -> SegmentedSentence:
        """Encode a sentence with terms; one without has nothing to translate, or the same as before."""
        if terms:
            return self._translator.segment(source, Glossary(terms))
        return found.sentence if self._view.translations else found.sentence.as_context()

    def _report(self, document: int, usages: Sequence[Usage]) -> None:
        """Say which terms a document translates in different ways, and in which sentences."""
        if not usages:
            return
        done = "made alike where they differed" if self._translator.mode == "enforce" else "translated differently"
        rest = len(usages) - LONGEST_REPORT
        lines = [*map(str, usages[:LONGEST_REPORT]), *([f"and {rest} more"] if rest > 0 else [])]
        title = f"document {document}: {len(usages)} {'term' if len(usages) == 1 else 'terms'} {done} (sentences)"
        self._translator.report("\n  ".join((title, *lines)))


def _join_parts(documents: Sequence[Document]) -> list[list[str]]:
    """Return the sentences of each document, whose parts follow each other."""
    joined: list[list[str]] = []
    for document in documents:
        if not (document.continues and joined):
            joined.append([])
        joined[-1].extend(document.sentences)
    return joined
