"""The registry of formats: find a format by name, or detect it by content.

Formats of other packages are found through the entry points `docaps.formats`; each names a `Format` whose `name` is
that of the entry point. They are loaded when a name is not a built-in one, or when the content is not clear.

Detection makes these checks in this order, and the first match decides:

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
from docaps.corpus.formats.format import Format
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
from docaps.corpus.formats.markup import SETS
from docaps.corpus.formats.text import SENTENCE_END, read_text, write_text
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
"""The built-in formats of one file, by name."""
NAMES = (*FORMATS, DIRECTORY)
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


def find_format(name: str) -> Format:
    """Return a format of one file by its name, a built-in one or that of a plug-in."""
    check_name(name)
    return FORMATS[name] if name in FORMATS else _load_plugin(name)


def check_name(name: str) -> None:
    """Refuse the name of an unknown format; plug-ins are looked for if it is not a built-in one."""
    if name in NAMES:
        return
    from docaps.config import plugins

    if name not in (names := (*NAMES, *plugins.entries(GROUP))):
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise CorpusError(f"no format '{name}'{hint} (formats: {', '.join(names)})")


def _load_plugin(name: str) -> Format:
    """Import the format of a plug-in and check it."""
    from docaps.config import plugins

    entry = plugins.entries(GROUP)[name]
    adds = f"{plugins.package(entry)} adds a format {name!r}"
    if name in NAMES:
        raise ConfigError(f"{adds}, which is a built-in name: uninstall it")
    found = plugins.load(entry)
    if not isinstance(found, Format) or found.name != name:
        expected = f"{entry.value} must be a docaps.corpus.formats.Format with the name {name!r}"
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
    text, worded = "\n".join(sample), [line for line in sample if line.strip()]
    if not worded:
        return "lines"
    prolog = PROLOG.match(text)
    element = ELEMENT.match(text, prolog.end() if prolog else 0)
    root = element[1].lower() if element else ""
    foreign = text.lstrip().startswith("<?xml") or root in OTHER_ROOTS
    markup = "sgml" if root == "doc" and SEGMENT.search(text) else ROOTS.get(root)
    if found := markup or (None if foreign else _detect_lines(worded)) or _detect_plugin(sample):
        return found
    if foreign:
        what = f"XML that begins with {f'<{root}>' if root else 'no element'}: expected <dataset>, <mteval> or <srcset>"
        raise CorpusError(f"{what}; write the text in another format: {', '.join(NAMES)}", path=path)
    if len(worded) > 1 and _has_columns(worded) and all(line.partition("\t")[0].strip() for line in worded):
        message = "tab-separated columns without a document id: put one before each line, then a tab"
        raise CorpusError(f"{message} (sentences with tabs in them: name the format 'lines')", path=path, line=1)
    if running_text and is_running_text(sample):
        return "text"
    has_inner_blank = "\n\n" in "\n".join(line.strip() for line in sample).strip()
    return "blank" if has_inner_blank else "lines"


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
        if found.detect and found.detect(sample):
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
