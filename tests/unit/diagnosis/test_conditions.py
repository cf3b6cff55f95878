"""Histories are the true ones, another document's of the same length, none, or the nearest."""

import pytest

from docaps.batches.windows import WHOLE
from docaps.corpus.contrastive import ContrastiveItem
from docaps.corpus.contrastive.contrastive_set import spread_documents, with_nearest_history
from docaps.corpus.documents import ParallelDocument
from docaps.diagnosis.conditions import (
    NONE,
    SHUFFLED,
    TRUE,
    Excerpt,
    Histories,
    check_documents,
    condition_names,
    history_steps,
    vary_items,
)
from docaps.errors import CorpusError


def document(name: str, length: int) -> ParallelDocument:
    source = tuple(f"{name}{number}" for number in range(length))
    return ParallelDocument(source, tuple(sentence.upper() for sentence in source))


def passage(*sentences: str) -> Excerpt:
    return Excerpt(sentences, tuple(sentence.upper() for sentence in sentences))


DOCUMENTS = [document("a", 5), document("b", 3), document("c", 6), document("d", 1), document("e", 4)]


def test_the_own_history_stays_in_the_document() -> None:
    histories = Histories(DOCUMENTS, 3, seed=1)
    assert histories.true(0, 0) == passage()
    assert histories.true(0, 2) == passage("a0", "a1")
    assert histories.true(2, 5) == passage("c2", "c3", "c4")
    assert histories.nearest(1)(2, 5) == passage("c4")
    assert histories.nearest(2)(0, 1) == passage("a0")


def test_another_history_is_as_long_and_never_from_the_own_document() -> None:
    histories = Histories(DOCUMENTS, 3, seed=1)
    positions = [(d, s) for d, one in enumerate(DOCUMENTS) for s in range(len(one.source))]
    seen = set()
    for draw in range(20):
        shuffled = histories.shuffled(draw)
        for position in positions:
            found, own = shuffled(*position).source, histories.true(*position).source
            assert len(found) == len(own)
            assert shuffled(*position) == passage(*found)
            names = {sentence[0] for sentence in found}
            assert len(names) <= 1
            assert "abcde"[position[0]] not in names
            numbers = [int(sentence[1:]) for sentence in found]
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True
            seen |= names
    assert seen == set("abcde")


def test_the_same_draw_is_the_same_and_another_seed_another() -> None:
    def drawn(seed: int, draw: int) -> list[Excerpt]:
        lookup = Histories(DOCUMENTS, 3, seed=seed).shuffled(draw)
        return [lookup(2, sentence) for sentence in range(6)]

    assert drawn(1, 0) == drawn(1, 0)
    assert len({tuple(drawn(seed, draw)) for seed in (1, 2) for draw in (0, 1)}) == 4


def test_if_no_other_document_is_long_enough_the_longest_is_used() -> None:
    histories = Histories([document("a", 9), document("b", 2), document("c", 1)], 4, seed=1)
    assert {histories.shuffled(draw)(0, 8) for draw in range(9)} == {passage("b0", "b1")}
    drawn = {histories.shuffled(draw)(1, 1) for draw in range(40)}
    assert passage("c0") in drawn
    assert drawn <= {passage("c0"), *(passage(f"a{n}") for n in range(9))}
    assert len(drawn) > 5


def test_conditions_are_named_and_each_shuffle_is_one() -> None:
    assert [name for name, _ in Histories(DOCUMENTS, 3, seed=1).conditions(2)] == [
        *(TRUE, SHUFFLED, SHUFFLED, NONE, "nearest 1", "nearest 2")
    ]
    conditions = dict(Histories(DOCUMENTS, 3, seed=1).conditions(1))
    assert conditions[NONE](0, 4) == passage()
    assert conditions[TRUE](0, 4) == passage("a1", "a2", "a3")
    assert conditions["nearest 2"](0, 4) == passage("a2", "a3")


def test_of_whole_documents_only_some_nearest_sentences_are_shown() -> None:
    names = condition_names(WHOLE)
    assert names == [TRUE, SHUFFLED, NONE, *(f"nearest {count}" for count in range(1, 17))]
    assert [name for name, _ in Histories(DOCUMENTS, WHOLE, seed=1).conditions(1)] == names
    assert history_steps(WHOLE)[-1] == (TRUE, "nearest 16")
    assert Histories(DOCUMENTS, WHOLE, seed=1).true(2, 5) == passage("c0", "c1", "c2", "c3", "c4")
    assert condition_names(17)[-1] == "nearest 16"
    assert condition_names(16)[-1] == "nearest 15"


def test_a_single_document_is_refused() -> None:
    with pytest.raises(CorpusError, match="1 document: a shuffled history is another document's"):
        check_documents(DOCUMENTS[:1])


def item(name: str, history: int, of: str) -> ContrastiveItem:
    sentences = tuple(f"{name}{number}" for number in range(history))
    return ContrastiveItem(id=name, source="s", right="r", wrong=("w",), history=sentences, document=of)


def test_items_vary_as_documents_do() -> None:
    items = [item("a", 5, "1"), item("b", 1, "1"), item("c", 4, "2"), item("d", 0, "3")]
    found = list(vary_items(items, 3, shuffles=2, seed=1))
    assert [name for name, _ in found] == [TRUE, SHUFFLED, SHUFFLED, NONE, "nearest 1", "nearest 2"]
    shown = [[one.history for one in varied] for _, varied in found]
    assert shown[0] == [("a2", "a3", "a4"), ("b0",), ("c1", "c2", "c3"), ()]
    assert shown[3] == [(), (), (), ()]
    assert shown[4] == [("a4",), ("b0",), ("c3",), ()]
    for histories in shown[1:3]:
        assert not any(sentence[0] in "ab" for history in histories[:2] for sentence in history)
        assert len(histories[1]) <= 1
        assert histories[3] == ()


def test_items_are_left_out_by_documents() -> None:
    items = [item(str(number), 0, str(number // 4)) for number in range(40)]
    found = spread_documents(items, 12)
    assert len(found) == 12
    assert len({one.document for one in found}) == 3
    assert [one.id for one in found] == sorted((one.id for one in found), key=int)
    assert spread_documents(items, 99) == items
    assert [one.history for one in with_nearest_history([item("a", 3, "1")], 0)] == [()]
