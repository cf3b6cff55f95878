"""The styles in which YAML writes a string: plain, in quotation marks, or as an indented block."""

import io
import json
import re
import textwrap
from dataclasses import dataclass
from typing import Any

from docaps.corpus.formats.format import ReadingOptions
from docaps.errors import DocapsError

PROPERTIES = re.compile(r"(?:[&!]\S*[ \t\r\n]+)*")
"""An anchor and a tag before a value."""
STRING_TAGS = ("!", "tag:yaml.org,2002:str")
BLOCK_HEADING = re.compile(r"[|>][+-]?[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n)")
"""The first line of a block whose indentation is that of its first line."""
INDENT = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*( +)")
UNPRINTABLE = re.compile(
    "[^\n\t\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029]"
)
SPACED = re.compile(r"^[ \t]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class YamlScalar:
    """A string, the span of it in the file, its style, how the file writes it, and its key."""

    text: str
    start: int
    end: int
    line: int
    style: str
    raw: str
    is_flow: bool
    key: tuple[str | int, ...] = ()


def load_yaml(options: ReadingOptions) -> Any:
    """Import PyYAML; say how to install it if it is missing."""
    try:
        import yaml
    except ModuleNotFoundError:
        raise DocapsError("YAML files need PyYAML: pip install 'docaps[files]'", path=options.path) from None
    return yaml


class YamlStyles:
    """Writes strings in the styles of YAML."""

    def __init__(self, yaml: Any) -> None:
        self._node = yaml.ScalarNode
        self._resolver: Any = yaml.resolver.Resolver()
        self._emitter: Any = yaml.emitter.Emitter(io.StringIO(), allow_unicode=True)

    def means_string(self, text: str) -> bool:
        """Return whether a text without quotation marks is a string, rather than a number, a date or a truth value."""
        return bool(self._resolver.resolve(self._node, text, (True, False)) == "tag:yaml.org,2002:str")

    def format(self, scalar: YamlScalar, text: str, *, quoted: bool = False) -> str:
        """Return a text in the style of a scalar, if it can be, or else in double quotation marks."""
        kept = None
        if not quoted and not UNPRINTABLE.search(text):
            kept = self._in_style(scalar, text)
        if kept is not None:
            return kept
        after = scalar.raw[len(scalar.raw.rstrip()) :] if scalar.style in ("|", ">") else ""
        return quote(text) + after

    def _in_style(self, scalar: YamlScalar, text: str) -> str | None:
        """Return a text in the style of a scalar; None if that style cannot hold it."""
        if scalar.style in ("|", ">"):
            return _format_block(scalar, text)
        if scalar.style == '"' or "\n" in text:
            return None
        if scalar.style == "'":
            return "'" + text.replace("'", "''") + "'"
        analysis = self._emitter.analyze_scalar(text)
        is_plain = analysis.allow_flow_plain if scalar.is_flow else analysis.allow_block_plain
        return text if is_plain and self.means_string(text) else None


def quote(text: str) -> str:
    """Return a text in double quotation marks."""
    escaped = json.dumps(text, ensure_ascii=False)
    return UNPRINTABLE.sub(lambda found: json.dumps(found[0])[1:-1].replace("\x7f", r"\x7f"), escaped)


def _format_block(scalar: YamlScalar, text: str) -> str | None:
    """Return a text as an indented block, with the blank lines after it that were there."""
    heading = BLOCK_HEADING.match(scalar.raw)
    indent = heading and INDENT.match(scalar.raw, heading.end())
    body = text.rstrip("\n")
    if heading is None or indent is None or not body or SPACED.search(body):
        return None
    line_end = "\r\n" if heading[0].endswith("\r\n") else "\n"
    lines = body.split("\n")
    if scalar.style == ">":
        width = max(map(len, scalar.raw[heading.end() :].splitlines())) - len(indent[1])
        lines = [line for paragraph in lines for line in (*_fold(paragraph, width), "")][:-1]
    written = line_end.join(f"{indent[1]}{line}" if line else "" for line in lines)
    return heading[0] + written + scalar.raw[len(scalar.raw.rstrip()) :]


def _fold(paragraph: str, width: int) -> list[str]:
    """Wrap a paragraph; not one that would not be the same when it is read."""
    lines = textwrap.wrap(paragraph, max(width, 40), break_long_words=False, break_on_hyphens=False)
    return lines if " ".join(lines) == paragraph and not any(map(SPACED.match, lines)) else [paragraph]
