"""BLEU is sacreBLEU's own, over equally many sentences, with a signature."""

import pytest
import sacrebleu

from docaps.errors import CorpusError
from docaps.evaluation.translation_metrics import bleu

REFERENCES = ["Der alte Mann sah das Haus am Fluss.", "Er kaufte es (für 3,5 Mio. Euro).", ""]

HYPOTHESES = ["Der alte Mann sah ein Haus am Fluss.", "Er kaufte es für 3,5 Mio. Euro.", "Ja."]


def test_the_score_is_sacrebleus_own() -> None:
    score = bleu(HYPOTHESES, REFERENCES)
    assert score.score == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], tokenize="13a").score
    assert 30 < score.score < 80
    assert bleu(REFERENCES, REFERENCES).score == pytest.approx(100)


def test_case_counts_and_the_reference_is_the_second() -> None:
    assert bleu([text.lower() for text in HYPOTHESES], REFERENCES).score < bleu(HYPOTHESES, REFERENCES).score
    assert bleu(HYPOTHESES, REFERENCES).score != bleu(REFERENCES, HYPOTHESES).score


def test_the_signature_says_how_the_score_was_computed() -> None:
    signature = bleu(HYPOTHESES, REFERENCES).signature.split("|")
    assert {"nrefs:1", "case:mixed", "tok:13a", "smooth:exp", f"version:{sacrebleu.__version__}"} <= set(signature)


@pytest.mark.parametrize(("hypotheses", "references"), [(1, 2), (3, 2)])
def test_unequal_lengths_are_refused(hypotheses: int, references: int) -> None:
    with pytest.raises(CorpusError, match=f"{hypotheses} translations, but {references} references"):
        bleu(["a"] * hypotheses, ["a"] * references)
