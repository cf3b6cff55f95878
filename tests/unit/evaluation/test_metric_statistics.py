"""Scores from counts of documents are those of sacreBLEU, of multi-bleu.perl and of METEOR."""

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from tests.oracles import multi_bleu
from tests.unit.evaluation.translations_of_a_story import documents

from docaps.corpus.documents import Document, all_sentences
from docaps.corpus.tokenization import Tokenizer
from docaps.evaluation.statistics import Bleu, Chrf, MeteorMetric, Metric, bleu_of

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
    sides = [tokenizer.tokenize_many(sentences(side)) for side in (HYPOTHESES, REFERENCES)]
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


def test_every_signature_tells_the_metric_apart() -> None:
    metrics = [Bleu("bleu", "BLEU"), Bleu("dbleu", "d-BLEU", whole_documents=True), Chrf(), MeteorMetric("de")]
    for metric in metrics:
        metric.count(HYPOTHESES, REFERENCES)
    assert len({metric.signature for metric in metrics}) == len(metrics)
    assert "tok:13a" in metrics[0].signature
    assert "nw:2" in metrics[2].signature
    assert metrics[3].signature == "METEOR-1.5[de,exact+stem]|norm|by:docaps"
