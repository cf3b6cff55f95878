"""Professions in the mini-documents: der Arzt or die Ärztin, by what an earlier sentence says."""

import re
from random import Random

import pytest

from docaps.corpus.minidocs import MiniCorpus
from docaps.corpus.minidocs.lexicon import Clause, Phrase, load_lexicon, parse_profession, parse_professions
from docaps.corpus.minidocs.phenomena.nouns import Profession
from docaps.corpus.minidocs.rendering import Cast, Person, Slots, pronoun_slots, render
from docaps.errors import CorpusError

TABLE = load_lexicon().professions
NOUNS = {noun.german: noun for nouns in TABLE.people for noun in nouns}
YOUNG = Phrase("young", "jung")
NAMES = {"a": "Anna", "b": "Tom", "who": "Anna"}
SLOTS = Slots(NAMES | {"city": "Rome"}, NAMES | {"city": "Rom"})
CAST = Cast(Person("Anna", "woman"), Person("Tom", "man"), load_lexicon())
GENDERED = re.compile(r"\b(he|she|his|her|himself|herself)\b")


def render_for(clause: Clause, noun: str, adjective: Phrase | None = None) -> str:
    filled = SLOTS.add_noun(NOUNS[noun], adjective)
    words = {"she": "", "her": "", "herself": ""}
    return render(clause, filled.add(words, pronoun_slots(NOUNS[noun].gender))).target


@pytest.mark.parametrize(
    ("form", "number", "man", "woman"),
    [
        ("nominative", 0, "Der junge Arzt hatte viel Geduld.", "Die junge Ärztin hatte viel Geduld."),
        ("nominative", 1, "Der junge Arzt hörte aufmerksam zu.", "Die junge Ärztin hörte aufmerksam zu."),
        (
            "accusative",
            0,
            "Anna lud den jungen Arzt zum Abendessen ein.",
            "Anna lud die junge Ärztin zum Abendessen ein.",
        ),
        ("accusative", 3, "Anna erkannte den jungen Arzt sofort.", "Anna erkannte die junge Ärztin sofort."),
        ("dative", 0, "Anna vertraute dem jungen Arzt völlig.", "Anna vertraute der jungen Ärztin völlig."),
        ("dative", 3, "Anna aß mit dem jungen Arzt zu Mittag.", "Anna aß mit der jungen Ärztin zu Mittag."),
        ("genitive", 0, "Die Stimme des jungen Arztes klang ruhig.", "Die Stimme der jungen Ärztin klang ruhig."),
        ("genitive", 3, "Anna bewunderte den Mut des jungen Arztes.", "Anna bewunderte den Mut der jungen Ärztin."),
    ],
)
def test_article_adjective_and_noun_agree(form: str, number: int, man: str, woman: str) -> None:
    clause = TABLE.frames[form][number]
    assert [render_for(clause, noun, YOUNG) for noun in ("Arzt", "Ärztin")] == [man, woman]


def test_weak_nouns_are_declined() -> None:
    said = [render_for(TABLE.frames[form][0], "Pilot") for form in TABLE.frames]
    assert said == [
        "Der Pilot hatte viel Geduld.",
        "Anna lud den Piloten zum Abendessen ein.",
        "Anna vertraute dem Piloten völlig.",
        "Die Stimme des Piloten klang ruhig.",
    ]


CUES = [
    ("Ein Pianist stellte sich Anna vor.", "Eine Pianistin stellte sich Anna vor."),
    ("Ein Pianist erzählte Anna von seiner Kindheit.", "Eine Pianistin erzählte Anna von ihrer Kindheit."),
    ("Der Pianist suchte seine Brille.", "Die Pianistin suchte ihre Brille."),
    ("Ein Pianist besuchte seine Schwester in Rom.", "Eine Pianistin besuchte ihre Schwester in Rom."),
    ("Der Pianist telefonierte mit seinem Bruder.", "Die Pianistin telefonierte mit ihrem Bruder."),
    ("Der Pianist gab zu, dass er nervös war.", "Die Pianistin gab zu, dass sie nervös war."),
    ("Der Pianist versprach Tom, dass er anrufen würde.", "Die Pianistin versprach Tom, dass sie anrufen würde."),
    ("Der Pianist war stolz auf seine Arbeit.", "Die Pianistin war stolz auf ihre Arbeit."),
    ("Ein Pianist hatte sich in der Küche geschnitten.", "Eine Pianistin hatte sich in der Küche geschnitten."),
    ("Ein Pianist zeigte Tom seinen Garten.", "Eine Pianistin zeigte Tom ihren Garten."),
]


