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
verified.json                     which files had the hash that the manifest says, and when they were last changed
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from docaps.corpus.arrays import TokenArray
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.formats import read_parallel
from docaps.corpus.text.codec import CODEC_FILES, Codec, load_codec
from docaps.corpus.verification import (
    RECORD,
    check_flags,
    check_ids,
    check_starts,
    damaged,
    identity_of,
    verify_files,
)
from docaps.errors import CorpusError
from docaps.files import LARGEST_DESCRIPTION, naming, open_regular, read_json
from docaps.runs.stored_forms import Natural, StoredForm, check_form

_PARTS = ("train", "dev", "test")
_ARRAYS = ("source", "source.starts", "target", "target.starts", "documents", "usable")
STORE_FILES = (
    *("manifest.json", RECORD, "contrastive.jsonl"),
    *(f"{part}.{array}.npy" for part in _PARTS for array in _ARRAYS),
    *(f"{part}.{side}.txt" for part in _PARTS for side in ("source", "target")),
    *(f"text/{name}" for name in CODEC_FILES),
)
"""All files of a prepared corpus: only these are ever removed."""
MANIFEST_KEYS = ("version", "settings", "inputs", "counts", "filters", "vocabulary", "hash")
VERSION = 2


class _PartCounts(StoredForm):
    documents: Natural
    sentences: Natural
    usable: Natural


class _Manifest(StoredForm):
    """The form of manifest.json; a corpus without hashes of its files is checked less."""

    version: Natural
    settings: dict[str, Any]
    inputs: dict[str, str]
    counts: dict[str, _PartCounts]
    filters: dict[str, dict[str, Natural]]
    vocabulary: Natural
    files: dict[str, str] = Field(default_factory=dict)
    hash: str
    command: str | None = None


def read_manifest(path: Path) -> dict[str, Any]:
    """Read and check the manifest of a prepared corpus."""
    found = read_json(path, error=CorpusError, limit=LARGEST_DESCRIPTION)
    missing = [key for key in MANIFEST_KEYS if not isinstance(found, dict) or key not in found]
    if missing:
        raise CorpusError(f"does not describe a prepared corpus: {', '.join(missing)} missing", path=path)
    return {"files": {}, **check_form(found, _Manifest, path, error=CorpusError)}


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
        self.manifest = read_manifest(path / "manifest.json")
        self._splits: dict[str, Split] = {}
        self._verified = False

    @cached_property
    def codec(self) -> Codec:
        """The codec between text and the token ids of this corpus."""
        codec = load_codec(self.path / "text")
        if (found := len(codec.vocabulary)) != self.manifest["vocabulary"]:
            raise damaged(f"a vocabulary of {found:,}, expected {self.manifest['vocabulary']:,}", self.path / "text")
        return codec

    @property
    def hash(self) -> str:
        """Identity of the prepared data."""
        return str(self.manifest["hash"])

    def verify(self) -> None:
        """Refuse a corpus whose files are not those that were written; to be called before training."""
        files = self.manifest["files"]
        if files and not self._verified:
            if identity_of(files) != self.hash:
                raise damaged("its hashes are not those that were written", self.path / "manifest.json")
            verify_files(self.path, files)
        self._verified = True

    def has(self, split: str) -> bool:
        """Return whether the corpus has this part."""
        return split in self.manifest["counts"]

    def split(self, name: str, *, extra: bool = False) -> Split:
        """Open one part of the corpus; `extra` includes the extra pairs that follow the training part."""
        if name not in self._splits:
            self._splits[name] = self._open_split(name)
        whole = self._splits[name]
        if name != "train" or extra or not self.has("extra") or whole.usable is None:
            return whole
        counts, size = self.manifest["counts"][name], self.manifest["counts"][name]["sentences"]
        documents = whole.documents[: counts["documents"] + 1]
        return Split(whole.source.first(size), whole.target.first(size), documents, whole.usable[:size])

    def raw(self, name: str) -> list[ParallelDocument]:
        """Read the raw text of the development or test part."""
        sides = [self.path / f"{name}.{side}.txt" for side in ("source", "target")]
        for side in sides:
            self._check_regular(side)
        documents = read_parallel(*sides)
        counts, found = self._counts(name), (len(documents), sum(len(one.source) for one in documents))
        if found != counts:
            message = "{} documents and {} sentences".format(*found)
            raise damaged(f"it has {message}, expected {counts[0]} and {counts[1]}", sides[0])
        return documents

    @property
    def contrastive(self) -> Path | None:
        """Path of the contrastive items, if the corpus has any."""
        path = self.path / "contrastive.jsonl"
        if not path.exists():
            return None
        self._check_regular(path)
        return path

    def _counts(self, name: str) -> tuple[int, int]:
        """Return the numbers of documents and sentences of a part; each extra pair is a document of its own."""
        if name not in self.manifest["counts"]:
            raise CorpusError(f"the prepared corpus has no {name} part", path=self.path)
        own, extra = self.manifest["counts"][name], self.manifest["counts"].get("extra") if name == "train" else None
        more = extra["sentences"] if extra else 0
        return own["documents"] + more, own["sentences"] + more

    def _open_split(self, name: str) -> Split:
        """Open and check the arrays of a part, extra pairs included."""
        source, target = self._side(name, "source"), self._side(name, "target")
        documents, usable = self._load(f"{name}.documents.npy"), self._load(f"{name}.usable.npy")
        count, (expected, sentences) = len(source), self._counts(name)
        self._check(f"{name}.target.starts.npy", lambda: _check_equal(len(target), count, "sentences"))
        self._check(f"{name}.source.starts.npy", lambda: _check_equal(count, sentences, "sentences"))
        self._check(f"{name}.documents.npy", lambda: check_starts(documents, count, "sentences"))
        self._check(f"{name}.documents.npy", lambda: _check_equal(len(documents) - 1, expected, "documents"))
        self._check(f"{name}.usable.npy", lambda: check_flags(usable, count))
        return Split(source, target, documents, usable)

    def _side(self, name: str, side: str) -> TokenArray:
        """Open one side of a part."""
        found = TokenArray(self._load(f"{name}.{side}.npy"), self._load(f"{name}.{side}.starts.npy"))
        self._check(f"{name}.{side}.starts.npy", lambda: check_starts(found.starts, found.tokens.size, "ids"))
        self._check(f"{name}.{side}.npy", lambda: check_ids(found, self.manifest["vocabulary"]))
        return found

    def _check(self, file: str, check: Callable[[], None]) -> None:
        """Report a fault that a check finds, with the file."""
        try:
            check()
        except ValueError as fault:
            raise damaged(str(fault), self.path / file) from None

    def _check_regular(self, path: Path) -> None:
        """Refuse a file that is missing, or that would block, such as a pipe."""
        try:
            open_regular(path).close()
        except OSError as fault:
            raise damaged(fault.strerror or str(fault), path) from None

    def _load(self, file: str) -> NDArray[Any]:
        path = self.path / file
        self._check_regular(path)
        try:
            found = np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception as fault:  # a header is parsed as Python, so a damaged one can raise anything
            raise damaged(str(fault), path) from None
        if not isinstance(found, np.ndarray):
            raise damaged("expected an array", path)
        return found


def _check_equal(found: int, expected: int, what: str) -> None:
    if found != expected:
        raise ValueError(f"{found:,} {what}, expected {expected:,}")


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
