"""Original Marian models: a folder with the weights (.npz), vocabularies and, if there is one, decoder.yml.

The settings of the model are stored with its weights. Vocabularies are SentencePiece models (.spm) or lists (.yml).
With lists, source.spm and target.spm beside them say how text becomes their words, as in folders of Opus-MT; without
these, text must be split into words already.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor

from docaps.config import DecodingSettings, SystemSettings
from docaps.config.model_settings import Activation, ModelSettings, Tables
from docaps.corpus.text.bpe import WholeWords
from docaps.corpus.text.codec import Codec, Language
from docaps.corpus.text.sentencepieces import PublishedPieces
from docaps.errors import CheckpointError, RunError
from docaps.exchange.importing import PublishedModel, build_settings, choose_language, name_ignored
from docaps.exchange.marian_files import Settings, as_number, read_arrays, read_numbers, read_settings
from docaps.exchange.vocabulary_rows import VocabularyRows, names_by_number, order_without_padding
from docaps.model.builders import sketch_model

FORM = "Marian"
END, UNKNOWN = "</s>", "<unk>"
DECODER = "decoder.yml"
ACTIVATIONS: Mapping[str, Activation] = {"relu": "relu", "swish": "swish"}
"""Its gelu is another function than ours."""
SUPPORTED = {
    "type": ("transformer",),
    "transformer-decoder-autoreg": ("self-attention",),
    "transformer-ffn-depth": ("2",),
    "transformer-decoder-ffn-depth": ("0", "2"),
    "transformer-postprocess-emb": ("d", ""),
    "transformer-train-position-embeddings": ("false",),
    "transformer-disable-position-embeddings": ("false",),
    "transformer-no-projection": ("false",),
    "transformer-no-bias": ("false",),
    "transformer-no-affine": ("false",),
    "transformer-attention-mask": ("default",),
    "transformer-pool": ("false",),
    "transformer-tied-layers": ([],),
    "right-left": ("false",),
    "ulr": ("false",),
    "lemma-dim-emb": ("0",),
    "factors-dim-emb": ("0",),
    "output-omit-bias": ("false",),
    "input-types": ([], "sequence", ["sequence", "sequence"]),
}
"""Settings of models, and the values that docaps has."""
PLACES = {"preprocess": ("", "d"), "postprocess": ("dan",), "postprocess-top": ("", "d")}
"""What comes before sub-layers, after them, and after the last layer: d dropout, a addition, n norm."""
DEFAULTS: Settings = {"beam-size": 12, "max-length-factor": 3, "normalize": 0}
"""What Marian's decoder does unless decoder.yml says otherwise."""
IGNORED = (
    "normalize",
    "word-penalty",
    "shortlist",
    "output-sampling",
    "force-decode",
    "skip-cost",
    "output-approx-knn",
)
"""Settings of its search that docaps does not have; it has a length penalty, but GNMT's, not a division by a power."""
NOTHING: tuple[object, ...] = (0, "", "false", "no", [])
"""Their values that do nothing."""
_MAPS = {"query": "q", "key": "k", "value": "v", "output": "o"}
_PARTS = {
    **{f"attention.{name}": ("self_W", "self_b", letter) for name, letter in _MAPS.items()},
    **{f"source.{name}": ("context_W", "context_b", letter) for name, letter in _MAPS.items()},
    "feed_forward.inner": ("ffn_W", "ffn_b", "1"),
    "feed_forward.output": ("ffn_W", "ffn_b", "2"),
}
_NORMS = {"attention_residual": "self_Wo", "source_residual": "context_Wo", "feed_forward_residual": "ffn_ffn"}


def find_model(path: Path) -> Path | None:
    """Return the weights of an original Marian model: the file itself, the one decoder.yml names, or the only one."""
    if path.suffix == ".npz":
        return path
    if (path / DECODER).exists():
        named = read_settings(path / DECODER).get("models")
        models = named if isinstance(named, list) else [named] if named else []
        if len(models) > 1:
            raise RunError(
                f"an ensemble of {len(models)} models is not supported: import one of them", path=path / DECODER
            )
        if models:
            return path / Path(models[0]).name
    found = [file for file in sorted(path.glob("*.npz")) if not file.name.endswith(".optimizer.npz")]
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise RunError(f"several models ({names}): name the file of one", path=path)
    return found[0] if found else None


