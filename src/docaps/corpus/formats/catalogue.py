"""All formats by name."""

import difflib

from docaps.corpus.formats.bars import read_bars, write_bars
from docaps.corpus.formats.interface import Format
from docaps.corpus.formats.jsonlines import read_jsonl, write_jsonl
from docaps.corpus.formats.lines import read_blank, read_marked, write_blank, write_marked
from docaps.corpus.formats.sgml import read_sgml, write_sgml
from docaps.corpus.formats.starts import read_starts, write_starts
from docaps.corpus.formats.table import read_tsv, write_tsv
from docaps.corpus.formats.tags import read_tags, write_tags
from docaps.corpus.formats.text import read_text, write_text
from docaps.corpus.formats.wmtxml import read_xml, write_xml
from docaps.errors import CorpusError

DIRECTORY = "directory"
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
NAMES = (*FORMATS, DIRECTORY)


def check_name(name: str) -> None:
    """Refuse the name of a format that there is not."""
    if name not in NAMES:
        near = difflib.get_close_matches(name, NAMES, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise CorpusError(f"no format '{name}'{hint} (formats: {', '.join(NAMES)})")
