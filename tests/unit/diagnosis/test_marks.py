"""Marked tokens: from annotations or by rules, at the exact places of the encoded translations."""

from pathlib import Path

import pytest

from docaps.config import PreparationSettings
from docaps.corpus.annotations import Annotation, AnnotationHeader, write_annotations
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.mining import MiningOptions, mine_store
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.corpus.store import Store
from docaps.diagnosis.marks import choose_marks, mark_by_rules, place_marks, read_marks
from docaps.errors import CorpusError

STORY = (
    ("Anna bought a coat.", "Anna kaufte einen Mantel."),
    ("It was warm.", "Er war warm."),
    ("You saw the price.", "Du hast den Preis gesehen."),
    ("You can sit.", "Du kannst sitzen."),
)
OTHER = (("A coat. A coat.", "Einen Mantel. Einen Mantel."), ("We saw a coat.", "Wir sahen einen Mantel."))


def document(pairs: tuple[tuple[str, str], ...]) -> ParallelDocument:
    source, target = zip(*pairs, strict=True)
    return ParallelDocument(source, target)


DOCUMENTS = [document(OTHER), document(STORY)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("corpus")
    parts = {}
    for name in ("train", "dev"):
        for side, language in enumerate(("en", "de")):
            lines = [line for pairs in (OTHER, STORY) for line in ("<d>", *(pair[side] for pair in pairs))]
            (folder / f"{name}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        parts[name] = folder / f"{name}.en", folder / f"{name}.de"
    return prepare(CorpusFiles(parts), PreparationSettings(merges=30), folder / "prepared", workers=1)[0]


def words(store: Store, number: int, place: int, tokens: tuple[int, ...]) -> str:
    """Return the text of some tokens of a translation."""
    ids = store.codec.encode_target(DOCUMENTS[number].target[place])
    return store.codec.decode_target([ids[token] for token in tokens])


def test_rules_mark_the_words_that_are_decided(store: Store) -> None:
    found = mark_by_rules(DOCUMENTS, store.codec, 3)
    shown = {
        place: {name: words(store, *place, tokens) for name, tokens in one.items()} for place, one in found.items()
    }
    assert shown == {(1, 1): {"pronoun": "Er"}, (1, 3): {"formality": "Du kannst"}}


def test_a_language_pair_without_rules_has_no_marks(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docaps.diagnosis.marks.list_pairs", lambda: ["en-fr"])
    assert mark_by_rules(DOCUMENTS, store.codec, 3) == {}


def test_annotations_of_a_part_mark_the_same_words(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "annotations.jsonl"
    mined = mine_store(store, MiningOptions(workers=1, annotate="dev"))
    assert mined.header == AnnotationHeader(corpus=store.hash, part="dev")
    write_annotations(path, mined.header, mined.annotations)
    assert read_marks(path, DOCUMENTS, store.codec, (store, "dev")) == mark_by_rules(DOCUMENTS, store.codec, 3)


def test_annotations_count_through_all_documents_and_are_joined() -> None:
    marks = place_marks(
        [
            Annotation(sentence=3, phenomenon="pronoun", tokens=(4,)),
            Annotation(sentence=3, phenomenon="pronoun", tokens=(1, 4)),
            Annotation(sentence=2, tokens=(0,)),
            Annotation(sentence=4, phenomenon="formality", label="informal"),
        ],
        DOCUMENTS,
    )
    assert marks == {(1, 0): {"pronoun": (1, 4)}, (0, 1): {"marked": (0,)}}
    assert choose_marks(marks, [1]) == {(0, 0): {"pronoun": (1, 4)}}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (Annotation(sentence=2), "none of 1 annotations names tokens, so no gains can be grouped"),
        (Annotation(sentence=2, tokens=(40,)), "document 1, sentence 2: token 40, but its translation has"),
        (Annotation(sentence=7, tokens=(0,)), "sentence 7, expected a number from 1 to 6, the sentences of the text"),
    ],
)
def test_annotations_that_do_not_fit_are_refused(
    store: Store, tmp_path: Path, record: Annotation, message: str
) -> None:
    path = tmp_path / "annotations.jsonl"
    write_annotations(path, AnnotationHeader(), [record])
    with pytest.raises(CorpusError, match=message) as caught:
        read_marks(path, DOCUMENTS, store.codec)
    assert str(path) in str(caught.value)


def test_annotations_of_another_part_are_refused(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "annotations.jsonl"
    write_annotations(path, AnnotationHeader(corpus=store.hash, part="train"), [Annotation(sentence=2, tokens=(0,))])
    with pytest.raises(CorpusError, match="made for the train part, expected the dev part"):
        read_marks(path, DOCUMENTS, store.codec, (store, "dev"))
