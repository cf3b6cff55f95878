"""Preparation: raw documents to a store of token ids, written whole or not at all, and reused if up to date."""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from docaps import progress
from docaps.config import PreparationSettings, upgrade_settings
from docaps.corpus.building import build
from docaps.corpus.contrastive import read_items
from docaps.corpus.formats import iterate_parallel
from docaps.corpus.formats.folder import list_files
from docaps.corpus.formats.lines import find_starts
from docaps.corpus.formats.text_input import STDIN
from docaps.corpus.processes import TaskPool, available_workers
from docaps.corpus.store import STORE_FILES, VERSION, Store, open_store, read_manifest
from docaps.corpus.text.codec import CODEC_FILES, load_codec
from docaps.corpus.text.languages import check_language, note_on
from docaps.corpus.verification import identity_of, verify_files
from docaps.errors import CorpusError
from docaps.files import LARGEST_DESCRIPTION, read_json, remove_leftovers, replacing_directory, sha256, write_json

PathPair = tuple[Path, Path]


@dataclass(frozen=True, slots=True)
class CorpusFiles:
    """The raw files of a corpus: source and target of each part (one file may be both), and contrastive items.

    Without a format name, the format of each file is detected. `starts` are files of document starts, by part. `codec`
    is a directory with the codec of a trained model; without one, a codec is learnt.
    """

    parts: Mapping[str, PathPair]
    contrastive: Path | None = None
    format: str | None = None
    starts: Mapping[str, Path] = field(default_factory=dict)
    codec: Path | None = None

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of every input by its role, and the format if one is named."""
        roles = {
            f"{name}.{side}": path
            for name, pair in self.parts.items()
            for side, path in zip(("source", "target"), pair, strict=True)
        }
        roles |= {f"{role}.starts": starts for role, path in roles.items() if (starts := find_starts(path))}
        roles |= {f"{name}.starts": starts for name, starts in self.starts.items()}
        if self.contrastive:
            roles["contrastive"] = self.contrastive
        if self.codec:
            roles |= {f"codec.{name}": path for name in CODEC_FILES if (path := self.codec / name).exists()}
        found = {role: _hash(path) for role, path in roles.items()}
        return found | ({"format": self.format} if self.format else {})


def _hash(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and files of a directory."""
    if path.is_dir():
        files = {file.name: sha256(file) for file in list_files(path)}
        return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    if path == STDIN or (path.exists() and not path.is_file()):
        raise CorpusError("not a file that can be read twice, as preparation does: copy it to one first", path=path)
    if not path.exists():
        raise CorpusError("no such file", path=path)
    try:
        return sha256(path)
    except OSError as fault:
        raise CorpusError(f"cannot be read: {fault.strerror}", path=path) from None


def prepare(
    inputs: CorpusFiles,
    settings: PreparationSettings,
    out: Path,
    *,
    workers: int | TaskPool | None = None,
    command: str = "",
) -> tuple[Store, bool]:
    """Prepare a corpus in `out`; the second value is False if the same corpus was there already.

    The `command` that prepares it is stored with the corpus for reference; corpora that differ in it only are the same.
    """
    request = {"version": VERSION, "settings": settings.model_dump(), "inputs": inputs.hashes()}
    if _is_up_to_date(out, request):
        remove_leftovers(out)
        found = read_manifest(out / "manifest.json")
        if command and not found.get("command"):  # prepared by an earlier version: add it if the file is writable
            with contextlib.suppress(OSError):
                write_json(out / "manifest.json", {**found, "command": command})
        return open_store(out), False
    with _replacing_store(out) as directory:
        _write_all(inputs, settings, directory, request | ({"command": command} if command else {}), workers)
    return open_store(out), True


@contextlib.contextmanager
def _replacing_store(out: Path) -> Iterator[Path]:
    """Yield a directory that is renamed to `out` at the end; report a failed write with the path under `out`."""
    directory = out
    try:
        with replacing_directory(out, own=STORE_FILES, error=CorpusError) as directory:
            yield directory
    except OSError as fault:
        if fault.filename is None:
            raise
        path = Path(os.fsdecode(fault.filename2 or fault.filename))
        kept = f"{out} is unchanged" if out.exists() else f"{out} was not created"
        full = fault.errno in (errno.ENOSPC, errno.EDQUOT)
        what, advice = ("the disk is full", "free some space") if full else (fault.strerror, "fix that")
        raise CorpusError(
            f"cannot be written: {what}. {kept}; {advice} and prepare again",
            path=out / path.relative_to(directory) if path.is_relative_to(directory) else path,
        ) from None


