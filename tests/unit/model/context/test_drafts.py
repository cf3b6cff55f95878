"""Drafts: greedy translations without context, each made once; and the decoder that attends to them."""

import copy
from typing import Any

import pytest
import torch
from tests.invariants import tiny
from torch import Tensor

from docaps.batches.batch import Batch
from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.builders import build_model
from docaps.model.context.drafts import LONGEST, MOST_IN_TRAINING, Drafts, search_greedily
from docaps.model.context.states import StatesTransformer
from docaps.model.interface import TranslationModel


def greedy(model: TranslationModel, sentence: list[int]) -> list[int]:
    """Read the words so far anew at each step and take the most probable next one."""
    source, written = torch.tensor([[*sentence, EOS]]), [BOS]
    while len(written) <= LONGEST * source.shape[1]:
        words = torch.tensor([written])
        scores = model(Batch(source, source.new_zeros(1, 0, 0), words, words)).logits[0, -1]
        scores[[PAD, BOS]] = float("-inf")
        if (word := int(scores.argmax())) == EOS:
            break
        written.append(word)
    return written[1:]


def sentence_model(of: TranslationModel, **options: Any) -> TranslationModel:
    plain = tiny.build(tiny.settings("transformer", **options))
    plain.load_state_dict(of.state_dict(), strict=False)
    return plain


def build(name: str = "san-decoder", *, ending: float = 0.0, seed: int = 3, **options: Any) -> StatesTransformer:
    """A model that drafts; the higher `ending`, the sooner a draft ends."""
    model = tiny.build(tiny.mode(name, embeddings="separate", **options), seed=seed)
    assert isinstance(model, StatesTransformer)
    with torch.no_grad():
        model.embeddings.output.weight[EOS] *= 1 + ending
    return model


def words(row: Tensor) -> list[int]:
    return [word for word in row.tolist() if word != PAD]


@pytest.mark.parametrize("name", ["san-decoder", "san-decoder-offline", "san-decoder-last"])
@pytest.mark.parametrize(("ending", "norm"), [(0.0, "pre"), (2.0, "post"), (5.0, "pre")])
def test_drafts_are_greedy_translations_of_the_sentence_model(name: str, ending: float, norm: str) -> None:
    model, batch = build(name, ending=ending, norm=norm), tiny.sample_batch()
    plain = sentence_model(model, embeddings="separate", norm=norm)
    found = model._draft(batch.history)
    assert found is not None
    lengths = set()
    for drafted, history in zip(found.flatten(0, 1), batch.history.flatten(0, 1), strict=True):
        expected = greedy(plain, words(history)) if words(history) else []
        assert words(drafted) == expected
        lengths.add(len(expected))
    assert len(lengths) > 2


def test_no_history_has_no_drafts() -> None:
    assert build()._draft(tiny.sample_batch().history[[1, 4]]) is None


class Script:
    """Hypotheses that write given words; they check that each sentence is continued with its last word."""

    def __init__(self, texts: list[list[int]]) -> None:
        self.texts, self.rows, self.position, self.kept = texts, list(range(len(texts))), 0, list[list[int]]()

    def extend(self, found: Tensor, count: int, normalise: bool = True) -> Any:
        assert (found.shape, count, normalise) == ((len(self.rows), 1), 1, False)
        before = [self.texts[row][self.position - 1] if self.position else BOS for row in self.rows]
        assert found[:, 0].tolist() == before
        self.position += 1
        return type("Words", (), {"words": torch.tensor([[self.texts[row][self.position - 1]] for row in self.rows])})

    def keep(self, rows: Tensor) -> None:
        self.rows = [self.rows[row] for row in rows.tolist()]
        self.kept.append(list(self.rows))


def test_a_draft_ends_with_its_end_mark_or_at_its_own_limit() -> None:
    texts = [[5, 6, EOS, 9, 9, 9], [5, 5, 5, 5, 5, 5], [EOS, 8, 8, 8, 8, 8], [7, 6, 5, 4, 4, EOS]]
    script = Script(texts)
    found = search_greedily(script, torch.tensor([4, 2, 4, 6]))
    assert [words(row) for row in found] == [[5, 6], [5, 5], [], [7, 6, 5, 4, 4]]
    assert script.kept == [[0, 3], [3]]  # finished sentences leave once they are half of the rows


def test_each_sentence_is_drafted_once_while_the_weights_are_the_same() -> None:
    asked = list[Tensor]()

    def translate(sentences: Tensor) -> Tensor:
        asked.append(sentences)
        return torch.where(sentences == PAD, PAD, sentences + 1)[:, :-1]

    known = Drafts()
    first, second = torch.tensor([[4, 5, EOS], [6, EOS, PAD]]), torch.tensor([[7, EOS], [6, EOS]])
    assert known.of(first, (1,), translate).tolist() == [[5, 6], [7, 3]]
    assert known.of(second, (1,), translate).tolist() == [[8, PAD], [7, 3]]
    assert [one.tolist() for one in asked] == [first.tolist(), [[7, EOS]]]
    known.of(second, (2,), translate)
    assert len(asked[-1]) == 2  # other weights
    known.clear()
    known.of(second, (2,), translate)
    assert len(asked) == 4
    copy.deepcopy(known).of(second, (2,), translate)
    assert len(asked) == 5  # a copy of a model is another model
    known.of(second, (2,), translate)
    assert len(asked) == 5


