"""Pronouns: *it* is er, sie or es, by the gender of a noun in an earlier sentence."""

from collections.abc import Sequence

from docaps.corpus.contrastive.contrastive_set import PRONOUN
from docaps.corpus.mining.genders import Genders, Mention
from docaps.corpus.mining.rule_tables import PronounRules
from docaps.corpus.mining.sentences import Finding, Pair, Words

LATEST = 5
"""The last place of the source pronoun, if the translation begins with its pronoun."""


def find_pronouns(document: Sequence[Pair], rules: PronounRules, genders: Genders, reach: int) -> list[Finding]:
    """Return the pronouns of a document whose noun is in one of the last `reach` sentences before."""
    found = []
    for number, pair in enumerate(document):
        if number and is_candidate(pair.source, rules):
            finding = _examine(document, number, rules, genders, reach)
            found += [finding] if finding else []
    return found


def is_candidate(source: Words, rules: PronounRules) -> bool:
    """Return whether a sentence has the pronoun once, and no word that could be mistaken for it in the translation."""
    if rules.source not in source.known or source.known & rules.blocking_source:
        return False
    return source.lower.count(rules.source) == 1


def _examine(
    document: Sequence[Pair], number: int, rules: PronounRules, genders: Genders, reach: int
) -> Finding | None:
    """Return the finding of a sentence, if its pronoun is certain and an earlier sentence has its noun."""
    pair = document[number]
    places = pair.target.places(rules.pronouns)
    if len(places) != 1 or not _is_translation(pair, places[0], rules):
        return None
    (place,) = places
    word, case = pair.target.lower[place], _case(pair.target, place, rules)
    if case is None or rules.blocking_target.search(" ".join(pair.target.lower)):
        return None
    gender = next(gender for gender, form in rules.forms[case].items() if form == word)
    if genders.may_hold(pair.target, gender, place):
        return None  # the noun may be in the sentence itself
    noun = _nearest(document, number, gender, rules, genders, reach)
    if noun is None:
        return None
    distance, mention = noun
    wrong = tuple({place: form} for other, form in rules.forms[case].items() if other != gender)
    return Finding(
        sentence=number, phenomenon=PRONOUN, label=word, distance=distance, places=(place,), cue=mention.words,
        form=case, wrong=wrong,
    )  # fmt: skip


def _is_translation(pair: Pair, place: int, rules: PronounRules) -> bool:
    """Return whether the target pronoun translates the source pronoun, and this stands for something."""
    word = pair.target.lower[place]
    if word in rules.plural and pair.source.known & rules.blocking_plural:
        return False
    if word in rules.strict:
        return _is_strict(pair, place, rules)
    begins = pair.source.lower.index(rules.source)
    if place == 0 and begins > LATEST:
        return False  # the source may name the thing before
    return (place == begins == 0) or not rules.dummies.search(" ".join(pair.source.lower))


def _case(target: Words, place: int, rules: PronounRules) -> str | None:
    """Return the case of a pronoun, or None where it may not be a singular one of the third person."""
    word = target.lower[place]
    cases = [case for case, forms in rules.forms.items() if word in forms.values()]
    if not target.begins(place) and target.forms[place] != word:
        return None  # a capital inside the sentence: the polite form
    if len(cases) == 1:
        return cases[0]
    return _subject_case(target, place, rules)


def _subject_case(target: Words, place: int, rules: PronounRules) -> str | None:
    """Return the first case if a singular verb stands beside the pronoun, or at the end of its subordinate clause."""
    start, end = target.clause(place)
    after = target.lower[place + 1] if place + 1 < len(target) else ""
    before = target.lower[place - 1] if place else ""
    if target.begins(place):
        return rules.subject_case if after.isalpha() and not rules.plural_verb.fullmatch(after) else None
    if set(target.lower[start:end]) & rules.other_subjects:
        return rules.object_case
    if rules.singular_verb.fullmatch(before):
        opens = place - 1 == start or target.lower[start] in rules.openers
        return rules.subject_case if opens else None  # else the subject may stand before the verb
    if before in rules.conjunctions and end - 1 > place and rules.singular_verb.fullmatch(target.lower[end - 1]):
        return rules.subject_case
    return None


def _is_strict(pair: Pair, place: int, rules: PronounRules) -> bool:
    """Return whether a pronoun that is mostly a dummy subject is none: by what follows it on both sides."""
    if place or pair.source.lower[0] != rules.source or len(pair.target) < 2:
        return False
    text = " ".join(pair.source.lower)
    return bool(rules.strict_source.match(text)) and not rules.strict_dummies.match(" ".join(pair.target.lower))


def _nearest(
    document: Sequence[Pair], number: int, gender: str, rules: PronounRules, genders: Genders, reach: int
) -> tuple[int, Mention] | None:
    """Return the distance of the nearest earlier sentence that can hold the noun, and its last noun of this gender.

    A sentence that itself has the pronoun, and no noun for it, goes on about the same thing: the noun is before it.
    Beyond a sentence with a noun of unknown gender, nothing is certain.
    """
    for distance in range(1, min(reach, number) + 1):
        pair = document[number - distance]
        if rules.source in pair.source.known and (places := pair.target.places(_words(gender, rules))):
            if genders.may_hold(pair.target, gender, places[0]):
                return None
            continue
        mentions = [one for one in genders.mentions(pair.target) if one.gender == gender]
        if mentions:
            return distance, mentions[-1]
        if genders.may_hold(pair.target, gender):
            return None
    return None


def _words(gender: str, rules: PronounRules) -> set[str]:
    """Return the target pronouns of a gender."""
    return {forms[gender] for forms in rules.forms.values()}
