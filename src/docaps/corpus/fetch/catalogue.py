"""The catalogue of public corpora: their files and addresses.

The one of docaps is `catalogue.toml`. A user adds addresses with a pattern, or with a file of this form, TOML or JSON;
the `fetch.json` that a download writes is one:

    [files."train.en"]
    url = "https://..."
    sha256 = "..."          # optional
    size = 123456           # optional, in bytes
"""

import difflib
import re
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, Field, ValidationError

from docaps.config.faults import SettingsFile, describe_faults
from docaps.config.recipes import parse_toml
from docaps.corpus.fetch.download import RemoteFile, check_url
from docaps.errors import ConfigError, FetchError
from docaps.files import parse_json, read_text

LANGUAGES = ("en", "de")
PLACEHOLDERS = ("corpus", "part", "language")


class KnownPart(BaseModel, extra="forbid", frozen=True):
    """One part of a public corpus: its size in the paper, and where to get it."""

    sentences: int
    average: float
    pages: list[str]
    en: str | None = None
    de: str | None = None


class KnownCorpus(BaseModel, extra="forbid", frozen=True):
    """A public corpus."""

    name: str
    title: str
    base: str
    parts: dict[str, KnownPart]

    def names(self) -> dict[str, tuple[str, str]]:
        """Return the part and the language of each file, by the name that docaps expects."""
        return {f"{part}.{language}": (part, language) for part in self.parts for language in LANGUAGES}

    def pages(self, name: str) -> list[str]:
        """Return the web pages that offer a file."""
        return self.parts[self.names()[name][0]].pages

    def addresses(self) -> dict[str, RemoteFile]:
        """Return the addresses in the catalogue of docaps, by file name."""
        found = {name: getattr(self.parts[part], language) for name, (part, language) in self.names().items()}
        return {name: RemoteFile(f"{self.base}/{file}") for name, file in found.items() if file}


@cache
def known_corpora() -> dict[str, KnownCorpus]:
    """Read the catalogue of docaps."""
    text = (files("docaps.corpus.fetch") / "catalogue.toml").read_text(encoding="utf-8")
    return {name: KnownCorpus(name=name, **entry) for name, entry in tomllib.loads(text).items()}


def known_corpus(name: str) -> KnownCorpus:
    """Return a public corpus by its name."""
    corpora = known_corpora()
    if name not in corpora:
        raise FetchError(f"no public corpus {name!r}; {_nearest(name, list(corpora))}")
    return corpora[name]


def _nearest(name: str, known: list[str]) -> str:
    """Suggest the nearest name, or list all."""
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {found[0]!r}?" if found else f"known: {', '.join(known)}"


class CatalogueEntry(BaseModel, extra="forbid", frozen=True):
    """One file of a user's catalogue."""

    url: str
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-fA-F]{64}$")
    size: int | None = Field(default=None, ge=1, validation_alias=AliasChoices("size", "bytes"))
    time: str | None = None


class Catalogue(BaseModel, extra="forbid", frozen=True):
    """A user's catalogue."""

    files: dict[str, CatalogueEntry]
    corpus: str | None = None


def find_addresses(corpus: KnownCorpus, pattern: str | None, catalogue: Path | None) -> dict[str, RemoteFile]:
    """Return the known addresses: from the user's catalogue, else the pattern, else the catalogue of docaps.

    Invalid addresses, and one address for two files, are refused.
    """
    found = corpus.addresses()
    if pattern is not None:
        found |= {name: RemoteFile(url) for name, url in expand(pattern, corpus).items()}
    if catalogue is not None:
        found |= read_catalogue(catalogue, corpus)
    ordered = {name: found[name] for name in corpus.names() if name in found}
    owners: dict[str, str] = {}
    for name, address in ordered.items():
        check_url(address.url)
        if (other := owners.setdefault(address.url, name)) != name:
            raise FetchError(f"{other} and {name} have the same address: {address.url}")
    return ordered


def expand(pattern: str, corpus: KnownCorpus) -> dict[str, str]:
    """Fill a pattern, such as https://host/{corpus}/{part}.{language}, for every file of a corpus."""
    wanted = set(re.findall(r"\{(.*?)\}", pattern))
    if unknown := sorted(wanted - set(PLACEHOLDERS)):
        known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        raise FetchError(f"--from {pattern}: unknown placeholder {{{unknown[0]}}}; known: {known}")
    if not {"part", "language"} <= wanted:
        raise FetchError(f"--from {pattern}: needs {{part}} and {{language}}, or all files would be the same")
    return {
        name: pattern.replace("{corpus}", corpus.name).replace("{part}", part).replace("{language}", language)
        for name, (part, language) in corpus.names().items()
    }


def read_catalogue(path: Path, corpus: KnownCorpus) -> dict[str, RemoteFile]:
    """Read the addresses of a user's catalogue."""
    text, values = _parse(path)
    try:
        found = Catalogue.model_validate(values)
    except ValidationError as fault:
        raise ConfigError(describe_faults(fault, Catalogue, layers=[SettingsFile(path, text)])) from None
    if found.corpus not in (None, corpus.name):
        raise ConfigError(f"is a catalogue of {found.corpus}, not of {corpus.name}", path=path)
    known = list(corpus.names())
    for name in found.files:
        if name not in known:
            raise ConfigError(f"{name}: no file of {corpus.name}; {_nearest(name, known)}", path=path)
    return {
        name: RemoteFile(entry.url, entry.sha256 and entry.sha256.lower(), entry.size)
        for name, entry in found.files.items()
    }


def _parse(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the text of a catalogue and its values: JSON or TOML, by the file's name."""
    kind = "a JSON object" if path.suffix == ".json" else "TOML"
    if not path.exists():
        raise ConfigError("no such catalogue", path=path)
    text = read_text(path, error=ConfigError, regular=False)
    try:
        return text, dict(parse_json(text)) if path.suffix == ".json" else parse_toml(text)
    except (TypeError, ValueError) as fault:
        raise ConfigError(f"not valid as {kind}: {fault}", path=path) from None
