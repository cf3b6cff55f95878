"""What people say in the mini-documents: du or Sie by the address, "she did" by the question."""

import re
from random import Random

import pytest

from docaps.corpus.minidocs import MiniCorpus
from docaps.corpus.minidocs.lexicon import (
    GENDERS,
    Noun,
    Utterance,
    load_lexicon,
    parse_addresses,
    parse_ellipses,
    parse_utterances,
)
from docaps.corpus.minidocs.phenomena.dialogue import Action, AddressForm, VerbEllipsis
from docaps.corpus.minidocs.rendering import Cast, Person, Slots, say
from docaps.errors import CorpusError

ADDRESSES, ELLIPSES = load_lexicon().addresses, load_lexicon().ellipses
NAMES = {"a": "Anna", "b": "Tom"}
SLOTS = Slots(NAMES | {"city": "Rome", "she": "she"}, NAMES | {"city": "Rom", "she": "sie"})
CAST = Cast(Person("Anna", "woman"), Person("Tom", "man"), load_lexicon())
LAMP, COAT, BED = Noun("lamp", "Lampe", "feminine", "Lampe"), Noun("coat", "Mantel", "masculine", "Mantel"), "Bett"
DU = re.compile(r"\b([Dd]u|dich|dir|[Dd]ein(e[mnrs]?)?)\b")
SIE = re.compile(r"\b(Sie|Ihnen|Ihr(e[mnrs]?)?)\b")


def find(english: str, groups: dict[str, tuple[Utterance, ...]]) -> Utterance:
    return next(utterance for group in groups.values() for utterance in group if utterance.english == english)


# Du or Sie


@pytest.mark.parametrize(
    ("english", "du", "sie"),
    [
        ("You look a bit tired.", "Du siehst ein bisschen müde aus.", "Sie sehen ein bisschen müde aus."),
        ("When will you travel to {city}?", "Wann fährst du nach Rom?", "Wann fahren Sie nach Rom?"),
        ("I completely agree with you.", "Ich stimme dir völlig zu.", "Ich stimme Ihnen völlig zu."),
        ("{a} will pick you up at six.", "Anna holt dich um sechs ab.", "Anna holt Sie um sechs ab."),
        ("How is your family?", "Wie geht es deiner Familie?", "Wie geht es Ihrer Familie?"),
        ("Your train leaves at six.", "Dein Zug fährt um sechs.", "Ihr Zug fährt um sechs."),
        ("Please sit down.", "Setz dich bitte.", "Setzen Sie sich bitte."),
        ("Please speak more slowly.", "Sprich bitte langsamer.", "Sprechen Sie bitte langsamer."),
    ],
)
def test_what_is_said_with_du_and_with_sie(english: str, du: str, sie: str) -> None:
    utterance = find(english, ADDRESSES.sentences)
    assert [say(utterance, SLOTS, way).target for way in range(2)] == [du, sie]


@pytest.mark.parametrize("form", ["du", "dich", "dein", "imperative"])
def test_pronoun_and_verb_agree_in_every_sentence(form: str) -> None:
    english_words = {"du": r"\b[Yy]ou\b", "dich": r"\byou\b", "dein": r"\b[Yy]our\b", "imperative": r"^(?!.*\byou)"}
    for utterance in ADDRESSES.sentences[form]:
        du, sie = utterance.german
        assert re.search(english_words[form], utterance.english), utterance
        assert not SIE.search(du), du
        assert not DU.search(sie), sie
        assert SIE.search(sie), sie
        assert DU.search(du) or form == "imperative", du
        if form == "du":
            assert _verb_of(du, "[Dd]u").endswith("st"), du
        if form in ("du", "imperative"):
            assert _verb_of(sie, "Sie").endswith(("en", "sind")), sie


def _verb_of(sentence: str, pronoun: str) -> str:
    found = re.search(rf"(\w+) {pronoun}\b", sentence) or re.search(rf"^{pronoun} (\w+)", sentence)
    assert found, sentence
    return found[1]


def test_a_title_suits_the_person_and_both_addresses_are_translated() -> None:
    rng = Random(1)
    for _ in range(300):
        event = AddressForm().draw(rng, CAST, set())
        du, sie = (event.select(tag).cue for tag in ("du", "sie"))
        name = next(person for person in (CAST.lead, CAST.second) if person.name in du.source)
        assert name.name in du.target
        titled = re.search(rf"(Mrs\.|Mr\.|Dr\.|Professor) ({'|'.join(ADDRESSES.surnames)})\b", sie.source)
        assert titled, sie
        german = {"Mrs.": "Frau", "Mr.": "Herr"}.get(titled[1], titled[1])
        assert f"{german} {titled[2]}" in sie.target
        assert titled[1] != {"man": "Mrs.", "woman": "Mr."}[name.kind], (name, sie)
        assert name.name not in sie.source
        assert name.name not in event.sources[0]  # the addressed person is not mentioned


