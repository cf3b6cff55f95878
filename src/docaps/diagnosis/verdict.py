"""The verdict of a diagnosis: a code for programs, and the same in words."""

from dataclasses import dataclass
from typing import Literal

from docaps.diagnosis.conditions import AGAINST, NONE, SHUFFLED, TRUE
from docaps.diagnosis.evidence import PERPLEXITY, Evidence, Measure, Reason, find_reason, gains_by_distance

NOT_USED, UNCLEAR = "context not used", "unclear whether context is used"


@dataclass(frozen=True, slots=True)
class DiagnosisVerdict:
    """Whether context is used, the reason, and both in words."""

    verdict: str
    verdict_code: Literal["used", "not_used", "unclear"]
    reason: Reason
    explanation: list[str]


def judge(evidence: Evidence) -> DiagnosisVerdict:
    """Decide whether context is used, and explain why."""
    reason: Reason = find_reason(evidence) if evidence.history else "no_history"
    if reason == "content":
        return DiagnosisVerdict("; ".join(state_use(evidence)), "used", reason, state_against(evidence))
    # Of a model without a history, the tests compare equal scores.
    scores = [_list_scores(evidence, measure) for measure in evidence.deciding] if evidence.history else []
    why = [explain(evidence, reason), *scores, *state_against(evidence)]
    if reason == "too_few_documents":
        return DiagnosisVerdict(UNCLEAR, "unclear", reason, why)
    return DiagnosisVerdict(NOT_USED, "not_used", reason, why)


def state_use(evidence: Evidence) -> list[str]:
    """State the gain from context, what another document's history does, and from how far back the gain comes."""
    first = next(measure for measure in evidence.deciding if evidence.shows_use(measure))
    said = [_state_change(evidence, measure) for measure in evidence.deciding]
    if evidence.is_better(first, SHUFFLED, NONE):
        said.append("shuffled history helps less")
    else:
        worse = evidence.is_better(first, SHUFFLED, NONE, -1)
        said.append("shuffled history hurts" if worse else "shuffled history brings nothing")
    rows = gains_by_distance(evidence.comparisons, first.key, evidence.history)
    good = [row for row in rows if row["p"] < evidence.level and evidence.is_large(first.key, row["gain"])]
    if good:
        *most, last = [str(row["distance"]) for row in good]
        said.append(
            f"gain comes from distances {', '.join(most)} and {last}" if most else f"gain comes from distance {last}"
        )
    return said


def _state_change(evidence: Evidence, measure: Measure) -> str:
    """State how a score changes with the true history."""
    found = evidence.find(measure.key, TRUE, NONE)
    chance = f", p = {found.p:.2g}" if found is not None else ""
    if measure.key == PERPLEXITY:
        gain = measure.gain(TRUE, NONE)
        return f"context {'lowers' if gain >= 0 else 'raises'} perplexity by {100 * abs(gain):.1f} %{chance}"
    before, after = measure.score(NONE), measure.score(TRUE)
    verb = "rise" if after >= before else "fall"
    return f"right choices {verb} from {100 * before:.1f} % to {100 * after:.1f} %{chance}"


def state_against(evidence: Evidence) -> list[str]:
    """State the difference to the other model, by each deciding measure."""
    said = []
    for measure in evidence.deciding:
        found = evidence.find(measure.key, TRUE, AGAINST)
        if found is not None:
            lower = measure.key == PERPLEXITY
            side = "below" if (found.gain >= 0) == lower else "above"
            amount = f"{100 * abs(found.gain):.1f} {'%' if lower else 'points'} {side}"
            what = "perplexity is" if lower else "right choices are"
            said.append(f"{what} {amount} the sentence model's, p = {found.p:.2g}")
    return said


def explain(evidence: Evidence, reason: Reason) -> str:
    """Explain why context does not count as used."""
    perplexity = evidence.perplexity
    why: dict[Reason, str] = {
        "untrained": f"the model has learnt too little to tell: its perplexity, {perplexity.score(TRUE):,.1f}, is not "
        f"below {evidence.unigram_perplexity:,.1f}, that of word frequencies alone",
        "noise": "a history helps, but another document's does as well: it is not read, it serves as noise",
        "harmful": "the true history makes the model worse than none",
        "no_gain": "another document's history hurts, so the history is looked at, but the true one brings nothing",
        "no_history": "this model sees one sentence at a time, so every history is the same to it; docaps train "
        "--init-from puts a context system on top of it",
        "ignored": "with the true history, with another document's and with none the model does the same",
        "too_few_documents": f"the true history is better than none and than another's, but {perplexity.documents} "
        f"documents are too few to exclude chance: at least {evidence.thresholds.documents} are needed",
    }
    return why[reason]


def _list_scores(evidence: Evidence, measure: Measure) -> str:
    """List the scores with each history and their p-values."""
    names = {NONE: "none", SHUFFLED: "another's", TRUE: "true"}
    form = "{:.3f}" if measure.key == PERPLEXITY else "{:.1%}"
    shown = ", ".join(f"{name} {form.format(measure.score(key))}" for key, name in names.items())
    found = [evidence.find(measure.key, TRUE, other) for other in (NONE, SHUFFLED)]
    tested = [f"{one.p:.2g} against {names[one.baseline]}" for one in found if one is not None]
    title = "perplexity" if measure.key == PERPLEXITY else "right choices"
    return f"{title}: {shown}" + (f" (p = {', '.join(tested)})" if tested else "")
