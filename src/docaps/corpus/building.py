"""Building a prepared corpus: from documents to token ids, stage by stage.

1. cut: read each part, cut its sentences into words, number the word forms (several processes)
2. truecase: learn how words are usually written, on the training part; renumber
3. clean: mark the training pairs that are not trained on
4. learn: subwords and vocabulary, on the training part, both languages together
5. write: token ids, as arrays
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from docaps import progress
from docaps.config import PreparationSettings
from docaps.corpus.arrays import TokenArray, concatenate, expand, join_sentences, starts_of
from docaps.corpus.cleaning import clean
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.formats import write_parallel
from docaps.corpus.numbering import Cutting, Words, number_documents
from docaps.corpus.store import write_arrays
from docaps.corpus.text.codec import Codec, Language
from docaps.corpus.text.merges import learn_merges
from docaps.corpus.text.sentencepieces import learn_sentencepieces
from docaps.corpus.text.subwords import SubwordModel, Subwords, format_codes
from docaps.corpus.text.truecasing import Truecaser
from docaps.corpus.text.vocabulary import EOS, Vocabulary
from docaps.corpus.workers import Workers
from docaps.errors import CorpusError

TRAIN, EXTRA = "train", "extra"
Documents = Iterable[ParallelDocument]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the corpus as numbers of words, and how many sentences each document has."""

    source: TokenArray
    target: TokenArray
    documents: NDArray[np.int64]
    usable: NDArray[np.bool_]

    def sides(self) -> tuple[TokenArray, TokenArray]:
        """Return both sides."""
        return self.source, self.target


@dataclass(frozen=True, slots=True)
class Built:
    """What there is in a corpus that was built."""

    counts: dict[str, dict[str, int]]
    filters: dict[str, dict[str, int]]
    vocabulary: int


def build(parts: Mapping[str, Documents], settings: PreparationSettings, directory: Path, *, workers: int = 1) -> Built:
    """Write arrays, texts and the codec of a corpus; `parts` are read once, one after the other."""
    with Workers(workers) as crew:
        cut = _cut_parts(parts, settings, directory, crew)
    with progress.start("learn the case of words") as task:
        languages, forms, numbered = _truecase(cut, settings)
        task.advance(len(forms))
    cleaned, filters = _clean(numbered, settings)
    subwords, vocabulary, table = _learn(cleaned, forms, settings)
    codec = Codec(source=languages[0], target=languages[1], subwords=subwords, pieces=vocabulary.pieces)
    codec.save(directory / "text")
    with progress.start("write parts") as task:
        counts = _write(directory, cleaned, table)
        task.advance(len(counts))
    return Built(counts, filters, len(vocabulary))


@dataclass(frozen=True, slots=True)
class _CutPart:
    """A part whose words are numbered as they stand in the text."""

    sides: tuple[Words, Words]
    documents: NDArray[np.int64]


def _cut_parts(
    parts: Mapping[str, Documents], settings: PreparationSettings, directory: Path, workers: Workers
) -> dict[str, _CutPart]:
    """Read all parts and cut them into words; keep the raw text of those that will be translated."""
    with_words = settings.subwords == "bpe"
    languages = (settings.source_language, settings.target_language) if with_words else None
    cutting = Cutting(languages, truecase=with_words and settings.truecase)
    forms: tuple[dict[str, int], dict[str, int]] = ({}, {})
    found = {}
    for name, documents in parts.items():
        sides = (Words(forms[0]), Words(forms[1]))
        lengths: list[int] = []
        kept: list[ParallelDocument] = []
        seen = _watch(documents, lengths, None if name in (TRAIN, EXTRA) else kept)
        with progress.start(f"cut {name} into words") as task:
            for count in number_documents(seen, cutting, *sides, workers):
                task.advance(count)
        if kept:
            write_parallel(directory / f"{name}.source.txt", directory / f"{name}.target.txt", kept)
        alone = name == EXTRA  # sentences without documents: none is history of another
        found[name] = _CutPart(sides, np.ones(sum(lengths), np.int64) if alone else np.array(lengths, np.int64))
    return found


def _watch(documents: Documents, lengths: list[int], kept: list[ParallelDocument] | None) -> Iterator[ParallelDocument]:
    """Pass documents on, noting how long they are and, where asked, keeping them."""
    for document in documents:
        lengths.append(len(document.source))
        if kept is not None:
            kept.append(document)
        yield document


def _truecase(
    cut: Mapping[str, _CutPart], settings: PreparationSettings
) -> tuple[tuple[Language, Language], list[str], dict[str, Part]]:
    """Learn the usual case of words on the training part, and number the forms of both languages together."""
    joint: dict[str, int] = {}
    languages, sides = [], []
    for place, code in enumerate((settings.source_language, settings.target_language)):
        cases = sum((cut[name].sides[place].cases for name in (TRAIN, EXTRA) if name in cut), Counter[str]())
        truecaser = Truecaser(cases) if settings.truecase and settings.subwords == "bpe" else None
        languages.append(Language(code, tokenize=settings.subwords == "bpe", truecaser=truecaser))
        forms = cut[TRAIN].sides[place].forms
        sides.append({name: _renumber(part.sides[place], forms, truecaser, joint) for name, part in cut.items()})
    numbered = {
        name: Part(sides[0][name], sides[1][name], part.documents, np.ones(int(part.documents.sum()), np.bool_))
        for name, part in cut.items()
    }
    return (languages[0], languages[1]), list(joint), numbered


