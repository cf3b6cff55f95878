"""Memory settings on CPUs: limit caches of compiled kernels; in training, keep freed pages and use large ones.

On CPUs, oneDNN compiles a kernel for every shape of a bfloat16 or int8 product and caches the last 1,024, and so does
each thread of torch above it. Batches have ever new shapes, so training a small model grew by 17 MiB a step at first,
to more than two gigabytes, and a service by some megabytes a second, for kernels that were hardly used again.

A training step allocates and frees tensors of many megabytes. The C library returns such blocks to the system at once,
which hands out new ones page by page and clears each: with bfloat16 products this took a tenth of a step.
"""

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Parameters of glibc's mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST = 2**30
"""Blocks up to this size are allocated from memory that is kept."""
LARGE_PAGES = "THP_MEM_ALLOC_ENABLE"
"""Torch reads this variable when it allocates its first tensor."""
KERNEL_CACHES = ("LRU_CACHE_CAPACITY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY")
"""Torch and oneDNN read these variables at the first product."""
CACHED_KERNELS = 128
"""The kernels of a few steps: each takes some 0.7 MB, and compiling one again about as long as a few small products."""


def limit_kernel_caches() -> None:
    """Limit the caches of compiled kernels; call it before torch is imported. What the user has set stays."""
    for name in KERNEL_CACHES:
        os.environ.setdefault(name, str(CACHED_KERNELS))


def keep_pages() -> bool:
    """Keep freed memory in this process for reuse, and return whether the C library can; for training.

    Torch uses large pages too, if it has no tensor yet and the user has not chosen otherwise.
    """
    os.environ.setdefault(LARGE_PAGES, "1")
    set_parameter = _from_glibc("mallopt")
    if set_parameter is None:
        return False
    return bool(set_parameter(_MMAP_THRESHOLD, _LARGEST)) and bool(set_parameter(_TRIM_THRESHOLD, 2**31 - 1))


def return_pages() -> bool:
    """Return all kept memory that is free to the system, and return whether there was any.

    Batches of many shapes fragment the kept memory; returning it at intervals keeps a long training from growing.
    """
    trim = _from_glibc("malloc_trim")
    return trim is not None and bool(trim(0))


def _from_glibc(name: str) -> Callable[..., int] | None:
    """Return a function of glibc, or None on other systems."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform.startswith("linux") else None


@contextmanager
def without_collection() -> Iterator[None]:
    """Import and load without looking for garbage: what is made here, a million objects with torch, stays to the end.

    Afterwards the collector leaves these objects alone.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.freeze()
            gc.enable()
