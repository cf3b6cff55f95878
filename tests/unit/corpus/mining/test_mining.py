"""Mining a corpus: what it learns, what it finds, and that numbers and tokens are those of the prepared corpus."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from docaps.config import PreparationSettings
from docaps.corpus.annotations import read_annotations, write_annotations
from docaps.corpus.contrastive import read_items, write_items
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.mining import Mined, MiningOptions, mine_documents, mine_store
from docaps.corpus.mining.knowledge import choose_phenomena
from docaps.corpus.mining.rule_tables import load_rules
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.corpus.store import Store
from docaps.errors import ConfigError, CorpusError

TEACHING = (
    ("A coat. A coat.", "Einen Mantel. Einen Mantel."),
    ("We saw a coat.", "Wir sahen einen Mantel."),
    ("You saw a lamp.", "Du hast eine Lampe gesehen."),
    ("They saw a lamp.", "Alle sahen eine Lampe."),
)
STORY = (
    ("Anna bought a coat.", "Anna kaufte einen Mantel."),
    ("It was warm.", "Er war warm."),
    ("Paul bought a lamp.", "Paul kaufte eine Lampe."),
    ("It was cheap.", "Sie war billig."),
    ("You saw the price.", "Du hast den Preis gesehen."),
    ("You can sit.", "Du kannst sitzen."),
)


def document(pairs: Sequence[tuple[str, str]]) -> ParallelDocument:
    source, target = zip(*pairs, strict=True)
    return ParallelDocument(source, target)


def summarise(mined: Mined) -> list[tuple[str, str, int | None, str]]:
    return [(item.document or "", item.phenomenon, item.distance, item.right) for item in mined.items]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("corpus")
    parts = {}
    for name, documents in (("train", [TEACHING, STORY, STORY]), ("dev", [STORY])):
        for side, language in enumerate(("en", "de")):
            lines = [line for pairs in documents for line in ("<d>", *(pair[side] for pair in pairs))]
            (folder / f"{name}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        parts[name] = folder / f"{name}.en", folder / f"{name}.de"
    settings = PreparationSettings(merges=30)
    return prepare(CorpusFiles(parts), settings, folder / "prepared", workers=1)[0]


def test_raw_documents_teach_themselves() -> None:
    options = MiningOptions(workers=1, balanced=False)
    mined = mine_documents([document(TEACHING), document(STORY)], ("en", "de"), options)
    assert summarise(mined) == [
        ("2", "formality", 1, "Du kannst sitzen."),
        ("2", "pronoun", 1, "Er war warm."),
        ("2", "pronoun", 1, "Sie war billig."),
    ]
    assert mined.items[1].wrong == ("Sie war warm.", "Es war warm.")
    assert mined.items[2].target_history == tuple(target for _, target in STORY[:3])
    numbers = [(one.sentence, one.phenomenon, one.label, one.distance) for one in mined.annotations]
    assert numbers == [
        (3, "formality", "du", None),
        (6, "pronoun", "er", 1),
        (8, "pronoun", "sie", 1),
        (9, "formality", "du", None),
        (10, "formality", "du", 1),
    ]
    assert mined.header.corpus is None


def test_a_form_that_is_always_the_same_is_no_question() -> None:
    mined = mine_documents([document(TEACHING), document(STORY)], ("en", "de"), MiningOptions(workers=1))
    assert (len(mined.items), mined.found) == (2, 3)
    assert {item.pronoun for item in mined.items} == {"er", "sie"}


def test_other_text_can_teach() -> None:
    alone = mine_documents([document(STORY)], ("en", "de"), MiningOptions(phenomena="pronoun", workers=1))
    taught = mine_documents(
        [document(STORY)], ("en", "de"), MiningOptions(phenomena="pronoun", workers=1), [document(TEACHING)]
    )
    assert [item.right for item in taught.items] == ["Er war warm.", "Sie war billig."]
    assert len(alone.items) == 2  # an article that tells the gender is enough


@pytest.mark.parametrize("workers", [1, 2])
def test_several_processes_find_the_same(workers: int) -> None:
    documents = [document(TEACHING), *[document(STORY)] * 4000]  # more chunks than are searched in this process
    mined = mine_documents(documents, ("en", "de"), MiningOptions(workers=workers, balanced=False))
    assert len(mined.items) == 3 * 4000
    assert [one.sentence for one in mined.annotations[-2:]] == [4 + 4000 * 6 - 1, 4 + 4000 * 6]


def test_a_prepared_corpus_is_annotated_with_its_own_numbers_and_tokens(store: Store, tmp_path: Path) -> None:
    mined = mine_store(store, MiningOptions(workers=1))
    write_annotations(tmp_path / "a.jsonl", mined.header, mined.annotations)
    found = read_annotations(tmp_path / "a.jsonl", store)
    assert found == mined.annotations
    assert [(one.sentence, one.label) for one in found if one.phenomenon == "pronoun"] == [
        (number, label) for start in (4, 10) for number, label in ((start + 2, "er"), (start + 4, "sie"))
    ]
    target = store.split("train").target
    for one in found:
        if one.tokens:
            pieces = store.codec.pieces([int(target[one.sentence - 1][token]) for token in one.tokens])
            spelt = "".join(piece.removesuffix("@@") for piece in pieces).lower()
            assert spelt in {"er", "sie", "dukannst"}  # the verb is changed with its subject


def test_items_come_from_dev_or_from_the_parts_that_are_named(store: Store, tmp_path: Path) -> None:
    mined = mine_store(store, MiningOptions(workers=1, balanced=False))
    assert {item.document for item in mined.items} == {"dev-1"}
    write_items(tmp_path / "items.jsonl", mined.items)
    assert read_items(tmp_path / "items.jsonl") == mined.items
    train = mine_store(store, MiningOptions(workers=1, balanced=False), ["train"])
    assert {item.document for item in train.items} == {"train-2", "train-3"}
    own = {(item.source, item.right, item.wrong, item.target_history) for item in train.items}
    assert own == {(item.source, item.right, item.wrong, item.target_history) for item in mined.items}
    with pytest.raises(CorpusError, match="no test part"):
        mine_store(store, MiningOptions(workers=1), ["test"])


def test_words_can_be_left_out() -> None:
    debates = [("We had a debate.", f"Wir hatten eine {word}.") for word in ("Debatte",) * 2 + ("Aussprache",) * 2]
    documents = [document(debates[:2]), document(debates[2:])] * 20
    options = MiningOptions(workers=1)
    mined = mine_documents(documents, ("en", "de"), options)
    assert mined.options == {"debate": {"Debatte": "Aussprache", "Aussprache": "Debatte"}}
    assert {(item.phenomenon, item.form) for item in mined.items} == {("repetition", "debate")}
    without = mine_documents(documents, ("en", "de"), replace(options, leave_out=frozenset({"debate"})))
    assert (without.options, without.items) == ({}, [])


def test_phenomena_are_chosen_by_name() -> None:
    rules = load_rules("en", "de")
    assert choose_phenomena(None, rules) == ("pronoun", "formality", "ellipsis", "repetition")
    assert choose_phenomena("repetition, pronoun", rules) == ("pronoun", "repetition")
    with pytest.raises(ConfigError, match="no rules for the phenomenon 'ellipsis': there are pronoun, formality"):
        choose_phenomena("ellipsis", load_rules("en", "fr"))
