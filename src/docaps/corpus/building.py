"""Building a prepared corpus: from documents to token ids, stage by stage.

1. tokenise: read each part, tokenise it, number the word forms
2. truecase: learn the usual case of words on the training part; renumber
3. clean: mark the training pairs that are not trained on; such a pair stays in its document as history
4. learn: subwords and vocabulary, on the training part, both languages together; or use those of a trained model
5. write: token ids, as arrays

Workers tokenise, truecase and encode, a chunk of sentences or of word forms at a time. This process reads, sums their
counts, cleans, learns the merges, and holds the corpus as numbers between the stages.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docaps import progress
from docaps.config import PreparationSettings
from docaps.config.settings import CleaningSettings
from docaps.corpus.arrays import TokenArray, concatenate, expand, join_sentences, starts_of
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.formats import write_parallel
from docaps.corpus.numbering import (
    CHUNK_SENTENCES,
    CaseTable,
    NumberedWords,
    number_documents,
    spell_forms,
    truecase_chunk,
    truecase_forms,
)
from docaps.corpus.processes import TaskPool, WorkerPool
from docaps.corpus.store import write_arrays
from docaps.corpus.text.bpe import Subwords, format_codes, learn_merges
from docaps.corpus.text.codec import Codec, Language, SubwordModel
from docaps.corpus.text.known_words import KnownWords
from docaps.corpus.text.sentencepieces import learn_sentencepieces
from docaps.corpus.text.truecasing import Truecaser
from docaps.corpus.text.vocabulary import EOS, Vocabulary
from docaps.errors import CorpusError

TRAIN, EXTRA = "train", "extra"
Documents = Iterable[ParallelDocument]
Flags = NDArray[np.bool_]
Encode = Callable[[TokenArray, int], TokenArray]
"""From the words of sentences to their token ids; the number is 0 for the source and 1 for the target."""
TokenisedPart = tuple[tuple[NumberedWords, NumberedWords], NDArray[np.int64]]
"""Words numbered as written, before truecasing, and the number of sentences of each document."""


@dataclass(frozen=True, slots=True)
class NumberedPart:
    """One part of the corpus as numbers of word forms, and the number of sentences of each document."""

    sides: tuple[TokenArray, TokenArray]
    documents: NDArray[np.int64]
    usable: Flags


def build(
    parts: Mapping[str, Documents],
    settings: PreparationSettings,
    directory: Path,
    *,
    workers: int | TaskPool = 1,
    codec: Codec | None = None,
) -> dict[str, Any]:
    """Write arrays, texts and the codec of a corpus, and return its counts for the manifest; read each part once.

    A codec of a trained model takes the place of what is learnt here.
    """
    with WorkerPool(workers) if isinstance(workers, int) else nullcontext(workers) as pool:
        with_words = settings.subwords == "bpe" and codec is None
        tokenised = _tokenise_parts(parts, settings, directory, pool, with_words=with_words)
        with progress.start("learn the case of words") as task:
            languages, forms, numbered = _truecase(tokenised, settings, pool, with_words=with_words)
            task.advance(len(forms))
        cleaned, filters = _clean_parts(numbered, settings)
        encode: Encode
        if codec is None:
            subwords, vocabulary, table = _learn(cleaned, forms, settings, pool)
            codec = Codec(
                source=languages[0],
                target=languages[1],
                subwords=subwords,
                vocabulary=vocabulary,
                known_words=KnownWords.from_forms(forms, _count_forms(cleaned, len(forms), sides=1).tolist()),
            )
            encode = partial(_expand_words, table, pool)
        else:
            encode = partial(_encode_sentences, codec, forms, pool)
        codec.save(directory / "text")
        with progress.start("write parts") as task:
            counts = _write(directory, cleaned, encode)
            task.advance(len(counts))
    return {"counts": counts, "filters": filters, "vocabulary": len(codec.vocabulary)}


def _expand_words(table: TokenArray, pool: TaskPool, words: TokenArray, _side: int) -> TokenArray:
    """Return the token ids of sentences of numbered words, given those of each word."""
    return concatenate([*pool.map(partial(expand, table=table, end=EOS), words.chunks(CHUNK_SENTENCES))])


def _encode_sentences(codec: Codec, forms: Sequence[str], pool: TaskPool, words: TokenArray, side: int) -> TokenArray:
    """Return the token ids of sentences of numbered words, as a trained model's codec writes them."""
    texts = (" ".join([forms[number] for number in words[sentence]]) for sentence in range(len(words)))
    chunks = iter(lambda: [*islice(texts, CHUNK_SENTENCES)], [])
    return concatenate([*pool.map(partial(_encode_chunk, codec, side), chunks)])