def test_possessives_and_pronouns_of_the_cues_agree() -> None:
    assert [tuple(render_for(clause, noun) for noun in ("Pianist", "Pianistin")) for clause in TABLE.cues] == CUES


def test_every_profession_is_declined_as_german_nouns_are() -> None:
    for man, woman in TABLE.people:
        assert (man.gender, woman.gender) == ("masculine", "feminine")
        assert woman.german.endswith("in")
        assert {woman.oblique, woman.genitive} == {woman.german}
        weak = man.german.endswith(("ist", "ot", "graf"))
        assert man.oblique == (f"{man.german}en" if weak else man.german)
        assert man.genitive in ((man.oblique,) if weak else (f"{man.german}s", f"{man.german}es")), man


@pytest.mark.parametrize(
    ("form", "slot"), [("nominative", "nom"), ("accusative", "acc"), ("dative", "dat"), ("genitive", "gen")]
)
def test_a_sentence_has_the_case_of_its_form_and_does_not_show_the_gender(form: str, slot: str) -> None:
    for clause in TABLE.frames[form]:
        german = f"{clause.subject} {clause.verb} {clause.rest}"
        assert re.findall(r"\{(?:the|an|it|its)(?::\w+)?\}", german) == [f"{{the:{slot}}}"], clause
        assert clause.english.count("{the}") == 1
        assert ("'s" in clause.english) == (form == "genitive"), clause
        assert not GENDERED.search(clause.english), clause


def test_cues_differ_in_one_english_word_that_shows_the_gender() -> None:
    rng = Random(1)
    words = {("he", "she"), ("his", "her"), ("himself", "herself")}
    for _ in range(300):
        event = Profession().draw(rng, CAST, set())
        man, woman = (variant.cue.source.split() for variant in event.variants)
        different = [
            (one.rstrip("."), other.rstrip(".")) for one, other in zip(man, woman, strict=True) if one != other
        ]
        assert len(different) == 1
        assert different[0] in words


def test_the_cue_is_about_the_same_person_and_decides(minidocs: MiniCorpus) -> None:
    professions = re.compile(rf"\b({'|'.join(man.english for man, _ in TABLE.people)})\b")
    forms = {form: noun.gender for noun in NOUNS.values() for form in (noun.german, noun.oblique, noun.genitive)}
    german = re.compile(rf"\b({'|'.join(str(form) for form in forms)})\b")
    both, checked = 0, 0
    for document in minidocs.train:
        for position, label in document.labels.items():
            if label.phenomenon == "profession":
                cue, sentence = document.source[position - label.distance], document.source[position]
                assert professions.findall(cue) == professions.findall(sentence) != []
                shown = GENDERED.findall(re.sub(r"^(He|She)\b", "", cue))
                gender = {"h": "masculine", "s": "feminine"}[shown[0].replace("her", "she")[0]]
                assert {forms[found] for found in german.findall(document.target[position])} == {gender}
                others = professions.findall(" ".join(document.source[max(0, position - 3) : position]))
                both += len(set(others)) > 1
                checked += 1
    assert checked > 1100
    assert both > 50  # sometimes the history has another profession, so the noun matters


def test_a_person_has_one_adjective_in_a_story() -> None:
    rng = Random(2)
    for _ in range(100):
        event = Profession().draw(rng, CAST, set(), 3)
        text = " ".join((event.variants[0].cue.source, *event.sources))
        assert sum(adjective.english in text for adjective in TABLE.adjectives) <= 1, text


def test_a_faulty_table_is_named() -> None:
    with pytest.raises(CorpusError, match=r"professions\.toml: mini-documents: 'people' has 0 entries, expected 8"):
        parse_professions({})
    with pytest.raises(ValueError, match="'doctor': expected nominative, oblique and genitive of a man's noun"):
        parse_profession(english="doctor", man="Arzt", woman="Ärztin")
    with pytest.raises(ValueError, match="a German noun starts with a capital"):
        parse_profession(english="doctor", man="Arzt, Arzt, Arztes", woman="ärztin")
