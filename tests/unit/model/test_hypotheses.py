"""The best words and their log-probabilities, found in chunks, are those of a plain softmax."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.hypotheses import FEW_ROWS, ROWS, best_words, best_words_of


def scores_of(rows: int, words: int, seed: int = 0) -> Tensor:
    return 4 * torch.randn(rows, words, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("rows", [2, FEW_ROWS + 3])
@pytest.mark.parametrize("piece", [1297, 600, 300, 150])
@pytest.mark.parametrize("scaled", [False, True])
def test_best_words_are_those_of_a_softmax(rows: int, piece: int, scaled: bool) -> None:
    scores = scores_of(rows, 1297)
    scores[:, [PAD, BOS]] += 9  # never written, but part of the sum
    scores[0, 1296] = 30  # the last word, in no group
    scale = torch.linspace(0.1, 3, rows, dtype=torch.float64).unsqueeze(1) if scaled else None
    expected = torch.log_softmax(scores if scale is None else scores * scale, dim=1)
    ending = expected[:, EOS].clone()
    expected[:, [PAD, BOS]] = -torch.inf
    values, words = expected.topk(4, dim=1)
    wanted = torch.tensor([[5, 1296, PAD], [299, 300, 599]]).repeat(rows, 1)[:rows]
    found = best_words([part.clone() for part in scores.split(piece, dim=1)], 4, scale, wanted=wanted)
    assert found.wanted is not None
    torch.testing.assert_close(found.wanted, expected.gather(1, wanted))
    torch.testing.assert_close(found.log_probabilities, values)
    assert torch.equal(found.words, words)
    torch.testing.assert_close(found.ending, ending)
    plain = best_words([part.clone() for part in scores.split(piece, dim=1)], 4, scale, normalise=False)
    assert torch.equal(plain.words, words)
    lacking = plain.log_probabilities - found.log_probabilities  # the same for all words of a row
    torch.testing.assert_close(lacking, lacking[:, :1].expand(-1, 4))
    torch.testing.assert_close(plain.ending - found.ending, lacking[:, 0])


def test_fewer_words_than_asked_for_are_all_found() -> None:
    found = best_words([scores_of(2, 6)], 50)
    assert sorted(found.words[0].tolist()) == list(range(6))
    assert (found.log_probabilities == -torch.inf).sum(dim=1).tolist() == [2, 2]


def test_huge_scores_do_not_overflow() -> None:
    scores = torch.zeros(FEW_ROWS + 1, 600)
    scores[:, 7], scores[:, PAD] = 1e4, 1.2e4
    found = best_words(list(scores.split(200, dim=1)), 2)
    assert found.words[:, 0].eq(7).all()
    assert found.log_probabilities[:, 0].tolist() == pytest.approx([-2e3] * len(scores))


def test_scores_far_below_zero_do_not_vanish_and_leave_their_neighbours_alone() -> None:
    scores = scores_of(FEW_ROWS + 2, 600).float()
    alone = best_words([part.clone() for part in scores.split(200, dim=1)], 4)
    moved = scores.clone()
    moved[0] -= 1e4
    moved[1] += 100
    found = best_words([part.clone() for part in moved.split(200, dim=1)], 4)
    assert torch.equal(found.words[2:], alone.words[2:])
    assert torch.equal(found.log_probabilities[2:], alone.log_probabilities[2:])  # to the last bit
    torch.testing.assert_close(found.log_probabilities[:2], alone.log_probabilities[:2], rtol=0, atol=5e-3)


@pytest.mark.parametrize("rows", [0, 1, ROWS, ROWS + 1, 2 * ROWS + 3])
@pytest.mark.parametrize("normalise", [True, False])
def test_rows_in_groups_equal_all_rows_at_once(rows: int, normalise: bool) -> None:
    states, weight = scores_of(rows, 8), scores_of(200, 8, seed=1)
    held = []

    def score(part: Tensor) -> tuple[Iterator[Tensor], None]:
        held.append(len(part))
        return iter((part @ weight.T).split(60, dim=1)), None

    wanted = torch.arange(2 * rows).view(rows, 2) % 200
    found = best_words_of(states, score, 3, normalise, wanted)
    whole = best_words((states @ weight.T).split(60, dim=1), 3, normalise=normalise, wanted=wanted)
    assert found.wanted is not None
    torch.testing.assert_close(found.wanted, whole.wanted)
    assert best_words_of(states, score, 3, normalise).wanted is None
    assert torch.equal(found.words, whole.words)
    torch.testing.assert_close(found.log_probabilities, whole.log_probabilities)
    torch.testing.assert_close(found.ending, whole.ending)
    assert max(held) <= ROWS
