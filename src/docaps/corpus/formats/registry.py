"""The registry of formats: find a format by name, or detect it by content.

Formats of other packages are found through the entry points `docaps.formats`; each names a `Format` or a `FileFormat`
whose `name` is that of the entry point. They are loaded when a name is not a built-in one, or when the content is not
clear.

Detection first asks the formats of whole files. For all other files it makes these checks in this order, and the first
match decides:

1. a directory is `directory`; a text with a file `NAME.starts` beside it is `starts` (see `reading`);
2. the first line that is not blank is `<d>`: `lines`;
3. it is a JSON object, or begins like one: `jsonl`;
4. it begins with markup whose first element is `<dataset>`: `xml`; `<mteval>`, `<srcset>`, `<refset>`, `<tstset>`, or
   `<doc>` with `<seg>` below: `sgml`; `<url>`, `<talkid>` ..., or `<doc>` without `<seg>`: `tags`;
5. any line is `<d>`: `lines`;
6. every line is `id ||| sentence`, the id without spaces: `bars`;
7. the first line is a heading of known column names, or every line has the same number of tabs and an id without
   spaces before the first: `tsv`;
8. the `detect` function of a plug-in accepts the lines (other markup, and tabs as in 7 but without id, are refused);
9. only if running text is allowed: most lines hold several sentences, or break within one: `text`;
10. there is a blank line between others: `blank`;
11. else `lines`: one sentence a line, one document.

A name that is one of a format of whole files, and a name or a layout that is not of prose (see `foreign_texts`), keep a
file from being read by 9 to 11.

Checks 4 to 11 look at the first 10,000 lines or 1 MiB, so that the answer does not depend on how fast stdin arrives.
Checks 6 and 7 ignore blank lines.
"""

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from docaps.corpus.formats.columns import BARS, read_bars, read_heading, read_tsv, write_bars, write_tsv
from docaps.corpus.formats.docx import DOCX
from docaps.corpus.formats.format import FileFormat, Format
from docaps.corpus.formats.html_pages import HTML
from docaps.corpus.formats.jsonlines import read_jsonl, write_jsonl
from docaps.corpus.formats.lines import (
    DOCUMENT_MARK,
    TAGS,
    read_blank,
    read_marked,
    read_starts,
    read_tags,
    write_blank,
    write_marked,
    write_starts,
    write_tags,
)
from docaps.corpus.formats.markdown_files import MARKDOWN
from docaps.corpus.formats.markup import SETS
from docaps.corpus.formats.odt import ODT
from docaps.corpus.formats.strings.json_strings import JSON
from docaps.corpus.formats.strings.po_file import PO
from docaps.corpus.formats.strings.tmx import TMX
from docaps.corpus.formats.strings.xliff import XLIFF
from docaps.corpus.formats.strings.yaml_strings import YAML
from docaps.corpus.formats.subtitles.subtitle_file import SUBTITLES
from docaps.corpus.formats.text import SENTENCE_END, read_text, write_text
from docaps.corpus.formats.text_input import STDIN, describe_foreign
from docaps.corpus.formats.wmt import read_sgml, read_xml, write_sgml, write_xml
from docaps.errors import ConfigError, CorpusError

GROUP = "docaps.formats"
DIRECTORY = "directory"
"""The format of a directory with one file for each document."""
FORMATS = {
    found.name: found
    for found in (
        Format("lines", "one sentence a line, a line <d> before each document", read_marked, write_marked),
        Format("blank", "one sentence a line, blank lines between documents", read_blank, write_blank),
        Format("tags", "IWSLT train.tags files", read_tags, write_tags),
        Format("sgml", "WMT SGML and IWSLT XML", read_sgml, write_sgml, free=True),
        Format("xml", "WMT XML since 2021", read_xml, write_xml, two_sided=True, free=True),
        Format("jsonl", "JSON Lines, a document each", read_jsonl, write_jsonl, two_sided=True, free=True),
        Format("tsv", "tab-separated columns: document id, source, target", read_tsv, write_tsv, two_sided=True),
        Format("starts", "plain lines, and a file of document starts", read_starts, write_starts),
        Format("bars", "docid ||| sentence", read_bars, write_bars),
        Format("text", "running text, split into sentences", read_text, write_text, free=True),
    )
}
"""The built-in formats of documents in lines, by name."""
FILE_FORMATS = {found.name: found for found in (DOCX, ODT, HTML, *SUBTITLES, PO, XLIFF, TMX, JSON, YAML, MARKDOWN)}
"""The built-in formats of whole files, by name, in the order in which they are asked whether they know a file."""
NAMES = (*FORMATS, *FILE_FORMATS, DIRECTORY)
"""The names of the built-in formats."""

