"""Formality: *you* is du, ihr or Sie, as the document uses before."""

from collections.abc import Sequence

from docaps.corpus.mining.rule_tables import AddressRules, FormRules
from docaps.corpus.mining.sentences import Finding, Pair, Words

FORMALITY = "formality"


def label_document(document: Sequence[Pair], rules: AddressRules) -> list[str | None]:
    """Return the form of address that each sentence uses, or None where it uses none, or is not certain."""
    return [_label(pair, rules) for pair in document]


def find_formality(document: Sequence[Pair], rules: AddressRules, reach: int) -> list[Finding]:
    """Return the addresses that an earlier sentence decides, in documents that are either formal or informal."""
    labels = label_document(document, rules)
    used = {rules.forms[label].formal for label in labels if label}
    if len(used) != 1:
        return []
    found = []
    for number, label in enumerate(labels):
        distance = _distance(labels, number, reach) if label else None
        if label and distance is not None:
            target = document[number].target
            wrong = rewrite(target, label, rules)
            finding = Finding(
                sentence=number, phenomenon=FORMALITY, label=label, distance=distance,
                places=tuple(sorted(wrong or _places(target, rules.forms[label]))), wrong=(wrong,) if wrong else (),
            )  # fmt: skip
            found.append(finding)
    return found


def _distance(labels: Sequence[str | None], number: int, reach: int) -> int | None:
    """Return how many sentences back the nearest address is, if it has the same form."""
    for distance in range(1, min(reach, number) + 1):
        if earlier := labels[number - distance]:
            return distance if earlier == labels[number] else None
    return None


def _label(pair: Pair, rules: AddressRules) -> str | None:
    """Return the form of a sentence that addresses somebody, if it has words of one form only."""
    if not pair.source.known & rules.source or pair.source.known & rules.blocking_source:
        return None
    found = [label for label, form in rules.forms.items() if _places(pair.target, form)]
    return found[0] if len(found) == 1 else None


def _places(target: Words, form: FormRules) -> list[int]:
    """Return the numbers of the words of a form."""
    words = {form.subject, *form.objects.values(), *form.possessives}
    found = target.places(word.lower() for word in words)
    return [place for place in found if _has_case(target, place, form)]


def _has_case(target: Words, place: int, form: FormRules) -> bool:
    """Return whether a word has the capital of its form; at the beginning, the verb after it must tell."""
    word, capital = target.lower[place], target.forms[place][0].isupper()
    if not target.begins(place):
        return capital == form.capitals
    if word != form.subject.lower():
        return not form.capitals
    after = target.lower[place + 1] if place + 1 < len(target) else ""
    return bool(form.verb.fullmatch(after)) and after not in form.no_verbs


def rewrite(target: Words, label: str, rules: AddressRules) -> dict[int, str] | None:
    """Return the changes that make the translation use the other form; None where they are not certain."""
    form, other = rules.forms[label], rules.forms[rules.forms[label].becomes]
    if form.blocking.search(" ".join(target.lower)):
        return None
    verbs = _verb_table(label, rules)
    changes: dict[int, str] = {}
    for place in _places(target, form):
        change = _change(target, place, form, other, verbs, rules)
        if change is None:
            return None
        changes |= change
    if _is_uncertain(target, set(changes), form, rules):
        return None
    rest = [place for place, word in enumerate(target.lower) if place not in changes and not form.capitals]
    missed = [place for place in rest if form.stray.fullmatch(target.lower[place])]
    if any(target.lower[place] not in form.no_verbs and target.forms[place].islower() for place in missed):
        return None  # a verb that is not in the table
    return changes or None


def _is_uncertain(target: Words, changed: set[int], form: FormRules, rules: AddressRules) -> bool:
    """Return whether a capital hides a word of this form, or a request has no subject."""
    words = {word.lower() for word in (form.subject, *form.objects.values(), *form.possessives)}
    if form.capitals:
        return any(target.begins(place) and place not in changed for place in target.places(words))
    return form.subject not in target.known and not target.known & (rules.subjects | rules.statements)


def _verb_table(label: str, rules: AddressRules) -> dict[str, str]:
    """Return the verbs of a form with those of the form that it becomes."""
    order = list(rules.forms)
    one, other = order.index(label), order.index(rules.forms[label].becomes)
    table: dict[str, str] = {}
    for row in rules.verbs:  # the first of two spellings
        table.setdefault(row[one], row[other])
    return table


def _change(
    target: Words, place: int, form: FormRules, other: FormRules, verbs: dict[str, str], rules: AddressRules
) -> dict[int, str] | None:
    """Return the changes for one word: a pronoun with its verb, an object or a possessive."""
    word = target.lower[place]
    possessives = {one.lower(): two for one, two in zip(form.possessives, other.possessives, strict=True)}
    objects = {one.lower(): case for case, one in form.objects.items()}
    start, end = target.clause(place)
    others = set(target.lower[start:end]) & rules.subjects
    if word == form.subject.lower() and not (word in objects and others):
        verb = _verb(target, place, verbs, rules)
        rest = target.lower[start:place] + target.lower[place + 1 : end]
        reflexive = any(one in form.reflexives.values() for one in rest)
        return None if verb is None or reflexive else {place: other.subject, verb: verbs[target.lower[verb]]}
    if word in objects:
        if list(form.objects.values()).count(form.objects[objects[word]]) > 1 or form.subject.lower() in (
            target.lower[start:place] + target.lower[place + 1 : end]
        ):
            return None  # the case is not certain, or the pronoun is reflexive
        return {place: other.objects[objects[word]]}
    return {place: possessives[word]} if word in possessives else None


def _verb(target: Words, place: int, verbs: dict[str, str], rules: AddressRules) -> int | None:
    """Return the number of the verb of a subject: beside it, or at the end of a subordinate clause."""
    start, end = target.clause(place)
    if rules.between is not None:
        after = (number for number in range(place + 1, end) if target.lower[number] not in rules.between)
        near = [next(after, place)]
    elif place > start and target.lower[place - 1] in rules.conjunctions:
        near = [end - 1]
    elif place == start:
        near = [place + 1]
    else:
        near = [place - 1]
    fitting = [number for number in near if start <= number < end and target.lower[number] in verbs]
    return fitting[0] if fitting and fitting[0] != place else None
