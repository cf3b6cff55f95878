"""docaps: translate whole documents, each sentence in the context of the sentences before it.

    import docaps

    model = docaps.load("runs/demo/runs/document")
    print(model.translate(["Anna bought a red blouse in the sale.", "It fitted Anna like a glove."]).texts)

`load` returns a `docaps.translation.document_translator.DocumentTranslator`, whose `translate` returns a `Translation`
of `TranslatedSentence`s and whose `score` returns `Likelihood`s. Importing docaps is light: torch is loaded with the
first model.
"""

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docaps.config import TranslationPrecision
    from docaps.translation.document_translator import DocumentTranslator

__version__ = "0.2.0"
__all__ = ["__version__", "load"]


def __dir__() -> list[str]:
    """List the public API only."""
    return __all__


def load(run: "str | os.PathLike[str]", *, precision: "TranslationPrecision" = "float32") -> "DocumentTranslator":
    """Load the model of a finished run, ready to translate.

    Args:
        run: a run directory, such as runs/demo/runs/document, or the name of one on the Hugging Face hub.
        precision: float32, bfloat16, int8, or auto for what suits this machine and model. With int8, given
            translations are still scored in float32.
    """
    # Not an import statement: what every module imports must import none of them.
    api: Any = importlib.import_module("docaps.translation.document_translator")
    hub: Any = importlib.import_module("docaps.exchange.hub")
    path = hub.fetch_run(str(run)) if isinstance(run, str) and hub.is_hub_name(run) else Path(run)
    translator: DocumentTranslator = api.load(path, precision)
    return translator
