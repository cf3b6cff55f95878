"""Characters that markup spells out: the five named entities and numeric references, each replaced once.

Nothing else is ever expanded, so a file cannot grow while it is read.
"""

import re
from collections.abc import Iterator
from html import escape

from docaps.corpus.formats.opening import one_line

NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
CDATA_START, CDATA_END = "<![CDATA[", "]]>"
ATTRIBUTE = re.compile(r"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def decode_entities(text: str) -> str:
    """Put the characters for their spelled-out forms; what is no such form stays as it is."""
    return ENTITY.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    """Return the character of one spelled-out form."""
    name, decimal, hexadecimal = match.groups()
    if name:
        return NAMED[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    is_text = 0 < code < 0xD800 or 0xDFFF < code <= 0x10FFFF
    return chr(code) if is_text else match[0]


def decode_markup(text: str) -> str:
    """Read the text of an element as a sentence."""
    return one_line("".join(_decode_parts(text)))


def _decode_parts(text: str) -> Iterator[str]:
    """Go through the parts of a text; what stands in CDATA is taken as it is."""
    rest = text
    while CDATA_START in rest:
        before, _, after = rest.partition(CDATA_START)
        inside, end, following = after.partition(CDATA_END)
        if not end:
            break
        yield decode_entities(before)
        yield inside
        rest = following
    yield decode_entities(rest)


def encode_markup(sentence: str) -> str:
    """Write a sentence as the text of an element; characters that XML cannot hold become U+FFFD."""
    return escape(NOT_XML.sub("\ufffd", one_line(sentence)), quote=False)


def encode_attribute(value: str) -> str:
    """Write the value of an attribute, with its quotes."""
    return f'"{escape(NOT_XML.sub(chr(0xFFFD), value))}"'


def attributes_of(text: str) -> dict[str, str]:
    """Read the attributes of a tag; their names in small letters."""
    return {
        match[1].lower(): decode_entities(next(value for value in match.groups()[1:] if value is not None))
        for match in ATTRIBUTE.finditer(text)
    }


def format_attributes(attributes: dict[str, str]) -> str:
    """Write attributes as they stand in a tag."""
    return "".join(f" {name}={encode_attribute(value)}" for name, value in attributes.items())
