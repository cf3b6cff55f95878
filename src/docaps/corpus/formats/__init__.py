"""File formats of documents: detected by content, read one document at a time, written back in the same layout.

docaps's own files are `lines`: one sentence a line, a line `<d>` before each document. Other packages
add formats through the entry points `docaps.formats` (see `registry`).
"""

from docaps.corpus.formats.format import Alignment, FileFormat, Format, OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.reading import iterate_documents, iterate_parallel, read_documents, read_parallel
from docaps.corpus.formats.registry import FILE_FORMATS, FORMATS, NAMES
from docaps.corpus.formats.writing import (
    encode_translations,
    format_documents,
    format_translations,
    write_documents,
    write_parallel,
    write_translations,
)

__all__ = [
    "FILE_FORMATS",
    "FORMATS",
    "NAMES",
    "Alignment",
    "FileFormat",
    "Format",
    "OutputDocument",
    "ReadingOptions",
    "WritingOptions",
    "encode_translations",
    "format_documents",
    "format_translations",
    "iterate_documents",
    "iterate_parallel",
    "read_documents",
    "read_parallel",
    "write_documents",
    "write_parallel",
    "write_translations",
]


def __dir__() -> list[str]:
    """List the public API only."""
    return __all__
