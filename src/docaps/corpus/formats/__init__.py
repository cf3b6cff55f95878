"""Files of documents in many formats: told apart by content, read one document at a time, written as they were read.

`docs/file-formats.md` shows every format. `lines` (one sentence a line, a line `<d>` before each document) is the
format of docaps's own files.
"""

from docaps.corpus.formats.arrival import Arrival
from docaps.corpus.formats.catalogue import DIRECTORY, FORMATS, NAMES
from docaps.corpus.formats.directory import list_files
from docaps.corpus.formats.lines import DOCUMENT_MARK, split_documents
from docaps.corpus.formats.opening import STDIN, read_lines
from docaps.corpus.formats.parallel import iterate_parallel, read_parallel
from docaps.corpus.formats.reading import iterate_documents, read_documents
from docaps.corpus.formats.starts import find_starts
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
    "split_documents",
    "write_documents",
    "write_parallel",
    "write_translations",
]
