"""The mini-documents: labels that only context decides, parts that share nothing."""

import hashlib
import re
from collections import Counter, defaultdict
from itertools import groupby
from random import Random

import pytest
from tests.unit.corpus.conftest import ITEMS

from docaps.corpus.contrastive import ContrastiveItem
from docaps.corpus.minidocs import MiniCorpus, MiniDocument, generate_corpus, generate_documents
from docaps.corpus.minidocs.generation import draw_documents, make_items
from docaps.corpus.minidocs.lexicon import GENDERS, load_lexicon
from docaps.corpus.minidocs.phenomena import PHENOMENA, TARGET_SIDE, Phenomenon, choose_phenomena
from docaps.corpus.minidocs.rendering import draw_cast
from docaps.corpus.minidocs.story import StoryBuilder
from docaps.errors import CorpusError

WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def words(sentence: str) -> list[str]:
    return [word.lower() for word in WORD.findall(sentence)]


@pytest.fixture(scope="module")
def corpus(minidocs: MiniCorpus) -> MiniCorpus:
    return minidocs


@pytest.fixture(scope="module")
def sets(corpus: MiniCorpus) -> list[list[ContrastiveItem]]:
    return [list(group) for _, group in groupby(corpus.contrastive, key=lambda item: item.id.rpartition("-")[0])]


# Documents


def test_documents_depend_on_the_seed_alone() -> None:
    assert generate_documents(20, seed=3) == generate_documents(20, seed=3)
    assert generate_documents(20, seed=3) != generate_documents(20, seed=4)


def test_sentences_and_documents_have_their_shape(corpus: MiniCorpus) -> None:
    for document in corpus.train:
        assert 4 <= len(document.source) <= 12
        assert len(document.source) == len(document.target)
        assert 1 <= len(document.labels) <= 9
        for sentence in (*document.source, *document.target):
            assert sentence[0].isupper(), sentence
            assert sentence[-1] in ".?!", sentence
            assert "{" not in sentence, sentence
            assert 2 <= len(sentence.split()) <= 16, sentence


def test_it_occurs_in_labelled_sentences_only(corpus: MiniCorpus) -> None:
    for document in corpus.train:
        for position, sentence in enumerate(document.source):
            label = document.labels.get(position)
            expected = int(label is not None and label.phenomenon == "pronoun")
            assert sum(word in ("it", "its") for word in words(sentence)) == expected, sentence


def test_ambiguous_nouns_occur_in_labelled_sentences_only(corpus: MiniCorpus) -> None:
    ambiguous = {senses[0].noun.english for senses in load_lexicon().ambiguous}
    for document in corpus.train:
        for position, sentence in enumerate(document.source):
            label = document.labels.get(position)
            assert bool(ambiguous & set(words(sentence))) == (label is not None and label.phenomenon == "ambiguity")


def test_labels_are_right(corpus: MiniCorpus) -> None:
    for document in corpus.train:
        for position, label in document.labels.items():
            assert label.distance in (1, 2, 3)
            assert position > label.distance  # the opening is never a cue
            assert document.target[position] not in label.wrong
            genders = label.form in ("subject", "object", "gender")
            assert len(set(label.wrong)) == len(label.wrong) == (2 if genders else 1)


def test_the_antecedent_stands_where_the_label_says(corpus: MiniCorpus) -> None:
    genders = {"er": "masculine", "ihn": "masculine", "sie": "feminine", "es": "neuter"}
    checked = 0
    for document in corpus.train:
        for position, label in document.labels.items():
            if label.form in ("subject", "object"):
                own, other = words(document.target[position]), words(label.wrong[0])
                pronoun = next(mine for mine, yours in zip(own, other, strict=True) if mine != yours)
                assert _mentioned_gender(document, position - label.distance) == genders[pronoun]
                checked += 1
    assert checked > 1000


NOUN_GENDERS = {
    noun.english.lower(): noun.gender for t in load_lexicon().things for group in t.nouns.values() for noun in group
}
NOUN_CLASSES = {noun.english.lower(): t.name for t in load_lexicon().things for g in t.nouns.values() for noun in g}


