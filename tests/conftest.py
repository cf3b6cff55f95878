"""Shared by all tests: shapes in annotations are checked at run time, and torch is deterministic."""

from jaxtyping import install_import_hook

HOOK = install_import_hook(
    ["docaps.model", "docaps.batches", "docaps.training", "docaps.translation"], "beartype.beartype"
)