SAMPLE_LINES, SAMPLE_CHARACTERS = 10_000, 2**20
PROLOG = re.compile(r"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>)+", re.IGNORECASE | re.DOTALL)
ELEMENT = re.compile(r"<([A-Za-z]\w*)[\s/>]")
SEGMENT = re.compile(r"<seg[\s>]", re.IGNORECASE)
ROOTS = {**dict.fromkeys(TAGS, "tags"), **dict.fromkeys(("mteval", *SETS), "sgml"), "dataset": "xml"}
OTHER_ROOTS = ("html", "tmx", "xliff")
BARRED_LINE = re.compile(rf"\s*\S+\s+{re.escape(BARS)}(?:\s|$)")
SPREAD_OBJECT = re.compile(r'\s*\{\s*"')
TABBED_LINE = re.compile(r"[^\s]+\t")
SEVERAL_SENTENCES = re.compile(r"""[.!?…]["'”’“»«)]*\s+["'“„»«(]*[^\W\d_a-zß-öø-ÿ]|[。！？]["”’」』]*[^\s"”’」』]""")


def find_format(name: str) -> Format | FileFormat:
    """Return a format of one file by its name, a built-in one or that of a plug-in."""
    check_name(name)
    return FORMATS.get(name) or FILE_FORMATS.get(name) or _load_plugin(name)


def detect_file(start: bytes, path: Path) -> FileFormat | None:
    """Return the format of a whole file by its first bytes and its name; None if it may be one of lines."""
    name = "" if path == STDIN else path.name.lower().removesuffix(".gz").removesuffix(".zst")
    if found := next((one for one in FILE_FORMATS.values() if one.detect(start, name)), None):
        return found
    from docaps.config import plugins

    if _is_clear(start) or describe_foreign(start):
        return None
    loaded = map(_load_plugin, plugins.entries(GROUP))
    if found := next((one for one in loaded if isinstance(one, FileFormat) and one.detect(start, name)), None):
        return found
    # It is named as a format but does not begin as one: its reader says what is wrong, as plain text it would be lost.
    return next((one for one in FILE_FORMATS.values() if name.endswith(one.suffixes)), None)


def _is_clear(start: bytes) -> bool:
    """Return whether the first bytes are clearly in a format of lines, so that no plug-in is asked."""
    if b"\0" in start or describe_foreign(start):
        return False
    sample = start.decode("utf-8-sig", errors="replace").split("\n")
    first = next((line.strip() for line in sample if line.strip()), "")
    return first == DOCUMENT_MARK or is_object(first) or _detect_clear(sample)[0] is not None


def check_name(name: str) -> None:
    """Refuse the name of an unknown format; plug-ins are looked for if it is not a built-in one."""
    if name in NAMES:
        return
    from docaps.config import plugins

    if name not in (names := (*NAMES, *plugins.entries(GROUP))):
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise CorpusError(f"no format '{name}'{hint} (formats: {', '.join(names)})")


def _load_plugin(name: str) -> Format | FileFormat:
    """Import the format of a plug-in and check it."""
    from docaps.config import plugins

    entry = plugins.entries(GROUP)[name]
    adds = f"{plugins.package(entry)} adds a format {name!r}"
    if name in NAMES:
        raise ConfigError(f"{adds}, which is a built-in name: uninstall it")
    found = plugins.load(entry)
    if not isinstance(found, Format | FileFormat) or found.name != name:
        expected = f"{entry.value} must be a docaps.corpus.formats.Format or FileFormat with the name {name!r}"
        raise ConfigError(f"{adds}, but {expected}, found {found!r}")
    return found


def detect(lines: Iterator[str], path: Path, *, running_text: bool = False) -> tuple[str, list[str]]:
    """Return the format of lines, and the lines read to find out."""
    sample, first, size = list[str](), "", 0
    for line in lines:
        sample.append(line)
        size += len(line)
        if not first and (first := line.strip()):
            if first == DOCUMENT_MARK:
                return "lines", sample
            if first.startswith("[{") or is_object(first):
                return "jsonl", sample
        if len(sample) >= SAMPLE_LINES or size >= SAMPLE_CHARACTERS:
            break
    return detect_sample(sample, path, running_text=running_text), sample