def _mentioned_gender(document: MiniDocument, position: int) -> str:
    return next(NOUN_GENDERS[word] for word in words(document.source[position]) if word in NOUN_GENDERS)


def test_no_class_is_mentioned_twice_in_a_document(corpus: MiniCorpus) -> None:
    for document in corpus.train:
        classes = [NOUN_CLASSES[w] for sentence in document.source for w in words(sentence) if w in NOUN_CLASSES]
        assert len(set(classes)) == len(classes), document.source


def test_it_means_the_thing_mentioned_last(corpus: MiniCorpus) -> None:
    for document in corpus.train:
        for position, label in document.labels.items():
            if label.phenomenon == "pronoun" or label.form in ("gender", "verb"):
                between = document.source[position - label.distance + 1 : position]
                assert not any(set(words(sentence)) & set(NOUN_GENDERS) for sentence in between), document.source


def test_older_things_of_any_gender_distract(corpus: MiniCorpus) -> None:
    same, distracted, labelled = 0, 0, 0
    for document in corpus.train:
        for position, label in document.labels.items():
            if label.phenomenon == "pronoun" and label.distance == 1:
                older = " ".join(document.source[max(0, position - 3) : position - 1])
                genders = [NOUN_GENDERS[word] for word in words(older) if word in NOUN_GENDERS]
                labelled += 1
                distracted += bool(genders)
                same += genders[-1:] == [_mentioned_gender(document, position - 1)]
    assert distracted > 0.2 * labelled
    assert same / distracted == pytest.approx(1 / 3, abs=0.06)  # no hint at the right gender


def test_phenomena_forms_and_distances_are_balanced(corpus: MiniCorpus) -> None:
    labels = [label for document in corpus.train for label in document.labels.values()]
    sentences = sum(len(document.source) for document in corpus.train)
    assert 0.4 < len(labels) / sentences < 0.5
    for count in Counter(label.distance for label in labels).values():
        assert count == pytest.approx(len(labels) / 3, rel=0.06)
    for phenomenon in PHENOMENA:
        forms = Counter(label.form for label in labels if label.phenomenon == phenomenon.name)
        share = phenomenon.weight / sum(other.weight for other in PHENOMENA)
        assert forms.total() == pytest.approx(len(labels) * share, rel=0.12), phenomenon.name
        assert set(forms) == {form for form, _ in phenomenon.contrasts}
        assert min(forms.values()) > 0.85 * forms.total() / len(forms)


def test_genders_are_equally_likely_in_each_class(corpus: MiniCorpus) -> None:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for document in corpus.train:
        for position, label in document.labels.items():
            if label.phenomenon == "pronoun":
                antecedent = next(w for w in words(document.source[position - label.distance]) if w in NOUN_CLASSES)
                counts[NOUN_CLASSES[antecedent]][NOUN_GENDERS[antecedent]] += 1
    assert len(counts) == len(load_lexicon().things)
    for name, count in counts.items():
        for gender in GENDERS:
            assert count[gender] == pytest.approx(count.total() / 3, rel=0.4), name


def test_senses_are_equally_likely(corpus: MiniCorpus) -> None:
    labels = [(d.target[p], label) for d in corpus.train for p, label in d.labels.items()]
    pairs = [(target, label.wrong[0]) for target, label in labels if label.phenomenon == "ambiguity"]
    first = {f" {senses[0].noun.oblique}" for senses in load_lexicon().ambiguous}
    first |= {f" {senses[0].noun.german}" for senses in load_lexicon().ambiguous}
    hits = sum(any(re.search(rf"{noun}\b", right) for noun in first) for right, _ in pairs)
    assert hits == pytest.approx(len(pairs) / 2, rel=0.05)


def test_the_corpus_has_many_word_forms() -> None:
    documents = generate_documents(8000, seed=1)
    source = {word for document in documents for sentence in document.source for word in words(sentence)}
    target = {word for document in documents for sentence in document.target for word in words(sentence)}
    assert len(source) > 1000
    assert len(target) > 1000


# Phenomena


