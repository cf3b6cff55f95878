"""Beam search equals exhaustive search, on hand-made probabilities and on a Transformer."""

import heapq
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import pytest
import torch
from tests import oracles
from tests.invariants import tiny
from torch import Tensor

from docaps.batches.batch import Batch, collate
from docaps.batches.windows import Window
from docaps.config import DecodingSettings
from docaps.corpus.text.vocabulary import BOS, EOS, PAD, UNK
from docaps.model.interface import Encoding, Prediction, TranslationModel
from docaps.translation.search import Hypothesis, length_penalty, search

A, B, C = 4, 5, 6
Words = tuple[int, ...]
Table = Mapping[Words, Mapping[int, float]]
"""What may follow the words so far, and how probably; where nothing stands, the end."""


@dataclass(frozen=True)
class TableState:
    tables: tuple[int, ...]
    written: tuple[Words, ...]

    def select(self, rows: Tensor) -> "TableState":
        picked = rows.tolist()
        return TableState(tuple(self.tables[row] for row in picked), tuple(self.written[row] for row in picked))


class TableModel(TranslationModel):
    """A model that looks up what it says: the first source word is the number of the table."""

    def __init__(self, *tables: Table) -> None:
        super().__init__()
        self.history = 0
        self.tables = tables
        self.steps = 0

    def encode(self, batch: Batch, trace: bool = False) -> Encoding:  # noqa: ARG002
        return Encoding(batch.source.unsqueeze(-1).float(), batch.source_mask)

    def start(self, encoding: Encoding) -> TableState:
        numbers = [int(number) - A for number in encoding.states[:, 0, 0].tolist()]
        return TableState(tuple(numbers), ((),) * len(numbers))

    def decode_step(self, tokens: Tensor, state: TableState) -> tuple[Tensor, TableState]:
        self.steps += 1
        pairs = zip(state.written, tokens.tolist(), strict=True)
        written = tuple((*words, token) if token != BOS else words for words, token in pairs)
        rows = [self.tables[table].get(words, {EOS: 1.0}) for table, words in zip(state.tables, written, strict=True)]
        logits = torch.tensor([[row.get(word, 0.0) for word in range(7)] for row in rows]).log()
        return logits, TableState(state.tables, written)

    def forward(self, batch: Batch) -> Prediction:
        raise NotImplementedError


def batch_of(*tables: int, length: int = 2) -> Batch:
    return collate([Window([A + table, *[B] * (length - 2), EOS]) for table in tables], 0)


def best(table: Table, **settings: float) -> Hypothesis:
    return search(TableModel(table), batch_of(0), DecodingSettings(**settings))[0][0]


def every_translation(table: Table, words: Words = (), log_probability: float = 0.0) -> Iterator[tuple[Words, float]]:
    for word, probability in table.get(words, {EOS: 1.0}).items():
        reached = log_probability + math.log(probability)
        if word == EOS:
            yield words, reached
        else:
            yield from every_translation(table, (*words, word), reached)


def random_table(seed: int, depth: int = 3) -> Table:
    """Any of three words or the end, up to three words."""
    generator = torch.Generator().manual_seed(seed)
    table: dict[Words, dict[int, float]] = {}
    prefixes: list[Words] = [()]
    for _ in range(depth):
        for prefix in prefixes:
            shares = torch.softmax(torch.randn(4, generator=generator) * 1.5, dim=0).tolist()
            table[prefix] = dict(zip((A, B, C, EOS), shares, strict=True))
        prefixes = [(*prefix, word) for prefix in prefixes for word in (A, B, C)]
    return table


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_a_wide_beam_finds_what_trying_everything_finds(alpha: float) -> None:
    tables = [random_table(seed) for seed in range(20)]
    found = search(TableModel(*tables), batch_of(*range(20)), DecodingSettings(beam=64, length_penalty=alpha))
    lengths = set()
    for table, hypotheses in zip(tables, found, strict=True):
        scores = {w: lp / oracles.length_penalty(len(w) + 1, alpha) for w, lp in every_translation(table)}
        winner = max(scores, key=lambda words: scores[words])
        assert hypotheses[0].tokens == winner
        assert hypotheses[0].score == pytest.approx(scores[winner], abs=1e-5)
        assert [one.score for one in hypotheses] == sorted((one.score for one in hypotheses), reverse=True)
        assert all(one.score == pytest.approx(scores[one.tokens], abs=1e-5) for one in hypotheses)
        lengths.add(len(winner))
    assert len(lengths) > 1


GARDEN_PATH: Table = {(): {A: 0.6, B: 0.4}, (A,): {A: 0.55, B: 0.45}}


def test_beam_2_finds_what_greedy_search_misses() -> None:
    """Greedy search takes A (0.6) and ends with 0.6 x 0.55 = 0.33; B would have had 0.4."""
    greedy = best(GARDEN_PATH, beam=1, length_penalty=0.0)
    assert greedy.tokens == (A, A)
    assert greedy.log_probability == pytest.approx(math.log(0.33), abs=1e-6)
    wider = best(GARDEN_PATH, beam=2, length_penalty=0.0)
    assert wider.tokens == (B,)
    assert wider.log_probability == pytest.approx(math.log(0.4), abs=1e-6)


