"""Marks in translations: each inline mark of a sentence is put where its words went.

The marks of a sentence form a tree: a pair holds what stands between its opening and its closing mark. The translation
gets the same tree, each mark once. Only the order of neighbours may change, as words change places. A pair goes around
the words that its words are aligned with; if these are not known, around all words that the pair around it holds, or
the whole sentence. A single mark stays beside its word.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

import regex

from docaps.corpus.documents import InlineMark
from docaps.corpus.formats.format import Alignment, Span

_ALONE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}"
WORD = regex.compile(rf"[{_ALONE}]\p{{M}}*|[[\w\p{{M}}]--[{_ALONE}]]+|[^\w\s]\p{{M}}*", regex.VERSION1)
"""A word or a punctuation mark; scripts without spaces count by characters."""
DEEPEST, MOST_MARKS = 100, 1000
"""Levels of pairs within pairs, and marks of a sentence; beyond, marks keep their order, and their place in proportion.
"""
_start, _end = itemgetter(0), itemgetter(1)
OUTSIDE, UNALIGNED = -1.0, -0.01
"""What a word counts for a stretch of words that a pair goes around, if it belongs elsewhere, or nowhere; else 1."""


def place_marks(
    source: str, marks: Sequence[InlineMark], translation: str, alignment: Alignment | None = None
) -> tuple[InlineMark, ...]:
    """Return the marks of a source sentence with their positions in its translation, in order."""
    if not marks:
        return ()
    texts = _Texts(source, translation, alignment)
    roots, depth = _build_tree(marks, len(source))
    if depth > DEEPEST or len(marks) > MOST_MARKS or not texts.target:
        return tuple(replace(mark, position=texts.proportional(mark.position, mark.kind == "close")) for mark in marks)
    placed: list[InlineMark] = []
    _place(roots, texts, (0, len(source)), (0, len(translation)), placed)
    return tuple(placed)


def split_at_marks(text: str, marks: Iterable[InlineMark]) -> list[str | InlineMark]:
    """Return a text as its pieces: the marks in it, and the text between them."""
    pieces: list[str | InlineMark] = []
    done = 0
    for mark in marks:
        if mark.position > done:
            pieces.append(text[done : mark.position])
            done = mark.position
        pieces.append(mark)
    return [*pieces, text[done:]] if done < len(text) else pieces


@dataclass(slots=True, eq=False)
class _Node:
    """A single mark, or a pair with what it holds; a pair may begin before the sentence, or end after it."""

    marks: tuple[InlineMark | None, InlineMark | None]
    """The opening mark, or a single one, and the closing mark."""
    start: int
    end: int
    order: int
    children: list["_Node"] = field(default_factory=list)
    side: int = 0
    """-1 for a pair that begins before the sentence, 1 for one that ends after it."""


def _build_tree(marks: Sequence[InlineMark], length: int) -> tuple[list[_Node], int]:
    """Return the outermost nodes, and the depth of the tree; a mark that crosses a pair counts as a single one."""
    levels: list[list[_Node]] = [[]]
    opened: list[InlineMark] = []
    crossing = _crossing(marks)
    depth = 0
    for order, mark in enumerate(marks):
        if mark.kind == "single" or order in crossing:
            levels[-1].append(_Node((mark, None), mark.position, mark.position, order))
        elif mark.kind == "open":
            opened.append(mark)
            levels.append([])
        elif opened:
            begun = opened.pop()
            node = _Node((begun, mark), begun.position, mark.position, order, levels.pop())
            levels[-1].append(node)
        else:  # its opening mark is in a sentence before this one
            levels[-1] = [_Node((None, mark), 0, mark.position, order, levels[-1], -1)]
            depth += 1
        depth = max(depth, len(levels))
    for begun in reversed(opened):
        node = _Node((begun, None), begun.position, length, len(marks), levels.pop(), 1)
        levels[-1].append(node)
    return levels[0], depth


def _crossing(marks: Sequence[InlineMark]) -> set[int]:
    """Return the numbers of the opening and closing marks that are not properly nested."""
    opened: list[int] = []
    seen: set[int] = set()
    crossing: set[int] = set()
    for order, mark in enumerate(marks):
        if mark.kind == "open":
            opened.append(order)
            seen.add(mark.pair)
        elif mark.kind == "close" and mark.pair in seen:
            if opened and marks[opened[-1]].pair == mark.pair:
                opened.pop()
                continue
            crossing.add(order)
            crossing.update(number for number in opened if marks[number].pair == mark.pair)
            opened = [number for number in opened if marks[number].pair != mark.pair]
        elif mark.kind == "close" and opened:  # it would end, outside, a pair that begins before the sentence
            crossing.update(opened)
            opened = []
    return crossing


class _Texts:
    """The words of a sentence and of its translation, and which belong together."""

    def __init__(self, source: str, translation: str, alignment: Alignment | None) -> None:
        self.source, self.target = _words(source), _words(translation)
        self._lengths = len(source), len(translation)
        self.is_aligned = alignment is not None
        self.partners: list[set[int]] = [set() for _ in self.target]
        """The source words of each word of the translation."""
        if alignment is None and source == translation:
            self.is_aligned = True
            self.partners = [{number} for number in range(len(self.target))]
        elif alignment is None:
            self._pair_same_words(source, translation)
        for one, other in alignment or ():
            for number in _overlapping(self.target, other):
                self.partners[number].update(_overlapping(self.source, one))

    def _pair_same_words(self, source: str, translation: str) -> None:
        """Align the words that both have once, such as names and numbers."""
        sides = [_once(text, words) for text, words in ((source, self.source), (translation, self.target))]
        for word in sides[0].keys() & sides[1].keys():
            self.partners[sides[1][word]].add(sides[0][word])

    def proportional(self, position: int, is_end: bool) -> int:
        """Return the border of a word of the translation that is as far in it as a position is in the source."""
        return self.partition(position, is_end, (0, self._lengths[0]), (0, self._lengths[1]))

    def partition(self, position: int, is_end: bool, source: Span, target: Span) -> int:
        """Do the same within a part of the source and its part of the translation."""
        ours, theirs = _within(self.source, source), _within(self.target, target)
        before = len(_within(self.source, (source[0], min(position, source[1]))))
        if not theirs or not before or before == len(ours):
            return target[1] if ours and before == len(ours) else target[0]
        index = round(before * len(theirs) / len(ours))
        if index in (0, len(theirs)):
            return target[bool(index)]
        return self.target[theirs[index - 1]][1] if is_end else self.target[theirs[index]][0]

    def words_of(self, span: Span) -> range:
        """Return the source words that a pair holds; if it holds but a part of one, that one."""
        return _within(self.source, span) or _overlapping(self.source, span)

    def next_word(self, position: int) -> int:
        """Return where the first word of the translation from a position on begins."""
        return next((start for start, _ in self.target if start >= position), self._lengths[1])

    def find(self, span: Span, outer: Span, target: Span) -> Span | None:
        """Return the stretch of the translation that translates a span, both within others; None if unknown."""
        inner = set(self.words_of(span))
        if len(inner) == len(_within(self.source, outer)):
            return target
        numbers = _within(self.target, target)
        if not self.is_aligned and not inner <= set().union(*(self.partners[number] for number in numbers)):
            return None
        values = [_value(self.partners[number], inner) for number in numbers]
        best = best_stretch(values)
        return best and (self.target[numbers[best[0]]][0], self.target[numbers[best[1] - 1]][1])

    def beside(self, position: int, source: Span, target: Span) -> int:
        """Return where a single mark goes: beside the word it stands at."""
        ours = _within(self.source, source)
        before = [number for number in ours if self.source[number][1] <= position]
        after = [number for number in ours if self.source[number][0] >= position]
        if not before or not after:
            return target[not after and bool(before)]
        touches = self.source[before[-1]][1] == position
        for word, edge in ((before[-1], 1), (after[0], 0)) if touches else ((after[0], 0), (before[-1], 1)):
            if found := self.find(self.source[word], source, target):
                return found[edge]
        return self.partition(position, touches, source, target)


def _value(partners: set[int], inner: set[int]) -> float:
    """Return what a word of the translation counts for the stretch that translates some source words."""
    if not partners:
        return UNALIGNED
    return 1.0 if partners & inner else OUTSIDE


def best_stretch(values: Sequence[float]) -> Span | None:
    """Return the stretch of neighbours with the largest sum; None if no sum is above zero."""
    best, found, start, total = 0.0, None, 0, 0.0
    for number, value in enumerate(values):
        if total <= 0:
            start, total = number, 0.0
        total += value
        if total > best:
            best, found = total, (start, number + 1)
    return found


def _words(text: str) -> list[Span]:
    return [match.span() for match in WORD.finditer(text)]


def _once(text: str, words: Sequence[Span]) -> dict[str, int]:
    """Return the number of each word that a text has only once."""
    found: dict[str, int] = {}
    for number, (start, end) in enumerate(words):
        word = text[start:end].casefold()
        found[word] = -1 if word in found else number
    return {word: number for word, number in found.items() if number >= 0}


def _within(words: Sequence[Span], span: Span) -> range:
    """Return the numbers of the words that end in a span: a word that a mark cuts belongs to one side only."""
    return range(bisect_right(words, span[0], key=_end), bisect_right(words, span[1], key=_end))


def _overlapping(words: Sequence[Span], span: Span) -> range:
    return range(bisect_right(words, span[0], key=_end), bisect_left(words, span[1], key=_start))


def _place(nodes: list[_Node], texts: _Texts, source: Span, target: Span, placed: list[InlineMark]) -> None:
    """Place nodes beside each other within a part of the translation, each with what it holds."""
    pairs = [node for node in nodes if node.side or texts.words_of((node.start, node.end))]
    spans = _pair_spans(pairs, texts, source, target)
    found = list(zip(spans, pairs, strict=True))
    lowest = max((span[1] for span, pair in found if pair.side < 0), default=target[0])
    highest = min((span[0] for span, pair in found if pair.side > 0), default=target[1])
    for node in nodes:
        if node not in pairs:
            position = min(max(texts.beside(node.start, source, target), lowest), highest)
            for span, pair in zip(spans, pairs, strict=True):
                if span[0] < position < span[1]:
                    position = span[node.order > pair.order]
            found.append(((position, position), node))
    found.sort(key=lambda one: (one[1].side, one[0], one[1].order))
    for span, node in found:
        opening, closing = node.marks
        placed.extend(replace(mark, position=span[0]) for mark in (opening,) if mark)
        _place(node.children, texts, (node.start, node.end), span, placed)
        placed.extend(replace(mark, position=span[1]) for mark in (closing,) if mark)


def _pair_spans(pairs: list[_Node], texts: _Texts, source: Span, target: Span) -> list[Span]:
    """Return the stretches that pairs go around, none within another; if that cannot be, in the order of the source."""
    wanted: list[Span] = []
    for pair in pairs:
        found = texts.find((pair.start, pair.end), source, target)
        if found is None and len(pairs) > 1:
            return _in_order(pairs, texts, source, target)
        start, end = found or target
        wanted.append((start if pair.side >= 0 else target[0], end if pair.side <= 0 else target[1]))
    done, spans = target[0], dict[int, Span]()
    for number in sorted(range(len(pairs)), key=lambda number: (pairs[number].side, wanted[number])):
        start, end = wanted[number]
        if start < done:
            start = texts.next_word(done)
        if start >= end:
            return _in_order(pairs, texts, source, target)
        spans[number], done = (start, end), end
    return [spans[number] for number in range(len(pairs))]


def _in_order(pairs: list[_Node], texts: _Texts, source: Span, target: Span) -> list[Span]:
    """Return stretches of a part of the translation in proportion to those of the source."""
    spans, done = list[Span](), target[0]
    for pair in pairs:
        start = max(done, texts.partition(pair.start, False, source, target) if pair.side >= 0 else target[0])
        done = max(start, texts.partition(pair.end, True, source, target) if pair.side <= 0 else target[1])
        spans.append((start, done))
    return spans