@pytest.mark.parametrize("phenomenon", PHENOMENA, ids=lambda phenomenon: phenomenon.name)
def test_variants_of_an_event_differ_where_they_should_only(phenomenon: Phenomenon) -> None:
    rng, lexicon = Random(5), load_lexicon()
    for _ in range(300):
        event = phenomenon.draw(rng, draw_cast(rng, lexicon), set())
        assert len({variant.cue.source for variant in event.variants}) == len(event.variants)
        if phenomenon.name == "pronoun" or event.forms[0] in ("gender", "verb"):
            cues = [words(variant.cue.source) for variant in event.variants]
            translations = [words(variant.translations[0]) for variant in event.variants]
            assert all(_count_differences(cues[0], other) == 1 for other in cues[1:])
            assert all(_count_differences(translations[0], other) <= 1 for other in translations[1:])


def _count_differences(one: list[str], other: list[str]) -> int:
    return sum(mine != yours for mine, yours in zip(one, other, strict=True))


# Splits and contrastive items


def test_the_parts_share_no_document(corpus: MiniCorpus) -> None:
    train, dev, test = ({d.source for d in part} for part in (corpus.train, corpus.dev, corpus.test))
    assert (len(train), len(dev), len(test)) == (3000, 30, 40)
    assert not train & dev
    assert not train & test
    assert not dev & test


def test_no_item_can_be_looked_up_in_training(corpus: MiniCorpus) -> None:
    joined = ["\n".join(("", *document.source, "")) for document in corpus.train]
    runs = {d.source[start : start + 3] for d in corpus.train for start in range(len(d.source) - 2)}
    for item in corpus.contrastive:
        assert item.history[-3:] not in runs
    for item in corpus.contrastive[::20]:
        history = "\n".join(("", *item.history, ""))
        assert not any(history in text for text in joined)


def test_seen_documents_are_drawn_again() -> None:
    # Chance collisions are rare, so the same generator is started twice to force them.
    first = draw_documents(Random(1), 3, set())
    again = draw_documents(Random(1), 3, {first[1].source})
    assert again[0] == first[0]
    assert first[1] not in again
    items = list(make_items(Random(1), 6, set()))
    seen = {item.history[-3:] for item in items[:4]}
    assert not any(item.history[-3:] in seen for item in make_items(Random(1), 6, seen))


def test_no_set_is_made_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    nouns = choose_phenomena("ambiguity")
    one, two, three = (list(make_items(Random(n), 1, set(), nouns))[:2] for n in range(3))
    drawn = iter([one, one, two, one, three])
    monkeypatch.setattr("docaps.corpus.minidocs.generation._draw_set", lambda *_: next(drawn))
    assert list(make_items(Random(1), 1, set(), nouns)) == [*one, *two, *three]


def test_items_are_balanced(corpus: MiniCorpus) -> None:
    for phenomenon in PHENOMENA:
        items = [item for item in corpus.contrastive if item.phenomenon == phenomenon.name]
        assert len(items) >= ITEMS
        assert {item.form for item in items} == {form for form, _ in phenomenon.contrasts}
        for form in {item.form for item in items}:
            distances = Counter(item.distance for item in items if item.form == form)
            assert set(distances) == {1, 2, 3}
            assert len(set(distances.values())) == 1
    assert len({(item.history, item.source) for item in corpus.contrastive}) == len(corpus.contrastive)
    assert len({item.id for item in corpus.contrastive}) == len(corpus.contrastive)
    assert min(len(item.history) for item in corpus.contrastive) >= 3


def test_sets_differ_in_the_antecedent_only(sets: list[list[ContrastiveItem]]) -> None:
    assert {len(group) for group in sets} == {2, 3}
    for group in sets:
        assert len(group) == 1 + len(group[0].wrong)
        for item in group:
            assert len(item.history) == len(item.target_history)
            assert item.source == group[0].source
            changed = [k for k, (x, y) in enumerate(zip(item.history, group[0].history, strict=True)) if x != y]
            assert changed in ([], [len(item.history) - item.distance])
            assert {item.right, *item.wrong} == {other.right for other in group}


