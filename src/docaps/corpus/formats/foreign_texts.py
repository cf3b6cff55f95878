"""Texts that look like plain text but are none: what is named as program or data, and what is clearly laid out so.

Translated as running text, such files would be destroyed without an error. The signs looked for are those that prose
has hardly ever; a file that is refused wrongly can still be read with its format named.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from docaps.errors import CorpusError

NO_PROSE = re.compile(
    r"\.(?:adoc|asciidoc|bash|bat|bib|c|cfg|conf|cpp|csh|csv|css|dart|diff|eml|env|ftl|go|h|hpp|htaccess|ics|ini|ipynb"
    r"|java|js|json5|jsonc|jsx|kt|latex|less|log|lrc|lua|mdx|mediawiki|mjs|org|patch|php|plist|properties|ps1|py|rb|resx"
    r"|rmd|rs|rst|sass|sbv|scss|sql|strings|sub|svelte|swift|tex|textile|toml|tsv|tsx|vcf|vue|wiki)(?=(?:\.gz|\.zst)?$)",
    re.IGNORECASE,
)
"""Endings of files in which not all is text to translate; none is also the code of a language, as in `train.cs`."""
SAMPLE, LONGEST = 1000, 2000
"""Lines that are looked at, and characters of each."""

MICRODVD, LYRICS = re.compile(r"\{\d+\}\{\d*\}"), re.compile(r"\[(?:\d{1,3}:\d\d[.:]\d{1,3}|(?:ti|ar|al|by):.*)\]")
YOUTUBE = re.compile(r"\d+:\d\d:\d\d\.\d{3},\d+:\d\d:\d\d\.\d{3}$")
PAIR = re.compile(r"[A-Za-z_][\w.-]*\s*=\s*(?!=)\S?|\[[\w. -]+\]$|[#;]")
KEY = re.compile(r"\s*(?:- )?(?:[\w.$/-]+|\"[^\"]+\"|'[^']+'):(?:\s|$)|\s*- \S|\s*#")
PARENT = re.compile(r"( *)(?:- )?[\w.$-]+:\s*$")
LATEX = re.compile(
    r"\\(?:documentclass|usepackage|begin|end|(?:sub)*section|chapter|textbf|textit|emph|item|cite|ref|label)\b"
)
FENCE, TITLE = re.compile(r"\s*(?:```|~~~)"), re.compile(r"#{1,6} \S")
LINK = re.compile(r"\]\((?:https?:|mailto:|[#./]|[\w-]+[./])[^\s)]*[^)]*\)")
RULE = re.compile(r"\|?\s*:?-{3,}:?\s*\|[-:| ]*$")
STRONG = re.compile(r"(?<!\S)\*\*\w[^*\n]*\*\*")
WIKI = re.compile(r"={2,4}[^=\n]+={2,4}\s*$|\{\{[^{}]+\}\}|.*\[\[[^\[\]]+\]\]")
END_TAG = re.compile(r"</(?:[a-z][a-z0-9]*|[A-Z]+)>")
STATEMENT = re.compile(
    r".*[\w)\]\"'];\s*(?://.*)?$|.*[)\w>] ?\{\s*$|\s*[})\]]+[;,)]*\s*$|\s*(?://|/\*|\*/|#include\b)"
    r"|\s*(?:import|export|using|package) [\w{*.\"'<].*[;\"'>]\s*$"
    r"|\s*(?:if \[+ .* \]+; *then|then|fi|done|esac|else|do|end)\s*$|\s*(?:export )?[A-Z_]+=\S+$"
    r"|\s*(?:echo|cd|set|exit) [-$\"'/\w]"
)
"""A line that ends, or begins, as statements of many languages do."""
CODE = re.compile(r"[\w)\]] ?[-+*/]?=[^=]|\w\(.*\)|=>|->|::|\$\w|\{\s*$|^\s*\}|#include|&&|\|\|")
SEPARATORS = (re.compile(r",(?=\S)"), re.compile(r";(?=\S)"))
QUOTED, NUMBER = re.compile(r'"(?:[^"]|"")*"'), re.compile(r"\d(?:,\d{3})+")


def check_prose(path: Path, lines: Sequence[str] = ()) -> None:
    """Refuse a file that is named as something that translation would destroy, or whose first lines clearly are so."""
    if found := NO_PROSE.search(path.name):
        what, remedy = (
            f"a {found[0].lower()} file",
            "convert it to a format that docaps reads, or name one with --format",
        )
    elif kind := describe_layout(lines):
        what, known = kind
        name = f"name it with --format {known}" if known else "convert it to a format that docaps reads"
        remedy = f"{name} (if it is running text after all: --format text or lines)"
    else:
        return
    raise CorpusError(f"{what}, which would be destroyed as plain text: {remedy}", path=path)


def describe_layout(lines: Sequence[str]) -> tuple[str, str] | None:
    """Say what some lines are if they are not prose, and which format reads it, if any."""
    worded = [line[:LONGEST].rstrip() for line in lines[:SAMPLE] if line.strip()]
    if not worded:
        return None
    if worded[0].startswith("#!") and "/" in worded[0]:
        return "a script", ""
    return next(((what, known) for what, known, is_so in KINDS if is_so(worded)), None)


def _share(pattern: re.Pattern[str], worded: Sequence[str]) -> float:
    """Return the share of lines that begin with a pattern."""
    return sum(bool(pattern.match(line)) for line in worded) / len(worded)


def _mostly(pattern: re.Pattern[str], share: float = 0.8) -> Callable[[Sequence[str]], bool]:
    return lambda worded: len(worded) >= 2 and _share(pattern, worded) >= share


def _is_captions(worded: Sequence[str]) -> bool:
    return bool(YOUTUBE.match(worded[0])) and _share(YOUTUBE, worded) > 0.2


def _is_latex(worded: Sequence[str]) -> bool:
    found = [LATEX.findall(line) for line in worded]
    return any(r"\begin{document}" in line or r"\documentclass" in line for line in worded) or sum(map(len, found)) >= 4


def _is_markdown(worded: Sequence[str]) -> bool:
    """Whether there are fences, links, tables, or several headings and words in bold."""
    fences = sum(bool(FENCE.match(line)) for line in worded)
    links = sum(bool(LINK.search(line)) for line in worded)
    tables = sum(bool(RULE.match(line)) and "|" in before for before, line in pairwise(worded))
    titles, strong = _share(TITLE, worded) * len(worded), sum(bool(STRONG.search(line)) for line in worded)
    return fences >= 2 or links >= 1 or tables >= 1 or titles >= 2 or (titles >= 1 and strong >= 1) or strong >= 3


def _is_yaml(worded: Sequence[str]) -> bool:
    """Whether nearly all lines are keys, and some have lines below them, further in: dialogues have not."""
    if _share(KEY, worded) < 0.9:
        return False
    pairs = pairwise(worded)
    return any(
        (found := PARENT.match(line)) and re.match(rf"{found[1]}(?: +\S|- )", below) is not None
        for line, below in pairs
    )


def _is_table(worded: Sequence[str]) -> bool:
    """Whether all lines have the same number of commas, or semicolons, without a space after them."""
    if len(worded) < 3:
        return False
    plain = [NUMBER.sub("0", QUOTED.sub("0", line)) for line in worded]
    counts = ({len(separator.findall(line)) for line in plain} for separator in SEPARATORS)
    return any(len(found) == 1 and found != {0} for found in counts)


def _is_code(worded: Sequence[str]) -> bool:
    """Whether most lines end as statements do, and several have signs of programs in them."""
    signs = sum(bool(CODE.search(line)) for line in worded)
    return len(worded) >= 3 and _share(STATEMENT, worded) >= 0.5 and signs >= max(2, 0.25 * len(worded))


def _has_tags(worded: Sequence[str]) -> bool:
    found = [bool(END_TAG.search(line)) for line in worded]
    return sum(found) >= 2 and sum(found) >= 0.2 * len(worded)


KINDS: tuple[tuple[str, str, Callable[[Sequence[str]], bool]], ...] = (
    ("MicroDVD subtitles", "", _mostly(MICRODVD)),
    ("timed lyrics (LRC)", "", _mostly(LYRICS)),
    ("subtitles (SBV)", "", _is_captions),
    ("LaTeX", "", _is_latex),
    ("text with tags", "html", _has_tags),
    ("keys with values", "", lambda worded: len(worded) >= 3 and _share(PAIR, worded) >= 0.9 and "=" in worded[-1]),
    ("YAML", "yaml", _is_yaml),
    ("program code", "", _is_code),
    ("a table with columns between commas or semicolons", "", _is_table),
    ("Markdown", "markdown", _is_markdown),
    ("wiki markup", "", lambda worded: sum(bool(WIKI.match(line)) for line in worded) >= max(2, 0.1 * len(worded))),
)
"""Layouts, the formats that read them, and how they are recognised, the surest first."""
