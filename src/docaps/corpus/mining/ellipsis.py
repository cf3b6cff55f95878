"""Ellipsis: after *I did*, the target repeats a verb that only an earlier sentence tells."""

from collections.abc import Sequence

from docaps.corpus.mining.rule_tables import EllipsisRules
from docaps.corpus.mining.sentences import Finding, Pair, Words

ELLIPSIS = "ellipsis"


def find_ellipses(document: Sequence[Pair], rules: EllipsisRules, reach: int) -> list[Finding]:
    """Return the verbs of a document that the source leaves out, and that an earlier target sentence has."""
    found = []
    for number, pair in enumerate(document):
        if number and len(pair.source) <= rules.longest and rules.source.search(" ".join(pair.source.lower)):
            finding = _examine(document, number, rules, reach)
            found += [finding] if finding else []
    return found


def _examine(document: Sequence[Pair], number: int, rules: EllipsisRules, reach: int) -> Finding | None:
    """Return the finding of a sentence, if its only verb is one of an earlier sentence."""
    target = document[number].target
    verbs = [(place, verb) for place, word in enumerate(target.lower) for verb in _verbs_of(word, rules)]
    if len({place for place, _ in verbs}) != 1:
        return None
    place = verbs[0][0]
    if not all(_is_filler(target, other, rules) for other in range(len(target)) if other != place):
        return None
    for _, verb in verbs:
        wrong, distance = _wrong_forms(target, place, verb, rules), _distance(document, number, verb, rules, reach)
        if wrong and distance is not None:
            return Finding(
                sentence=number, phenomenon=ELLIPSIS, label=verb, distance=distance, places=(place,),
                cue=verb, wrong=tuple({place: form} for form in wrong),
            )  # fmt: skip
    return None


def _verbs_of(word: str, rules: EllipsisRules) -> list[str]:
    """Return the verbs that have this form."""
    return [verb for verb, forms in rules.verbs.items() if word in forms and verb in rules.wrong]


def _is_filler(target: Words, place: int, rules: EllipsisRules) -> bool:
    """Return whether a word is no verb: a subject, a filler, a mark or a name."""
    word = target.lower[place]
    known = word in rules.fillers or word in rules.persons or not word.isalpha()
    return known or (target.forms[place][0].isupper() and not target.begins(place))


def _wrong_forms(target: Words, place: int, verb: str, rules: EllipsisRules) -> list[str]:
    """Return the forms of other verbs for the same person; none if the person is not certain."""
    form = target.lower[place]
    persons = {number for number, one in enumerate(rules.verbs[verb]) if one == form}
    told = [set(rules.persons[word]) for word in target.lower if word in rules.persons]
    fitting = [persons & one for one in told if persons & one]
    person = min(fitting[0]) if len({frozenset(one) for one in fitting}) == 1 and len(fitting[0]) == 1 else None
    return [] if person is None else [rules.verbs[other][person] for other in rules.wrong[verb]]


def _distance(document: Sequence[Pair], number: int, verb: str, rules: EllipsisRules, reach: int) -> int | None:
    """Return how many sentences back the verb is, if no nearer sentence has another one."""
    for distance in range(1, min(reach, number) + 1):
        target = document[number - distance].target
        if set(rules.verbs[verb]) & target.known:
            return distance
    return None