def _renumber(words: Words, forms: Iterable[str], truecaser: Truecaser | None, joint: dict[str, int]) -> TokenArray:
    """Give words the numbers of their truecased forms."""
    as_written = words.words()
    inside = np.array(
        [joint.setdefault(truecaser.inside(form) if truecaser else form, len(joint)) for form in forms], np.int32
    )
    tokens = inside[as_written.tokens]
    if truecaser is not None:
        at_start = words.at_start()
        beginning = np.array([joint.setdefault(truecaser.at_start(form), len(joint)) for form in forms], np.int32)
        tokens[at_start] = beginning[as_written.tokens[at_start]]
    return TokenArray(tokens, as_written.starts)


def _clean(
    numbered: Mapping[str, Part], settings: PreparationSettings
) -> tuple[dict[str, Part], dict[str, dict[str, int]]]:
    """Mark the pairs that are not trained on, and count them by filter and part."""
    parts, filters = dict(numbered), dict[str, dict[str, int]]()
    for name in (TRAIN, EXTRA):
        if name in numbered:
            part = numbered[name]
            cleaned = clean(part.source, part.target, settings.cleaning)
            parts[name] = Part(part.source, part.target, part.documents, cleaned.usable)
            for filter_name, count in cleaned.filtered.items():
                filters.setdefault(filter_name, {})[name] = count
    return parts, filters


def _learn(
    parts: Mapping[str, Part], forms: Sequence[str], settings: PreparationSettings
) -> tuple[SubwordModel, Vocabulary, TokenArray]:
    """Learn subwords and vocabulary; return also the pieces of each word form, as ids."""
    counts = _count_forms(parts, len(forms))
    if not counts.any():
        raise CorpusError("the training part has no words")
    subwords = _learn_subwords(parts, forms, counts, settings)
    with progress.start("cut word forms into subwords") as task:
        spelt = [subwords.split([form]) for form in forms]
        task.advance(len(forms))
    pieces: Counter[str] = Counter()
    for count, spelling in zip(counts.tolist(), spelt, strict=True):
        if count:
            for piece in spelling:
                pieces[piece] += count
    if settings.subwords == "sentencepiece":  # bytes that did not occur are needed for what will
        pieces.update(dict.fromkeys(subwords.pieces, 0))  # type: ignore[attr-defined]
    vocabulary = Vocabulary.from_counts(pieces)
    return subwords, vocabulary, join_sentences([vocabulary.ids(spelling) for spelling in spelt])


def _count_forms(parts: Mapping[str, Part], forms: int) -> NDArray[np.int64]:
    """Count how often each word form occurs in training; what a filter took counts as well, since it is history."""
    counts = np.zeros(forms, np.int64)
    for name in (TRAIN, EXTRA):
        for side in parts[name].sides() if name in parts else ():
            counts += np.bincount(side.tokens, minlength=forms)
    return counts


def _learn_subwords(
    parts: Mapping[str, Part], forms: Sequence[str], counts: NDArray[np.int64], settings: PreparationSettings
) -> SubwordModel:
    """Learn BPE from the counts of words, or SentencePiece from sentences."""
    if settings.subwords == "sentencepiece":
        progress.say(f"learn {settings.pieces:,} pieces with SentencePiece")
        return learn_sentencepieces(_training_text(parts, forms), size=settings.pieces)
    words = Counter({form: count for form, count in zip(forms, counts.tolist(), strict=True) if count})
    merges = learn_merges(words, merges=settings.merges, minimum_frequency=settings.minimum_frequency)
    description = f"learn merges on {len(words):,} word forms"
    return Subwords(format_codes(progress.track(merges, description, settings.merges)))


def _training_text(parts: Mapping[str, Part], forms: Sequence[str]) -> Iterator[str]:
    """Go through the sentences of the training part, source and target in turn."""
    for name in (TRAIN, EXTRA):
        if name in parts:
            for pair in range(len(parts[name].source)):
                for side in parts[name].sides():
                    yield " ".join(forms[number] for number in side[pair])


def _write(directory: Path, parts: Mapping[str, Part], table: TokenArray) -> dict[str, dict[str, int]]:
    """Write the token ids of all parts; extra pairs stand behind those of the training part, in the same files."""
    counts = {}
    for name, part in parts.items():
        counts[name] = {
            "documents": 0 if name == EXTRA else len(part.documents),
            "sentences": len(part.source),
            "usable": int(part.usable.sum()),
        }
        if name != EXTRA:
            together = [part, parts[EXTRA]] if name == TRAIN and EXTRA in parts else [part]
            _write_part(directory, name, together, table)
    return counts


def _write_part(directory: Path, name: str, together: Sequence[Part], table: TokenArray) -> None:
    """Write the arrays of one part, or of several behind each other."""
    arrays = {"usable": np.concatenate([part.usable for part in together])}
    arrays["documents"] = starts_of(np.concatenate([part.documents for part in together]))
    for side in ("source", "target"):
        words = concatenate([part.source if side == "source" else part.target for part in together])
        ids = expand(words, table, end=EOS)
        arrays |= {side: ids.tokens, f"{side}.starts": ids.starts}
    write_arrays(directory, name, arrays)
