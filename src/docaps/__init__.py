"""docaps: translate whole documents, each sentence with the sentences before it in view.

    import docaps

    model = docaps.load("runs/demo/runs/document")
    print(model.translate(["Anna bought a coat.", "It was warm."]).texts)

Importing docaps is light: torch is loaded with the first model.
"""

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docaps.config import TranslationPrecision
    from docaps.translation.documents import DocumentTranslator

__version__ = "0.1.0"
__all__ = ["__version__", "load"]


def __dir__() -> list[str]:
    """List the public API only."""
    return list(__all__)


def load(run: "str | os.PathLike[str]", *, precision: "TranslationPrecision" = "float32") -> "DocumentTranslator":
    """Load the model of a finished run, ready to translate (see `docaps.translation.documents`).

    Args:
        run: a run directory, such as runs/demo/runs/document.
        precision: float32, bfloat16, int8, or auto for what suits this machine (see docs/translating.md). Scores of
            given translations are made in float32 where translations are written in int8.
    """
    # Not an import statement: what every module imports must import none of them.
    documents: Any = importlib.import_module("docaps.translation.documents")
    found: DocumentTranslator = documents.load(Path(run), precision)
    return found