def _encode_chunk(codec: Codec, side: int, texts: Sequence[str]) -> TokenArray:
    """Encode some sentences, the task of one worker."""
    return join_sentences([codec.encode_target(text) if side else codec.encode_source(text) for text in texts])


def _tokenise_parts(
    parts: Mapping[str, Documents],
    settings: PreparationSettings,
    directory: Path,
    workers: TaskPool,
    *,
    with_words: bool,
) -> dict[str, TokenisedPart]:
    """Read and tokenise all parts; keep the raw text of the parts that will be translated."""
    languages = (settings.source_language, settings.target_language) if with_words else (None, None)
    truecase = with_words and settings.truecase
    forms: tuple[dict[str, int], dict[str, int]] = ({}, {})
    found = {}
    for name, given in parts.items():
        documents = given if name in (TRAIN, EXTRA) else list(given)
        sides = (NumberedWords(forms[0]), NumberedWords(forms[1]))
        lengths: list[int] = []
        with progress.start(f"tokenise {name}") as task:
            for count in number_documents(documents, sides, lengths, workers, languages=languages, truecase=truecase):
                task.advance(count)
        if isinstance(documents, list) and documents:
            write_parallel(directory / f"{name}.source.txt", directory / f"{name}.target.txt", documents)
        single = name == EXTRA  # sentences without documents: each is a document of its own
        found[name] = sides, np.ones(sum(lengths), np.int64) if single else np.array(lengths, np.int64)
    return found


def _truecase(
    tokenised: Mapping[str, TokenisedPart], settings: PreparationSettings, pool: TaskPool, *, with_words: bool
) -> tuple[tuple[Language, Language], list[str], dict[str, NumberedPart]]:
    """Learn the usual case of words on the training part, and number the forms of both languages together."""
    joint: dict[str, int] = {}
    languages, sides = [], []
    for side, code in enumerate((settings.source_language, settings.target_language)):
        words = {name: both[side] for name, (both, _) in tokenised.items()}
        counts = sum((words[name].cases for name in (TRAIN, EXTRA) if name in words), Counter[str]())
        truecaser = Truecaser(counts) if settings.truecase and with_words else None
        languages.append(Language(code, tokenize=with_words, truecaser=truecaser))
        forms = next(iter(words.values())).forms  # all parts share them
        cases = truecase_forms(forms, truecaser, joint, pool)
        sides.append({name: _renumber(part, cases, pool) for name, part in words.items()})
    numbered = {
        name: NumberedPart((sides[0][name], sides[1][name]), documents, np.ones(int(documents.sum()), np.bool_))
        for name, (_, documents) in tokenised.items()
    }
    return (languages[0], languages[1]), list(joint), numbered


def _renumber(words: NumberedWords, cases: CaseTable, pool: TaskPool) -> TokenArray:
    """Give words the numbers of their truecased forms; the numbers as written are given up."""
    return concatenate([*pool.map(partial(truecase_chunk, cases), words.pop_chunks())])


def _clean_parts(
    numbered: Mapping[str, NumberedPart], settings: PreparationSettings
) -> tuple[dict[str, NumberedPart], dict[str, dict[str, int]]]:
    """Mark the pairs that are not trained on, and count them by filter and part."""
    parts, filters = dict(numbered), dict[str, dict[str, int]]()
    for name in (TRAIN, EXTRA):
        if name in numbered:
            usable, filtered = clean(*numbered[name].sides, settings.cleaning)
            parts[name] = replace(numbered[name], usable=usable)
            for filter_name, count in filtered.items():
                filters.setdefault(filter_name, {})[name] = count
    return parts, filters


def clean(source: TokenArray, target: TokenArray, settings: CleaningSettings) -> tuple[Flags, dict[str, int]]:
    """Return which pairs pass all filters, and how many each filter dropped.

    A pair counts at the first filter that drops it. Sentences are words, numbered alike on both sides.
    """
    usable = np.ones(len(source), dtype=np.bool_)
    filtered = {}
    for name, dropped in _filters(source, target, settings):
        filtered[name] = int((dropped & usable).sum())
        usable &= ~dropped
    return usable, filtered


def _filters(source: TokenArray, target: TokenArray, settings: CleaningSettings) -> Iterator[tuple[str, Flags]]:
    """Yield for each active filter its name and the pairs it drops."""
    here, there = source.lengths, target.lengths
    yield "empty on one side or both", (here == 0) | (there == 0)
    if settings.longest is not None:
        yield f"longer than {settings.longest} words", np.maximum(here, there) > settings.longest
    if settings.ratio is not None:
        longer, shorter = np.maximum(here, there), np.maximum(np.minimum(here, there), 1)
        yield f"more than {settings.ratio:g} times as long as the other side", longer > settings.ratio * shorter
    if settings.copies:
        yield "the same on both sides", _copies(source, target)
    if settings.duplicates:
        yield "seen before", _duplicates(source, target)


