"""`docaps evaluate`: tables, JSON, several systems, and every error reported."""

import gzip
import json
from pathlib import Path

import pytest
from tests.cli.calling import docaps, succeed

SOURCE = "<d>\nThe church burned.\nIt was old.\n<d>\nThe church stood here.\nI like it.\n<d>\nA garden grew.\n"
REFERENCE = (
    "<d>\nDie Kirche brannte.\nSie war alt.\n<d>\nDie Kirche stand hier.\nIch mag sie.\n<d>\nEin Garten wuchs.\n"
)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("METEOR_JAR", raising=False)
    for name, text in {
        "source.en": SOURCE,
        "reference.de": REFERENCE,
        "good.de": REFERENCE.replace("wuchs", "wächst"),
        "bad.de": REFERENCE.replace("Sie", "Es").replace("sie", "es").replace("stand hier", "steht dort"),
        "short.de": REFERENCE.replace("Ich mag sie.\n", ""),
        "fewer.de": REFERENCE.replace("<d>\nEin Garten wuchs.\n", ""),
    }.items():
        Path(name).write_text(text, encoding="utf-8")
    return tmp_path


BOTH = ["--hypothesis", "good.de", "--hypothesis", "bad.de", "--reference", "reference.de"]


def test_all_scores_and_differences_are_there(desk: Path) -> None:
    found = json.loads(succeed("evaluate", *BOTH, "--source", "source.en", "--draws", "200", "--json").out)
    assert (found["documents"], found["sentences"], found["baseline"]) == (3, 5, "good.de")
    good, bad = found["systems"]
    assert list(good["scores"]) == ["bleu", "dbleu", "tokbleu", "chrf", "meteor"]
    assert good["bleu"] == good["scores"]["bleu"]["score"] > bad["bleu"]
    assert good["scores"]["meteor"]["name"] == "METEOR-1.5[de,exact+stem]"
    assert all(
        score["low"] <= score["score"] <= score["high"] and score["signature"] for score in good["scores"].values()
    )
    assert good["pronouns"]["accuracy"] == 1
    assert bad["pronouns"]["accuracy"] == 0
    (comparison,) = found["comparisons"]
    assert (comparison["system"], comparison["baseline"]) == ("bad.de", "good.de")
    assert comparison["scores"]["bleu"]["difference"] == pytest.approx(bad["bleu"] - good["bleu"])
    assert 0 < comparison["scores"]["bleu"]["p_bootstrap"] <= 1


def test_the_baseline_and_the_metrics_can_be_chosen(desk: Path) -> None:
    options = ["--baseline", "bad.de", "--metrics", "chrf,bleu", "--draws", "10", "--json"]
    found = json.loads(succeed("evaluate", *BOTH, *options).out)
    assert found["comparisons"][0]["system"] == "good.de"
    assert found["comparisons"][0]["scores"]["chrf"]["difference"] > 0
    assert list(found["systems"][0]["scores"]) == ["chrf", "bleu"]
    assert "lexical_consistency" not in found["systems"][0]


def test_the_tables_show_all_scores_and_signatures(desk: Path) -> None:
    out = succeed("evaluate", *BOTH, "--source", "source.en", "--draws", "10").out
    for text in (
        "good.de",
        "bad.de",
        "d-BLEU",
        "chrF2++",
        "tokenised BLEU",
        "METEOR-1.5[de,exact+stem]",
        "consistency",
    ):
        assert text in out
    assert "Differences to good.de" in out
    assert "tok:13a" in out
    assert "unit:document" in out


def copy(name: str, source: str = "good.de") -> str:
    """Give a file another name."""
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(Path(source).read_bytes())
    return name


@pytest.mark.parametrize(
    ("hypothesis", "reference", "language"),
    [
        ("good.de", "reference.de", "de"),
        ("plain", "copied.de.txt", "de"),
        ("copied.fr", "plain", "fr"),
        ("de/one", "de/two.EN", "en"),
        ("good.v2.en.txt", "plain", "en"),
    ],
)
def test_the_language_is_that_of_the_names(desk: Path, hypothesis: str, reference: str, language: str) -> None:
    for name in (hypothesis, reference):
        copy(name)
    result = succeed("evaluate", "--hypothesis", hypothesis, "--reference", reference, "--draws", "10")
    assert f"|moses:{language}" in result.out
    assert f"METEOR-1.5[{language}," in result.out or language == "fr"
    assert f"language of the translation: {language}, by the name of " in result.err
    assert " (--language)" in result.err


