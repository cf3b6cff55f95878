"""Preparation: raw documents to a store of token ids (tokenise, learn joint BPE, number, write)."""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docaps import progress
from docaps.config import PreparationSettings
from docaps.corpus.codec import Codec
from docaps.corpus.contrastive import read_items
from docaps.corpus.documents import ParallelDocument, count_sentences
from docaps.corpus.formats import find_starts, list_files, read_parallel, write_parallel
from docaps.corpus.store import Store, open_store, write_document_starts, write_split
from docaps.corpus.subwords import Subwords, learn_codes
from docaps.corpus.tokenization import Tokenizer
from docaps.corpus.vocabulary import Vocabulary
from docaps.errors import CorpusError
from docaps.files import replacing_directory, sha256, write_json

Words = list[list[str]]


@dataclass(frozen=True, slots=True)
class Inputs:
    """The raw files of a corpus: for each part its source and target (one file may be both), and contrastive items.

    Without the name of a format, each file's content tells it.
    """

    parts: Mapping[str, tuple[Path, Path]]
    contrastive: Path | None = None
    format: str | None = None

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of every input by its role, and the format where one is named."""
        roles = {f"{name}.{side}": path for name, pair in self.parts.items() for side, path in _sides(pair)}
        roles |= {f"{role}.starts": starts for role, path in roles.items() if (starts := find_starts(path))}
        if self.contrastive:
            roles["contrastive"] = self.contrastive
        found = {role: _hash(path) for role, path in roles.items()}
        return found | ({"format": self.format} if self.format else {})

    def read(self, part: str, settings: PreparationSettings) -> list[ParallelDocument]:
        """Read both sides of a part."""
        return read_parallel(
            *self.parts[part],
            format=self.format,
            language=settings.source_language,
            target_language=settings.target_language,
        )


def _hash(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and files of a directory."""
    if path.is_dir():
        files = {place.name: sha256(place) for place in list_files(path)}
        return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    if not path.is_file():
        raise CorpusError("no such file", path=path)
    return sha256(path)


def _sides(pair: tuple[Path, Path]) -> Iterable[tuple[str, Path]]:
    return zip(("source", "target"), pair, strict=True)


def prepare(inputs: Inputs, settings: PreparationSettings, out: Path) -> tuple[Store, bool]:
    """Prepare a corpus in `out`; the second value is False if the same corpus was there already."""
    request = {"settings": settings.model_dump(), "inputs": inputs.hashes()}
    if _is_up_to_date(out, request):
        return open_store(out), False
    with replacing_directory(out) as directory:
        _build(inputs, settings, directory, request)
    return open_store(out), True


def _is_up_to_date(out: Path, request: Mapping[str, Any]) -> bool:
    """Say whether `out` holds what is asked for; refuse a directory that is something else."""
    if not out.exists():
        return False
    manifest = out / "manifest.json"
    if not manifest.exists():
        if out.is_dir() and not any(out.iterdir()):
            return False
        raise CorpusError("exists and is not a prepared corpus: choose another --out", path=out)
    found = open_store(out).manifest
    return all(found[key] == value for key, value in request.items()) and _is_whole(out, found["files"])


def _is_whole(out: Path, hashes: Mapping[str, str]) -> bool:
    """Say whether every file of a prepared corpus is as it was written."""
    return all((out / name).is_file() and sha256(out / name) == found for name, found in hashes.items())


def _build(inputs: Inputs, settings: PreparationSettings, directory: Path, request: Mapping[str, Any]) -> None:
    """Write all files of a prepared corpus."""
    corpora = {name: inputs.read(name, settings) for name in inputs.parts}
    words = {name: _tokenize(name, documents, settings) for name, documents in corpora.items()}
    codec = _learn(words["train"], settings)
    codec.save(directory / "text")
    for name, documents in corpora.items():
        _write_part(directory, name, documents, words[name], codec)
    if inputs.contrastive:
        read_items(inputs.contrastive)
        shutil.copyfile(inputs.contrastive, directory / "contrastive.jsonl")
    _write_manifest(directory, corpora, codec, request)


def _tokenize(name: str, documents: Sequence[ParallelDocument], settings: PreparationSettings) -> tuple[Words, Words]:
    """Cut both sides of a part into words."""
    source, target = Tokenizer(settings.source_language), Tokenizer(settings.target_language)
    pairs = [pair for document in documents for pair in zip(document.source, document.target, strict=True)]
    shown = progress.track(pairs, f"tokenise {name}", len(pairs))
    both = [(source.tokenize(one), target.tokenize(other)) for one, other in shown]
    return [one for one, _ in both], [other for _, other in both]


def _learn(words: tuple[Words, Words], settings: PreparationSettings) -> Codec:
    """Learn subwords and vocabulary on the training part, both languages together."""
    counts = Counter(word for side in words for sentence in side for word in sentence)
    if not counts:
        raise CorpusError("the training part has no words")
    progress.say(f"learn BPE on {len(counts):,} word forms")
    codes = learn_codes(counts, merges=settings.merges, minimum_frequency=settings.minimum_frequency)
    pieces: Counter[str] = Counter()
    subwords = Subwords(codes)
    for word, count in counts.items():
        for piece in subwords.split([word]):
            pieces[piece] += count
    return Codec(
        source_language=settings.source_language,
        target_language=settings.target_language,
        codes=codes,
        pieces=Vocabulary.from_counts(pieces).pieces,
    )


def _write_part(
    directory: Path, name: str, documents: Sequence[ParallelDocument], words: tuple[Words, Words], codec: Codec
) -> None:
    """Write token ids, document starts and, except for training, the raw text of one part."""
    source, target = ([codec.encode_words(sentence) for sentence in side] for side in words)
    write_split(directory, name, source, target)
    write_document_starts(directory, name, (len(document.source) for document in documents))
    if name != "train":
        write_parallel(directory / f"{name}.source.txt", directory / f"{name}.target.txt", documents)


def _write_manifest(
    directory: Path, corpora: Mapping[str, Sequence[ParallelDocument]], codec: Codec, request: Mapping[str, Any]
) -> None:
    """Describe the prepared corpus: what went in, how much there is, and the hash of every file."""
    files = {str(path.relative_to(directory)): sha256(path) for path in sorted(directory.rglob("*")) if path.is_file()}
    counts = {
        name: {"documents": len(documents), "sentences": count_sentences(documents)}
        for name, documents in corpora.items()
    }
    identity = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    manifest = {**request, "counts": counts, "vocabulary": len(codec.vocabulary), "files": files, "hash": identity}
    write_json(directory / "manifest.json", manifest)
