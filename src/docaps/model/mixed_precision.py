"""Devices and number formats: bfloat16 where the hardware multiplies it fast, float32 elsewhere."""

import contextlib
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from docaps.config import TranslationPrecision
from docaps.config.settings import Precision


def choose_device(number: int = 0) -> torch.device:
    """Return the accelerator if there is one (the one with this number), else the CPU."""
    return torch.device("cuda", number) if torch.cuda.is_available() else torch.device("cpu")


def choose_precision(precision: Precision, device: torch.device) -> torch.dtype:
    """Return the number format of training; `auto` is bfloat16 only where it is native."""
    half = has_native_bfloat16(device) if precision == "auto" else precision == "bfloat16"
    return torch.bfloat16 if half else torch.float32


def choose_translation_precision(
    precision: TranslationPrecision, device: torch.device, *, int8_checked: bool = False
) -> torch.dtype:
    """Return the number format of a packed model.

    `auto` is half precision where it is native; on other CPUs it is int8, if int8 was checked with this model.
    """
    if precision == "int8":
        return torch.int8
    if precision != "auto" or has_native_bfloat16(device):
        return choose_precision(precision, device)
    if device.type == "cuda":
        return torch.float16
    return torch.int8 if int8_checked else torch.float32


def has_native_bfloat16(device: torch.device) -> bool:
    """Return whether the device multiplies bfloat16 in hardware (on CPUs: AMX or AVX512-BF16)."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    checks = (getattr(torch.cpu, name, None) for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported"))
    return any(bool(check()) for check in checks if check is not None)


def autocast(device: torch.device, dtype: torch.dtype) -> contextlib.AbstractContextManager[Any]:
    """Run the block's matrix products in `dtype`; float32 changes nothing."""
    return contextlib.nullcontext() if dtype == torch.float32 else torch.autocast(device.type, dtype=dtype)


def to_autocast_dtype(values: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """Cast values that several products read once, instead of once per product."""
    device = values.device.type
    return values.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else values


def without_autocast_cache() -> contextlib.AbstractContextManager[Any]:
    """Cast weights anew in the block: weights that autocast cached without gradients would have none later."""
    device = _device_of_autocast()
    if device is None:
        return contextlib.nullcontext()
    return torch.autocast(device, dtype=torch.get_autocast_dtype(device), cache_enabled=False)


def without_autocast() -> contextlib.AbstractContextManager[Any]:
    """Compute in the block in the precision of the weights."""
    device = _device_of_autocast()
    return contextlib.nullcontext() if device is None else torch.autocast(device, enabled=False)


def _device_of_autocast() -> str | None:
    return next((name for name in ("cpu", "cuda") if torch.is_autocast_enabled(name)), None)