def test_a_beam_holds_no_more_hypotheses_than_its_width() -> None:
    """C (0.2) falls out of a beam of 2 at the first step, though it leads to the most probable translation."""
    later = {(A,): {A: 0.4, B: 0.3, C: 0.3}, (B,): {A: 0.4, B: 0.3, C: 0.3}}
    table = {(): {A: 0.41, B: 0.39, C: 0.2}, **later}
    assert best(table, beam=2, length_penalty=0.0).tokens == (A, A)
    assert best(table, beam=3, length_penalty=0.0).tokens == (C,)


def test_a_finished_hypothesis_keeps_its_place_in_the_beam() -> None:
    """The end (0.4) and A (0.35) fill a beam of 2, so only one place is left; B A (0.25) is never seen."""
    table = {(): {EOS: 0.4, A: 0.35, B: 0.25}, (A,): {A: 0.6, B: 0.4}}
    hypotheses = search(TableModel(table), batch_of(0), DecodingSettings(beam=2, length_penalty=2.0))[0]
    assert [one.tokens for one in hypotheses] == [(A, A), ()]


def chain(length: int) -> Table:
    """The end at once (0.55), or a long sentence that is certain after its first word (0.45)."""
    return {(): {EOS: 0.55, A: 0.45}, **{(A,) * words: {A: 1.0} for words in range(1, length)}}


def test_a_live_hypothesis_overtakes_the_first_finished_one() -> None:
    """ln 0.55 = -0.598 is finished first, but ln 0.45 / ((5 + 10) / 6)^0.6 = -0.461 is better in the end."""
    winner = best(chain(9), beam=2, length_penalty=0.6)
    assert winner.tokens == (A,) * 9
    assert winner.score == pytest.approx(-0.461, abs=1e-3)
    assert winner.log_probability == pytest.approx(math.log(0.45), abs=1e-6)


def test_search_stops_as_soon_as_no_live_hypothesis_can_win() -> None:
    model = TableModel(chain(9))
    (hypotheses,) = search(model, batch_of(0), DecodingSettings(beam=2, length_penalty=0.0))
    assert [one.tokens for one in hypotheses] == [()]
    assert model.steps == 1


@pytest.mark.parametrize("beam", [1, 3])
def test_the_length_limit_forces_an_end_mark(beam: int) -> None:
    """Sentences of 2 and 4 tokens may become 1.5 x 2 + 20 = 23 and 26 tokens long; each is held to its own limit."""
    endless = {(A,) * words: {A: 0.99, EOS: 0.01} for words in range(40)}
    settings = DecodingSettings(beam=beam, length_penalty=3.0, length_factor=1.5)
    batch = collate([Window([A, EOS]), Window([A, B, B, EOS])], 0)
    for hypotheses, limit in zip(search(TableModel(endless), batch, settings), (23, 26), strict=True):
        assert hypotheses[0].tokens == (A,) * (limit - 1)
        expected = (limit - 1) * math.log(0.99) + math.log(0.01)
        assert hypotheses[0].log_probability == pytest.approx(expected, abs=1e-4)


def test_padding_and_begin_marks_are_never_written() -> None:
    table = {(): {PAD: 0.5, BOS: 0.3, UNK: 0.2}}
    assert best(table, beam=4, length_penalty=0.0).tokens == (UNK,)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.5])
@pytest.mark.parametrize("length", [1, 2, 17, 500])
def test_length_penalty_equals_the_printed_formula(length: int, alpha: float) -> None:
    assert length_penalty(length, alpha) == pytest.approx(oracles.length_penalty(length, alpha), rel=1e-12)


def next_log_probabilities(model: TranslationModel, batch: Batch, words: Words) -> list[float]:
    written = torch.tensor([[BOS, *words]])
    prediction = model(replace(batch, target_input=written, target_output=written))
    return torch.log_softmax(prediction.logits[0, -1], dim=-1).tolist()


def exact(model: TranslationModel, batch: Batch, limit: int, alpha: float) -> tuple[float, Words]:
    """Try every translation of one sentence, the most probable beginnings first, until none can win any more."""
    winner: tuple[float, Words] = (-math.inf, ())
    beginnings: list[tuple[float, Words]] = [(0.0, ())]  # less the log-probability, and the words
    while beginnings:
        cost, words = heapq.heappop(beginnings)
        if -cost / oracles.length_penalty(limit, alpha) <= winner[0]:
            break
        step = next_log_probabilities(model, batch, words)
        winner = max(winner, ((step[EOS] - cost) / oracles.length_penalty(len(words) + 1, alpha), words))
        if len(words) + 1 < limit:
            for word in range(UNK, len(step)):
                heapq.heappush(beginnings, (cost - step[word], (*words, word)))
    return winner


