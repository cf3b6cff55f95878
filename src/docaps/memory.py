"""Memory for training: pages that were got once are kept, and are large; programs for products are not all kept.

A training step asks for tensors of many megabytes and gives them back. The C library returns such blocks to the system
at once, which hands out others page by page and wipes each: with bfloat16 products a tenth of a step went into that.

On CPUs, oneDNN writes a program for every shape of a bfloat16 product and keeps the last 1,024, and so does torch above
it. Batches have ever new shapes, so a small model grew by 17 MiB a step at first, to two gigabytes and more, for
programs that were hardly called again.
"""

import ctypes
import os
import sys
from collections.abc import Callable

# Parameters of glibc's mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST = 2**30
"""Blocks up to this size come from memory that is kept."""
LARGE_PAGES = "THP_MEM_ALLOC_ENABLE"
"""Torch reads this variable when it allocates its first tensor."""
PROGRAMS = ("LRU_CACHE_CAPACITY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY")
"""Torch and oneDNN read these when they multiply for the first time."""
MOST_PROGRAMS = 256
"""A few steps' programs: translating, where shapes do come again, needs some."""


def prepare_memory() -> None:
    """Arrange memory for a long training, before torch is imported; what the user has chosen stays."""
    for name in PROGRAMS:
        os.environ.setdefault(name, str(MOST_PROGRAMS))
    keep_pages()


def keep_pages() -> bool:
    """Let this process keep memory that it is done with, for its next use; say whether the C library can.

    Torch also asks for large pages, if it has no tensor yet, unless the user has chosen otherwise.
    """
    os.environ.setdefault(LARGE_PAGES, "1")
    set_parameter = _from_glibc("mallopt")
    if set_parameter is None:
        return False
    return bool(set_parameter(_MMAP_THRESHOLD, _LARGEST)) and bool(set_parameter(_TRIM_THRESHOLD, 2**31 - 1))


def return_pages() -> bool:
    """Give the system all kept memory that is free at the moment; say whether there was any.

    Batches are of many shapes, and what is kept for them falls into ever more pieces: now and then a fresh start keeps
    a long training from growing.
    """
    trim = _from_glibc("malloc_trim")
    return trim is not None and bool(trim(0))


def _from_glibc(name: str) -> Callable[..., int] | None:
    """Find a function that only glibc has."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform.startswith("linux") else None
