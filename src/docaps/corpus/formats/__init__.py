"""File formats of documents: detected by content, read one document at a time, written back in the same layout.

`docs/reference/file-formats.md` shows every format. docaps's own files are `lines`: one sentence a line, a line `<d>`
before each document. Other packages add formats through the entry points `docaps.formats` (see `registry`).
"""

from docaps.corpus.formats.folder import list_files
from docaps.corpus.formats.format import Format, OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.lines import DOCUMENT_MARK, find_starts
from docaps.corpus.formats.reading import iterate_documents, iterate_parallel, read_documents, read_parallel
from docaps.corpus.formats.registry import DIRECTORY, FORMATS, NAMES
from docaps.corpus.formats.text_input import STDIN, Arrival, read_lines
from docaps.corpus.formats.writing import (
    format_documents,
    format_of,
    format_translations,
    write_documents,
    write_parallel,
    write_translations,
)

__all__ = [
    "DIRECTORY",
    "DOCUMENT_MARK",
    "FORMATS",
    "NAMES",
    "STDIN",
    "Arrival",
    "Format",
    "OutputDocument",
    "ReadingOptions",
    "WritingOptions",
    "find_starts",
    "format_documents",
    "format_of",
    "format_translations",
    "iterate_documents",
    "iterate_parallel",
    "list_files",
    "read_documents",
    "read_lines",
    "read_parallel",
    "write_documents",
    "write_parallel",
    "write_translations",
]
