"""The grammar of the mini-documents: correct German, and no word in two tables."""

import re
from collections import Counter, defaultdict

import pytest

from docaps.corpus.minidocs.lexicon import (
    FORMS,
    GENDERS,
    Phrase,
    Utterance,
    load_lexicon,
    parse_clause,
    parse_noun,
    parse_senses,
    parse_thing_class,
)
from docaps.corpus.minidocs.rendering import (
    CASES,
    Article,
    Slots,
    adjective_stem,
    contract,
    indefinite_article,
    noun_phrase,
    order_words,
    render,
)
from docaps.errors import CorpusError

WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def words(sentence: str) -> list[str]:
    return [word.lower() for word in WORD.findall(re.sub(r"\{[a-z:]+\}('?s)?", "", sentence))]


# German


@pytest.mark.parametrize(
    ("noun", "gender", "adjective", "article", "phrases"),
    [
        ("coat: Mantel", "masculine", "rot", "the", "der rote Mantel/den roten Mantel/dem roten Mantel"),
        ("coat: Mantel", "masculine", "rot", "an", "ein roter Mantel/einen roten Mantel/einem roten Mantel"),
        ("soup: Suppe", "feminine", "warm", "the", "die warme Suppe/die warme Suppe/der warmen Suppe"),
        ("soup: Suppe", "feminine", "warm", "an", "eine warme Suppe/eine warme Suppe/einer warmen Suppe"),
        ("house: Haus", "neuter", "alt", "the", "das alte Haus/das alte Haus/dem alten Haus"),
        ("house: Haus", "neuter", "alt", "an", "ein altes Haus/ein altes Haus/einem alten Haus"),
        ("lion: Löwe, Löwen", "masculine", "edel", "the", "der edle Löwe/den edlen Löwen/dem edlen Löwen"),
        ("lion: Löwe, Löwen", "masculine", None, "an", "ein Löwe/einen Löwen/einem Löwen"),
        ("tie: Krawatte", "feminine", "teuer", "an", "eine teure Krawatte/eine teure Krawatte/einer teuren Krawatte"),
        ("shirt: Hemd", "neuter", "dunkel", "an", "ein dunkles Hemd/ein dunkles Hemd/einem dunklen Hemd"),
        (
            "doctor: Arzt, Arzt, Arztes",
            "masculine",
            "jung",
            "the",
            "der junge Arzt/den jungen Arzt/dem jungen Arzt/des jungen Arztes",
        ),
        (
            "pilot: Pilot, Piloten, Piloten",
            "masculine",
            None,
            "an",
            "ein Pilot/einen Piloten/einem Piloten/eines Piloten",
        ),
        (
            "judge: Richterin, Richterin, Richterin",
            "feminine",
            "streng",
            "an",
            "eine strenge Richterin/eine strenge Richterin/einer strengen Richterin/einer strengen Richterin",
        ),
        ("table: Tisch", "masculine", "hoch", "an", "ein hoher Tisch/einen hohen Tisch/einem hohen Tisch"),
    ],
)
def test_noun_phrases_are_declined(
    noun: str, gender: str, adjective: str | None, article: Article, phrases: str
) -> None:
    entry = parse_noun(noun, gender)  # type: ignore[arg-type]
    described = Phrase("", adjective) if adjective else None
    cases = CASES[: 1 + phrases.count("/")]
    assert [noun_phrase(entry, described, article, case) for case in cases] == phrases.split("/")


def test_adjective_stems() -> None:
    stems = {"teuer": "teur", "sauer": "saur", "dunkel": "dunkl", "hoch": "hoh", "leise": "leis", "schwer": "schwer"}
    assert {adjective: adjective_stem(adjective) for adjective in stems} == stems


def test_prepositions_contract_only_as_whole_words() -> None:
    assert contract("sie ging zu dem See und kam von dem Berg") == "sie ging zum See und kam vom Berg"
    assert contract("von der Bank und von einem davon demnach") == "von der Bank und von einem davon demnach"


def test_the_verb_stays_second() -> None:
    plain = parse_clause("Maria put him on", "Maria | zog | ihn an")
    assert order_words(plain) == "Maria zog ihn an"
    assert order_words(plain, "am Abend") == "am Abend zog Maria ihn an"
    clause = parse_clause("{a} put it on", "{a} | zog | {it:acc} an")
    slots = Slots({"a": "Maria"}, {"a": "Maria", "it:acc": "ihn"})
    front = Phrase("in the evening,", "am Abend")
    assert render(clause, slots, front) == ("In the evening, Maria put it on.", "Am Abend zog Maria ihn an.")


def test_indefinite_article_follows_the_sound() -> None:
    chosen = {
        word: indefinite_article(word) for word in ("old coat", "used car", "unusual rose", "Italian tart", "red hat")
    }
    assert list(chosen.values()) == ["an", "a", "an", "an", "a"]


# The lexicon


