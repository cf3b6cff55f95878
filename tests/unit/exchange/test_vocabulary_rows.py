"""A published vocabulary in our order: padding that starts sentences, a start of its own, names that are taken."""

import pytest
import torch

from docaps.corpus.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK
from docaps.errors import RunError
from docaps.exchange.vocabulary_rows import SILENT, Marks, names_by_number, order_vocabulary

NAMES = ("</s>", "<unk>", "▁a", "▁b", "<pad>")
TABLE = torch.arange(1.0, 6.0).unsqueeze(1)


def test_padding_that_starts_sentences_becomes_the_begin_mark() -> None:
    found = order_vocabulary(NAMES, Marks(pad=4, end=0, unknown=1, start=4))
    assert found.vocabulary.pieces == (*SPECIALS, "▁a", "▁b")
    assert found.arrange(TABLE).flatten().tolist() == [0, 5, 1, 2, 3, 4]
    assert found.arrange_bias(TABLE.flatten()).tolist() == [SILENT, 5, 1, 2, 3, 4]


def test_a_begin_mark_of_its_own_is_ours() -> None:
    found = order_vocabulary((*NAMES, "<s>"), Marks(pad=4, end=0, unknown=1, start=5))
    table = torch.arange(1.0, 7.0).unsqueeze(1)
    assert found.vocabulary.pieces == (*SPECIALS, "▁a", "▁b")
    assert found.arrange(table).flatten().tolist() == [5, 6, 1, 2, 3, 4]
    assert found.arrange_bias(table.flatten()).tolist() == [5, 6, 1, 2, 3, 4]


def test_another_entry_that_starts_sentences_is_read_twice_and_written_once() -> None:
    found = order_vocabulary(NAMES, Marks(pad=4, end=0, unknown=1, start=0))
    assert found.arrange(TABLE).flatten().tolist() == [5, 1, 1, 2, 3, 4]
    assert found.arrange_bias(TABLE.flatten()).tolist() == [5, SILENT, 1, 2, 3, 4]
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)


def test_text_cannot_have_the_name_of_a_mark() -> None:
    found = order_vocabulary(("</s>", "<unk>", "<s>", "▁b", "<pad>"), Marks(pad=4, end=0, unknown=1, start=4))
    assert found.vocabulary.pieces == (*SPECIALS, "<s>*", "▁b")


def test_an_entry_can_be_silenced_wherever_it_is_ours() -> None:
    found = order_vocabulary(NAMES, Marks(pad=4, end=0, unknown=1, start=4)).silence(4)
    assert found.arrange_bias(TABLE.flatten()).tolist() == [SILENT, SILENT, 1, 2, 3, 4]
    found = order_vocabulary(NAMES, Marks(pad=4, end=0, unknown=1, start=0)).silence(4)
    assert found.arrange_bias(TABLE.flatten()).tolist() == [SILENT, SILENT, 1, 2, 3, 4]
    assert found.silence(3).arrange_bias(TABLE.flatten()).tolist()[-1] == SILENT


@pytest.mark.parametrize("numbers", [{"a": 0, "b": 2}, {"a": 1, "b": 1}, {"a": 0, "b": -1}])
def test_numbers_are_those_of_the_rows(numbers: dict[str, int]) -> None:
    with pytest.raises(RunError, match="its numbers are not those from 0 to 1, each once"):
        names_by_number(numbers, 2)
    assert names_by_number({"b": 1, "a": 0}, 2) == ["a", "b"]
