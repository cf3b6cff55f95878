"""Folders of Hugging Face MarianMT models, such as those of Opus-MT; neither transformers nor pickled code is needed.

config.json                the architecture
model.safetensors          the weights, or pytorch_model.bin, which only torch's weights-only unpickler reads
vocab.json                 the entries of the vocabulary and their numbers
source.spm, target.spm     the SentencePiece models
generation_config.json     settings of the search, if there are any
tokenizer_config.json      languages, if it says any
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from docaps.config import DecodingSettings
from docaps.config.model_settings import Activation, ModelSettings, Tables
from docaps.corpus.text.codec import Codec, Language
from docaps.corpus.text.sentencepieces import PublishedPieces
from docaps.errors import CheckpointError, RunError
from docaps.exchange.importing import PublishedModel, build_settings, choose_language, name_ignored
from docaps.exchange.marian_weights import arrange_weights, read_published
from docaps.exchange.vocabulary_rows import Marks, VocabularyRows, names_by_number, order_vocabulary
from docaps.files import read_json
from docaps.runs.stored_forms import StoredForm, check_form

FORM = "Hugging Face MarianMT"
CONFIG, VOCABULARY, SOURCE, TARGET = "config.json", "vocab.json", "source.spm", "target.spm"
SAFE_WEIGHTS, TORCH_WEIGHTS = "model.safetensors", "pytorch_model.bin"
GENERATION, TOKENIZER = "generation_config.json", "tokenizer_config.json"
ACTIVATIONS: Mapping[str, Activation] = {"relu": "relu", "swish": "swish", "silu": "swish", "gelu": "gelu"}
UNTOLD = {"<unk>": "unk_token", "</s>": "eos_token", "<pad>": "pad_token"}
"""Default entries of the tokenizer that are not text, and the keys that name others."""
NEUTRAL: Mapping[str, Any] = {
    **dict.fromkeys(("no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "min_length", "min_new_tokens"), 0),
    **dict.fromkeys(("repetition_penalty", "encoder_repetition_penalty"), 1),
    **dict.fromkeys(("forced_bos_token_id", "suppress_tokens", "begin_suppress_tokens", "sequence_bias")),
    **dict.fromkeys(("do_sample", "early_stopping"), False),
    **{"num_beam_groups": 1, "diversity_penalty": 0, "exponential_decay_length_penalty": None, "length_penalty": 0},
}
"""Settings of a search that docaps does not have, and the values with which they do nothing.

A search that stops early may miss what a longer one finds; a length penalty here is GNMT's, not a division by a power.
"""
NO_FACTOR, LONGEST_MARGIN = 1e-6, 10_000
"""The longest translation is then a number of tokens, whatever the length of the source."""
Count = Annotated[int, Field(ge=1, lt=2**31)]
Number = Annotated[int, Field(ge=0, lt=2**31)]


class MarianConfig(StoredForm):
    """What config.json says of a MarianMT model."""

    model_config = ConfigDict(protected_namespaces=())

    model_type: str
    d_model: Count
    vocab_size: Count
    encoder_layers: Count
    decoder_layers: Count
    encoder_ffn_dim: Count
    decoder_ffn_dim: Count
    encoder_attention_heads: Count
    decoder_attention_heads: Count
    activation_function: str
    pad_token_id: Number
    eos_token_id: Number
    decoder_start_token_id: Number
    decoder_vocab_size: Count | None = None
    max_position_embeddings: Count = 1024
    scale_embedding: bool = False
    share_encoder_decoder_embeddings: bool = True
    tie_word_embeddings: bool = True
    static_position_embeddings: bool = True
    normalize_before: bool = False
    normalize_embedding: bool = False


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder of a model, and what its config.json says."""

    path: Path
    name: str
    config: MarianConfig
    search: Mapping[str, Any]
    """What the folder says of the search; older ones say it in config.json."""

    @property
    def forbidden(self) -> list[Any]:
        """What no translation has, as lists of entries."""
        found = self.search.get("bad_words_ids")
        return found if isinstance(found, list) else []

    def json(self, name: str, *, needed: bool = True) -> dict[str, Any]:
        """Read one of the folder's JSON objects."""
        return _read_object(self.path / name, needed=needed)


