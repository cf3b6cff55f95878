"""Collecting the files of a public corpus in one directory, downloaded or put there by hand, and checked.

train.en train.de dev.en dev.de test.en test.de    the documents
fetch.json                                         what was fetched: address, bytes, SHA-256, time
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docaps import progress
from docaps.corpus.documents import count_sentences
from docaps.corpus.fetch.catalogue import LANGUAGES, KnownCorpus
from docaps.corpus.fetch.download import RemoteFile, RetryPolicy, download
from docaps.corpus.formats import read_parallel
from docaps.errors import CorpusError, FetchError
from docaps.files import read_json, write_json
from docaps.runs.directory import now

FETCHED, IN_PLACE, MISSING = "fetched", "in place", "missing"
MOST_OTHERS = 5  # other files to name


@dataclass
class Collection:
    """The state of each file of a corpus, the size of each part, and the error that stopped fetching, if any."""

    corpus: KnownCorpus
    folder: Path
    states: dict[str, str] = field(default_factory=dict)
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    fault: str | None = None

    @property
    def missing(self) -> list[str]:
        """Names of the missing files."""
        return [name for name, state in self.states.items() if state == MISSING]

    def read_record(self) -> dict[str, Any]:
        """Read what was fetched into this directory, now or before; refuse the directory of another corpus."""
        path = self.folder / "fetch.json"
        if not path.exists():
            return {}
        found = read_json(path, error=FetchError)
        if not isinstance(found, dict) or not isinstance(found.get("files"), dict):
            raise FetchError("does not describe a fetched corpus: choose another --out", path=path)
        if (other := found.get("corpus")) != self.corpus.name:
            raise FetchError(f"belongs to {other}, not to {self.corpus.name}: choose another --out", path=path)
        return found


def collect(
    corpus: KnownCorpus, addresses: Mapping[str, RemoteFile], folder: Path, *, overwrite: bool, retries: RetryPolicy
) -> Collection:
    """Fetch the missing files with a known address, then read all complete parts as parallel documents."""
    found = Collection(corpus, folder)
    found.read_record()
    for name in corpus.names():
        found.states[name] = _settle(found, name, addresses.get(name), overwrite, retries)
    for part in corpus.parts:
        names = [f"{part}.{language}" for language in LANGUAGES]
        if not set(names) & set(found.missing):
            found.parts[part] = _measure(*(folder / name for name in names))
    return found


def _settle(found: Collection, name: str, address: RemoteFile | None, overwrite: bool, retries: RetryPolicy) -> str:
    """Check or fetch one file and return its state; after an error nothing more is fetched."""
    path = found.folder / name
    state = IN_PLACE if path.exists() else MISSING
    if state == IN_PLACE and address is not None and not overwrite and (fault := address.mismatch(path)):
        raise FetchError(f"{fault}: give --overwrite to fetch it again", path=path)
    if address is None or found.fault is not None or (state == IN_PLACE and not overwrite):
        return state
    try:
        digest = download(address, path, retries)
    except FetchError as fault:
        found.fault = str(fault)
        return state
    entry = {"url": address.url, "bytes": path.stat().st_size, "sha256": digest, "time": now()}
    files = {**found.read_record().get("files", {}), name: entry}
    write_json(found.folder / "fetch.json", {"corpus": found.corpus.name, "files": files})
    progress.say(f"{path}: {entry['bytes']:,} bytes, SHA-256 {digest}")
    return FETCHED


def _measure(source: Path, target: Path) -> dict[str, Any]:
    """Read two files as parallel documents and count them."""
    try:
        documents = read_parallel(source, target)
    except CorpusError as fault:
        advice = "Put the right file in its place, then type the same command again (or fetch it again: --overwrite)"
        raise FetchError(f"{fault}. {advice}") from None
    count, sentences = len(documents), count_sentences(documents)
    return {"documents": count, "sentences": sentences, "average_document_length": sentences / count}


def explain_missing(found: Collection) -> str:
    """Return instructions for the missing files: which to put where, and from which page."""
    lines = [found.fault] if found.fault else []
    count = f"{len(found.missing)} of {len(found.states)} files missing"
    lines.append(f"{found.corpus.name}: {count}. Put them here, plain or gzip:")
    known = found.corpus.addresses()
    for pages, names in itertools.groupby(found.missing, key=found.corpus.pages):
        for name in names:
            original = f" (there: {known[name].url.rpartition('/')[2]})" if name in known else ""
            lines.append(f"  {found.folder / name}{original}")
        lines.append(f"    from {' or '.join(pages)}")
    own = {name + ending for name in found.states for ending in ("", ".partial", ".partial.json")} | {"fetch.json"}
    here = found.folder.iterdir() if found.folder.is_dir() else ()
    # Other files may be the missing ones, packed or under other names.
    if others := sorted(path.name for path in here if path.name not in own and path.name[0] != "."):
        some = ", ".join([*others[:MOST_OTHERS], *["..."] * (len(others) > MOST_OTHERS)])
        lines.append(f"In {found.folder} there is also {some}: unpack archives, and give files these names.")
    lines.append("One sentence a line, a line <d> before each document, the same lines on both sides.")
    lines.append("Then type the same command again; or give the files' addresses with --from or --catalogue.")
    return "\n".join(lines)
