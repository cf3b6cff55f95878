"""Diagnose a run: does it use its context? The result is one JSON object, `diagnosis.json`, which the report reads.

The development part (or any documents) and a contrastive set are run through the model under every history condition,
and through the model it is compared with.
"""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from docaps import progress
from docaps.config import DecodingSettings, TranslationPrecision
from docaps.corpus.documents import count_sentences
from docaps.diagnosis import DiagnosisOptions
from docaps.diagnosis.ablation import AblatedModel, ablate, pool
from docaps.diagnosis.choices import answer_under_conditions
from docaps.diagnosis.conditions import AGAINST, TRUE, check_documents, condition_names
from docaps.diagnosis.data import DataOptions, DiagnosisData, find_sentence_model, fingerprint, read_data, sign
from docaps.diagnosis.evidence import Evidence, compare_all, cxmi, gains_by_distance, list_measures, unigram_perplexity
from docaps.diagnosis.phenomenon_evidence import collect_phenomena
from docaps.diagnosis.phenomenon_verdict import judge_phenomena
from docaps.diagnosis.verdict import judge
from docaps.errors import CorpusError
from docaps.files import sha256
from docaps.runs.directory import Run, open_run
from docaps.translation.trained_model import TrainedModel, describe_precision, load_trained

FILE = "diagnosis.json"
VERSION = 2


def diagnose_run(
    path: Path,
    data_options: DataOptions,
    options: DiagnosisOptions,
    *,
    against: Path | None = None,
    beam: int | None = None,
    precision: TranslationPrecision = "float32",
) -> dict[str, Any]:
    """Diagnose a finished run; by default, against the sentence model it started from.

    A sentence model can be diagnosed as well, for example one that was imported: it does the same with every history.
    """
    run, trained = open_run(path), load_trained(path, precision)
    if not trained.model.history:
        options = replace(options, shuffles=1)  # all draws would be the same
    data = read_data(run, trained, data_options)
    other = against or find_sentence_model(run)
    if other is None and trained.model.history:
        progress.say(f"{run.path}: the sentence model it started from is not beside it; name one with --against RUN")
    decoding = trained.decoding.model_copy(update={"beam": beam} if beam else {})
    # In the same precision: models compared in two would differ by it.
    compared = load_trained(other, trained.writes_in) if other else None
    found, named = diagnose(trained, compared, data, options, decoding), describe_precision(trained, run)
    signed = {
        **{"documents": len(data.documents), "items": len(data.items)},
        **fingerprint(run, [*data.documents, *data.items]),
        **{"beam": decoding.beam if options.bleu else "-", "shuffles": options.shuffles, "seed": options.seed},
        **({"annotations": sha256(data_options.annotations)[:12]} if data_options.annotations else {}),
        **({"translations": options.translations} if trained.model.view.translations else {}),
        "precision": named,
    }
    return {
        "version": VERSION,
        **_describe(run),
        "history": trained.model.history,
        "against": None if other is None else _describe(open_run(other)) | {"given": against is not None},
        **found,
        "precision": named,
        "signature": sign(signed),
    }


def _describe(run: Run) -> dict[str, Any]:
    description = run.read()
    return {"run": str(run.path), **{key: description.get(key) for key in ("name", "system", "created")}}


def diagnose(
    trained: TrainedModel,
    other: TrainedModel | None,
    data: DiagnosisData,
    options: DiagnosisOptions,
    decoding: DecodingSettings | None = None,
) -> dict[str, Any]:
    """Measure a model under every condition, compare it with another, and judge; return plain JSON values."""
    check_documents(data.documents)
    models = AblatedModel(trained, decoding), AblatedModel(other, decoding) if other else None
    found = ablate(*models, data.documents, options, data.marks)
    choices = answer_under_conditions(trained, other, data.items, options, decoding) if data.items else None
    right = choices.counts if choices else {}
    measures = list_measures(pool(found.likelihoods), pool(found.bleu), found.metric.score, right)
    tokens = int(measures[0].counts[TRUE][:, 1].sum())
    if not tokens:
        raise CorpusError("the documents have no sentence with words: there is nothing to score")
    history, tests = trained.model.history, {"draws": options.draws, "seed": options.seed}
    comparisons = compare_all(measures, history, **tests)
    evidence = Evidence(measures, comparisons, history, unigram_perplexity(found.tokens))
    answers, level = choices.answers if choices else None, evidence.thresholds.level
    phenomena = collect_phenomena(found.marked, answers, level=level, **tests)
    return {
        **asdict(judge(evidence)),
        "thresholds": asdict(evidence.thresholds) | {"level_of_each_measure": evidence.level},
        **data.origin,
        "documents": len(data.documents),
        "sentences": count_sentences(data.documents),
        "tokens": tokens,
        "frequency_perplexity": evidence.unigram_perplexity,
        **tests,
        "shuffles": options.shuffles,
        "translations": options.translations if trained.model.view.translations else None,
        "conditions": [evidence.scores(condition) for condition in [*condition_names(history), AGAINST]],
        "bleu_signature": found.metric.signature or None,
        "comparisons": [asdict(comparison) for comparison in comparisons],
        "by_distance": {measure.key: gains_by_distance(comparisons, measure.key, history) for measure in measures},
        "cxmi": cxmi(measures[0], found.cxmi, **tests),
        "better": [record for _, _, record in found.better],
        "worse": [record for _, _, record in found.worse],
        "choices": choices and choices.as_dict(),
        "phenomena": judge_phenomena(phenomena, evidence, tokens),
        "traces": found.traces.as_list(),
    }