def _read_object(path: Path, *, needed: bool = True) -> dict[str, Any]:
    """Read a JSON object; an empty one if it is missing and not needed."""
    if not needed and not path.exists():
        return {}
    found = read_json(path, error=RunError)
    if not isinstance(found, dict):
        raise RunError("not in the expected form: expected a JSON object", path=path)
    return found


def is_marian_folder(path: Path) -> bool:
    """Return whether a folder looks like a model of Hugging Face."""
    return (path / CONFIG).exists()


def read_folder(
    path: Path, *, name: str | None = None, languages: Sequence[str | None] = (None, None)
) -> PublishedModel:
    """Read a folder; `languages` are those of source and target, if the folder does not say them."""
    values = _read_object(path / CONFIG)
    _refuse_other_models(values, path / CONFIG)
    check_form(values, MarianConfig, path / CONFIG, error=RunError)
    search = {**values, **_read_object(path / GENERATION, needed=False)}
    folder = _Folder(path, name or path.resolve().name, MarianConfig.model_validate(values), search)
    settings = _model_settings(folder)
    codec, rows = _read_codec(folder, languages)
    file = _weights_file(path)
    weights = arrange_weights(read_published(file), settings, rows, file)
    files = [CONFIG, file.name, VOCABULARY, SOURCE, TARGET]
    files += [name for name in (GENERATION, TOKENIZER) if (path / name).exists()]
    return PublishedModel(FORM, folder.name, path, tuple(files), settings, _decoding(folder), codec, weights)


def _refuse_other_models(values: Mapping[str, Any], path: Path) -> None:
    """Refuse architectures that docaps does not have."""
    kind = values.get("model_type")
    if kind != "marian":
        raise RunError(f"the architecture {kind!r} is not supported: only 'marian' models are imported", path=path)
    classes = values.get("architectures")
    found = classes[0] if isinstance(classes, list) and classes else "MarianMTModel"
    if found != "MarianMTModel":
        raise RunError(f"the architecture {found!r} is not supported: only MarianMTModel is imported", path=path)


def _model_settings(folder: _Folder) -> ModelSettings:
    """Return the settings of the model that a folder describes; refuse what docaps does not have."""
    config, path = folder.config, folder.path / CONFIG
    for what, one, other in (
        ("feed-forward sizes (encoder_ffn_dim, decoder_ffn_dim)", config.encoder_ffn_dim, config.decoder_ffn_dim),
        ("heads (encoder_attention_heads, ...)", config.encoder_attention_heads, config.decoder_attention_heads),
        ("vocabularies (vocab_size, decoder_vocab_size)", config.vocab_size, config.decoder_vocab_size or 0),
    ):
        if one != other and other:
            raise RunError(f"different {what} of the two sides are not supported: {one:,} and {other:,}", path=path)
    if config.activation_function not in ACTIVATIONS:
        names = ", ".join(ACTIVATIONS)
        raise RunError(f"the activation {config.activation_function!r} is not supported: only {names}", path=path)
    if not config.static_position_embeddings:
        raise RunError("learned positions (static_position_embeddings = false) are not supported", path=path)
    if config.normalize_embedding:
        raise RunError("a norm of the word vectors (normalize_embedding = true) is not supported", path=path)
    values = {
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "size": config.d_model,
        "feed_forward": config.encoder_ffn_dim,
        "heads": config.encoder_attention_heads,
        "norm": "pre" if config.normalize_before else "post",
        "activation": ACTIVATIONS[config.activation_function],
        "embeddings": _tables(config),
        "scale_embeddings": config.scale_embedding,
        "output_bias": True,
    }
    return build_settings(ModelSettings, values, path)


def _tables(config: MarianConfig) -> Tables:
    """Return which tables of word vectors are one."""
    if not config.tie_word_embeddings:
        return "separate"
    return "shared" if config.share_encoder_decoder_embeddings else "target"