def read_model(
    weights: Path, *, name: str | None = None, languages: Sequence[str | None] = (None, None)
) -> PublishedModel:
    """Read a model; `languages` are those of source and target."""
    arrays, described = read_arrays(weights)
    settings = _model_settings(described, weights)
    folder, known = weights.parent, name or weights.parent.resolve().name
    search = _search_settings(weights)
    files = _vocabulary_files(folder, search)
    codec, rows = _read_codec(files, folder, _size(described, weights), known, languages)
    read = [weights.name, *dict.fromkeys(file.name for file in files)]
    read += [file for file in (DECODER, "source.spm", "target.spm") if (folder / file).exists() and file not in read]
    found = _arrange(arrays, settings, rows, weights)
    return PublishedModel(FORM, known, folder, tuple(read), settings, _decoding(search, folder), codec, found)


def _model_settings(described: Settings, path: Path) -> ModelSettings:
    """Return the settings of a model; refuse by name what docaps does not have."""
    for key, values in SUPPORTED.items():
        if (value := described.get(key, values[0])) not in values:
            hint = " (SSRU)" if described.get("dec-cell") == "ssru" and key.endswith("autoreg") else ""
            raise RunError(f"{key} = {value}{hint} is not supported", path=path)
    for key, values in PLACES.items():
        if (value := described.get(f"transformer-{key}", "")) not in values:
            hint = " (norms before sub-layers)" if key == "preprocess" and "n" in value else ""
            raise RunError(f"transformer-{key} = {value}{hint} is not supported", path=path)
    activation = described.get("transformer-ffn-activation", "swish")
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise RunError(f"transformer-ffn-activation = {activation} is not supported", path=path)
    if (own := described.get("transformer-decoder-dim-ffn", "0")) not in ("0", described.get("transformer-dim-ffn")):
        raise RunError(f"transformer-decoder-dim-ffn = {own} is not supported", path=path)
    sizes = {"encoder_layers": "enc-depth", "decoder_layers": "dec-depth", "size": "dim-emb"}
    sizes |= {"feed_forward": "transformer-dim-ffn", "heads": "transformer-heads"}
    if missing := [key for key in sizes.values() if key not in described]:
        raise RunError(f"special:model.yml lacks {', '.join(missing)}", path=path)
    chosen = {
        **{name: as_number(described[key]) for name, key in sizes.items()},
        "norm": "post",
        "activation": ACTIVATIONS[activation],
        "embeddings": _tables(described),
        "positions": "marian",
        "norm_epsilon": 1e-6,
        "output_bias": True,
    }
    return build_settings(ModelSettings, chosen, path)


def _tables(described: Settings) -> Tables:
    """Return which tables of word vectors are one."""
    if described.get("tied-embeddings-all") == "true":
        return "shared"
    if described.get("tied-embeddings-src") == "true":
        return "shared" if described.get("tied-embeddings") == "true" else "separate"
    return "target" if described.get("tied-embeddings") == "true" else "separate"


def _size(described: Settings, path: Path) -> int:
    """Return the size of the vocabulary; it must be one for both sides."""
    sizes = described.get("dim-vocabs")
    if not isinstance(sizes, list) or not sizes or not all(isinstance(as_number(size), int) for size in sizes):
        raise RunError(f"special:model.yml has no sizes of vocabularies (dim-vocabs: {sizes})", path=path)
    if len(set(sizes)) > 1:
        raise RunError(f"a vocabulary for each side (dim-vocabs: {', '.join(sizes)}) is not supported", path=path)
    return int(sizes[0])


def _search_settings(weights: Path) -> Settings:
    """Return what decoder.yml says, if there is one."""
    for path in (weights.parent / DECODER, weights.with_name(f"{weights.name}.{DECODER}")):
        if path.exists():
            return read_settings(path)
    return {}


def _vocabulary_files(folder: Path, search: Settings) -> list[Path]:
    """Return the vocabularies of both sides: those that decoder.yml names, or the only one of the folder."""
    named = search.get("vocabs")
    if isinstance(named, list) and named:
        return [folder / Path(name).name for name in named]
    lists = [file for file in sorted(folder.glob("*.yml")) if "vocab" in file.name]
    pieces = [file for file in sorted(folder.glob("*.spm")) if file.name not in ("source.spm", "target.spm")]
    found = lists or pieces
    if len(found) != 1:
        what = ", ".join(file.name for file in found) or "none"
        raise RunError(f"expected {DECODER}, or one vocabulary (*vocab*.yml or *.spm), found {what}", path=folder)
    return found


