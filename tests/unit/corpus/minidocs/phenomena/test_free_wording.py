"""A wording is chosen by the translation of the cue, and by nothing on the source side."""

import re
from collections import Counter
from random import Random

import pytest

from docaps.corpus.contrastive import ContrastiveItem
from docaps.corpus.minidocs import MiniCorpus, generate_corpus, generate_documents
from docaps.corpus.minidocs.lexicon import load_lexicon, parse_terms
from docaps.corpus.minidocs.phenomena import PHENOMENA, TARGET_SIDE, choose_phenomena
from docaps.corpus.minidocs.phenomena.free_wording import Wording
from docaps.corpus.minidocs.rendering import draw_cast
from docaps.errors import CorpusError

LEXICON = load_lexicon()


@pytest.fixture(scope="module")
def corpus() -> MiniCorpus:
    return generate_corpus(documents=600, seed=2, dev=5, test=5, items=120, phenomena=TARGET_SIDE)


@pytest.fixture(scope="module")
def sets(corpus: MiniCorpus) -> list[tuple[ContrastiveItem, ContrastiveItem]]:
    return list(zip(corpus.contrastive[::2], corpus.contrastive[1::2], strict=True))


def test_it_is_left_out_unless_it_is_named() -> None:
    assert not {phenomenon.name for phenomenon in PHENOMENA} & {"wording"}
    labels = [label for document in generate_documents(60, seed=1) for label in document.labels.values()]
    assert "wording" not in {label.phenomenon for label in labels}
    assert choose_phenomena("wording") == TARGET_SIDE
    assert [one.name for one in choose_phenomena("wording,address")] == ["address", "wording"]
    with pytest.raises(CorpusError, match=r"no phenomenon 'word': there are pronoun, .*, ellipsis, wording"):
        choose_phenomena("word")


def test_the_source_is_the_same_and_every_translation_another() -> None:
    rng = Random(4)
    for form in ("term", "address"):
        for _ in range(200):
            event = Wording().draw(rng, draw_cast(rng, LEXICON), set(), 3, form)
            one, other = event.variants
            assert one.cue.source == other.cue.source
            assert one.cue.target != other.cue.target
            assert all(mine != yours for mine, yours in zip(one.translations, other.translations, strict=True))
            assert len({*event.sources, one.cue.source}) == 4


def test_items_of_a_set_have_one_source_side(sets: list[tuple[ContrastiveItem, ContrastiveItem]]) -> None:
    assert Counter((one.form, one.distance) for one, _ in sets).keys() == {
        (form, distance) for form in ("term", "address") for distance in (1, 2, 3)
    }
    for one, other in sets:
        assert (one.source, one.history) == (other.source, other.history)
        assert (one.right, one.wrong) == (other.wrong[0], (other.right,))
        pairs = enumerate(zip(one.target_history, other.target_history, strict=True))
        assert [place for place, (mine, yours) in pairs if mine != yours] == [len(one.history) - one.distance]


@pytest.mark.parametrize("seed", range(3))
def test_who_sees_the_source_side_only_is_right_once_in_each_set(
    sets: list[tuple[ContrastiveItem, ContrastiveItem]], seed: int
) -> None:
    def choose(item: ContrastiveItem) -> str:
        return max(sorted((item.right, *item.wrong)), key=lambda text: Random(f"{seed}{item.history}{text}").random())

    assert all(sum(choose(item) == item.right for item in pair) == 1 for pair in sets)


def test_both_wordings_are_equally_likely_and_kept(corpus: MiniCorpus) -> None:
    german = {noun.german: way for nouns in LEXICON.terms for way, noun in enumerate(nouns)}
    chosen: Counter[int] = Counter()
    for document in corpus.train:
        for position, label in document.labels.items():
            if label.form == "term":
                cue, sentence = (
                    [german[word] for word in re.findall(r"\w+", document.target[place]) if word in german]
                    for place in (position - label.distance, position)
                )
                assert cue == sentence
                chosen[cue[0]] += 1
    assert chosen[0] == pytest.approx(chosen.total() / 2, rel=0.1)
    assert chosen.total() > 300


def test_a_term_stands_in_no_other_table() -> None:
    things = [noun for kind in LEXICON.things for nouns in kind.nouns.values() for noun in nouns]
    senses = [sense.noun for senses in LEXICON.ambiguous for sense in senses]
    people = [noun for nouns in LEXICON.professions.people for noun in nouns]
    terms = [noun for nouns in LEXICON.terms for noun in nouns]
    others = [*things, *senses, *people]
    assert not {noun.english for noun in terms} & {noun.english for noun in others}
    assert not {noun.german for noun in terms} & {noun.german for noun in others}
    assert len({noun.german for noun in terms}) == len(terms) == 48


@pytest.mark.parametrize(
    ("german", "fault"),
    [
        (["der Lift"], r"'lift' has the translations \['der Lift'\], expected two different ones"),
        (["der Lift", "der Lift"], "expected two different ones"),
        (["der Lift", "Aufzug"], "'Aufzug' starts with 'Aufzug', expected der, die or das"),
    ],
)
def test_a_faulty_term_is_named(german: list[str], fault: str) -> None:
    others = {f"thing {number}": ["der Topf", "die Pfanne"] for number in range(4)}
    with pytest.raises(CorpusError, match=rf"terms\.toml: mini-documents: .*{fault}"):
        parse_terms({"terms": {**others, "lift": german}})
