"""METEOR has the numbers of the Java program 1.5 (`-norm -m 'exact stem'`), recorded for sentences of our own."""

from pathlib import Path

import numpy as np
import pytest

from docaps.evaluation.meteor.counts import Meteor
from docaps.evaluation.meteor.resources import read_paraphrases

FIXTURES = Path(__file__).parents[3] / "fixtures" / "meteor"


def recorded(name: str) -> tuple[float, list[tuple[float, str, str]]]:
    lines = [line.split("\t") for line in (FIXTURES / f"{name}.tsv").read_text(encoding="utf-8").split("\n") if line]
    return float(lines[0][0]), [(float(score), ours, theirs) for score, ours, theirs in lines[1:]]


def assert_recorded(meteor: Meteor, name: str, *, rows_at_least: int) -> None:
    system, rows = recorded(name)
    assert len(rows) >= rows_at_least
    counts = np.array([meteor.count(ours, theirs) for _, ours, theirs in rows])
    assert meteor.score(counts) == pytest.approx([score for score, _, _ in rows], abs=1e-6)
    assert meteor.score(counts.sum(axis=0))[0] == pytest.approx(system, abs=1e-6)


@pytest.mark.parametrize("language", ["de", "en"])
def test_each_sentence_and_the_whole_have_the_programs_score(language: str) -> None:
    meteor = Meteor(language)
    assert_recorded(meteor, language, rows_at_least=173)
    assert meteor.name == f"METEOR-1.5[{language},exact+stem]"


def test_with_paraphrases_too_the_scores_are_the_programs() -> None:
    meteor = Meteor("de", read_paraphrases(FIXTURES / "paraphrases.txt"))
    assert_recorded(meteor, "de.paraphrase", rows_at_least=78)


def test_a_case_worked_by_hand() -> None:
    # German: delta 0.55, alpha 0.95, beta 1, gamma 0.55. "Der Hund" of "Der Hund bellt": 2 of 3 content words, 1 chunk.
    precision, recall = 1.0, 2 / 3
    mean = precision * recall / (0.95 * precision + 0.05 * recall)
    meteor = Meteor("de")
    assert meteor.score(meteor.count("Der Hund", "Der Hund bellt"))[0] == pytest.approx(mean * (1 - 0.55 / 2))