@pytest.mark.parametrize("alpha", [0.0, 0.6])
@pytest.mark.parametrize(
    ("name", "seed"), [("transformer", 5), ("qcn", 12), ("qcn-both", 12), ("qcn-current-states", 12)]
)
def test_a_wide_beam_over_a_transformer_finds_what_trying_everything_finds(name: str, seed: int, alpha: float) -> None:
    model = tiny.build(tiny.mode(name, embeddings="separate"), vocabulary=6, seed=seed)
    with torch.no_grad():
        model.embeddings.output.weight.mul_(2)  # more decided, so that longer translations win too
    # Finished hypotheses keep their places, so a beam that shall drop nothing must be wide.
    settings = DecodingSettings(beam=400, length_penalty=alpha, length_factor=0.1)
    for source in ([4, 5, EOS], [5, 5, 4, UNK, EOS]):
        batch = collate([Window(source, ([4, 4], [5]), None, ([5], [4, 5]))], model.view)
        with torch.inference_mode():
            score, words = exact(model, batch, 20, alpha)
        ((found, *_),) = search(model, batch, settings)
        assert found.tokens == words
        assert found.score == pytest.approx(score, abs=1e-5)


def test_an_nbest_list_is_full_and_correct() -> None:
    """The end at once is best, so a search for one translation stops there; one for four goes on until all are sure."""
    tables = [random_table(seed) for seed in range(10)]
    settings = DecodingSettings(beam=40, nbest=4, length_penalty=0.6)
    for table, hypotheses in zip(tables, search(TableModel(*tables), batch_of(*range(10)), settings), strict=True):
        scores = sorted(
            (lp / oracles.length_penalty(len(w) + 1, 0.6) for w, lp in every_translation(table)), reverse=True
        )
        assert [one.score for one in hypotheses[:4]] == pytest.approx(sorted(scores)[:-5:-1], abs=1e-5)
    (found,) = search(TableModel(chain(9)), batch_of(0), DecodingSettings(beam=2, nbest=2, length_penalty=0.0))
    assert [one.tokens for one in found] == [(), (A,) * 9]


@pytest.mark.parametrize("width", [2, 5])
def test_sharing_hypotheses_find_what_copied_ones_find(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long translations of padded sentences that leave the batch at different times."""
    model = tiny.build(tiny.settings("qcn", embeddings="separate"), seed=4)
    windows = [replace(window, target=None) for window in tiny.sample_windows()] * 3
    settings = DecodingSettings(beam=width, nbest=width, length_factor=1.0)
    shared = search(model, collate(windows, tiny.K), settings)
    monkeypatch.setattr("docaps.model.transformer.WIDEST", 0)
    copied = search(model, collate(windows, tiny.K), settings)
    assert [[one.tokens for one in found] for found in shared] == [[one.tokens for one in found] for found in copied]
    for one, other in zip(shared, copied, strict=True):
        assert [each.score for each in one] == pytest.approx([each.score for each in other], abs=1e-5)


def test_non_finite_scores_end_the_search() -> None:
    class Broken(TableModel):
        def decode_step(self, tokens: Tensor, state: TableState) -> tuple[Tensor, TableState]:
            logits, after = super().decode_step(tokens, state)
            return logits * torch.nan, after

    assert search(Broken({}), batch_of(0, 0), DecodingSettings(beam=2)) == [[], []]


def test_finished_sentences_leave_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of nine is done at once: with places for one in eight it stays, with places for one in nine it goes."""
    tables = [{(): {EOS: 1.0}}, {(A,) * words: {A: 1.0} for words in range(5)}]
    results = []
    for share, rows in ((8, 9), (9, 8)):
        monkeypatch.setattr("docaps.translation.search.MOST_DONE", share)
        model, seen = TableModel(*tables), []
        monkeypatch.setattr(model, "decode_step", noting(model.decode_step, seen))
        results.append(search(model, batch_of(0, *[1] * 8), DecodingSettings(beam=1, length_penalty=0.6)))
        assert seen[1] == rows
    assert results[0] == results[1]


def noting(step: Callable[..., object], seen: list[int]) -> Callable[..., object]:
    """Note how many rows each step has."""

    def noted(tokens: Tensor, state: TableState) -> object:
        seen.append(len(tokens))
        return step(tokens, state)

    return noted


@pytest.mark.parametrize("name", ["transformer", "qcn", "zhang", "qcn-both", "qcn-translations-states"])
@pytest.mark.parametrize("beam", [1, 2])
def test_without_scores_the_words_are_the_same(name: str, beam: int) -> None:
    model, batch = tiny.build(tiny.mode(name)), tiny.sample_batch()
    decoding = DecodingSettings(beam=beam, length_factor=0.1, length_margin=6)
    scored, plain = (search(model, batch, decoding, scored=wanted) for wanted in (True, False))
    assert [[one.tokens for one in found] for found in plain] == [[one.tokens for one in found] for found in scored]
    missing = [math.isnan(one.score) and math.isnan(one.log_probability) for found in plain for one in found]
    assert set(missing) == {beam == 1}  # a beam compares hypotheses by their scores
