"""HTML: the text between the tags of blocks, with inline tags as marks; titles and alternative texts too.

The page is not parsed into a tree and written anew: tags are found where they stand, and only text is replaced.
Scripts, styles, preformatted text, code, form fields and elements with `translate="no"` stay as they are.
"""

import codecs
import re
from collections.abc import Iterator, Sequence
from html import escape, unescape

from docaps.corpus.documents import Document, InlineMark
from docaps.corpus.formats.format import FileFormat, OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.passages import Passage, PassageBuilder, fill, join_passages, replace_passages

ATTRIBUTE = rb"""([^\s/>=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|(?!["'])([^\s>]++)))?+"""
_UNNAMED = re.sub(rb"\((?!\?)", b"(?:", ATTRIBUTE)
TOKEN = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<[!?][^>]*+>|<(/?)([A-Za-z][^\s/>]*+)((?:[\s/=]++|"
    + _UNNAMED
    + rb")*+)>",
    re.DOTALL,
)
ATTRIBUTES = re.compile(ATTRIBUTE)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


INLINE = _names(
    "a abbr acronym b bdi bdo big button cite data del dfn em font i img input ins kbd label mark meter nobr output "
    "picture progress q rb rp rt ruby s samp small source span strike strong sub sup time tt u var wbr"
)
VOID = _names("area base br col embed hr img input link meta param source track wbr")
RAW = _names("script style textarea xmp iframe noembed noframes")
"""Elements whose content is no markup."""
INLINE_OBJECTS = _names("code script style svg math object canvas audio video template select textarea iframe")
"""Elements that stay as they are, within a sentence."""
BLOCK_OBJECTS = _names("pre xmp noembed noframes")
MOST_ENDLESS = 100
"""Names of such elements without an end that are looked for; a page with more is damaged."""
TEXTS = (b"alt", b"title", b"placeholder", b"aria-label")
DESCRIPTIONS = frozenset(("description", "og:title", "og:description", "twitter:title", "twitter:description"))
QUOTED, UNQUOTED = "attribute", "unquoted attribute"
CHARSET = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?\s*([\w:.-]+)|<\?xml[^>]+encoding\s*=\s*["']([\w:.-]+)""", re.I)
BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
START = re.compile(r"\ufeff?\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)


class _PageReader:
    """Goes through a page, in UTF-8, and collects its passages."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.languages: list[tuple[int, int]] = []
        """Where the page says its language."""
        self._endless: set[str] = set()  # objects without an end tag after a place
        self._begin()

    def _begin(self) -> None:
        self._builder = PassageBuilder()
        self._start: int | None = None
        self._end = 0

    def passages(self) -> Iterator[Passage]:
        """Yield the passages in order; those of attributes come before the text around them."""
        position, last = 0, self._content.rfind(b">") + 1
        if self._content.find(b"<!", last) >= 0:  # a comment goes on to the end
            last = len(self._content)
        while match := TOKEN.search(self._content, position, last):
            self._add_text(position, match.start())
            position = match.end()
            if match[2] is None:
                if not match[0].startswith(b"<!--"):  # a document type, an instruction
                    yield from self._flush()
                else:
                    self._add_mark(match.start(), position)
                continue
            name = match[2].decode().lower()
            if match[1]:
                yield from self._close(name, match)
                continue
            yield from self._attributes(name, match)
            if end := self._object_end(name, match):
                position = end
                if name in BLOCK_OBJECTS or not (name in INLINE or name in INLINE_OBJECTS):
                    yield from self._flush()
                else:
                    self._add_mark(match.start(), position)
            else:
                yield from self._open(name, match)
        self._add_text(position, len(self._content))
        yield from self._flush()

    def _open(self, name: str, match: re.Match[bytes]) -> Iterator[Passage]:
        """Process a start tag."""
        if name == "br":
            self._extend(match.start(), match.end())
            self._builder.add_space(match[0].decode())
        elif name not in INLINE:
            yield from self._flush()
        elif name in VOID or match[3].rstrip().endswith(b"/"):
            self._add_mark(match.start(), match.end())
        else:
            self._extend(match.start(), match.end())
            self._builder.add_start(name, match[0].decode(), match.start() + 1)

    def _close(self, name: str, match: re.Match[bytes]) -> Iterator[Passage]:
        """Process an end tag."""
        if name not in INLINE:
            yield from self._flush()
        else:
            self._extend(match.start(), match.end())
            self._builder.add_end(name, match[0].decode(), match.start() + 1)

    def _object_end(self, name: str, match: re.Match[bytes]) -> int | None:
        """Return where an element ends that stays as it is; None if it is another one, or has no end."""
        untouched = name in RAW or name in INLINE_OBJECTS or name in BLOCK_OBJECTS
        if not untouched and b"translate" in match[3]:
            untouched = any(key == b"translate" and value == b"no" for key, value, *_ in _attributes(match))
        if not untouched or name in VOID or name in self._endless or len(self._endless) >= MOST_ENDLESS:
            return None
        pattern = re.compile(rb"<(/?)" + re.escape(name.encode()) + rb"(?=[\s/>])[^>]*+>", re.IGNORECASE)
        depth = 1
        for found in pattern.finditer(self._content, match.end()):
            depth += -1 if found[1] else name not in RAW and not found[0].endswith(b"/>")
            if not depth:
                return found.end()
        self._endless.add(name)
        return None

    def _attributes(self, name: str, match: re.Match[bytes]) -> Iterator[Passage]:
        """Yield the attributes of a tag that are text."""
        if b"=" not in match[3]:
            return
        found = _attributes(match)
        values = {key: value for key, value, *_ in found}
        described = name == "meta" and (values.get(b"name") or values.get(b"property", b"")).decode().lower()
        for key, value, start, end, is_quoted in found:
            if name == "html" and key in (b"lang", b"xml:lang"):
                self.languages.append((start, end))
            elif key in TEXTS or (key == b"content" and described in DESCRIPTIONS):
                kind = QUOTED if is_quoted else UNQUOTED
                yield Passage(unescape(value.decode()), (), start, end, kind=kind)

    def _extend(self, start: int, end: int) -> None:
        """Note that the passage goes on."""
        self._start = start if self._start is None else self._start
        self._end = end

    def _add_text(self, start: int, end: int) -> None:
        if end > start:
            self._extend(start, end)
            self._builder.add_text(unescape(self._content[start:end].decode()))

    def _add_mark(self, start: int, end: int) -> None:
        self._extend(start, end)
        self._builder.add_mark(self._content[start:end].decode(), "single", start + 1)

    def _flush(self) -> Iterator[Passage]:
        """Yield the passage that ends here, if there is text in it."""
        if self._start is not None and self._builder.text.strip():
            yield self._builder.passage(self._start, self._end)
        self._begin()


def _attributes(match: re.Match[bytes]) -> list[tuple[bytes, bytes, int, int, bool]]:
    """Return the attributes of a tag: name, value, where the value stands, and whether it is in quotes."""
    found = []
    for attribute in ATTRIBUTES.finditer(match[3]):
        group = next((number for number in (2, 3, 4) if attribute[number] is not None), 0)
        if group:
            start, end = (match.start(3) + place for place in attribute.span(group))
            found.append((attribute[1].lower(), attribute[group], start, end, group < 4))
    return found


def find_encoding(content: bytes, options: ReadingOptions) -> str:
    """Return the encoding of a page by its byte order mark or its own words, else UTF-8."""
    if bom := next((name for mark, name in BOMS if content.startswith(mark)), None):
        return bom
    found = CHARSET.search(content[:4096])
    if found is None:
        return "utf-8"
    name = (found[1] or found[2]).decode()
    try:
        known = codecs.lookup(name)
        "\u1234".encode(known.name, errors="xmlcharrefreplace")
    except (LookupError, UnicodeError):
        raise options.fault(f"the page says it is in '{name}', which is not known: convert it to UTF-8") from None
    # A page that can be read as ASCII so far is not in UTF-16, whatever it says. Browsers read Latin-1 as its superset.
    return {"iso8859-1": "cp1252"}.get(known.name, "utf-8" if known.name.startswith("utf-16") else known.name)


def read_html(content: bytes, options: ReadingOptions) -> Document:
    """Read the text of a page as one document."""
    encoding = find_encoding(content, options)
    try:
        text = content.decode(encoding)
        if text.encode(encoding) != content:
            raise ValueError
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        message = f"not {encoding.upper()}, as the page says, or must be if it says nothing: add a <meta charset>"
        raise options.fault(message, line) from None
    except ValueError:
        raise options.fault(f"{encoding.upper()} with a state, which is not read: convert it to UTF-8") from None
    page = text.encode("utf-8", "surrogatepass")
    reader = _PageReader(page)
    details = {"page": page, "encoding": encoding, "languages": reader.languages}
    return join_passages(reader.passages(), options, "html", **details)


def write_html(item: OutputDocument, options: WritingOptions) -> bytes:
    """Write the page with its text replaced."""
    assert item.document.layout is not None
    details = item.document.layout.details
    page: bytes = details["page"]
    spans = [
        (start, end, options.target_language.encode())
        for start, end in details["languages"]
        if page[start:end].decode().lower().partition("-")[0] == options.language
    ]
    written = replace_passages(page, item, _encode, others=spans)
    if details["encoding"] == "utf-8":
        return written
    return written.decode().encode(details["encoding"], errors="xmlcharrefreplace")


def _encode(passage: Passage, pieces: Sequence[str | InlineMark]) -> str:
    """Return a passage as HTML."""
    if passage.kind:
        value = fill(pieces, escape)
        return value if passage.kind == QUOTED else f'"{value}"'
    return fill(pieces, lambda text: escape(text, quote=False).replace("\xa0", "&nbsp;"))


def is_html(start: bytes, name: str) -> bool:
    """Return whether a file begins as a page, or is named like one and begins as text."""
    encoding = next((name for mark, name in BOMS if start.startswith(mark)), "utf-8")
    text = start.decode(encoding, errors="replace")
    return bool(START.match(text)) or (name.endswith((".html", ".htm", ".xhtml")) and "\0" not in text)


HTML = FileFormat("html", "web pages", (".html", ".htm", ".xhtml"), is_html, read_html, write_html, largest=2**24)
