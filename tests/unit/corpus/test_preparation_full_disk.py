"""A failed write is reported with its file, and an existing corpus stays."""

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docaps.config import PreparationSettings
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.errors import CorpusError

TEXTS = {"train.en": "<d>\nA man saw a house.\nIt was old.\n", "train.de": "<d>\nEin Mann sah ein Haus.\nEs war alt.\n"}


@pytest.fixture
def inputs(tmp_path: Path) -> CorpusFiles:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    pair = (tmp_path / "train.en", tmp_path / "train.de")
    return CorpusFiles({"train": pair, "dev": pair})


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def full_while_writing(*_: Any, **__: Any) -> Iterator[bytes]:
    full()
    yield b""


Break = Callable[[pytest.MonkeyPatch], None]
PLACES: dict[str, Break] = {
    "train.usable.npy": lambda patch: patch.setattr(np.lib.format, "header_data_from_array_1_0", full),
    "text/bpe.codes": lambda patch: patch.setattr("docaps.corpus.text.bpe.write_text_atomically", write_nothing),
    "dev.source.txt": lambda patch: patch.setattr("docaps.corpus.formats.writing._encode", full_while_writing),
    "manifest.json": lambda patch: patch.setattr("docaps.corpus.preparation.write_json", write_nothing),
}


def write_nothing(path: Path, _: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("name", PLACES)
def test_a_full_disk_is_reported_with_the_file_and_what_is_left(
    inputs: CorpusFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, there: bool
) -> None:
    out = tmp_path / "deep" / "store"
    if there:
        prepare(inputs, PreparationSettings(merges=2), out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    PLACES[name](monkeypatch)
    with pytest.raises(CorpusError) as caught:
        prepare(inputs, PreparationSettings(merges=9), out)
    kept = f"{out} is unchanged" if there else f"{out} was not created"
    message = f"{out / name}: cannot be written: the disk is full. {kept}; free some space and prepare again"
    assert str(caught.value) == message
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert [path.name for path in out.parent.iterdir()] == ["store"] * there


def test_what_has_no_file_is_not_explained_away(
    inputs: CorpusFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(*_: Any, **__: Any) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    monkeypatch.setattr("docaps.corpus.preparation.build", leave)
    with pytest.raises(BrokenPipeError):
        prepare(inputs, PreparationSettings(merges=9), tmp_path / "store")


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits for the size of files")
def test_the_system_refuses_and_the_command_says_so(inputs: CorpusFiles, tmp_path: Path) -> None:
    source, target = map(str, inputs.parts["train"])
    out = tmp_path / "deep" / "store"
    options = ["--train", source, target, "--dev", source, target, "--merges", "9", "--out", str(out)]
    command = [sys.executable, "-m", "docaps", "prepare", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit_files)
    assert done.returncode == 1
    assert (
        f"{out}/text/vocabulary.json: cannot be written: {os.strerror(errno.EFBIG)}. {out} was not created"
        in done.stderr
    )
    assert "Traceback" not in done.stderr
    assert list(out.parent.iterdir()) == []


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