def test_half_of_the_addresses_differ_in_the_name_only() -> None:
    rng, same = Random(2), 0
    for _ in range(400):
        du, sie = (variant.cue.source for variant in AddressForm().draw(rng, CAST, set()).variants)
        name = re.search(r"(Mrs\.|Mr\.|Dr\.|Professor) \w+", sie)
        assert name, sie
        same += sie.replace(name[0], "Tom") == du.replace("Anna", "Tom")
    assert same == pytest.approx(200, abs=30)


def test_dr_weber_is_not_in_a_story_with_a_doctor(minidocs: MiniCorpus) -> None:
    stories = [" ".join(document.source) for document in minidocs.train]
    assert sum("Dr." in story for story in stories) > 100
    assert not [story for story in stories if "Dr." in story and re.search(r"\bdoctor\b", story)]


ADDRESSED = re.compile(rf"\b({'|'.join(ADDRESSES.surnames)})\b")
GREETED = re.compile("|".join(u.german[0].split("{")[0] for u in (*ADDRESSES.greetings, *ADDRESSES.informal)))


def test_the_last_address_stands_where_the_label_says_and_decides(minidocs: MiniCorpus) -> None:
    counts = {"du": 0, "sie": 0}
    for document in minidocs.train:
        for position, label in document.labels.items():
            if label.phenomenon == "address":
                cue = position - label.distance
                surname, target = ADDRESSED.search(document.source[cue]), document.target[position]
                assert surname or GREETED.search(document.target[cue]), document.source[cue]
                assert bool(SIE.search(target)) == bool(surname), (document.source[cue], target)
                between = document.target[cue + 1 : position]
                assert not [s for s in between if ADDRESSED.search(s) or GREETED.search(s)]
                counts["sie" if surname else "du"] += 1
    assert counts["du"] == pytest.approx(counts["sie"], rel=0.2)


def test_you_is_said_in_labelled_sentences_only(minidocs: MiniCorpus) -> None:
    for document in minidocs.train:
        for position, sentence in enumerate(document.source):
            if re.search(r"\byour?\b", sentence, re.IGNORECASE):
                assert document.labels[position].phenomenon == "address", sentence


# Ellipsis


@pytest.mark.parametrize(
    ("action", "question", "answers"),
    [
        (
            Action("f", ELLIPSES.transitive[0], LAMP),
            "Hat Anna die Lampe gekauft?",
            [
                "Ja, sie hat sie gekauft.",
                "Natürlich hat sie sie gekauft.",
                "Ich glaube, sie hat sie gekauft.",
                "Soviel ich weiß, hat sie sie gekauft.",
                "Ich bin sicher, dass sie sie gekauft hat.",
                "Tom sagt, dass sie sie gekauft hat.",
                "Nein, sie hat sie nicht gekauft.",
                "Leider hat sie sie nicht gekauft.",
                "Ich fürchte, sie hat sie nicht gekauft.",
                "Soviel ich weiß, hat sie sie nicht gekauft.",
                "Ich glaube nicht, dass sie sie gekauft hat.",
                "Tom sagt, dass sie sie nicht gekauft hat.",
            ],
        ),
        (
            Action("ist", ELLIPSES.intransitive["ist"][0]),
            "Ist Anna eingeschlafen?",
            [
                "Ja, sie ist eingeschlafen.",
                "Natürlich ist sie eingeschlafen.",
                "Ich glaube, sie ist eingeschlafen.",
                "Soviel ich weiß, ist sie eingeschlafen.",
                "Ich bin sicher, dass sie eingeschlafen ist.",
                "Tom sagt, dass sie eingeschlafen ist.",
                "Nein, sie ist nicht eingeschlafen.",
                "Leider ist sie nicht eingeschlafen.",
                "Ich fürchte, sie ist nicht eingeschlafen.",
                "Soviel ich weiß, ist sie nicht eingeschlafen.",
                "Ich glaube nicht, dass sie eingeschlafen ist.",
                "Tom sagt, dass sie nicht eingeschlafen ist.",
            ],
        ),
    ],
)
def test_answers_repeat_verb_and_object(action: Action, question: str, answers: list[str]) -> None:
    filled = action.fill(SLOTS)
    kind = "transitive" if action.thing else "intransitive"
    assert say(ELLIPSES.questions[kind][0], filled).target == question
    table = [*ELLIPSES.answers["positive"], *ELLIPSES.answers["negative"]]
    assert [say(answer, filled).target for answer in table] == answers


