"""Precision: bfloat16 where the hardware multiplies it fast, float32 elsewhere."""

import contextlib
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from docaps.config import Precision, TranslationPrecision


def choose_device(number: int = 0) -> torch.device:
    """Return the accelerator if there is one (the one with this number), else the CPU."""
    return torch.device("cuda", number) if torch.cuda.is_available() else torch.device("cpu")


def choose_precision(wish: Precision, device: torch.device) -> torch.dtype:
    """Turn a wish into a number format; `auto` takes bfloat16 only where it is native."""
    if wish == "auto":
        return torch.bfloat16 if has_native_bfloat16(device) else torch.float32
    return torch.bfloat16 if wish == "bfloat16" else torch.float32


def choose_translation_precision(
    wish: TranslationPrecision, device: torch.device, *, int8_checked: bool = False
) -> torch.dtype:
    """Turn a wish into the number format of a packed model.

    `auto` takes half precision where it is native, and int8 on other CPUs only for a model it was checked with.
    """
    if wish == "int8":
        return torch.int8
    if wish != "auto" or has_native_bfloat16(device):
        return choose_precision(wish, device)
    if device.type == "cuda":
        return torch.float16
    return torch.int8 if int8_checked else torch.float32


def has_native_bfloat16(device: torch.device) -> bool:
    """Say whether the device multiplies bfloat16 in hardware (on CPUs: AMX or AVX512-BF16)."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    checks = (getattr(torch.cpu, name, None) for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported"))
    return any(bool(check()) for check in checks if check is not None)


def autocast(device: torch.device, dtype: torch.dtype) -> contextlib.AbstractContextManager[Any]:
    """Run the block's matrix products in `dtype`; float32 changes nothing."""
    if dtype == torch.float32:
        return contextlib.nullcontext()
    return torch.autocast(device.type, dtype=dtype)


def for_products(values: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """Cast what several products are about to read once, instead of once for each of them."""
    device = values.device.type
    return values.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else values


def without_cast_weights() -> contextlib.AbstractContextManager[Any]:
    """Let the block cast weights anew: autocast keeps what it cast, and what was cast without gradients has none."""
    device = next((name for name in ("cpu", "cuda") if torch.is_autocast_enabled(name)), None)
    if device is None:
        return contextlib.nullcontext()
    return torch.autocast(device, dtype=torch.get_autocast_dtype(device), cache_enabled=False)
