"""Scores from counts of documents are those of sacreBLEU, of multi-bleu.perl and of METEOR."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from tests.oracles import multi_bleu
from tests.unit.evaluation.translations_of_a_story import documents

from docaps.corpus.documents import Document, all_sentences
from docaps.corpus.text.tokenization import Tokenizer
from docaps.evaluation.translation_metrics import Bleu, Chrf, MeteorMetric, Metric, bleu_of

REFERENCES = documents(6, 4)
HYPOTHESES = documents(6, 4, seed=1, share=0.2)


def total(metric: Metric, hypotheses: list[Document], references: list[Document]) -> float:
    return float(metric.score(metric.count(hypotheses, references).sum(axis=0, keepdims=True))[0])


def sentences(side: list[Document]) -> list[str]:
    return list(all_sentences(side))


def test_bleu_and_chrf_are_sacrebleus() -> None:
    ours = sentences(HYPOTHESES), [sentences(REFERENCES)]
    assert total(Bleu("bleu", "BLEU"), HYPOTHESES, REFERENCES) == pytest.approx(BLEU().corpus_score(*ours).score)
    assert total(Chrf(), HYPOTHESES, REFERENCES) == pytest.approx(CHRF(word_order=2).corpus_score(*ours).score)


def test_d_bleu_sees_documents_as_units() -> None:
    joined = [[" ".join(document.sentences) for document in side] for side in (HYPOTHESES, REFERENCES)]
    found = total(Bleu("dbleu", "d-BLEU", whole_documents=True), HYPOTHESES, REFERENCES)
    assert found == pytest.approx(BLEU().corpus_score(joined[0], [joined[1]]).score)
    assert found != pytest.approx(total(Bleu("bleu", "BLEU"), HYPOTHESES, REFERENCES), abs=0.01)


def test_tokenised_bleu_is_multi_bleus() -> None:
    tokenizer = Tokenizer("de")
    sides = [[*map(tokenizer.tokenize, sentences(side))] for side in (HYPOTHESES, REFERENCES)]
    metric = Bleu("tokbleu", "tokenised BLEU", tokenizer=tokenizer)
    assert total(metric, HYPOTHESES, REFERENCES) == pytest.approx(multi_bleu(*sides))
    assert "moses:de" in metric.signature
    assert "tok:none|smooth:none" in metric.signature


@pytest.mark.parametrize(
    "text", ["", "Haus", "Haus am", "ganz anderes hier drin", "Der alte Mann dort", "Haus sah dort alte Leute"]
)
def test_rare_cases_are_sacrebleus_too(text: str) -> None:
    ours, theirs = [Document((text,))], [Document(("Der alte Mann sah das Haus.",))]
    expected = BLEU().corpus_score([text], [[theirs[0].sentences[0]]]).score
    assert total(Bleu("bleu", "BLEU"), ours, theirs) == pytest.approx(expected)
    expected = CHRF(word_order=2).corpus_score([text], [[theirs[0].sentences[0]]]).score
    assert total(Chrf(), ours, theirs) == pytest.approx(expected)
    plain = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score([text], [[theirs[0].sentences[0]]])
    counts = np.array([[len(text.split()), 6, *plain.counts, *plain.totals]], dtype=float)
    assert bleu_of(counts, smooth=False)[0] == pytest.approx(plain.score)


def test_counts_of_documents_add_up() -> None:
    for metric in (Bleu("bleu", "BLEU"), Chrf(), MeteorMetric("de")):
        counts = metric.count(HYPOTHESES, REFERENCES)
        assert len(counts) == len(REFERENCES)
        parts = [metric.count([one], [other]) for one, other in zip(HYPOTHESES, REFERENCES, strict=True)]
        assert np.array_equal(np.concatenate(parts), counts)


def test_every_metric_has_its_own_signature() -> None:
    metrics = [Bleu("bleu", "BLEU"), Bleu("dbleu", "d-BLEU", whole_documents=True), Chrf(), MeteorMetric("de")]
    for metric in metrics:
        metric.count(HYPOTHESES, REFERENCES)
    assert len({metric.signature for metric in metrics}) == len(metrics)
    assert "tok:13a" in metrics[0].signature
    assert "nw:2" in metrics[2].signature
    assert metrics[3].signature == "METEOR-1.5[de,exact+stem]|norm|by:docaps"


NUMBERS = json.loads((Path(__file__).parents[2] / "fixtures" / "bleu" / "numbers.json").read_text(encoding="utf-8"))
CASES = NUMBERS["cases"]


def as_documents(lines: list[str]) -> list[Document]:
    """Put two sentences into a document: sums over documents must not depend on it."""
    return [Document(tuple(lines[start : start + 2])) for start in range(0, len(lines), 2)]


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_tokenised_bleu_is_what_a_perl_script_prints(case: dict[str, Any]) -> None:
    tokenizer = Tokenizer("de")
    printed = re.match(
        r"BLEU = (\S+), (\S+) \(BP=(\S+), ratio=(\S+), hyp_len=(\d+), ref_len=(\d+)\)", case["multi-bleu"]
    )
    assert printed
    sides = as_documents(case["hypothesis"]), as_documents(case["reference"])
    metric = Bleu("tokbleu", "tokenised BLEU", tokenizer=tokenizer)
    counts = metric.count(*sides).sum(axis=0, keepdims=True)
    assert f"{float(metric.score(counts)[0]):.2f}" == printed[1]
    assert (int(counts[0, 0]), int(counts[0, 1])) == (int(printed[5]), int(printed[6]))
    matched, possible = counts[0, 2:6], counts[0, 6:10]
    assert "/".join(f"{100 * share:.1f}" for share in matched / possible) == printed[2]
    words = [[*map(tokenizer.tokenize, case[side])] for side in ("hypothesis", "reference")]
    assert f"{multi_bleu(*words):.2f}" == printed[1]


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_bleu_and_chrf_are_what_the_command_sacrebleu_prints(case: dict[str, Any]) -> None:
    sides = as_documents(case["hypothesis"]), as_documents(case["reference"])
    assert total(Bleu("bleu", "BLEU"), *sides) == pytest.approx(case["sacrebleu"]["BLEU"], abs=6e-7)
    assert total(Chrf(), *sides) == pytest.approx(case["sacrebleu"]["chrF2++"], abs=6e-7)


@pytest.mark.skipif(shutil.which("perl") is None, reason="no perl here")
def test_the_numbers_are_those_of_the_script_beside_them(tmp_path: Path) -> None:
    script, case = Path(__file__).parents[2] / "fixtures" / "bleu" / "multi-bleu.pl", CASES[1]
    tokenizer = Tokenizer("de")
    for name in ("hypothesis", "reference"):
        lines = (" ".join(words) for words in [*map(tokenizer.tokenize, case[name])])
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = ["perl", str(script), str(tmp_path / "hypothesis"), str(tmp_path / "reference")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == case["multi-bleu"]