def test_every_class_has_enough_nouns_and_frames() -> None:
    lexicon = load_lexicon()
    assert len(lexicon.things) >= 6
    for things in lexicon.things:
        assert min(len(things.nouns[gender]) for gender in GENDERS) >= 4, things.name
        assert len(things.frames["subject"]) >= 4
        assert min(len(things.frames[form]) for form in FORMS) >= 3
        for form, slot in zip(FORMS, ("{it}", "{it:acc}", "{its}"), strict=True):
            for clause in things.frames[form]:
                german = f"{clause.subject} {clause.verb} {clause.rest}"
                assert german.count(slot) == 1, clause
                assert sum(word in ("it", "its") for word in words(clause.english)) == 1, clause


def test_no_word_serves_two_purposes() -> None:
    lexicon = load_lexicon()
    nouns = [noun.english.lower() for things in lexicon.things for group in things.nouns.values() for noun in group]
    ambiguous = [senses[0].noun.english for senses in lexicon.ambiguous]
    people = [man.english for man, _ in lexicon.professions.people]
    assert min(len(ambiguous), len(people)) >= 12
    assert max(Counter(nouns + ambiguous + people).values()) == 1
    cues = [clause for senses in lexicon.ambiguous for sense in senses for clause in sense.cues]
    frames = [clause for things in lexicon.things for group in things.frames.values() for clause in group]
    introductions = [clause for things in lexicon.things for clause in things.introductions]
    plain = [*lexicon.openings, *lexicon.mentions, *lexicon.fillers, *lexicon.states, *lexicon.closings]
    about_people = [*lexicon.professions.cues, *(c for group in lexicon.professions.frames.values() for c in group)]
    for clause in [*cues, *frames, *introductions, *plain, *lexicon.ambiguity_frames, *about_people, *utterances()]:
        assert not set(words(clause.english)) & {*nouns, *ambiguous, *people}, clause.english


def utterances() -> list[Utterance]:
    addresses, ellipses = load_lexicon().addresses, load_lexicon().ellipses
    groups = [addresses.greetings, addresses.informal, addresses.formal, *addresses.sentences.values()]
    groups += [*ellipses.questions.values(), *ellipses.answers.values()]
    return [utterance for group in groups for utterance in group]


def test_addressees_and_actions_come_from_the_phenomena_only() -> None:
    lexicon = load_lexicon()
    plain = [*lexicon.openings, *lexicon.mentions, *lexicon.fillers, *lexicon.states, *lexicon.closings]
    plain += [clause for things in lexicon.things for group in things.frames.values() for clause in group]
    plain += [clause for senses in lexicon.ambiguous for sense in senses for clause in sense.cues]
    for clause in [*plain, *lexicon.ambiguity_frames]:
        assert not set(words(clause.english)) & {"you", "your", "did", "her", "his", "herself", "himself"}, clause


def test_every_cue_has_a_word_of_its_own() -> None:
    lexicon = load_lexicon()
    owners = defaultdict(set)
    senses = [sense for pair in lexicon.ambiguous for sense in pair]
    for sense in senses:
        for clause in sense.cues:
            for word in words(clause.english):
                owners[word].add(sense.noun.german)
    plain = {
        word for clause in (*lexicon.mentions, *lexicon.fillers, *lexicon.states) for word in words(clause.english)
    }
    for clause in (clause for sense in senses for clause in sense.cues):
        assert any(len(owners[word]) == 1 and word not in plain for word in words(clause.english)), clause.english


def test_every_frame_has_a_word_of_its_class() -> None:
    owners = defaultdict(set)
    frames = [(t.name, clause) for t in load_lexicon().things for group in t.frames.values() for clause in group]
    for name, clause in frames:
        for word in words(clause.english):
            owners[word].add(name)
    for name, clause in frames:
        assert any(owners[word] == {name} for word in words(clause.english)), clause.english


def test_every_possessive_takes_a_genitive_s() -> None:
    assert not [name for name in (*load_lexicon().women, *load_lexicon().men) if name[-1] in "sxzß"]


def test_a_faulty_table_is_named() -> None:
    with pytest.raises(CorpusError, match=r"birds\.toml: mini-documents: 'masculine' has 1 entries, expected 4"):
        parse_thing_class("birds.toml", {"masculine": ["raven: Rabe, Raben"]})
    with pytest.raises(CorpusError, match="'bank' has 1 senses, expected 2"):
        parse_senses("bank", [{}])
    cues = [["a", "a | b |"]] * 4
    with pytest.raises(CorpusError, match="'den Bank' starts with 'den'"):
        parse_senses("bank", [{"german": "den Bank", "cues": cues}] * 2)
    with pytest.raises(ValueError, match=r"expected 'subject \| verb \| rest'"):
        parse_clause("it rained", "es regnete")
    with pytest.raises(ValueError, match=r"unknown slot \{whom\}"):
        parse_clause("{whom} slept", "{who} | schlief |")
