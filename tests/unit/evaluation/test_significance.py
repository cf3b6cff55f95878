"""Significance equals a case worked by hand, and sacreBLEU's tests where each document is one sentence."""

import logging
import math

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest
from tests.unit.evaluation.translations_of_a_story import documents

from docaps.corpus.documents import Document, all_sentences
from docaps.evaluation.intervals import BLOCK, Table, score_interval
from docaps.evaluation.significance import compare, p_value
from docaps.evaluation.translation_metrics import Bleu

DRAWS = 10_000


def mean(sums: Table) -> Table:
    """A score one can work out in the head: points for each sentence."""
    return sums[:, 0] / sums[:, 1]


def test_a_case_worked_by_hand() -> None:
    # Two documents of one sentence each; the system has 1 and 3 points more.
    baseline, system = np.array([[0.0, 1], [0, 1]]), np.array([[1.0, 1], [3, 1]])
    found = compare(baseline, system, mean, draws=DRAWS, seed=3)
    assert found.difference == 2
    # Bootstrap: differences 1, 2, 2, 3 of equal chance, all of them as far as 1 from their mean of 2.
    assert (found.low, found.high) == (1, 3)
    assert found.p_bootstrap == 1 / (DRAWS + 1)
    # Randomisation: differences 2, 1, -1, -2; half of them are as large as 2.
    assert found.p_randomisation == pytest.approx(1 / 2, abs=4 * math.sqrt(1 / 4 / DRAWS))


def test_p_counts_draws_that_are_as_large_on_either_side() -> None:
    draws = np.array([-3.0, -2, -1, 0, 1, 2, 3, 4, 2 - 1e-12])
    assert p_value(draws, 2.0) == p_value(draws, -2.0) == (6 + 1) / (9 + 1)


def test_a_randomisation_worked_by_hand() -> None:
    # Three documents, differences +4, +4, -1: mean 7/3. Of the 8 signs, |mean| is 3 twice, 7/3 twice, else 1/3.
    baseline = np.array([[0.0, 1], [0, 1], [1, 1]])
    system = np.array([[4.0, 1], [4, 1], [0, 1]])
    found = compare(baseline, system, mean, draws=DRAWS, seed=3)
    assert found.difference == pytest.approx(7 / 3)
    assert found.p_randomisation == pytest.approx(4 / 8, abs=4 * math.sqrt(1 / 4 / DRAWS))


def test_documents_are_drawn_not_sentences() -> None:
    rows = np.array([[1.0, 1], [1, 1], [-1, 1], [-1, 1]])
    by_document = np.array([[2.0, 2], [-2, 2]])
    alone = score_interval(rows, mean, draws=DRAWS, seed=1)
    together = score_interval(by_document, mean, draws=DRAWS, seed=1)
    assert together == {"low": -1, "high": 1}
    assert alone["low"] == pytest.approx(-1)
    assert compare(by_document[::-1], by_document, mean, draws=DRAWS, seed=1).difference == 0


def systems() -> tuple[list[Document], list[Document], list[Document]]:
    return documents(120, 1), documents(120, 1, seed=1, share=0.2), documents(120, 1, seed=3, share=0.2)


@pytest.mark.parametrize("kind", ["bs", "ar"])
def test_it_agrees_with_sacrebleu_where_a_document_is_a_sentence(kind: str) -> None:
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)
    references, *sides = systems()
    texts = [list(all_sentences(side)) for side in (references, *sides)]
    metrics = {"BLEU": BLEU(references=[texts[0]])}
    test = PairedTest(list(zip("ab", texts[1:], strict=True)), metrics, None, test_type=kind, n_samples=DRAWS)
    theirs = test()[1]["BLEU"][1]
    metric = Bleu("bleu", "BLEU")
    ours = compare(*(metric.count(side, references) for side in sides), metric.score, draws=DRAWS, seed=5)
    found = ours.p_bootstrap if kind == "bs" else ours.p_randomisation
    assert 0.02 < found < 0.98
    assert found == pytest.approx(theirs.p_value, abs=5 * math.sqrt(2 * 0.25 / DRAWS))
    if kind == "bs":
        interval = score_interval(metric.count(sides[1], references), metric.score, draws=DRAWS, seed=5)
        assert (interval["high"] - interval["low"]) / 2 == pytest.approx(theirs.ci, rel=0.05)


def test_the_same_system_is_no_better_than_itself() -> None:
    metric = Bleu("bleu", "BLEU")
    references, system, _ = systems()
    counts = metric.count(system, references)
    found = compare(counts, counts, metric.score, draws=50, seed=1)
    assert found.difference == found.low == found.high == 0
    assert found.p_bootstrap == found.p_randomisation == 1


@pytest.mark.parametrize("size", [1, 3, 5])
def test_few_documents_prove_nothing(size: int) -> None:
    # All documents gain the same: 2 of 2^size tosses are as extreme.
    baseline, system = np.array([[0.0, 1]] * size), np.array([[1.0, 1]] * size)
    found = compare(baseline, system, mean, draws=DRAWS, seed=3)
    assert found.p_randomisation == pytest.approx(2 / 2**size, abs=4 * math.sqrt(1 / 4 / DRAWS))
    assert found.p_randomisation > 0.05


def test_the_seed_decides_and_the_size_of_blocks_does_not_matter_for_the_number_of_draws() -> None:
    metric = Bleu("bleu", "BLEU")
    references, one, other = systems()
    tables = metric.count(one, references), metric.count(other, references)
    found = [compare(*tables, metric.score, draws=300, seed=seed) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert p_value(np.zeros(BLOCK + 5), 1.0) == 1 / (BLOCK + 6)
