"""Evidence by phenomenon: gains of tokens against plain loops, paired answers, and tests that must agree."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests import diagnosis_oracles as oracles
from tests.invariants import tiny

from docaps.corpus.documents import ParallelDocument
from docaps.corpus.store import Store
from docaps.diagnosis import DiagnosisOptions, ablation
from docaps.diagnosis.ablation import AblatedModel, ablate
from docaps.diagnosis.conditions import AGAINST, NONE, SHUFFLED, TRUE, Excerpt, Histories
from docaps.diagnosis.evidence import ACCURACY, BITS, EXCESS
from docaps.diagnosis.phenomenon_evidence import MarkedTokens, PairedAnswers, collect_phenomena, compare_answers
from docaps.translation.scoring import document_windows
from docaps.translation.trained_model import TrainedModel

OPTIONS = DiagnosisOptions(shuffles=2, bleu=False, draws=100)
TESTS = {"draws": 400, "seed": 1}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module", params=["qcn", "concat-2-to-2"])
def trained(request: pytest.FixtureRequest, store: Store) -> TrainedModel:
    return tiny.trained(store, request.param)


MARKS = {(0, 1): {"pronoun": (0, 2), "term": (2,)}, (1, 0): {"term": (1,)}, (1, 1): {"pronoun": (1,)}}


def expected_bits(
    trained: TrainedModel, documents: list[ParallelDocument], name: str, shown: str, others: bool = False
) -> list[list[float]]:
    """The log-probability of each marked token in bits, by document, or of the others; several draws are averaged."""
    histories, model = Histories(documents, trained.model.history, seed=OPTIONS.seed), AblatedModel(trained)
    lookups = [lookup for condition, lookup in histories.conditions(OPTIONS.shuffles) if condition == shown]
    found: dict[int, list[float]] = {}
    for (number, place), marked in MARKS.items():
        windows = document_windows(trained, documents[number], number + 1, use_context=False)
        length = len(trained.codec.encode_target(documents[number].target[place]))
        unmarked = [token for token in range(length) if token not in marked.get(name, ())] if name in marked else []
        for token in unmarked if others else marked.get(name, ()):
            drawn = [
                oracles.token_bits(trained, give(trained, model, windows[place], lookup(number, place)), token)
                for lookup in lookups
            ]
            found.setdefault(number, []).append(sum(drawn) / len(drawn))
    return list(found.values())


def give(trained: TrainedModel, model: AblatedModel, window: Any, given: Excerpt) -> Any:
    """Give a window a history, nearest sentence first, encoded without end marks."""
    codec, read = trained.codec, given.target if trained.model.view.translations else ()
    return replace(
        window,
        history=tuple(codec.encode_source(text)[:-1] for text in reversed(given.source)),
        target_history=tuple(codec.encode_target(text)[:-1] for text in reversed(read)),
    )


@pytest.mark.parametrize("chunk", [1, 500])
def test_gains_of_tokens_are_those_of_plain_loops(
    trained: TrainedModel, store: Store, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ablation, "CHUNK", chunk)
    documents = list(store.raw("dev"))
    found = ablate(AblatedModel(trained), None, documents, OPTIONS, MARKS).marked
    for name in ("pronoun", "term"):
        measure, excess = found.measures(name)
        assert set(measure.counts) == {TRUE, SHUFFLED, NONE}
        for shown, table in measure.counts.items():
            bits = expected_bits(trained, documents, name, shown)
            assert table[:, 1].tolist() == [len(one) for one in bits]
            assert (-table[:, 0] / np.log(2)).tolist() == pytest.approx([sum(one) for one in bits], abs=1e-4)
            others = expected_bits(trained, documents, name, shown, others=True)
            assert table[:, 3].tolist() == [len(one) for one in others]
            assert (-table[:, 2] / np.log(2)).tolist() == pytest.approx([sum(one) for one in others], abs=1e-4)
            per_token = (sum(map(sum, one)) / sum(map(len, one)) for one in (bits, others))
            assert excess.score(shown) == pytest.approx(next(per_token) - next(per_token), abs=1e-4)
        gain = measure.gain(TRUE, NONE)
        true, none = (sum(map(sum, expected_bits(trained, documents, name, shown))) for shown in (TRUE, NONE))
        assert gain == pytest.approx((true - none) / measure.counts[TRUE][:, 1].sum(), abs=1e-4)
    assert found.sentences == {"pronoun": 2, "term": 2}
    assert abs(found.measures("pronoun")[0].gain(TRUE, NONE)) > 1e-4


def test_marks_change_nothing_else(store: Store) -> None:
    trained, documents = tiny.trained(store), list(store.raw("dev"))
    plain, marked = (ablate(AblatedModel(trained), None, documents, OPTIONS, marks) for marks in (None, MARKS))
    assert plain.marked.sums == {}
    for condition, tables in plain.likelihoods.items():
        assert np.array_equal(np.concatenate(tables), np.concatenate(marked.likelihoods[condition]))


def answers(right: dict[str, list[list[int]]], documents: list[str | None], name: str = "pronoun") -> PairedAnswers:
    tables = {condition: np.array(rows, dtype=float) for condition, rows in right.items()}
    return PairedAnswers(tables, documents, [name] * len(documents))


def test_of_several_draws_the_first_is_paired_and_all_are_averaged() -> None:
    found = answers({TRUE: [[1, 1, 1, 0]], SHUFFLED: [[1, 0, 0, 1], [1, 1, 1, 1]]}, ["a", "a", "b", "b"])
    assert found.count_discordant(TRUE, SHUFFLED) == (2, 1)
    assert found.measure().counts[SHUFFLED].tolist() == [[1.5, 2.0], [1.5, 2.0]]
    compared = compare_answers(found, TRUE, SHUFFLED, **TESTS)
    assert compared is not None
    assert (compared.gained, compared.lost, compared.gain) == (2, 1, 0.0)


def test_items_of_a_phenomenon_stand_alone() -> None:
    mixed = PairedAnswers({TRUE: np.array([[1.0, 0.0, 1.0]])}, ["a", None, "c"], ["x", "y", "x"])
    found = mixed.of("x")
    assert found is not None
    assert (found.right[TRUE].tolist(), list(found.documents)) == ([[1.0, 1.0]], ["a", "c"])
    assert mixed.of("z") is None


def test_all_tests_must_agree() -> None:
    """Gains in one document convince the test over items, a small one in each document those over documents."""
    true, none = [1] * 80, [0] * 30 + [1] * 50
    found = answers({TRUE: [true], NONE: [none]}, ["a"] * 40 + [str(number) for number in range(40)])
    one_document = compare_answers(found, TRUE, NONE, **TESTS)
    assert one_document is not None
    assert one_document.p_mcnemar < 0.001
    assert one_document.p == one_document.p_randomisation == 1.0
    true, none = [1, 1, 1, 0, 0] * 10, [0, 0, 0, 1, 1] * 10
    found = answers({TRUE: [true], NONE: [none]}, [str(number // 5) for number in range(50)])
    every_document = compare_answers(found, TRUE, NONE, **TESTS)
    assert every_document is not None
    assert max(every_document.p_bootstrap, every_document.p_randomisation) < 0.05
    assert every_document.p == every_document.p_mcnemar == pytest.approx(oracles.exact_p(30, 20))
    assert every_document.p > 0.2


def gains(bits: dict[str, float], documents: int = 30, name: str = "pronoun") -> MarkedTokens:
    """Documents of four marked tokens, which gain about so many bits over one that costs two, and of one other."""
    rng, found = np.random.default_rng(2), MarkedTokens()
    noise = rng.normal(0, 0.1, size=(documents, len(bits)))
    for number in range(documents):
        scores = {
            condition: [[(-2 + value + noise[number, column]) * np.log(2)] * 4 + [-1.0]]
            for column, (condition, value) in enumerate(bits.items())
        }
        found.add([((number, 0), {name: range(4)})], scores)
    return found


def test_all_measures_share_the_level() -> None:
    found = collect_phenomena(
        gains({TRUE: 1, SHUFFLED: 0, NONE: 0}),
        answers({TRUE: [[1]], NONE: [[0]]}, ["a"], "formality"),
        level=0.05,
        **TESTS,
    )
    assert [(one.name, one.evidence.level) for one in found] == [("formality", 0.025), ("pronoun", 0.025)]
    both = collect_phenomena(
        gains({TRUE: 1, SHUFFLED: 0, NONE: 0}), answers({TRUE: [[1]], NONE: [[0]]}, ["a"]), level=0.05, **TESTS
    )
    assert [(one.name, one.evidence.level) for one in both] == [("pronoun", 0.025)]
    assert [measure.key for measure in both[0].evidence.measures] == [BITS, EXCESS, ACCURACY]


def test_there_are_enough_draws_for_the_level() -> None:
    """With 100 draws no p-value is below 0.0099."""
    few = {"draws": 100, "seed": 1}
    (one,) = collect_phenomena(gains({TRUE: 1, SHUFFLED: 0, NONE: 0}), None, level=0.004, **few)
    assert all(row.p < one.evidence.level for row in one.comparisons(BITS).values())


def test_the_smallest_gain_of_tokens_shrinks_with_documents() -> None:
    found = [
        collect_phenomena(gains({TRUE: 0, SHUFFLED: 0, NONE: 0}, documents), None, level=0.05, **TESTS)[0]
        for documents in (10, 1000)
    ]
    few, many = (one.smallest_bits() for one in found)
    assert few is not None
    assert many is not None
    assert few > many > found[0].evidence.thresholds.bits


def test_the_other_model_is_compared_by_items_and_decides_nothing() -> None:
    right = {TRUE: [[1] * 20], SHUFFLED: [[1] * 20], NONE: [[1] * 20], AGAINST: [[0] * 20]}
    (one,) = collect_phenomena(MarkedTokens(), answers(right, [str(n) for n in range(20)]), level=0.05, **TESTS)
    assert set(one.comparisons(ACCURACY)) == {NONE, SHUFFLED, AGAINST}
    assert one.comparisons(ACCURACY)[AGAINST].gain == 1.0
    assert not one.evidence.shows_use(one.evidence.measures[0])


def test_documents_without_marked_tokens_are_left_out() -> None:
    found = MarkedTokens()
    found.add([((3, 1), {"term": (0,)})], {TRUE: [[-1.0, -5.0]], NONE: [[-2.0, -5.0]]})
    measure, excess = found.measures("term")
    assert measure.documents == 1
    assert [one.gain(TRUE, NONE) for one in (measure, excess)] == pytest.approx([1 / np.log(2)] * 2)
    assert found.measures("pronoun") == []


def test_where_all_tokens_are_marked_there_are_none_to_exceed() -> None:
    found = MarkedTokens()
    found.add([((0, 1), {"term": (0, 1)})], {TRUE: [[-1.0, -5.0]], NONE: [[-2.0, -5.0]]})
    assert [one.key for one in found.measures("term")] == [BITS]
