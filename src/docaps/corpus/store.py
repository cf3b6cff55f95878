"""The prepared corpus on disk: token ids in memory-mapped arrays with sentence and document offsets.

manifest.json                     settings, counts, hashes of inputs and of every file
text/                             subwords, vocabulary, languages, truecase models
{train,dev,test}.source.npy       token ids of all sentences, end to end
{train,dev,test}.source.starts.npy    where each sentence begins (one more entry: the end); likewise for target
{train,dev,test}.documents.npy    number of the first sentence of each document (one more entry: the end)
{train,dev,test}.usable.npy       whether a pair is trained on; a filtered pair only serves as history
                                  (extra sentence pairs, if any, follow the training part in the same files)
{dev,test}.source.txt             the raw text, for translation and scoring; likewise for target
contrastive.jsonl                 contrastive items, if any
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docaps.corpus.arrays import TokenArray
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.formats import read_parallel
from docaps.corpus.text.codec import Codec, load_codec
from docaps.errors import CorpusError
from docaps.files import naming, read_json

MANIFEST_KEYS = ("version", "settings", "inputs", "counts", "filters", "vocabulary", "files", "hash")
VERSION = 2


@dataclass(frozen=True)
class Split:
    """One part of the corpus: both sides and the document offsets."""

    source: TokenArray
    target: TokenArray
    documents: NDArray[np.int64]
    usable: NDArray[np.bool_] | None = None
    """Which pairs are trained on; None: all."""

    def __len__(self) -> int:
        return len(self.source)

    @cached_property
    def document_starts(self) -> NDArray[np.int64]:
        """For each sentence, the number of the first sentence of its document."""
        return np.repeat(self.documents[:-1], np.diff(self.documents))


class Store:
    """A prepared corpus, opened for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest: dict[str, Any] = read_json(path / "manifest.json", error=CorpusError)
        missing = [key for key in MANIFEST_KEYS if not isinstance(self.manifest, dict) or key not in self.manifest]
        if missing:
            message = f"does not describe a prepared corpus: {', '.join(missing)} missing"
            raise CorpusError(message, path=path / "manifest.json")

    @cached_property
    def codec(self) -> Codec:
        """The codec between text and the token ids of this corpus."""
        return load_codec(self.path / "text")

    @property
    def hash(self) -> str:
        """Identity of the prepared data."""
        return str(self.manifest["hash"])

    def has(self, split: str) -> bool:
        """Return whether the corpus has this part."""
        return split in self.manifest["counts"]

    def split(self, name: str, *, extra: bool = False) -> Split:
        """Open one part of the corpus; `extra` includes the extra pairs that follow the training part."""
        documents, usable = self._load(f"{name}.documents.npy"), self._load(f"{name}.usable.npy")
        source, target = self._side(name, "source"), self._side(name, "target")
        if name != "train" or extra or not self.has("extra"):
            return Split(source, target, documents, usable)
        counts, size = self.manifest["counts"][name], self.manifest["counts"][name]["sentences"]
        return Split(source.first(size), target.first(size), documents[: counts["documents"] + 1], usable[:size])

    def raw(self, name: str) -> list[ParallelDocument]:
        """Read the raw text of the development or test part."""
        return read_parallel(self.path / f"{name}.source.txt", self.path / f"{name}.target.txt")

    @property
    def contrastive(self) -> Path | None:
        """Path of the contrastive items, if the corpus has any."""
        path = self.path / "contrastive.jsonl"
        return path if path.exists() else None

    def _side(self, name: str, side: str) -> TokenArray:
        return TokenArray(self._load(f"{name}.{side}.npy"), self._load(f"{name}.{side}.starts.npy"))

    def _load(self, file: str) -> NDArray[Any]:
        path = self.path / file
        try:
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, EOFError, ValueError) as fault:
            raise CorpusError(f"the prepared corpus is damaged: {fault}. Prepare it again", path=path) from None
        return array


def open_store(path: Path) -> Store:
    """Open a prepared corpus."""
    if not (path / "manifest.json").exists():
        message = "not a prepared corpus (it has no manifest.json)" if path.is_dir() else "no such prepared corpus"
        raise CorpusError(f"{message}. Make one with: docaps prepare --help", path=path)
    return Store(path)


def write_arrays(directory: Path, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the arrays of one part."""
    for kind, array in arrays.items():
        path = directory / f"{name}.{kind}.npy"
        with naming(path), path.open("wb") as file:
            # The same bytes as `np.save`, which would lose the system's error number on a failed write.
            np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
            file.write(np.ascontiguousarray(array).data)