def _copies(source: TokenArray, target: TokenArray) -> Flags:
    """Flag pairs whose sides are equal."""
    flags: Flags = source.lengths == target.lengths
    for pair in np.flatnonzero(flags).tolist():
        flags[pair] = np.array_equal(source[pair], target[pair])
    return flags


def _duplicates(source: TokenArray, target: TokenArray) -> Flags:
    """Flag pairs that occurred before."""
    pairs = ((source[pair].tobytes(), target[pair].tobytes()) for pair in range(len(source)))
    first: dict[tuple[bytes, bytes], int] = {}
    return np.array([first.setdefault(pair, number) != number for number, pair in enumerate(pairs)], np.bool_)


def _learn(
    parts: Mapping[str, NumberedPart], forms: Sequence[str], settings: PreparationSettings, pool: TaskPool
) -> tuple[SubwordModel, Vocabulary, TokenArray]:
    """Learn subwords and vocabulary; return them and the subword ids of each word form."""
    counts = _count_forms(parts, len(forms))
    if not counts.any():
        raise CorpusError("the training part has no words")
    subwords: SubwordModel
    if settings.subwords == "sentencepiece":
        progress.say(f"learn {settings.pieces:,} pieces with SentencePiece")
        subwords = learn_sentencepieces(_sentences(_training(parts), forms), size=settings.pieces)
        pieces = Counter(dict.fromkeys(subwords.pieces, 0))  # bytes that did not occur may be needed later
    else:
        subwords, pieces = _learn_bpe(forms, counts, settings), Counter()
    with progress.start("split word forms into subwords") as task:
        spelt = [*spell_forms(forms, subwords, pool)]
        task.advance(len(forms))
    for count, spelling in zip(counts.tolist(), spelt, strict=True):
        for piece in spelling if count else ():
            pieces[piece] += count
    vocabulary = Vocabulary.from_counts(pieces, settings.marks)
    return subwords, vocabulary, join_sentences([vocabulary.ids(spelling) for spelling in spelt])


def _training(parts: Mapping[str, NumberedPart]) -> list[NumberedPart]:
    """Return the parts that are trained on."""
    return [parts[name] for name in (TRAIN, EXTRA) if name in parts]


def _count_forms(parts: Mapping[str, NumberedPart], size: int, *, sides: int = 2) -> NDArray[np.int64]:
    """Count each word form of the training text, on both sides or, with 1, on the source side only."""
    counts = np.zeros(size, np.int64)
    for side in (side for part in _training(parts) for side in part.sides[:sides]):
        counts += np.bincount(side.tokens, minlength=size)  # filtered pairs count too, since they are history
    return counts


def _learn_bpe(forms: Sequence[str], counts: NDArray[np.int64], settings: PreparationSettings) -> Subwords:
    """Learn BPE from the counts of word forms."""
    words = {form: count for form, count in zip(forms, counts.tolist(), strict=True) if count}
    merges = learn_merges(words, merges=settings.merges, minimum_frequency=settings.minimum_frequency)
    return Subwords(format_codes(progress.track(merges, f"learn merges on {len(words):,} word forms", settings.merges)))


def _sentences(parts: Iterable[NumberedPart], forms: Sequence[str]) -> Iterator[str]:
    """Yield the sentences of parts, source and target alternating."""
    for part in parts:
        for pair in range(len(part.usable)):
            for side in part.sides:
                yield " ".join(forms[number] for number in side[pair])


def _write(directory: Path, parts: Mapping[str, NumberedPart], encode: Encode) -> dict[str, dict[str, int]]:
    """Write the token ids of all parts; extra pairs follow those of the training part, in the same files."""
    counts = {}
    for name, part in parts.items():
        counts[name] = {
            "documents": 0 if name == EXTRA else len(part.documents),
            "sentences": len(part.usable),
            "usable": int(part.usable.sum()),
        }
        if name != EXTRA:
            together = [part, parts[EXTRA]] if name == TRAIN and EXTRA in parts else [part]
            _write_part(directory, name, together, encode)
    return counts


def _write_part(directory: Path, name: str, together: Sequence[NumberedPart], encode: Encode) -> None:
    """Write the arrays of one part, or of several after each other."""
    arrays = {"usable": np.concatenate([part.usable for part in together])}
    arrays["documents"] = starts_of(np.concatenate([part.documents for part in together]))
    for number, side in enumerate(("source", "target")):
        ids = encode(concatenate([part.sides[number] for part in together]), number)
        arrays |= {side: ids.tokens, f"{side}.starts": ids.starts}
    write_arrays(directory, name, arrays)
