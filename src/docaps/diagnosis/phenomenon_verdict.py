"""The verdict on each phenomenon, beside that over all tokens, and what the latter cannot see."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from docaps.diagnosis.conditions import AGAINST, NONE, SHUFFLED, TRUE
from docaps.diagnosis.evidence import ACCURACY, BITS, EXCESS, Evidence, Reason, find_reason
from docaps.diagnosis.phenomenon_evidence import BASELINES, PhenomenonEvidence
from docaps.diagnosis.verdict import NOT_USED, UNCLEAR
from docaps.evaluation.mcnemar import POWER

USED = "context used"
CODES: Mapping[Reason, str] = {"content": "used", "too_few_documents": "unclear"}
VERDICTS = {"used": USED, "unclear": UNCLEAR, "not_used": NOT_USED}
REASONS: Mapping[Reason, str] = {
    "content": "the true history is better than none and than another document's",
    "untrained": "the model has learnt too little to tell",
    "noise": "a history helps, but another document's does as well",
    "harmful": "the true history is worse than none",
    "no_gain": "another document's history hurts, but the true one brings nothing",
    "unspecific": "the true history helps these tokens, but no more than the others of their sentences",
    "no_history": "the model sees one sentence at a time",
    "ignored": "no difference between the histories was found",
    "too_few_documents": "the true history is better, but there are too few documents to exclude chance",
}
_NAMES = {NONE: "none", SHUFFLED: "another's", AGAINST: "the other model"}


def judge_phenomena(phenomena: Sequence[PhenomenonEvidence], overall: Evidence, tokens: int) -> list[dict[str, Any]]:
    """Judge each phenomenon; `overall` is the evidence over all tokens of the text. Return plain JSON values."""
    return [_judge(one, overall, tokens) for one in phenomena]


def _judge(one: PhenomenonEvidence, overall: Evidence, tokens: int) -> dict[str, Any]:
    """Judge a phenomenon."""
    reason = _find_reason(one, overall)
    code = CODES.get(reason, "not_used")
    found = {"tokens": _describe_tokens(one, overall, tokens), "choices": _describe_choices(one)}
    return {
        "phenomenon": one.name,
        "verdict": VERDICTS[code],
        "verdict_code": code,
        "reason": reason,
        "explanation": [REASONS[reason], *_explain_tokens(found["tokens"]), *_explain_choices(found["choices"])],
        "level": one.evidence.level,
        "power": POWER,
        **found,
    }


def _find_reason(one: PhenomenonEvidence, overall: Evidence) -> Reason:
    """Find the reason for a verdict: gains count only if the other tokens of the sentences gain less."""
    if not overall.history:
        return "no_history"
    if overall.is_untrained:
        return "untrained"
    reason, choices = find_reason(one.evidence), one.measure(ACCURACY)
    by_choices = choices is not None and one.evidence.shows_use(choices)
    return "unspecific" if reason == "content" and not by_choices and not one.is_specific else reason


def _describe_tokens(one: PhenomenonEvidence, overall: Evidence, tokens: int) -> dict[str, Any] | None:
    """Return the gains of the tokens of a phenomenon."""
    measure = one.measure(BITS)
    if measure is None:
        return None
    count, bits = int(measure.counts[TRUE][:, 1].sum()), {name: measure.gain(TRUE, name) for name in BASELINES}
    excess = one.measure(EXCESS)
    least, smallest = overall.thresholds.perplexity, one.smallest_bits()
    over_all = weigh(count, tokens, min(bits.values()), -measure.score(NONE), least)
    return {
        "tokens": count,
        "sentences": one.sentences,
        "documents": measure.documents,
        "bits": bits,
        "excess": {name: excess.gain(TRUE, name) for name in BASELINES} if excess else None,
        "comparisons": _list_comparisons(one, BITS),
        "excess_comparisons": _list_comparisons(one, EXCESS),
        "smallest_gain": smallest,
        "over_all": {**over_all, "blind": smallest is not None and over_all["needed"] > smallest},
    }


def weigh(count: int, tokens: int, gain: float, cost: float, least: float) -> dict[str, Any]:
    """Return what a gain per marked token, in bits, means for the perplexity of all tokens.

    `cost` is what a marked token costs without history: no history can save more. `least` is the least share by which
    perplexity over all tokens must fall to count.
    """

    def fall(bits: float) -> float:
        return 1 - 2 ** (-bits * count / tokens)

    return {
        "share": count / tokens,
        "lowers_perplexity": fall(gain),
        "least": least,
        "needed": -math.log2(1 - least) * tokens / count,
        "visible": fall(gain) >= least,
        "possible": fall(cost) >= least,
    }


def _describe_choices(one: PhenomenonEvidence) -> dict[str, Any] | None:
    """Return right choices among the items of a phenomenon."""
    measure = one.measure(ACCURACY)
    if measure is None or one.answers is None:
        return None
    return {
        "items": len(one.answers.documents),
        "documents": measure.documents,
        "accuracy": {name: measure.score(name) for name in (TRUE, SHUFFLED, NONE, AGAINST) if name in measure.counts},
        "comparisons": _list_comparisons(one, ACCURACY),
        "smallest_gain": one.smallest_gain(),
    }


def _list_comparisons(one: PhenomenonEvidence, key: str) -> list[dict[str, Any]]:
    """Return the comparisons of a measure with their p-values."""
    found = [comparison for comparison in one.evidence.comparisons if comparison.measure == key]
    return [asdict(comparison) | {"p": comparison.p} for comparison in found]


def _explain_tokens(found: Mapping[str, Any] | None) -> list[str]:
    """State the gains of tokens, which gain would have been found, and what the verdict over all tokens sees."""
    if found is None:
        return []
    count = f"{found['tokens']:,} tokens in {found['documents']:,} documents"
    gains = [f"{found['bits'][name]:+.3f} bits per token against {_NAMES[name]}" for name in BASELINES]
    rows = {(row["condition"], row["baseline"]): row["p"] for row in found["comparisons"]}
    shown = [
        gain + (f" (p = {rows[TRUE, name]:.2g})" if (TRUE, name) in rows else "")
        for gain, name in zip(gains, BASELINES, strict=True)
    ]
    said = [f"{count}: {', '.join(shown)}"]
    if found["excess"] is not None:
        beyond = [f"{found['excess'][name]:+.3f} against {_NAMES[name]}" for name in BASELINES]
        said.append(f"beyond the other tokens of their sentences: {', '.join(beyond)}")
    if found["smallest_gain"] is not None:
        said.append(f"with them a gain of {found['smallest_gain']:.3f} bits would be found with probability {POWER}")
    return [*said, *_explain_over_all(found)]


def _explain_over_all(found: Mapping[str, Any]) -> list[str]:
    """State which gains the verdict over all tokens cannot see, if these tokens show smaller ones."""
    over_all = found["over_all"]
    if not over_all["blind"]:
        return []
    least = f"{100 * over_all['least']:.1f} % of perplexity"
    share = f"{100 * over_all['share']:.2g} % of all tokens"
    if not over_all["possible"]:
        return [f"the verdict over all tokens cannot see it: with {share}, not even certainty is worth {least}"]
    needed = f"a gain of {over_all['needed']:.2f} bits per token, which is {least}"
    return [f"the verdict over all tokens sees nothing below {needed}: these are {share}"]


def _explain_choices(found: Mapping[str, Any] | None) -> list[str]:
    """State right choices, and which gain would have been found."""
    if found is None:
        return []
    accuracy, names = found["accuracy"], {TRUE: "true", SHUFFLED: "another's", NONE: "none"}
    shares = [f"{name} {100 * accuracy[key]:.1f} %" for key, name in names.items()]
    rows = [row for row in found["comparisons"] if row["condition"] == TRUE]
    tests = [
        f"{row['gained']} gained and {row['lost']} lost against {_NAMES[row['baseline']]} (p = {row['p']:.2g})"
        for row in rows
    ]
    items, smallest = f"{found['items']:,} items", found["smallest_gain"]
    power = (
        f"{items} are too few to find any gain with probability {POWER}"
        if smallest is None
        else f"with {items} a gain of {100 * smallest:.1f} points would be found with probability {POWER}"
    )
    return [f"{items}: right with the history {', '.join(shares)}" + "".join(f"; {test}" for test in tests), power]
