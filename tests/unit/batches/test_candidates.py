"""Candidates are laid out with their common beginning once, and found again."""

import torch

from docaps.batches.batch import collate
from docaps.batches.candidates import collate_candidates, count_shared, count_words
from docaps.batches.windows import Window
from docaps.corpus.text.vocabulary import BOS, EOS

TWO = [[5, 6, 7, EOS], [5, 6, 8, 9, EOS]]


def test_a_common_beginning_comes_once() -> None:
    found = collate_candidates([TWO, [[4, EOS]]])
    assert found.words.tolist() == [[BOS, 5, 6, 7, 6, 8, 9], [BOS, 4, 0, 0, 0, 0, 0]]
    assert found.following.tolist() == [[5, 6, 7, EOS, 8, 9, EOS], [4, EOS, 0, 0, 0, 0, 0]]
    assert found.positions.tolist() == [[0, 1, 2, 3, 2, 3, 4], [0, 1, 0, 0, 0, 0, 0]]
    assert found.branches.tolist() == [[0, 0, 1, 1, 2, 2, 2], [0] * 7]
    assert found.rows.tolist() == [0, 0, 1]
    assert found.places.tolist() == [[1, 2, 3, 4, 0], [1, 2, 5, 6, 7], [1, 2, 0, 0, 0]]
    assert (count_shared(TWO), count_words(TWO)) == (2, 7)


def test_words_see_the_common_beginning_and_their_own_translation() -> None:
    visible = collate_candidates([TWO]).visible()
    assert visible is not None
    seen = [{place for place, one in enumerate(row) if one} for row in visible[0].tolist()]
    assert seen == [{0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}, {0, 1, 4}, {0, 1, 4, 5}, {0, 1, 4, 5, 6}]


def test_single_translations_need_no_mask() -> None:
    assert collate_candidates([[[5, EOS]], [[6, 7, EOS]]]).visible() is None


def test_apart_each_translation_has_a_row_with_its_sentence_and_history() -> None:
    windows = [Window([7, EOS], ([4, 5],), None, ([6],)), Window([8, 9, EOS])]
    batch = collate(windows, 1)
    apart = collate_candidates([TWO, [[4, EOS]]]).apart(batch)
    assert torch.equal(apart.source, batch.source[[0, 0, 1]])
    assert torch.equal(apart.history, batch.history[[0, 0, 1]])
    assert apart.target_input is not None
    assert apart.target_input.tolist() == [[BOS, 5, 6, 7, 0], [BOS, 5, 6, 8, 9], [BOS, 4, 0, 0, 0]]
    assert apart.translations.tolist() == [[5, 6, 7, EOS, 0], [5, 6, 8, 9, EOS], [4, EOS, 0, 0, 0]]
