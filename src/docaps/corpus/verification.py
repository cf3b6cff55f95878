"""Verification of a prepared corpus: hashes of all files before training, ranges of all numbers always.

Hashing reads every byte, so `verified.json` beside the manifest records which files had the right hash, with their
size, times and inode: a file is hashed again when one of these has changed, as in a copy. Where the record cannot be
written, all files are hashed in each process that trains.
"""

import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from docaps import progress
from docaps.corpus.arrays import TokenArray
from docaps.corpus.text.vocabulary import EOS
from docaps.errors import CorpusError
from docaps.files import LARGEST_DESCRIPTION, read_json, sha256, write_json

RECORD = "verified.json"
State = list[Any]
"""The hash of a file, and what changes when the file is changed or replaced."""


def verify_files(directory: Path, files: Mapping[str, str], *, record: bool = True) -> None:
    """Refuse a corpus if one of its files does not have the SHA-256 that the manifest says."""
    known = _read_record(directory) if record else {}
    now = {name: [written, *_state_of(directory, name)] for name, written in files.items()}
    changed = {name: written for name, written in files.items() if known.get(name) != now[name]}
    if not changed:
        return
    for name, written in progress.track(changed.items(), f"verify {directory}", len(changed)):
        if (found := sha256(directory / name)) != written:
            raise damaged(f"its SHA-256 is {found}, expected {written}", directory / name)
    with contextlib.suppress(OSError):  # such as on a disk that is read-only
        if record:
            write_json(directory / RECORD, now)


def identity_of(files: Mapping[str, str]) -> str:
    """Return the identity of a corpus: the SHA-256 of the names and hashes of its files."""
    return hashlib.sha256(json.dumps(dict(files), sort_keys=True).encode()).hexdigest()


def damaged(fault: str, path: Path) -> CorpusError:
    """Return the error for a file that is not as it was written."""
    return CorpusError(f"the prepared corpus is damaged: {fault}. Prepare it again", path=path)


def _read_record(directory: Path) -> Mapping[str, Any]:
    """Read which files were verified; a record that cannot be read counts for nothing."""
    try:
        found = read_json(directory / RECORD, error=CorpusError, limit=LARGEST_DESCRIPTION)
    except CorpusError:
        return {}
    return found if isinstance(found, dict) else {}


def _state_of(directory: Path, name: str) -> State:
    """Return size, times and inode of a file of the corpus."""
    place = PurePosixPath(name)
    if place.is_absolute() or ".." in place.parts:
        raise damaged(f"it names the file {name!r}, which is outside of the corpus", directory / "manifest.json")
    try:
        found = (directory / name).stat()
    except (OSError, ValueError) as fault:
        raise damaged(getattr(fault, "strerror", None) or str(fault), directory / name) from None
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def check_ids(side: TokenArray, vocabulary: int) -> None:
    """Refuse, by a ValueError, ids outside of the vocabulary, and sentences that do not end in `EOS`.

    The offsets must be right (`check_starts`).
    """
    tokens, starts = side.tokens, side.starts
    if tokens.dtype != np.int32 or tokens.ndim != 1:
        raise ValueError(f"it holds {tokens.ndim}-dimensional {tokens.dtype}, expected a row of int32")
    largest = int(tokens.view(np.uint32).max(initial=0))  # negative ids are very large ones here
    if largest >= vocabulary:
        found = largest if largest < 2**31 else largest - 2**32
        raise ValueError(f"the id {found} is not in the vocabulary of {vocabulary:,}")
    if not bool((tokens[starts[1:] - 1] == EOS).all()):
        raise ValueError("a sentence does not end with the end symbol")


def check_starts(starts: NDArray[Any], end: int, what: str) -> None:
    """Refuse, by a ValueError, offsets that do not rise from 0 to the end."""
    if starts.dtype != np.int64 or starts.ndim != 1 or not len(starts):
        raise ValueError(f"the offsets are {starts.ndim}-dimensional {starts.dtype}, expected a row of int64")
    if starts[0] != 0 or starts[-1] != end or not bool((starts[1:] > starts[:-1]).all()):
        raise ValueError(f"the offsets do not rise from 0 to the number of {what}, {end:,}")


def check_flags(flags: NDArray[Any], count: int) -> None:
    """Refuse, by a ValueError, anything but one flag for each pair."""
    if flags.dtype != np.bool_ or flags.shape != (count,):
        raise ValueError(f"it holds {flags.dtype} of shape {flags.shape}, expected a flag for each of {count:,} pairs")
    if flags.view(np.uint8).max(initial=0) > 1:
        raise ValueError("it holds bytes that are no flags")
