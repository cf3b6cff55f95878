"""Freed memory is kept for reuse; tested in a separate process, because the setting cannot be undone."""

import os
import subprocess
import sys

import pytest

from docaps.memory import KERNEL_CACHES, LARGE_PAGES

FAULTS = """
import resource, sys
from docaps.memory import keep_pages
kept = keep_pages() if sys.argv[1] == "kept" else True
import torch
def work():
    return torch.ones(12 * 2**20).add(1.0)  # 48 MiB each
for _ in range(25):  # until the heap has settled: an aligned block cannot be had again once a small one lies beside it
    work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    work()
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def run_alone(program: str, *arguments: str) -> list[str]:
    """Run a program with none of the variables that a command of the same process may have set; return its words."""
    own = {name: value for name, value in os.environ.items() if name not in (LARGE_PAGES, *KERNEL_CACHES)}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=own).stdout.split()


def faults(how: str) -> int:
    kept, found = run_alone(FAULTS, how)
    assert kept == "True"
    return int(found)


@pytest.mark.stress
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc has mallopt")
def test_pages_are_asked_for_once() -> None:
    assert faults("kept") * 100 < faults("usual")


RETURNED = """
from docaps.memory import keep_pages, return_pages
keep_pages()
import torch
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
pieces = [torch.ones(2**18) for _ in range(200)]  # 1 MiB each
del pieces[::2]  # what is left keeps the heap from shrinking at its end
before = resident()
print(return_pages(), (before - resident()) / 2**20)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc has malloc_trim")
def test_fragmented_memory_is_returned() -> None:
    returned, less = run_alone(RETURNED)
    assert returned == "True"
    assert float(less) > 50  # of 100 MiB; pages of two megabytes may stay where a piece of them is in use


def test_what_the_user_chose_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    from docaps.memory import keep_pages

    monkeypatch.setenv(LARGE_PAGES, "0")
    monkeypatch.setattr("sys.platform", "darwin")
    assert not keep_pages()
    assert os.environ[LARGE_PAGES] == "0"


def test_programs_for_products_are_limited_unless_the_user_has_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    from docaps import memory

    monkeypatch.setenv(memory.KERNEL_CACHES[0], "7")
    monkeypatch.setenv(memory.KERNEL_CACHES[1], "")  # so that it is put back behind the test
    monkeypatch.delenv(memory.KERNEL_CACHES[1])
    memory.limit_kernel_caches()
    assert [os.environ[name] for name in memory.KERNEL_CACHES] == ["7", str(memory.CACHED_KERNELS)]


SHAPES = """
import sys
from docaps import memory
memory.CACHED_KERNELS = int(sys.argv[1])
memory.limit_kernel_caches()
import torch
from docaps.model.mixed_precision import has_native_bfloat16
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
weight = torch.ones(64, 64, dtype=torch.bfloat16)
torch.ones(100, 64, dtype=torch.bfloat16) @ weight
before = resident()
for rows in range(200, 400):
    torch.ones(rows, 64, dtype=torch.bfloat16) @ weight
print(has_native_bfloat16(torch.device("cpu")), (resident() - before) / 2**20)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is looked up in /proc")
def test_products_of_ever_new_shapes_do_not_fill_the_memory() -> None:
    """Of 200 shapes, each multiplied once, a few programs are kept."""

    def grown(most: int) -> float:
        native, found = run_alone(SHAPES, str(most))
        if native != "True":
            pytest.skip("float32 products are not compiled shape by shape")
        return float(found)

    assert grown(10) * 3 < grown(1000)


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from docaps import memory

    monkeypatch.setenv(memory.LARGE_PAGES, "1")
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _: object())
    assert not memory.keep_pages()
    assert not memory.return_pages()


def test_garbage_is_looked_for_again_once_all_is_loaded() -> None:
    """The objects made inside are never searched; those made later are."""
    program = """
import gc
from docaps.memory import without_collection
with without_collection():
    inside, made = gc.isenabled(), [[] for _ in range(1000)]
print(inside, gc.isenabled(), gc.get_freeze_count() > 1000)
gc.disable()
with without_collection():
    pass
print(gc.isenabled())
"""
    assert run_alone(program) == ["False", "True", "True", "False"]