def test_the_object_s_pronoun_has_its_gender() -> None:
    answer = ELLIPSES.answers["positive"][0]
    things = (COAT, LAMP, Noun("bed", BED, "neuter", BED))
    said = [say(answer, Action("", ELLIPSES.transitive[0], thing).fill(SLOTS)) for thing in things]
    assert {pair.source for pair in said} == {"Yes, she did."}
    assert [pair.target for pair in said] == [f"Ja, sie hat {it} gekauft." for it in ("ihn", "sie", "es")]


def test_a_participle_looks_like_one_and_has_the_right_auxiliary() -> None:
    moving = (
        "eingeschlafen",
        "aufgestanden",
        "gekommen",
        "gelaufen",
        "geblieben",
        "verschwunden",
        "gefallen",
        "gestolpert",
    )
    verbs = [*ELLIPSES.transitive, *(verb for group in ELLIPSES.intransitive.values() for verb in group)]
    assert len({verb.english for verb in verbs}) == len({verb.participle for verb in verbs}) == len(verbs)
    for verb in verbs:
        assert re.search(r"(ge|be|ver|er|emp|foto)\w*(t|n)$", verb.participle), verb
        assert (verb.auxiliary == "ist") == verb.participle.endswith(moving), verb


def test_questions_of_one_event_differ_in_what_the_answer_leaves_out() -> None:
    rng = Random(3)
    for _ in range(200):
        for form, number in (("gender", 3), ("verb", 2), ("auxiliary", 2)):
            event = VerbEllipsis().draw(rng, CAST, set(), form=form)
            assert len({variant.cue.source for variant in event.variants}) == number
            assert len({variant.cue.target for variant in event.variants}) == number
            assert len({variant.translations for variant in event.variants}) == number
            genders = tuple(variant.gender for variant in event.variants)
            assert genders == GENDERS if form == "gender" else len(set(genders)) == 1
            assert (genders[0] is None) == (form == "auxiliary")
            assert re.search(r"\b(s?he) (did|did not)\.$", event.sources[0]), event.sources


def test_answers_of_one_story_do_not_contradict_each_other() -> None:
    rng = Random(4)
    for _ in range(200):
        event = VerbEllipsis().draw(rng, CAST, set(), 3)
        assert len({"nicht" in translation for translation in event.variants[0].translations}) == 1, event.sources


def test_the_question_stands_where_the_label_says_and_names_what_is_repeated(minidocs: MiniCorpus) -> None:
    verbs = {verb.participle: verb for verb in ELLIPSES.transitive}
    verbs |= {verb.participle: verb for group in ELLIPSES.intransitive.values() for verb in group}
    for document in minidocs.train:
        for position, label in document.labels.items():
            if label.phenomenon == "ellipsis":
                question, answer = document.source[position - label.distance], document.target[position]
                verb = next(verb for participle, verb in verbs.items() if re.search(rf"\b{participle}\b", answer))
                assert re.match(rf"Did \w+ (really )?{verb.english}\b", question), (question, answer)
                assert re.search(rf"\b{verb.auxiliary}\b", answer), answer
                between = document.source[position - label.distance + 1 : position]
                assert not [sentence for sentence in between if sentence.startswith("Did ")]
        asked = [sentence for sentence in document.source if sentence.startswith("Did ")]
        assert len(asked) <= 3


# Faults


def test_a_faulty_table_is_named() -> None:
    with pytest.raises(CorpusError, match=r"address\.toml: mini-documents: 'surnames' has 1 entries, expected 4"):
        parse_addresses({"surnames": ["Weber"]})
    with pytest.raises(CorpusError, match=r"ellipsis\.toml: mini-documents: 'transitive' has 0 entries"):
        parse_ellipses({})
    with pytest.raises(CorpusError, match=r"ellipsis\.toml: mini-documents: 'intransitive\.hat' has 0 entries"):
        parse_ellipses({"transitive": ["buy: gekauft"] * 4})


@pytest.mark.parametrize(
    ("entry", "ways", "message"),
    [
        (["Come in.", "Komm herein."], 2, "'Come in.' has 1 translations, expected 2"),
        (["Come in.", "Komm herein"], 1, "'Komm herein' ends without a full stop"),
        (["Come in, {whom}.", "Komm herein."], 1, r"unknown slot \{whom\}"),
    ],
)
def test_a_faulty_sentence_is_named(entry: list[str], ways: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_utterances([entry], ways)