def test_no_more_drafts_are_kept_than_fit() -> None:
    known = copy.deepcopy(Drafts(3))
    for word in range(4, 20):
        known.of(torch.tensor([[word, EOS]]), (), lambda sentences: sentences)
        assert len(known._known) <= 4


def test_drafts_follow_the_weights() -> None:
    """Changed in place, loaded, or trained."""
    model, other, batch = build(), build(seed=8), tiny.sample_batch()
    before, expected = model._draft(batch.history), other._draft(batch.history)
    assert before is not None
    assert expected is not None
    assert before.shape != expected.shape or not torch.equal(before, expected)
    assert torch.equal(model._draft(batch.history), before)
    model.load_state_dict(other.state_dict())
    assert torch.equal(model._draft(batch.history), expected)


def test_drafts_in_training_have_no_dropout_and_leave_the_mode_as_it_was() -> None:
    system, batch = tiny.mode("san-decoder", embeddings="separate"), tiny.sample_batch()
    model = tiny.build(system, dropout=0.5)
    expected = model._draft(batch.history)
    assert torch.equal(model.train()._draft(batch.history), expected)
    assert all(part.training for part in model.modules())


def test_drafts_in_training_do_not_depend_on_the_sentences_drafted_with_them() -> None:
    """Else a resumed training would read others; in bfloat16, in which it may run, a tenth of them would change."""
    size = {"size": 128, "feed_forward": 256, "heads": 4, "encoder_layers": 2, "decoder_layers": 2}
    model = build_model(tiny.settings("san", tables={"model": size, "san": {"side": "decoder"}}), vocabulary=3000)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn(weight.shape, generator=generator), alpha=0.05)
    model.start_training()
    lengths = torch.randint(4, 16, (48,), generator=generator)
    sentences = torch.randint(5, 3000, (48, 1, 15), generator=generator)
    sentences[torch.arange(15) >= lengths[:, None, None]] = PAD
    found = []
    for count in (48, 7):
        model.start_training()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            drafts = [model.train()._draft(_cut(part)) for part in sentences.split(count)]
            assert torch.is_autocast_enabled("cpu")
        found.append([words(row) for part in drafts for row in part[:, 0]])
    assert found[0] == found[1]
    assert sum(map(len, found[0])) > 500
    assert model._drafter[0]._drafts._most == MOST_IN_TRAINING


def _cut(sentences: Tensor) -> Tensor:
    """Without positions that are padding in all rows."""
    return sentences[..., : int((sentences != PAD).sum(dim=-1).max())]


def inputs_of_last_feed_forward(model: TranslationModel, batch: Batch) -> list[Tensor]:
    """What the decoder's last feed-forward network reads, call by call."""
    seen = list[Tensor]()
    handle = model.decoder[-1].feed_forward.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    model(batch)
    handle.remove()
    return seen


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("attended", [True, False])
def test_queries_and_keys_are_what_the_last_feed_forward_network_reads(norm: str, attended: bool) -> None:
    tables: Any = {"san": {"side": "decoder", "translations": "given", "keys": "attended" if attended else "last"}}
    model, batch = tiny.build(tiny.settings("san", norm=norm, tables=tables)), tiny.sample_batch()
    projected, asked = list[Any](), list[Any]()
    attention = model.decoder_context
    project = attention.project
    attention.project = lambda *parts: projected.append(parts) or project(*parts)
    attention.register_forward_pre_hook(lambda _, given: asked.append(given))
    others, own = inputs_of_last_feed_forward(model, batch)
    ((states, mask, keys),) = projected
    ((last, _, queries),) = asked
    assert (keys is not None) == (queries is not None) == attended
    if attended:
        assert torch.equal(queries, own)
        assert set(map(tuple, keys[mask].tolist())) <= set(map(tuple, others.flatten(0, 1).tolist()))
        assert not torch.equal(keys, states)
        assert not torch.equal(queries, last)


def test_in_training_other_sentences_are_read_with_the_initial_weights() -> None:
    """Without dropout, on both sides; afterwards with the trained weights. They are not weights of the model."""
    for name in ("san", "san-decoder"):
        model, batch = tiny.build(tiny.mode(name, embeddings="separate"), dropout=0.5), tiny.sample_batch()
        assert isinstance(model, StatesTransformer)
        names, (before, *_) = list(model.state_dict()), read(model, batch)
        model.start_training()
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(1.5)
        model.train()
        for _ in range(2):  # no dropout either
            states, *_ = read(model, batch)
            assert states.shape == before.shape
            torch.testing.assert_close(states, before)
        assert not states.requires_grad
        assert list(model.state_dict()) == names
        model.eval()
        later, *_ = read(model, batch)
        assert later.shape != before.shape or not torch.allclose(later, before)


def read(model: StatesTransformer, batch: Batch) -> Any:
    if model.encoder_context is not None:
        return model._source_words(batch.history)
    drafts = model._draft(batch.history)
    assert drafts is not None
    return model._target_words(batch.history, drafts)


def test_with_current_memory_training_reads_other_sentences_with_its_own_weights() -> None:
    model = tiny.build(tiny.settings("san", tables={"san": {"memory": "current"}}))
    assert isinstance(model, StatesTransformer)
    model.start_training()
    assert not model.reads_initial_weights
    assert model._reader() is model.train()._reader() is model