def is_object(line: str) -> bool:
    """Return whether a line is a JSON object, or was meant to be one."""
    if not line.startswith("{") or '"source"' in line or '"target"' in line:
        return line.startswith("{")
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def detect_sample(sample: Sequence[str], path: Path, *, running_text: bool) -> str:
    """Return the format of the beginning of a file."""
    found, root = _detect_clear(sample)
    if found := found or _detect_plugin(sample):
        return found
    worded = [line for line in sample if line.strip()]
    if root is not None:
        raise _foreign_fault(root, path)
    if len(worded) > 1 and _has_columns(worded) and all(line.partition("\t")[0].strip() for line in worded):
        message = "tab-separated columns without a document id: put one before each line, then a tab"
        raise CorpusError(f"{message} (sentences with tabs in them: name the format 'lines')", path=path, line=1)
    if running_text and is_running_text(sample):
        return "text"
    has_inner_blank = "\n\n" in "\n".join(line.strip() for line in sample).strip()
    return "blank" if has_inner_blank else "lines"


def _foreign_fault(root: str, path: Path) -> CorpusError:
    """Return the error for markup that is not known."""
    what = f"XML that begins with {f'<{root}>' if root else 'no element'}: expected <dataset>, <mteval> or <srcset>"
    return CorpusError(f"{what}; write the text in another format: {', '.join(NAMES)}", path=path)


def detect_markup(start: bytes, path: Path) -> str | None:
    """Return the format of the first bytes of a file if it is one with markup; refuse markup that is not known."""
    found, root = _detect_clear(start.decode("utf-8-sig", errors="replace").split("\n"))
    if root is not None:
        raise _foreign_fault(root, path)
    return found if found in ("sgml", "xml", "tags", "jsonl") else None


def _detect_clear(sample: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the format if the beginning of a file makes it clear, and the first element of other markup, if it is."""
    text, worded = "\n".join(sample), [line for line in sample if line.strip()]
    if not worded:
        return "lines", None
    prolog = PROLOG.match(text)
    element = ELEMENT.match(text, prolog.end() if prolog else 0)
    root = element[1].lower() if element else ""
    if markup := "sgml" if root == "doc" and SEGMENT.search(text) else ROOTS.get(root):
        return markup, None
    is_closed = bool(root) and text.rstrip().lower().endswith(f"</{root}>")
    foreign = text.lstrip().startswith("<?xml") or root in OTHER_ROOTS or is_closed
    return None if foreign else _detect_lines(worded), root if foreign else None


def _detect_lines(worded: Sequence[str]) -> str | None:
    """Return the format of lines that are not markup, if it is clear."""
    if any(line.strip() == DOCUMENT_MARK for line in worded):
        return "lines"
    if SPREAD_OBJECT.match("\n".join(worded[:2])):  # an object on several lines, which the reader refuses
        return "jsonl"
    if all(BARRED_LINE.match(line) for line in worded):
        return "bars"
    tabbed = _has_columns(worded) and all(TABBED_LINE.match(line) for line in worded)
    return "tsv" if tabbed or read_heading(worded[0]) else None


def _has_columns(worded: Sequence[str]) -> bool:
    """Return whether all lines have the same number of tabs."""
    tabs = {line.count("\t") for line in worded}
    return len(tabs) == 1 and tabs != {0}


def _detect_plugin(sample: Sequence[str]) -> str | None:
    """Return the first format of a plug-in that recognises the lines."""
    from docaps.config import plugins

    for name in plugins.entries(GROUP):
        found = _load_plugin(name)
        if isinstance(found, Format) and found.detect and found.detect(sample):
            return name
    return None


def is_running_text(sample: Sequence[str]) -> bool:
    """Return whether most lines hold several sentences, or break within one and continue in lower case."""
    worded = [line.strip() for line in sample if line.strip()]
    several = sum(bool(SEVERAL_SENTENCES.search(line)) for line in worded)
    breaks = [
        not SENTENCE_END.search(line.rstrip()) and following.lstrip()[0].islower()
        for line, following in pairwise(sample)
        if line.strip() and following.strip()
    ]
    return 2 * several >= len(worded) or (len(breaks) > 1 and 2 * sum(breaks) > len(breaks))