def _read_codec(
    files: Sequence[Path], folder: Path, size: int, name: str, languages: Sequence[str | None]
) -> tuple[Codec, VocabularyRows]:
    """Read the vocabulary of both sides, and how text becomes its entries."""
    path = files[0]
    if len({file.read_bytes() for file in files if file.exists()}) > 1:
        listed = ", ".join(file.name for file in files)
        raise RunError(f"a vocabulary for each side ({listed}) is not supported", path=folder)
    if path.suffix == ".spm":
        pieces = [PublishedPieces.load(path)] * 2
        numbers = pieces[0].numbers
    else:
        both = [folder / file for file in ("source.spm", "target.spm")]
        numbers = read_numbers(path)
        pieces = [PublishedPieces.load(file) for file in both if all(one.exists() for one in both)]
    try:
        names = names_by_number(numbers, size)
        rows = order_without_padding(names, end=names.index(END), unknown=names.index(UNKNOWN))
    except (RunError, ValueError) as fault:
        raise RunError(str(fault), path=path) from None
    codes = [choose_language(languages[side], None, name, which) for side, which in enumerate(("source", "target"))]
    here, there = (Language(code, tokenize=False) for code in codes)
    if not pieces:
        return Codec(source=here, target=there, subwords=WholeWords(), vocabulary=rows.vocabulary), rows
    source, target = pieces
    return Codec(source=here, target=there, subwords=target, vocabulary=rows.vocabulary, source_subwords=source), rows


def _decoding(search: Settings, path: Path) -> DecodingSettings:
    """Return the settings of the search, as far as they mean the same; name the others."""
    found = {**DEFAULTS, **{key: as_number(value) for key, value in search.items()}}
    changes = {"beam": found["beam-size"], "length_factor": found["max-length-factor"]}
    if found["normalize"] in NOTHING:
        changes["length_penalty"] = 0.0
    name_ignored([f"{key} = {search[key]}" for key in IGNORED if found.get(key, 0) not in NOTHING])
    return build_settings(DecodingSettings, changes, path)


def _arrange(arrays: dict[str, Tensor], settings: ModelSettings, rows: VocabularyRows, path: Path) -> dict[str, Tensor]:
    """Return the weights under our names, the tables in our order; refuse what is missing, unfit or not understood."""
    sketch = sketch_model(SystemSettings(name="transformer", model=settings), vocabulary=rows.published)
    waiting, found = dict(arrays), dict[str, Tensor]()
    for name, weight in sketch.named_parameters():
        theirs = _published_name(name, arrays)
        if theirs not in arrays:
            raise CheckpointError(f"the weights lack {theirs!r}", path=path)
        array = arrays[theirs]
        if name.endswith((".bias", "norm.weight")):
            array = array.flatten()
        elif not name.startswith("embeddings.") or theirs.endswith("_W"):
            array = array.T
        if tuple(array.shape) != tuple(weight.shape):
            raise CheckpointError(
                f"{theirs!r} has the shape {tuple(arrays[theirs].shape)}, which does not fit", path=path
            )
        waiting.pop(theirs, None)
        found[name] = array.contiguous()
    if waiting:
        names = ", ".join(sorted(waiting)[:3])
        raise CheckpointError(f"{len(waiting)} weights belong to no part of the model: {names} ...", path=path)
    tables = {
        name: rows.arrange(found[name]) for name in found if name.startswith("embeddings.") and "bias" not in name
    }
    return {**found, **tables, "embeddings.bias": rows.arrange_bias(found["embeddings.bias"])}


def _published_name(name: str, arrays: Mapping[str, Tensor]) -> str:
    """Return what a weight is called there."""
    part, _, kind = name.rpartition(".")
    if part == "embeddings":
        return "decoder_ff_logit_out_b"
    if part == "embeddings.output":
        return next((one for one in ("decoder_ff_logit_out_Wt", "decoder_ff_logit_out_W") if one in arrays), "Wemb")
    if part.startswith("embeddings."):
        side = "encoder" if part.endswith("source") else "decoder"
        return "Wemb" if "Wemb" in arrays else f"{side}_Wemb"
    number = {"weight": "scale", "bias": "bias"}[kind]
    side, layer, inner = part.split(".", 2)
    start = f"{side}_l{int(layer) + 1}_"
    if inner.endswith(".norm"):
        return f"{start}{_NORMS[inner.removesuffix('.norm')]}_ln_{number}"
    weight, bias, letter = _PARTS[inner]
    return f"{start}{weight if kind == 'weight' else bias}{letter}"
