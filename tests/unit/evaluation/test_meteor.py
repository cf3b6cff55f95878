"""METEOR has the numbers of the Java program 1.5 (`-norm -m 'exact stem'`), recorded for sentences of our own."""

import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from docaps.corpus.documents import Document
from docaps.errors import ConfigError, CorpusError, DocapsError
from docaps.evaluation.meteor.alignment import align, count_chunks
from docaps.evaluation.meteor.matching import Match, hash_code
from docaps.evaluation.meteor.normalization import Normalizer
from docaps.evaluation.meteor.paraphrases import read_paraphrases
from docaps.evaluation.meteor.scoring import Meteor
from docaps.evaluation.meteor.settings import EXACT, STEM, function_words
from docaps.evaluation.statistics import MeteorMetric

FIXTURES = Path(__file__).parents[2] / "fixtures" / "meteor"


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


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "Hello, “World” (it's) U.S.A. e.g. Mr. Smith", 'hello , " world " ( it \'s ) usa eg mr. smith'),
        ("en", "pre-existing 3.14 1,000 $5 -- – …", "pre existing 3.14 1,000 $ 5 - - …"),
        ("en", "In Jan. No. 5 foo. Bar foo. bar x...", "in jan . no. 5 foo . bar foo. bar x ..."),
        ("en", "don't '90s 1's a''b a,,b", "don 't ' 90s 1 's a \" b a , ,b"),
        ("de", "„schön“ z.B. usw. am 3. Oktober, it's", "„ schön \" zb usw. am 3. oktober , it ' s"),
        ("de", " \u00a0 ", ""),
    ],
)
def test_words_are_the_programs(language: str, text: str, words: str) -> None:
    assert " ".join(Normalizer(language).words(text)) == words


def test_function_words_are_the_programs() -> None:
    assert len(function_words()) == 93
    assert {"the", "said", "'s", ",", "—"} <= function_words()
    assert not {"house", "#", "haus"} & function_words()


def test_a_case_worked_by_hand() -> None:
    # German: delta 0.55, alpha 0.95, beta 1, gamma 0.55. "Der Hund" of "Der Hund bellt": 2 of 3 content words, 1 chunk.
    precision, recall = 1.0, 2 / 3
    mean = precision * recall / (0.95 * precision + 0.05 * recall)
    meteor = Meteor("de")
    assert meteor.score(meteor.count("Der Hund", "Der Hund bellt"))[0] == pytest.approx(mean * (1 - 0.55 / 2))


def test_a_stem_is_taken_where_it_costs_no_chunk_and_an_exact_match_always() -> None:
    free = [[Match(0, 0, EXACT)], [Match(1, 1, STEM), Match(1, 3, STEM)]]
    assert align(free) == (Match(0, 0, EXACT), Match(1, 1, STEM))
    costly = [[Match(0, 1, STEM), Match(0, 3, STEM)]]
    assert align(costly) == ()
    assert align([[Match(0, 1, EXACT), Match(0, 3, EXACT)]]) == (Match(0, 1, EXACT),)


def test_passing_over_a_match_costs_its_distance() -> None:
    # Two words of the reference want one of the translation: the first is passed over only where that costs nothing.
    assert align([[Match(0, 0, EXACT)], [Match(1, 0, EXACT)]]) == (Match(1, 0, EXACT),)
    assert align([[Match(0, 1, EXACT)], [Match(1, 1, EXACT)]]) == (Match(0, 1, EXACT),)


@pytest.mark.parametrize(
    ("word", "code"),
    [("", 0), ("a", 97), ("as", 3122), ("c5", 3122), ("\U0001f600", 1772899), ("verantwortungsvoll", 329286460)],
)
def test_words_are_known_by_javas_hash_code(word: str, code: int) -> None:
    assert hash_code(word) == code


def test_chunks_are_runs_in_both_sentences() -> None:
    assert count_chunks([]) == 0
    assert count_chunks([Match(0, 0, EXACT), Match(1, 1, EXACT), Match(2, 4, EXACT), Match(4, 5, EXACT)]) == 3
    assert count_chunks([Match(0, 0, EXACT, 2, 1), Match(2, 1, EXACT)]) == 1


def test_paraphrases_are_used_when_the_user_has_them(tmp_path: Path) -> None:
    table = tmp_path / "paraphrases"
    table.write_text("0.5\nin der tat\nwirklich\n0.2\nwirklich\nin der tat\n", encoding="utf-8")
    plain, rich = Meteor("de"), Meteor("de", read_paraphrases(table))
    ours, theirs = "Das ist wirklich schön", "Das ist in der Tat schön"
    without, found = plain.count(ours, theirs), rich.count(ours, theirs)
    assert rich.name == "METEOR-1.5[de,exact+stem+paraphrase]"
    assert found[17:].tolist() == [4, 6]
    assert rich.score(found)[0] > plain.score(without)[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [("x\na\nb\n", "table:1: expected a probability, found 'x'"), ("0.1\na\nb\n0.2\na\n", "table:4: the last entry")],
)
def test_a_broken_table_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    table = tmp_path / "table"
    table.write_text(text)
    with pytest.raises(CorpusError, match=message):
        read_paraphrases(table)


def test_other_languages_are_refused() -> None:
    with pytest.raises(ConfigError, match="implemented for de and en, not for 'fr'"):
        Meteor("fr")


FAKE = """#!{python}
import sys
print("7.0 7.0 4.0 4.0 2.0 2.0 4.0 4.0" + " 0.0" * 12 + " 2.0 6.0 6.0")
print("2.0 2.0 1.0 1.0 1.0 1.0 1.0 1.0" + " 0.0" * 12 + " 1.0 2.0 2.0")
"""


def test_the_program_is_used_where_the_environment_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java, program = tmp_path / "java", tmp_path / "meteor.jar"
    java.write_text(FAKE.format(python=sys.executable))
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    program.write_bytes(b"")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("METEOR_JAR", str(program))
    pair = [Document(("the dog sat on the mat .", "the cat"))], [Document(("the cat sat on the mat .", "the cat"))]
    counts = MeteorMetric("en").count(*pair)
    assert MeteorMetric("en").signature.endswith("by:java")
    monkeypatch.delenv("METEOR_JAR")
    assert np.array_equal(counts, MeteorMetric("en").count(*pair))


def test_a_missing_java_or_program_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "meteor.jar"
    monkeypatch.setenv("METEOR_JAR", str(program))
    with pytest.raises(DocapsError, match="METEOR_JAR names no file"):
        MeteorMetric("en")
    program.write_bytes(b"")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DocapsError, match="there is no 'java' on the path"):
        MeteorMetric("en").count([Document(("a",))], [Document(("a",))])
