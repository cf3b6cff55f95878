"""BLEU, by sacreBLEU, with its signature."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from docaps.corpus.documents import Document
from docaps.errors import CorpusError


@dataclass(frozen=True, slots=True)
class Score:
    """A number and how it was computed."""

    score: float
    signature: str


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """Compare translations with references, both as people write them (13a tokenisation)."""
    from sacrebleu.metrics.bleu import BLEU

    if len(hypotheses) != len(references):
        raise CorpusError(f"{len(hypotheses)} translations, but {len(references)} references")
    metric = BLEU()
    result = metric.corpus_score(list(hypotheses), [list(references)])
    return Score(result.score, str(metric.get_signature()))


def check_same_shape(
    hypotheses: Sequence[Document], references: Sequence[Document], *, path: Path, what: str = "translated"
) -> None:
    """Refuse documents that differ in number or length, naming the first place."""
    for number, (one, other) in enumerate(zip(hypotheses, references, strict=False), start=1):
        if len(one.sentences) != len(other.sentences):
            raise CorpusError(
                f"document {number} has {len(one.sentences)} {what} sentences, "
                f"but {len(other.sentences)} in the reference",
                path=path,
                line=one.layout.line if one.layout else None,
            )
    if len(hypotheses) != len(references):
        message = f"{len(hypotheses)} {what} documents, but {len(references)} in the reference"
        raise CorpusError(message, path=path)
