"""Translation metrics: BLEU, chrF and METEOR from sufficient statistics.

A metric first counts, one row per document, and then scores sums of rows. So the score of a test set and of the
thousands of resampled sets of a significance test follow from one pass over the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from docaps.corpus.documents import Document, all_sentences
from docaps.corpus.text.tokenization import Tokenizer
from docaps.errors import CorpusError
from docaps.evaluation.external import count_with_meteor, meteor_program
from docaps.evaluation.intervals import Table
from docaps.evaluation.meteor.counts import Meteor
from docaps.evaluation.meteor.resources import read_paraphrases

Documents = Sequence[Document]
ORDERS = 4


@dataclass(frozen=True, slots=True)
class Score:
    """A score and the signature that says how it was computed."""

    score: float
    signature: str


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Compute sacreBLEU (13a) of detokenised sentences."""
    from sacrebleu.metrics.bleu import BLEU

    if len(hypotheses) != len(references):
        raise CorpusError(f"{len(hypotheses)} translations, but {len(references)} references")
    metric = BLEU()
    result = metric.corpus_score(list(hypotheses), [list(references)])
    return Score(result.score, str(metric.get_signature()))


class Metric(Protocol):
    """A score that follows from counts per document."""

    key: str
    name: str
    signature: str

    def count(self, hypotheses: Documents, references: Documents) -> Table:
        """Return a row of counts for each document."""

    def score(self, sums: Table) -> Table:
        """Return the score for each row of summed counts."""


@dataclass
class Bleu:
    """BLEU by sentences (13a), by whole documents, or on Moses tokens as in multi-bleu.perl."""

    key: str
    name: str
    whole_documents: bool = False
    tokenizer: Tokenizer | None = None

    def __post_init__(self) -> None:
        from sacrebleu.metrics.bleu import BLEU

        self._bleu = BLEU(tokenize="none", smooth_method="none", force=True) if self.tokenizer else BLEU()
        self.signature = ""

    def count(self, hypotheses: Documents, references: Documents) -> Table:
        """Return lengths and matched and possible n-grams of each document."""
        sides = [[self._segments(document) for document in side] for side in (hypotheses, references)]
        rows = [self._bleu._extract_corpus_statistics(one, [other]) for one, other in zip(*sides, strict=True)]
        self._bleu.num_refs = 1
        unit = "|unit:document" if self.whole_documents else ""
        tokens = f"|moses:{self.tokenizer.language}" if self.tokenizer else ""
        self.signature = f"{self._bleu.get_signature()}{unit}{tokens}"
        return np.array([np.sum(row, axis=0) for row in rows], dtype=np.float64)

    def _segments(self, document: Document) -> list[str]:
        """Split a document into the segments that BLEU compares."""
        if self.whole_documents:
            return [" ".join(document.sentences)]
        tokenizer = self.tokenizer
        return [" ".join(tokenizer.tokenize(one)) if tokenizer else one for one in document.sentences]

    def score(self, sums: Table) -> Table:
        """Return BLEU for each row of counts."""
        return bleu_of(sums, smooth=self.tokenizer is None)


def bleu_of(sums: Table, *, smooth: bool) -> Table:
    """Compute BLEU row by row; smoothing halves the share of a missing n-gram each time (sacreBLEU's `exp`)."""
    lengths, references = sums[:, 0], sums[:, 1]
    matched, possible = sums[:, 2 : 2 + ORDERS].copy(), sums[:, 2 + ORDERS : 2 + 2 * ORDERS]
    if smooth:
        missing = (matched == 0) & (possible > 0)
        matched[missing] = 0.5 ** np.cumsum(missing, axis=1)[missing]
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.exp(np.log(matched / possible).mean(axis=1))
        brevity = np.exp(np.minimum(0, 1 - references / lengths))
    found: Table = 100 * brevity * precision
    found[(sums[:, 2 : 2 + ORDERS].sum(axis=1) == 0) | ~np.isfinite(found)] = 0
    return found


@dataclass
class Chrf:
    """chrF2++: character n-grams up to 6 and word n-grams up to 2, recall weighted twice."""

    key: str = "chrf"
    name: str = "chrF2++"

    def __post_init__(self) -> None:
        from sacrebleu.metrics.chrf import CHRF

        self._chrf = CHRF(word_order=2)
        self._chrf.num_refs = 1
        self.signature = str(self._chrf.get_signature())

    def count(self, hypotheses: Documents, references: Documents) -> Table:
        """Return the n-grams of each document by order: in the translation, in the reference, in both."""
        pairs = zip(hypotheses, references, strict=True)
        rows = [self._chrf._extract_corpus_statistics(one.sentences, [other.sentences]) for one, other in pairs]
        return np.array([np.sum(row, axis=0) for row in rows], dtype=np.float64)

    def score(self, sums: Table) -> Table:
        """Return chrF for each row of counts, over the orders that both sides have."""
        ours, theirs, matched = (sums[:, start::3] for start in range(3))
        used = (ours > 0) & (theirs > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = [np.where(used, matched / side, 0).sum(axis=1) / used.sum(axis=1) for side in (ours, theirs)]
            precision, recall = shares
            found: Table = np.nan_to_num(100 * 5 * precision * recall / (4 * precision + recall))
        return found


class MeteorMetric:
    """METEOR of documents, counted by the Java program where METEOR_JAR names it."""

    key = "meteor"

    def __init__(self, language: str, paraphrases: Path | None = None) -> None:
        self._program, self._language, self._table = meteor_program(), language, paraphrases
        ours = read_paraphrases(paraphrases) if paraphrases and not self._program else None
        self._meteor = Meteor(language, ours, stages=3 if paraphrases else 2)
        self.name = self._meteor.name
        self.signature = f"{self.name}|norm|by:{'java' if self._program else 'docaps'}"

    def count(self, hypotheses: Documents, references: Documents) -> Table:
        """Return METEOR's counts, summed over the sentences of each document."""
        sides = list(all_sentences(hypotheses)), list(all_sentences(references))
        if self._program:
            rows = count_with_meteor(self._program, *sides, self._language, self._table)
        else:
            rows = np.array([self._meteor.count(one, other) for one, other in zip(*sides, strict=True)])
        starts = np.cumsum([0] + [len(document.sentences) for document in hypotheses[:-1]])
        sums: Table = np.add.reduceat(rows, starts)
        return sums

    def score(self, sums: Table) -> Table:
        """Return METEOR in per cent for each row of counts."""
        return 100 * self._meteor.score(sums)
