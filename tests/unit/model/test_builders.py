"""The name of a system decides its parts; the seed decides its weights."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.invariants import tiny
from torch import Tensor

from docaps.batches.windows import WHOLE
from docaps.config import SYSTEMS, StageSettings
from docaps.model.builders import build_model, count_parameters, dropout_rates, sketch_model
from docaps.model.checkpoint import weights_of
from docaps.model.context.states import FARTHEST
from docaps.model.layers import DropoutRates
from docaps.training.objective import compute_loss


@pytest.mark.parametrize(
    ("name", "history", "regulariser"),
    [
        ("transformer", 0, False),
        ("transformer+reg", 0, True),
        ("qcn", tiny.K, False),
        ("qcn+reg", tiny.K, True),
        ("capsnet", tiny.K, False),
        ("capsnet+reg", tiny.K, True),
    ],
)
def test_a_system_has_the_parts_its_name_says(name: str, history: int, regulariser: bool) -> None:
    system, model = SYSTEMS[name], build_model(tiny.settings(name), vocabulary=11)
    assert model.history == history
    assert bool(tiny.parameter_names(model, containing=["context"])) == (system.context != "none") == bool(history)
    assert bool(tiny.parameter_names(model, containing=["regulariser"])) == system.regulariser == regulariser
    assert bool(tiny.parameter_names(model, containing=["query.linear"])) == name.startswith("qcn")


def test_capsules_rounds_and_history_reach_the_network() -> None:
    model = build_model(tiny.settings("qcn+reg", capsules=5, rounds=2, normalise=True), vocabulary=11)
    assert model.context.routing.weight.shape == (5, tiny.D, tiny.D)
    assert model.context.routing.options.rounds == model.regulariser.source.options.rounds == 2
    assert model.context.words.linear.in_features == tiny.D + tiny.K
    assert isinstance(model.context.norm, torch.nn.LayerNorm)
    assert not torch.equal(model.regulariser.source.weight, model.regulariser.target.weight)


def test_the_spread_of_first_weights_reaches_all_capsule_networks() -> None:
    plain, spread = (
        build_model(tiny.settings("qcn+reg", **options), vocabulary=11) for options in ({}, {"spread": 0.5})
    )
    for one, other in (
        (plain.context.routing, spread.context.routing),
        (plain.regulariser.source, spread.regulariser.source),
        (plain.regulariser.target, spread.regulariser.target),
    ):
        torch.testing.assert_close(other.weight, one.weight * 0.5 * tiny.D**0.5)  # the same draws, on another scale


def test_the_dropout_of_a_part_is_that_of_the_stage_unless_it_has_its_own() -> None:
    plain = StageSettings(dropout=0.25)
    assert dropout_rates(plain) == DropoutRates.everywhere(0.25)
    for part in ("embeddings", "sublayers", "attention", "feed_forward"):
        for rate in (0.0, 0.5):
            own = StageSettings.model_validate({"dropout": 0.25, f"dropout_{part}": rate})
            assert dropout_rates(own) == replace(DropoutRates.everywhere(0.25), **{part: rate})


def test_every_option_reaches_the_model() -> None:
    """Each gives other results than all others from the same weights, or other weights."""
    batch = tiny.sample_batch()

    def gradients(**options: Any) -> list[Tensor]:
        model = build_model(tiny.settings("qcn+reg", **options), vocabulary=tiny.VOCABULARY).double().train()
        prediction = model(batch)
        compute_loss(prediction, batch.translations, label_smoothing=0.0, regulariser_weight=1.0).total.backward()
        return [weight.grad for weight in model.parameters() if weight.grad is not None]

    seen = {"none": gradients()}
    for name, options in tiny.OPTIONS.items():
        found = gradients(**options)
        for earlier, others in seen.items():
            same = len(found) == len(others) and all(
                one.shape == other.shape and torch.allclose(one, other)
                for one, other in zip(found, others, strict=True)
            )
            assert not same, (name, earlier)
        seen[name] = found


def test_a_silent_start_has_two_names() -> None:
    older, newer = (
        build_model(tiny.settings("qcn", **options), vocabulary=11).state_dict()
        for options in ({"silent": True}, {"tables": {"context": {"start": "silent"}}})
    )
    assert older.keys() == newer.keys()
    assert all(torch.equal(older[name], newer[name]) for name in older)
    assert not older["encoder.0.context.attention.output.weight"].any()


def test_the_seed_decides_the_weights_and_nothing_else_changes() -> None:
    settings = tiny.settings("qcn+reg")
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    one, same, other = (build_model(settings, vocabulary=11, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)  # the caller's generator is unchanged
    for a, b in zip(one.parameters(), same.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(one.embeddings.source.weight, other.embeddings.source.weight)


def test_weights_are_counted_as_worked_out_by_hand() -> None:
    """A table of 11 x 8; attention 4 (8 x 8 + 8) = 288, feed-forward 8 x 12 + 12 + 12 x 8 + 8 = 212, norms 16 each."""
    table, attention, forward, norm = 88, 288, 212, 16
    encoder = 2 * (attention + forward + 2 * norm)
    decoder = 2 * (2 * attention + forward + 3 * norm)
    shared = count_parameters(build_model(tiny.settings("transformer"), vocabulary=11))
    assert shared == table + encoder + decoder + 2 * norm
    separate = count_parameters(build_model(tiny.settings("transformer", embeddings="separate"), vocabulary=11))
    assert separate == shared + 2 * table
    network = (8 * 8 + 8) + ((8 + 3) * 8 + 8) + 2 * 8 * 8  # g, f and one matrix per capsule
    qcn = count_parameters(build_model(tiny.settings("qcn"), vocabulary=11))
    assert qcn == shared + network + 2 * (attention + norm)
    small = count_parameters(build_model(tiny.settings("qcn", capsule_size=5), vocabulary=11))
    smaller_network = (8 * 5 + 5) + ((8 + 3) * 5 + 5) + 2 * 5 * 5
    smaller_attention = 2 * (8 * 8 + 8) + 2 * (5 * 8 + 8)
    assert small == shared + smaller_network + 2 * (smaller_attention + norm)
    gated = count_parameters(build_model(tiny.settings("qcn", gate=True), vocabulary=11))
    assert gated == qcn + 2 * 2 * 8 * 8
    plain = count_parameters(build_model(tiny.settings("capsnet"), vocabulary=11))
    assert plain == qcn - (8 * 8 + 8)
    both = count_parameters(build_model(tiny.settings("qcn+reg"), vocabulary=11))
    assert both == qcn + 2 * 2 * 8 * 8


VIEWS = [
    ("transformer", 0, 0, False, False, "sentences"),
    ("qcn", 3, 0, False, False, "sentences"),
    ("zhang", 3, 0, False, False, "sentences"),
    ("han", 3, 0, True, False, "documents"),
    ("han-encoder", 3, 0, False, False, "documents"),
    ("han-decoder", 3, 0, True, False, "documents"),
    ("san", WHOLE, 0, False, False, "documents"),
    ("san-offline", WHOLE, WHOLE, False, False, "documents"),
    ("san-decoder", WHOLE, 0, False, False, "documents"),  # it drafts translations itself
    ("san-decoder-offline", WHOLE, WHOLE, False, False, "documents"),
    ("san-decoder-given", WHOLE, 0, True, False, "documents"),
    ("san-decoder-offline-given", WHOLE, WHOLE, True, False, "documents"),
    ("san-reach", 2, 2, False, False, "documents"),
    ("concat", 3, 0, False, False, "sentences"),
    ("concat-2-to-2", 1, 0, True, False, "sentences"),
    ("concat-n-to-n", 3, 0, True, False, "sentences"),
    ("qcn-shuffled", 3, 0, False, True, "sentences"),
    ("qcn-noise", 3, 0, False, False, "sentences"),
]


@pytest.mark.parametrize(("name", "history", "future", "translations", "shuffled", "sampling"), VIEWS)
def test_the_view_of_each_system(
    name: str, history: int, future: int, translations: bool, shuffled: bool, sampling: str
) -> None:
    model = build_model(tiny.mode(name), vocabulary=11)
    view = model.view
    assert (view.history, view.future, view.translations, view.shuffled) == (history, future, translations, shuffled)
    assert model.sampling == sampling


def test_modes_have_the_weights_they_need() -> None:
    plain = count_parameters(build_model(tiny.settings("transformer"), vocabulary=11))
    attention, forward, norm, matrix, linear = 288, 212, 16, 64, 72
    ending = forward + norm + 2 * matrix
    hierarchical = 4 * norm + 2 * attention + ending + 8  # the bias of the gate
    counts = {
        "han": 2 * hierarchical,
        "han-plain": 2 * (2 * linear + 2 * attention + ending),
        "han-encoder": hierarchical,
        "han-decoder": hierarchical,
        "han-distances": 2 * hierarchical + FARTHEST * 8,
        "san": 6 * matrix + ending + norm,
        "san-flat": 4 * matrix + ending + norm,
        "san-plain": 6 * linear + ending,
        "zhang": attention + forward + 2 * norm + norm + 4 * (attention + norm + 2 * matrix),
        "zhang-encoder": attention + forward + 2 * norm + norm + 2 * (attention + norm + 2 * matrix),
        "concat": 0,
        "qcn-noise": 2 * (attention + norm),
    }
    for name, expected in counts.items():
        assert count_parameters(build_model(tiny.mode(name), vocabulary=11)) - plain == expected, name


@pytest.mark.parametrize("name", sorted([*tiny.BUILT_IN, *tiny.MODES]))
def test_a_sketch_has_the_weights_of_the_model_without_their_values(name: str) -> None:
    sketch, model = (build(tiny.mode(name), vocabulary=11) for build in (sketch_model, build_model))
    found, expected = weights_of(sketch), weights_of(model)
    assert {key: weight.shape for key, weight in found.items()} == {key: one.shape for key, one in expected.items()}
    assert {weight.device.type for weight in (*found.values(), *sketch.buffers())} == {"meta"}


SKETCHED = """
import sys
from docaps.config import SYSTEMS, SystemSettings
from docaps.model.builders import sketch_model
for name in sys.argv[1:]:
    sketch_model(SystemSettings(name=name), vocabulary=11)
    print(name, "torch._dynamo" in sys.modules)
"""


def test_a_sketch_does_not_import_the_compiler_of_torch() -> None:
    """It would double the time from the start of a command to its first sentence."""
    command = [sys.executable, "-c", SKETCHED, *tiny.BUILT_IN]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [word for name in tiny.BUILT_IN for word in (name, "False")]