def _is_up_to_date(out: Path, request: Mapping[str, Any]) -> bool:
    """Return whether `out` is the requested corpus; refuse a directory that is something else."""
    if not out.exists():
        return False
    manifest = out / "manifest.json"
    if not manifest.exists():
        if out.is_dir() and not any(out.iterdir()):
            return False
        raise CorpusError("exists and is not a prepared corpus: choose another --out", path=out)
    found = read_json(manifest, error=CorpusError, limit=LARGEST_DESCRIPTION)
    if not isinstance(found, dict) or not {"settings", "inputs", "files", "hash"} <= found.keys():
        raise CorpusError("does not describe a prepared corpus: choose another --out", path=manifest)
    if isinstance(found["settings"], dict):  # settings that an older version did not know have their defaults
        found = {**found, "settings": upgrade_settings(PreparationSettings, found["settings"])}
    if any(found.get(key) != value for key, value in request.items()):
        return False
    try:
        verify_files(out, read_manifest(manifest)["files"], record=False)
    except CorpusError:
        return False  # damaged: prepare it again
    return True


def _write_all(
    inputs: CorpusFiles,
    settings: PreparationSettings,
    directory: Path,
    known: Mapping[str, Any],
    workers: int | TaskPool | None,
) -> None:
    """Write all files of a prepared corpus; the manifest starts with the `known` entries."""
    if inputs.contrastive:
        read_items(inputs.contrastive)
        shutil.copyfile(inputs.contrastive, directory / "contrastive.jsonl")
    source, target = settings.source_language, settings.target_language
    check_language(source)
    check_language(target)
    codec = None if inputs.codec is None else load_codec(inputs.codec)
    if codec is not None and (missing := [mark for mark in settings.marks if mark not in codec.vocabulary.marks]):
        raise CorpusError(f"the codec has no marks {', '.join(missing)} (preparation.marks)", path=inputs.codec)
    if settings.subwords == "bpe" and codec is None:
        for note in filter(None, map(note_on, (source, target))):
            progress.say(note)
    read = partial(iterate_parallel, format=inputs.format, language=source, target_language=target)
    parts = {name: read(*pair, starts=inputs.starts.get(name)) for name, pair in inputs.parts.items()}
    built = build(parts, settings, directory, workers=workers or available_workers(), codec=codec)
    files = {str(path.relative_to(directory)): sha256(path) for path in sorted(directory.rglob("*")) if path.is_file()}
    manifest = {**known, **built, "files": files, "hash": identity_of(files)}
    write_json(directory / "manifest.json", manifest)


@contextlib.contextmanager
def spooled(parts: Mapping[str, PathPair]) -> Iterator[dict[str, PathPair]]:
    """Yield parts whose files can be read twice: stdin and pipes are copied to temporary files."""
    with tempfile.TemporaryDirectory(prefix="docaps-") as folder:
        paths = dict.fromkeys(path for pair in parts.values() for path in pair)  # a pipe given twice is read once
        found = {path: _spool(path, Path(folder)) for path in paths}
        yield {name: (found[one], found[other]) for name, (one, other) in parts.items()}


def _spool(path: Path, folder: Path) -> Path:
    """Copy a pipe or stdin to a file; return the path of anything else."""
    if path != STDIN and (path.is_file() or path.is_dir() or not path.exists()):
        return path
    copy = Path(tempfile.mkdtemp(dir=folder)) / ("stdin" if path == STDIN else path.name)
    if path == STDIN and sys.stdin is None:
        raise CorpusError("stdin is closed", path=path)
    try:
        with copy.open("wb") as file, contextlib.ExitStack() as stack:  # stdin stays open
            shutil.copyfileobj(sys.stdin.buffer if path == STDIN else stack.enter_context(path.open("rb")), file)
    except OSError as fault:
        raise CorpusError(f"cannot be copied to {copy}: {fault.strerror}", path=path) from None
    return copy