def test_a_compressed_file_and_a_directory_are_named_by_their_language_too(desk: Path) -> None:
    Path("one").write_text("Die Kirche brannte.\n", encoding="utf-8")
    for folder in ("en", "fr", "books"):
        copy(f"{folder}/story.txt", "one")
    Path("good.en.gz").write_bytes(gzip.compress(Path("good.de").read_bytes()))
    result = succeed("evaluate", "--hypothesis", "good.en.gz", "--reference", copy("plain"), "--draws", "10")
    assert "language of the translation: en, by the name of good.en.gz" in result.err
    result = succeed("evaluate", "--hypothesis", "en", "--reference", "books", "--draws", "10")
    assert "language of the translation: en, by the name of en" in result.err
    fault = docaps("evaluate", "--hypothesis", "en", "--reference", "fr")
    assert "which language has the translation? The names differ, fr in 'fr', en in 'en': give --language" in fault.err


def test_a_given_language_is_not_announced(desk: Path) -> None:
    result = succeed("evaluate", *BOTH, "--language", "en", "--draws", "10")
    assert "|moses:en" in result.out
    assert result.err == ""


def test_a_language_that_no_name_tells_is_asked_for(desk: Path) -> None:
    hypothesis, reference = copy("hypothesis.txt"), copy("reference")
    fault = docaps("evaluate", "--hypothesis", hypothesis, "--reference", reference)
    assert (fault.code, fault.out) == (1, "")
    asked = "which language has the translation? The names do not tell (reference, hypothesis.txt): give --language"
    assert asked in fault.err
    fault = docaps("evaluate", *BOTH, "--source", copy("source", "source.en"))
    assert (fault.code, fault.out) == (1, "")
    assert "which language has the source? The names do not tell (source): give --source-language" in fault.err
    fault = docaps("evaluate", *BOTH, "--language", "german")
    assert "'german' is not a language code like 'en' or 'de'" in fault.err


def test_pronouns_are_counted_from_english_to_german_only(desk: Path) -> None:
    source = copy("source.fr", "source.en")
    found = json.loads(succeed("evaluate", *BOTH, "--source", source, "--draws", "10", "--json").out)
    assert "pronouns" not in found["systems"][0]
    noted = succeed("evaluate", *BOTH, "--source", source, "--draws", "10").err
    assert "lexical consistency: no list of function words for 'fr', so any word of four letters or more" in noted


def test_one_document_has_no_interval(desk: Path) -> None:
    Path("one.de").write_text("Die Kirche brannte nieder.\n")
    result = succeed("evaluate", "--hypothesis", "one.de", "--reference", "one.de")
    assert "one document: no intervals" in result.err
    assert "100.00" in result.out


def test_document_starts_can_stand_in_a_file_of_their_own(desk: Path) -> None:
    for name in ("reference.de", "bad.de"):
        Path(f"plain-{name}").write_text(Path(name).read_text(encoding="utf-8").replace("<d>\n", ""), encoding="utf-8")
    Path("where.txt").write_text("0\n2\n4\n")
    options = ["--hypothesis", "plain-bad.de", "--reference", "plain-reference.de", "--starts", "where.txt", "--json"]
    found = json.loads(succeed("evaluate", *options, "--draws", "10").out)
    marked = json.loads(succeed("evaluate", "--hypothesis", "bad.de", "--reference", "reference.de", "--json").out)
    assert (found["documents"], found["sentences"]) == (3, 5)
    for key, score in found["systems"][0]["scores"].items():
        assert score["score"] == marked["systems"][0]["scores"][key]["score"]


FAULTS = [
    ("--hypothesis short.de --reference reference.de", "short.de:4: document 2 has 1 translated sentences, but 2"),
    ("--hypothesis fewer.de --reference reference.de", "fewer.de: 2 translated documents, but 3 in the reference"),
    ("--hypothesis good.de --reference reference.de --source fewer.de", "fewer.de: 2 source documents, but 3"),
    ("--hypothesis good.de --hypothesis good.de --reference reference.de", "the same --hypothesis twice"),
    (
        "--hypothesis good.de --reference reference.de --baseline bad.de",
        "--baseline bad.de is none of the translations",
    ),
    ("--hypothesis good.de --reference reference.de --metrics blue", "no metric 'blue': choose from bleu, dbleu"),
    (
        "--hypothesis good.de --reference reference.de --metrics meteor --language fr",
        "METEOR is implemented for de and en",
    ),
    ("--hypothesis good.de --reference reference.de --comet x", "--comet needs the source"),
    ("--hypothesis good.de --reference reference.de --source source.en --comet absent", "no COMET in 'absent'"),
    ("--hypothesis good.de --reference reference.de --meteor-paraphrases absent", "absent: no such file"),
]


@pytest.mark.parametrize(("options", "message"), FAULTS, ids=[options for options, _ in FAULTS])
def test_errors_are_reported(desk: Path, options: str, message: str) -> None:
    result = docaps("evaluate", *options.split())
    assert result.code == 1
    assert message in result.err
    assert result.out == ""
