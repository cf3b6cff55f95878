"""Telling formats apart by content.

The checks are made in this order, and the first that fits decides:

1. a directory is `directory`; a text with a file `NAME.starts` beside it is `starts` (see `reading`);
2. the first line that is not blank is `<d>`: `lines`;
3. it is a JSON object, or begins like one: `jsonl`;
4. it begins with markup whose first element is `<dataset>`: `xml`; `<mteval>`, `<srcset>`, `<refset>`, `<tstset>`, or
   `<doc>` with `<seg>` below: `sgml`; `<url>`, `<talkid>` ..., or `<doc>` without `<seg>`: `tags`;
5. any line is `<d>`: `lines`;
6. every line is `id ||| sentence`, the id without spaces: `bars`;
7. the first line is a heading of known column names, or every line has the same number of tabs and an id without
   spaces before the first: `tsv` (what has tabs in this way, but no id, is refused);
8. only where running text is allowed: most lines hold several sentences, or break within one: `text`;
9. a blank line stands between others: `blank`;
10. else `lines`: one sentence a line, one document.

Checks 4 to 10 look at the first 10,000 lines or 1 MiB, so that the answer does not depend on how fast stdin arrives.
Checks 6 and 7 do not mind blank lines.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from docaps.corpus.formats.bars import BARS
from docaps.corpus.formats.lines import DOCUMENT_MARK
from docaps.corpus.formats.splitting import SENTENCE_END
from docaps.corpus.formats.table import read_heading
from docaps.corpus.formats.tags import TAGS
from docaps.errors import CorpusError

SAMPLE_LINES, SAMPLE_CHARACTERS = 10_000, 2**20
PROLOG = re.compile(r"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>)+", re.IGNORECASE | re.DOTALL)
ELEMENT = re.compile(r"<([A-Za-z]\w*)[\s/>]")
SEGMENT = re.compile(r"<seg[\s>]", re.IGNORECASE)
SGML_ROOTS = ("mteval", "srcset", "refset", "tstset")
OTHER_ROOTS = ("html", "tmx", "xliff")
BARRED_LINE = re.compile(rf"\s*\S+\s+{re.escape(BARS)}(?:\s|$)")
SPREAD_OBJECT = re.compile(r'\s*\{\s*"')
TABBED_LINE = re.compile(r"[^\s]+\t")
SEVERAL_SENTENCES = re.compile(r"""[.!?…]["'”’“»«)]*\s+["'“„»«(]*[^\W\d_a-zß-öø-ÿ]|[。！？]["”’」』]*[^\s"”’」』]""")


def detect(lines: Iterator[str], path: Path, *, running_text: bool = False) -> tuple[str, list[str]]:
    """Tell the format of lines; the second value is the lines taken to find out."""
    sample: list[str] = []
    first = ""
    size = 0
    for line in lines:
        sample.append(line)
        size += len(line)
        if not first and (first := line.strip()) and (found := detect_at_once(first)):
            return found, sample
        if len(sample) >= SAMPLE_LINES or size >= SAMPLE_CHARACTERS:
            break
    return detect_sample(sample, path, running_text=running_text), sample


def detect_at_once(first: str) -> str | None:
    """Tell the format by the first line that is not blank, if that is enough."""
    if first == DOCUMENT_MARK:
        return "lines"
    return "jsonl" if first.startswith("[{") or is_object(first) else None


def is_object(line: str) -> bool:
    """Say whether a line is a JSON object, or was meant to be one."""
    if not line.startswith("{"):
        return False
    if '"source"' in line or '"target"' in line:
        return True
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def detect_sample(sample: Sequence[str], path: Path, *, running_text: bool) -> str:
    """Tell the format by the beginning of a file."""
    if not any(line.strip() for line in sample):
        return "lines"
    return detect_markup("\n".join(sample), path) or detect_lines(sample, path, running_text=running_text)


def detect_lines(sample: Sequence[str], path: Path, *, running_text: bool) -> str:
    """Tell the format of lines that are no markup; the checks stand in their order."""
    if any(line.strip() == DOCUMENT_MARK for line in sample):
        return "lines"
    worded = [line for line in sample if line.strip()]
    checks = {
        "jsonl": SPREAD_OBJECT.match("\n".join(worded[:2])),  # an object on several lines, which is refused
        "bars": all(BARRED_LINE.match(line) for line in worded),
        "tsv": is_table(worded, path),
        "text": running_text and is_running_text(sample),
        "blank": has_inner_blank(sample),
    }
    return next((name for name, fits in checks.items() if fits), "lines")


def detect_markup(text: str, path: Path) -> str | None:
    """Tell the format of markup by its first element; None if the text does not begin with known markup."""
    prolog = PROLOG.match(text)
    rest = text[prolog.end() :] if prolog else text
    element = ELEMENT.match(rest)
    name = element[1].lower() if element else ""
    if name == "dataset":
        return "xml"
    if name in SGML_ROOTS or (name == "doc" and SEGMENT.search(text)):
        return "sgml"
    if name in TAGS:
        return "tags"
    if text.lstrip().startswith("<?xml") or name in OTHER_ROOTS:
        found = f"<{name}>" if name else "no element"
        message = f"XML that begins with {found}: expected <dataset>, <mteval> or <srcset>; write the text in a format"
        raise CorpusError(f"{message} of docs/file-formats.md", path=path)
    return None


def is_table(worded: Sequence[str], path: Path) -> bool:
    """Say whether lines are tab-separated columns with a document id in front; refuse columns without an id."""
    if read_heading(worded[0]):
        return True
    tabs = {line.count("\t") for line in worded}
    if len(tabs) > 1 or tabs == {0}:
        return False
    if not all(TABBED_LINE.match(line) for line in worded):
        if len(worded) > 1 and all(line.partition("\t")[0].strip() for line in worded):
            message = "tab-separated columns without a document id: put one before each line, then a tab"
            raise CorpusError(f"{message} (sentences with tabs in them: name the format 'lines')", path=path, line=1)
        return False
    return True


def has_inner_blank(sample: Sequence[str]) -> bool:
    """Say whether a blank line stands between others."""
    blank = [not line.strip() for line in sample]
    first, last = blank.index(False), len(blank) - blank[::-1].index(False)
    return any(blank[first:last])


def is_running_text(sample: Sequence[str]) -> bool:
    """Say whether most lines hold several sentences, or break within one and go on in small letters."""
    worded = [line.strip() for line in sample if line.strip()]
    several = sum(bool(SEVERAL_SENTENCES.search(line)) for line in worded)
    breaks = [
        not SENTENCE_END.search(line.rstrip()) and following.lstrip()[0].islower()
        for line, following in pairwise(sample)
        if line.strip() and following.strip()
    ]
    return 2 * several >= len(worded) or (len(breaks) > 1 and 2 * sum(breaks) > len(breaks))
