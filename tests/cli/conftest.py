"""A miniature chain from mini-documents to two trained models, made once."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from tests.cli.calling import settings, succeed

from docaps import progress


@dataclass(frozen=True)
class Chain:
    """Where the commands put their results; tests only read them."""

    folder: Path

    @property
    def text(self) -> Path:
        return self.folder / "text"

    @property
    def corpus(self) -> Path:
        return self.folder / "prepared"

    @property
    def sentence(self) -> Path:
        return self.folder / "runs" / "sentence"

    @property
    def document(self) -> Path:
        return self.folder / "runs" / "document"


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """Commands switch progress on; other tests want it off."""
    yield
    progress.REPORTER.enabled = False


@pytest.fixture(autouse=True, scope="session")
def wide() -> Iterator[None]:
    """Make room for long paths in tables and boxes."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "300"
    yield
    del os.environ["COLUMNS"]
    if before is not None:
        os.environ["COLUMNS"] = before


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Chain:
    """Run minidocs, prepare and train, all tiny."""
    torch.set_num_threads(1)
    made = Chain(tmp_path_factory.mktemp("chain"))
    succeed("minidocs", "--documents", "20", "--out", made.text)
    for part in ("dev", "test"):
        for language in ("en", "de"):
            shorten(made.text / f"{part}.{language}", documents=3)
    items = made.text / "contrastive.jsonl"
    items.write_text("".join(items.read_text().splitlines(keepends=True)[::100]))
    succeed("prepare", "--recipe", "minidocs", *parts(made.text), "--contrastive", items, "--out", made.corpus)
    succeed("train", "minidocs", "--corpus", made.corpus, "--out", made.folder / "runs", *settings())
    return made


def shorten(path: Path, documents: int) -> None:
    """Keep the first documents of a file."""
    path.write_text("<d>\n" + "<d>\n".join(path.read_text().split("<d>\n")[1 : documents + 1]))


def parts(text: Path) -> list[str]:
    """Write the parts of a corpus as options."""
    return [
        word for part in ("train", "dev", "test") for word in (f"--{part}", f"{text}/{part}.en", f"{text}/{part}.de")
    ]
