"""Capsules of states, of translations and of the sentence itself equal plain loops, with gradients."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests import oracles
from tests.invariants import tiny
from torch import Tensor

from docaps.batches.batch import Batch, collate
from docaps.batches.windows import Window
from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.builders import build_model
from docaps.model.context.capsule_transformer import CapsuleTransformer, with_current
from docaps.model.context.qcn import HistoryCapsules
from docaps.model.fast.packing import pack
from docaps.model.layers import sinusoids
from docaps.model.transformer import Transformer
from docaps.training.objective import Device, Objective

READINGS: dict[str, dict[str, Any]] = {
    "translations": {"sides": "target"},
    "translations, with positions": {"sides": "target", "positions": True},
    "both sides": {"sides": "both"},
    "both sides, sharp": {"sides": "both", "sharpness": 20.0},
    "both sides, joint": {"sides": "both", "scope": "joint", "capsule_size": 5},
    "sentence itself": {"current": True},
    "sentence itself, joint, with positions": {"current": True, "scope": "joint", "positions": True},
    "sentence itself, with distances, learned sharpness": {
        "current": True,
        "sides": "both",
        "distances": True,
        "sharpness": "learned",
    },
    "states": {"reads": "states", "gradient_to_states": True},
    "states of the sentence itself": {"reads": "states", "current": True, "gradient_to_states": True},
    "states of translations": {"reads": "states", "sides": "target", "gradient_to_states": True},
    "states of both sides, with distances": {
        "reads": "states",
        "sides": "both",
        "distances": True,
        "gradient_to_states": True,
    },
}
NO_HISTORY = torch.zeros(1, 0, 0, dtype=torch.long)


def build(embeddings: str = "separate", **qcn: Any) -> CapsuleTransformer:
    model = tiny.build(tiny.settings("qcn", embeddings=embeddings, **qcn))
    assert isinstance(model, CapsuleTransformer)
    return model


def sentence_model(model: CapsuleTransformer) -> Transformer:
    """The sentence model with the same weights."""
    plain = tiny.build(tiny.settings("transformer", embeddings="separate"))
    plain.load_state_dict(model.state_dict(), strict=False)
    assert isinstance(plain, Transformer)
    return plain


def ids(*words: int) -> Tensor:
    return torch.tensor([words], dtype=torch.long)


def vectors_of(plain: Transformer, side: str, source: list[int], target: list[int], settings: dict[str, Any]) -> Tensor:
    """What is routed of one sentence alone, without padding."""
    words = source if side == "source" else target
    if settings.get("reads") == "states" and side == "source":
        return plain.encode(Batch(ids(*words, EOS), NO_HISTORY)).states[0]
    if settings.get("reads") == "states":
        begun = ids(BOS, *words)
        return plain(Batch(ids(*source, EOS), NO_HISTORY, begun, begun)).states[0]
    table = plain.embeddings.source if side == "source" else plain.embeddings.target
    places = sinusoids(len(words), tiny.D).double() / tiny.D**0.5
    return table.weight[words] + (places if settings.get("positions") else 0)


def sentences_of(batch: Batch, row: int, side: str, current: bool) -> Iterator[tuple[int, list[int], list[int]]]:
    """Index of the distance, words and translation of each sentence to route that has words on its side."""

    def real(words: Tensor) -> list[int]:
        return [word for word in words.tolist() if word not in (PAD, EOS)]

    assert batch.target_history is not None
    pairs = [(real(one), real(other)) for one, other in zip(batch.history[row], batch.target_history[row], strict=True)]
    if side == "source" and current:
        pairs = [(real(batch.source[row]), []), *pairs]
    for index, (source, target) in enumerate(pairs):
        if source if side == "source" else target:
            yield index, source, target


def by_loops(
    model: CapsuleTransformer, plain: Transformer, batch: Batch, row: int, settings: dict[str, Any]
) -> list[Tensor]:
    """The capsules that layers attend to, sentence by sentence (or side by side, if joint), without missing ones."""
    found = []
    for side, network in model._networks():
        routed = []
        for index, source, target in sentences_of(batch, row, side, bool(settings.get("current"))):
            place = torch.zeros(network.words.history, dtype=torch.float64)
            place[index] = 1.0
            f = network.words.linear
            u = [f.weight @ torch.cat((x, place)) + f.bias for x in vectors_of(plain, side, source, target, settings)]
            routed.append((index, [oracles.squash(one) for one in u]))
        if network.joint and routed:
            routed = [(0, [one for _, words in routed for one in words])]
        found += [capsules(network, plain, batch, row, index, words) for index, words in routed]
    return found


def capsules(
    network: HistoryCapsules, plain: Transformer, batch: Batch, row: int, index: int, words: list[Tensor]
) -> Tensor:
    assert network.query is not None
    g = network.query.linear
    query = g.weight @ sum(plain.embeddings.source.weight[word] for word in batch.source[row] if word != PAD) + g.bias
    rounds, sharpness = network.routing.options.rounds, network.routing.sharpness
    sharpness = sharpness[0] if isinstance(sharpness, Tensor) else sharpness
    v, _, _ = oracles.route(torch.stack(words), network.routing.weight, query, rounds, sharpness=sharpness)
    return v if network.distances is None else v + network.distances.weight[index]


@pytest.mark.parametrize("reading", READINGS)
def test_capsules_and_gradients_equal_the_loops(reading: str) -> None:
    settings = READINGS[reading]
    model, batch = build(**settings), tiny.sample_batch()
    plain = sentence_model(model)
    memory = model.encode(batch).context
    assert memory is not None
    ours = theirs = torch.zeros((), dtype=torch.float64)
    for row in range(len(batch.source)):
        expected = by_loops(model, plain, batch, row, settings)
        vectors = memory.vectors[row][memory.mask[row]]
        assert len(vectors) == tiny.M * len(expected)
        if expected:
            torch.testing.assert_close(vectors, torch.cat(expected), rtol=0, atol=1e-9)
            slopes = torch.randn(vectors.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(row))
            ours, theirs = ours + (vectors * slopes).sum(), theirs + (torch.cat(expected) * slopes).sum()
    # The loops read words from another model, the sentence model, and share the capsule networks.
    own, other = dict(model.named_parameters()), dict(plain.named_parameters())
    fast = torch.autograd.grad(ours, list(own.values()), allow_unused=True)
    slow = torch.autograd.grad(theirs, [other.get(name, weight) for name, weight in own.items()], allow_unused=True)
    reached = set()
    for name, one, two in zip(own, fast, slow, strict=True):
        if two is None or not two.any():
            assert one is None or one.abs().max() < 1e-12, name
        else:
            reached.add(name.split(".")[0])
            torch.testing.assert_close(one, two, rtol=0, atol=1e-8)
    deep = {"encoder"} if settings.get("reads") == "states" else set()
    assert {"context", "embeddings", *deep} <= reached


@pytest.mark.parametrize("sides", ["source", "target", "both"])
def test_gradients_reach_states_only_if_asked_for(sides: str) -> None:
    batch = tiny.sample_batch()
    for gradient in (False, True):
        model = build(reads="states", sides=sides, gradient_to_states=gradient).train()
        memory = model.encode(batch).context
        assert memory is not None
        memory.vectors.sum().backward()
        part = model.encoder if sides == "source" else model.decoder
        weights = [weight for name, weight in part.named_parameters() if "context" not in name]
        assert any(weight.grad is not None for weight in weights) == gradient


def test_each_side_has_a_network_of_its_own_and_only_those_that_are_read_exist() -> None:
    for sides in ("source", "target", "both"):
        names = {
            name.split(".")[1]
            for name, _ in build(sides=sides, reads="states").named_parameters()
            if name.startswith("context.")
        }
        assert names == ({"source", "target"} if sides == "both" else {sides})


def test_the_sentence_itself_comes_first_without_its_end_mark() -> None:
    batch = Batch(torch.tensor([[5, 6, EOS], [7, EOS, PAD]]), torch.tensor([[[8, 9, 4, 5]], [[PAD] * 4]]))
    assert with_current(batch).tolist() == [[[5, 6, PAD, PAD], [8, 9, 4, 5]], [[7, PAD, PAD, PAD], [PAD] * 4]]


@pytest.mark.parametrize("name", [name for name in tiny.MODES if name.startswith(("qcn-", "capsnet-"))])
@torch.inference_mode()
def test_packed_models_have_the_same_capsules(name: str) -> None:
    """With embeddings, words are mapped beforehand; states are of lower precision."""
    system = tiny.mode(name)
    model, batch = tiny.build(system).float(), tiny.sample_batch()
    packed = pack(model, torch.int8)
    found, expected = (each.encode(batch).context for each in (packed, model))
    assert found is not None
    assert expected is not None
    near = 1e-5 if system.qcn.reads == "embeddings" else 0.3
    torch.testing.assert_close(found.vectors, expected.vectors, rtol=near, atol=near)
    if isinstance(model, CapsuleTransformer):
        assert isinstance(packed, CapsuleTransformer)
        assert bool(packed.tables) == (system.qcn.reads == "embeddings")
        assert not model.tables


def test_distances_are_unknown_at_first_and_count_once_learned() -> None:
    system = tiny.settings("qcn", distances=True, current=True)
    fresh = build_model(system, vocabulary=tiny.VOCABULARY)
    assert not fresh.context.source.distances.weight.any()
    assert len(fresh.context.source.distances.weight) == tiny.K + 1


@pytest.mark.parametrize("name", [name for name in tiny.MODES if name.startswith(("qcn-", "capsnet-"))])
@pytest.mark.parametrize("history", [(), ([8, 9], [10])])
def test_every_weight_has_a_gradient_even_without_history_or_translations(
    name: str, history: tuple[list[int], ...]
) -> None:
    """So that processes whose batches have some and processes whose batches have none can average theirs."""
    model = tiny.build(tiny.mode(name))
    objective = Objective(
        model, label_smoothing=0.1, regulariser_weight=1.0, device=Device(torch.device("cpu"), torch.float32)
    )
    batch = collate([Window([5, 6, 2], history, [7, 2])], model.view)
    objective.train()(batch).total.backward()
    assert [name for name, weight in model.named_parameters() if weight.grad is None] == []


def test_translations_that_are_missing_are_not_attended_to() -> None:
    model = build(sides="both", reads="states")
    windows = [replace(window, target_history=()) for window in tiny.sample_windows()]
    memory = model.encode(collate(windows, tiny.VIEW)).context
    assert memory is not None
    assert memory.mask.shape[1] == tiny.K * tiny.M
    assert build(sides="target").encode(collate(windows, tiny.VIEW)).context is None
    assert build(sides="target").idles(collate(windows, tiny.VIEW))