@pytest.mark.parametrize("seed", range(3))
def test_without_context_a_scorer_is_right_once_in_each_set(sets: list[list[ContrastiveItem]], seed: int) -> None:
    def score(source: str, translation: str) -> float:
        return Random(f"{seed} {source} {translation}").random()

    for group in sets:
        right = [
            max((item.right, *item.wrong), key=lambda text: score(group[0].source, text)) == item.right
            for item in group
        ]
        assert sum(right) == 1


def test_both_masculine_and_neuter_contrast_with_feminine_possessives(corpus: MiniCorpus) -> None:
    tags = Counter(item.id[-1] for item in corpus.contrastive if item.form == "possessive")
    assert tags["f"] == 2 * tags["m"] == 2 * tags["n"]


def test_a_corpus_depends_on_the_seed_alone() -> None:
    sizes = {"documents": 20, "dev": 2, "test": 2, "items": 1}
    assert generate_corpus(seed=1, **sizes) == generate_corpus(seed=1, **sizes)
    assert generate_corpus(seed=1, **sizes) != generate_corpus(seed=2, **sizes)


def test_an_event_uses_each_sentence_once_and_agrees_in_all() -> None:
    rng, lexicon = Random(6), load_lexicon()
    for phenomenon in (*PHENOMENA, *TARGET_SIDE):
        for _ in range(100):
            event = phenomenon.draw(rng, draw_cast(rng, lexicon), set(), 3)
            assert len(set(event.sources)) == len(event.forms) == 3
            for variant in event.variants:
                wrong = [event.label(variant, number, 1).wrong for number in range(3)]
                assert all(right not in others for right, others in zip(variant.translations, wrong, strict=True))


# Some phenomena only


def test_the_corpus_of_the_first_two_phenomena_is_what_results_were_measured_on() -> None:
    two = choose_phenomena("ambiguity,pronoun")
    corpus = generate_corpus(documents=60, seed=1, dev=5, test=5, items=30, phenomena=two)
    parts = repr((corpus.train, corpus.dev, corpus.test, corpus.contrastive))
    parts = parts.replace("ContextLabel(", "Label(")  # the digest is older than the name
    digest = "a294f9be375aa7231d198bd1c5fdfd5fcc4b87904d3d97a0e636280f9a0dc911"
    assert hashlib.sha256(parts.encode()).hexdigest() == digest


def test_the_corpus_of_the_demo_is_what_it_was() -> None:
    corpus = generate_corpus(documents=60, seed=1, dev=5, test=5, items=30)
    parts = repr((corpus.train, corpus.dev, corpus.test, corpus.contrastive))
    digest = "845d7ae77fc48af7732f916a3e833351dc5c28fd209cd41595d23732db8e5a77"
    assert hashlib.sha256(parts.encode()).hexdigest() == digest


@pytest.mark.parametrize("names", ["pronoun", "address", "profession,ellipsis", "ellipsis", "address,wording"])
def test_a_corpus_has_the_phenomena_asked_for_and_no_others(names: str) -> None:
    corpus = generate_corpus(documents=60, seed=2, dev=1, test=1, items=6, phenomena=choose_phenomena(names))
    assert {label.phenomenon for d in corpus.train for label in d.labels.values()} == set(names.split(","))
    assert {item.phenomenon for item in corpus.contrastive} == set(names.split(","))
    assert all(document.labels for document in corpus.train)


def test_an_unknown_phenomenon_is_refused_with_those_that_are_there() -> None:
    with pytest.raises(CorpusError, match="no phenomenon 'tense': there are pronoun, ambiguity, address, profession, "):
        choose_phenomena("pronoun, tense")


def test_an_event_that_finds_no_place_is_left_out() -> None:
    rng = Random(1)
    builder = StoryBuilder(rng, draw_cast(rng, load_lexicon()), choose_phenomena("pronoun"))
    spans = [(1, 2, 4), (3, 5), (6, 7)]
    assert [span for span, _ in builder.draw_events(spans)] == [(1, 2, 4), (6, 7)]
