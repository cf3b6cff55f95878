"""A folder that is not a model that docaps has is refused by name, whatever is wrong with it."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.unit.exchange.published import Both

from docaps.errors import DocapsError
from docaps.exchange.hugging_face import read_folder


@pytest.fixture
def folder(published: Both, tmp_path: Path) -> Path:
    shutil.copytree(published.folder, tmp_path / "opus-mt-en-de")
    return tmp_path / "opus-mt-en-de"


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **values}), encoding="utf-8")


def change_weights(folder: Path, alter: Callable[[dict[str, torch.Tensor]], object]) -> None:
    tensors = load_file(folder / "model.safetensors")
    alter(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model_type": "m2m_100"}, "architecture 'm2m_100' is not supported"),
        ({"architectures": ["MarianForCausalLM"]}, "architecture 'MarianForCausalLM' is not supported"),
        ({"activation_function": "tanh"}, "activation 'tanh' is not supported: only relu"),
        ({"static_position_embeddings": False}, r"learned positions \(static_position_embeddings"),
        ({"normalize_embedding": True}, "normalize_embedding = true"),
        ({"decoder_ffn_dim": 64}, "different feed-forward sizes .* 32 and 64"),
        ({"decoder_attention_heads": 4}, "different heads .* 2 and 4"),
        ({"decoder_vocab_size": 7}, "different vocabularies .* and 7"),
        ({"encoder_attention_heads": 3, "decoder_attention_heads": 3}, "divisible by the number of heads, 3"),
        ({"d_model": "large"}, "d_model"),
        ({"d_model": 32}, "has the shape .*16.*config.json says .*32"),
        ({"encoder_layers": 3}, "lack 'model.encoder.layers.2"),
        ({"encoder_layers": 1}, "weights belong to no part of the model: model.encoder.layers.1"),
        ({"normalize_before": True}, "lack 'model.encoder.layer_norm"),
        ({"tie_word_embeddings": False}, "lack 'lm_head.weight'"),
        ({"pad_token_id": 100_000}, "pad_token_id is 100,000"),
        ({"eos_token_id": 1}, "padding, end and unknown words must be three entries"),
        (
            {"vocab_size": 100, "decoder_vocab_size": 100},
            "the vocabulary does not fit: it has .* entries, and the model 100 words",
        ),
    ],
)
def test_other_models_are_refused_by_name(folder: Path, values: dict[str, Any], message: str) -> None:
    change(folder / "config.json", **values)
    with pytest.raises(DocapsError, match=message):
        read_folder(folder)


@pytest.mark.parametrize("name", ["config.json", "vocab.json", "source.spm", "target.spm", "model.safetensors"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(DocapsError, match=name):
        read_folder(folder)


@pytest.mark.parametrize("name", ["config.json", "vocab.json", "source.spm", "model.safetensors"])
def test_a_truncated_file_is_named(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(DocapsError, match=name):
        read_folder(folder)


def test_a_vocabulary_with_a_number_twice_does_not_fit(folder: Path) -> None:
    change(folder / "vocab.json", the=3)
    numbers = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    name = next(name for name, number in numbers.items() if number == 5)
    del numbers[name]
    (folder / "vocab.json").write_text(json.dumps(numbers), encoding="utf-8")
    with pytest.raises(DocapsError, match=r"vocab.json: the vocabulary does not fit: its numbers are not those from 0"):
        read_folder(folder)


def test_a_vocabulary_for_each_side_is_refused(folder: Path) -> None:
    change(folder / "tokenizer_config.json", separate_vocabs=True)
    with pytest.raises(DocapsError, match="separate_vocabs"):
        read_folder(folder)


def test_weights_of_another_kind_are_refused(folder: Path) -> None:
    change_weights(folder, lambda tensors: tensors.update({"final_logits_bias": torch.zeros(1, 5)}))
    with pytest.raises(DocapsError, match="final_logits_bias has 5 numbers, expected"):
        read_folder(folder)
    change_weights(folder, lambda tensors: tensors.update({"final_logits_bias": torch.zeros(5, dtype=torch.int64)}))
    with pytest.raises(DocapsError, match=r"'final_logits_bias' is of the type torch.int64"):
        read_folder(folder)


class Harmful:
    """Something whose unpickling would run code."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("write", [torch.save, lambda value, path: path.write_bytes(pickle.dumps(value))])
def test_code_in_a_pickle_is_not_run(folder: Path, write: Callable[[Any, Path], object]) -> None:
    (folder / "model.safetensors").unlink()
    mark = folder / "harm"
    write({"final_logits_bias": Harmful(mark)}, folder / "pytorch_model.bin")
    with pytest.raises(DocapsError, match=r"pytorch_model.bin: refused: .* could run code"):
        read_folder(folder)
    assert not mark.exists()


def test_damaged_pickles_are_refused(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    path = folder / "pytorch_model.bin"
    torch.save(tensors, path)
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], b"", b"PK\x03\x04", b"\x80\x02}q\x00."):
        path.write_bytes(damaged)
        with pytest.raises(DocapsError, match=r"pytorch_model.bin: "):
            read_folder(folder)
    torch.save([1, 2], path)
    with pytest.raises(DocapsError, match="expected tensors by name"):
        read_folder(folder)