def _read_codec(folder: _Folder, languages: Sequence[str | None]) -> tuple[Codec, VocabularyRows]:
    """Read vocabulary and SentencePiece models."""
    said = folder.json(TOKENIZER, needed=False)
    if said.get("separate_vocabs") or (folder.path / "target_vocab.json").exists():
        raise RunError("a vocabulary for each side (separate_vocabs) is not supported", path=folder.path / TOKENIZER)
    numbers, path = folder.json(VOCABULARY), folder.path / VOCABULARY
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers.values()):
        raise RunError("not in the expected form: expected a number for each entry", path=path)
    try:
        rows = order_vocabulary(names_by_number(numbers, folder.config.vocab_size), _marks(folder, numbers))
    except (RunError, ValueError) as fault:
        raise RunError(str(fault), path=path) from None
    if folder.search.get("renormalize_logits") is True and [folder.config.pad_token_id] in folder.forbidden:
        rows = rows.silence(folder.config.pad_token_id)  # its probability is shared out among the other entries
    source, target = (PublishedPieces.load(folder.path / name) for name in (SOURCE, TARGET))
    codes = [
        choose_language(given, said.get(f"{side}_lang"), folder.name, side)
        for given, side in zip(languages, ("source", "target"), strict=True)
    ]
    here, there = (Language(code, tokenize=False) for code in codes)
    codec = Codec(source=here, target=there, subwords=target, vocabulary=rows.vocabulary, source_subwords=source)
    return codec, rows


def _marks(folder: _Folder, numbers: Mapping[str, int]) -> Marks:
    """Return the entries that are not text; the numbers in config.json must be in the vocabulary."""
    config, said = folder.config, folder.json(TOKENIZER, needed=False)
    told = said.get(UNTOLD["<unk>"]) or "<unk>"
    name = told.get("content") if isinstance(told, dict) else told
    unknown = numbers.get(name) if isinstance(name, str) else None
    if unknown is None:
        raise RunError(f"the vocabulary does not fit: it has no entry {name!r} for unknown words")
    for key in ("pad_token_id", "eos_token_id", "decoder_start_token_id"):
        if getattr(config, key) >= config.vocab_size:
            raise RunError(f"the vocabulary does not fit: {key} is {getattr(config, key):,} of {config.vocab_size:,}")
    if len({config.pad_token_id, config.eos_token_id, unknown}) < 3:
        raise RunError("the vocabulary does not fit: padding, end and unknown words must be three entries")
    return Marks(pad=config.pad_token_id, end=config.eos_token_id, unknown=unknown, start=config.decoder_start_token_id)


def _weights_file(folder: Path) -> Path:
    """Return the file of weights, safetensors if there are both."""
    for name in (SAFE_WEIGHTS, TORCH_WEIGHTS):
        if (folder / name).exists():
            return folder / name
    raise CheckpointError(f"no weights here: expected {SAFE_WEIGHTS} or {TORCH_WEIGHTS}", path=folder)


def _decoding(folder: _Folder) -> DecodingSettings:
    """Return the settings of the search, as far as they mean the same here; name the others."""
    said = folder.search
    changes: dict[str, Any] = {"longest_source": max(10, min(300, folder.config.max_position_embeddings - 1))}
    if _is_count(beam := said.get("num_beams")):
        changes["beam"] = beam
    longest = _longest(said)
    if longest is not None:
        changes |= {"length_factor": NO_FACTOR, "length_margin": min(longest, LONGEST_MARGIN)}
    if said.get("length_penalty") == 0:
        changes["length_penalty"] = 0.0
    name_ignored([*_ignored(said), *_ignored_words(folder)])
    return build_settings(DecodingSettings, changes, folder.path)


def _is_count(value: object) -> bool:
    """Return whether something is a whole number above 1."""
    return isinstance(value, int) and value > 1


def _longest(said: Mapping[str, Any]) -> int | None:
    """Return how many tokens a translation may have, if the folder says it; what counts the start mark is one more."""
    new, whole = said.get("max_new_tokens"), said.get("max_length")
    if isinstance(new, int) and new > 0:
        return new
    return whole - 1 if isinstance(whole, int) and whole > 1 else None


def _ignored(said: Mapping[str, Any]) -> list[str]:
    """Describe the settings that docaps does not have, unless their values do nothing."""
    alone = {"early_stopping", "length_penalty"} if not _is_count(said.get("num_beams", 1)) else set()
    found = {key: said.get(key) for key in NEUTRAL if key not in alone}
    return [f"{key} = {value}" for key, value in found.items() if value not in (NEUTRAL[key], None, [], {}, "never")]


def _ignored_words(folder: _Folder) -> list[str]:
    """Describe the entries other than padding that no translation has there; here padding never is in one."""
    others = [one for one in folder.forbidden if one != [folder.config.pad_token_id]]
    return [f"bad_words_ids = {others}"] if others else []
