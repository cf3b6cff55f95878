"""Memory does not grow with the input: long streams, long documents, many documents; caches of kernels are limited."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Chain

from docaps.cli.main import COMMANDS
from docaps.memory import CACHED_KERNELS

MEASURED = """
import resource, runpy
try:
    runpy.run_module("docaps", run_name="__main__", alter_sys=True)
finally:
    import sys
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""
WORDS = ("Anna", "bought", "a", "coat", "It", "was", "warm", "the", "bank", "steep", "She", "fell")


def sentences(count: int) -> str:
    return "".join(
        " ".join(WORDS[(number * step + step) % len(WORDS)] for step in range(1, 4 + number % 7)) + ".\n"
        for number in range(count)
    )


def peak(run: Path, path: Path, *options: str | Path) -> tuple[int, int]:
    """Translate a file; return the lines that came out and the most memory that was used, in MiB."""
    words = ["translate", str(run), "--beam", "1", "--format", "lines", *map(str, options)]
    with path.open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, *words],
            stdin=file,
            capture_output=True,
            check=False,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
    assert done.returncode == 0, done.stderr.decode()
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return done.stdout.count(b"\n"), int(done.stderr.split()[-1]) // unit


def compare(chain: Chain, tmp_path: Path, small: str, large: str) -> int:
    """Return how many MiB more the larger input takes."""
    found = []
    for name, text in (("small", small), ("large", large)):
        (tmp_path / name).write_text(text)
        lines, memory = peak(chain.document, tmp_path / name)
        assert lines == text.count("\n")
        found.append(memory)
    return found[1] - found[0]


@pytest.mark.stress
def test_a_document_of_many_sentences_takes_no_more_memory(chain: Chain, tmp_path: Path) -> None:
    assert compare(chain, tmp_path, sentences(5_000), sentences(9_000)) < 20


@pytest.mark.stress
def test_100_000_sentences_take_no_more_memory_than_5_000(chain: Chain, tmp_path: Path) -> None:
    assert compare(chain, tmp_path, sentences(5_000), sentences(100_000)) < 30


@pytest.mark.stress
def test_very_many_documents_take_no_more_memory_than_some(chain: Chain, tmp_path: Path) -> None:
    def documents(count: int) -> str:
        return sentences(count).replace("warm.\n", "warm.\n<d>\n").replace("<d>\n<d>", "<d>") + "It fell.\n"

    assert compare(chain, tmp_path, documents(5_000), documents(60_000)) < 30


LIMITS = """
import contextlib, io, json, os, sys
from docaps.cli.main import COMMANDS, main
from docaps.memory import KERNEL_CACHES
found = {}
for name in COMMANDS:
    for cache in KERNEL_CACHES:
        os.environ.pop(cache, None)
    sys.argv = ["docaps", name, "--help"]
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main()
    found[name] = [*(os.environ.get(cache) for cache in KERNEL_CACHES), "torch" in sys.modules]
print(json.dumps(found))
"""


def test_every_command_limits_the_caches_of_kernels_before_torch_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", LIMITS], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {name: [*[str(CACHED_KERNELS)] * 2, False] for name in COMMANDS}
