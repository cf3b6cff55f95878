"""What uploads are read by, as targets of the fuzzer: files of all formats, texts with tags, glossaries, forms."""

import asyncio
import io
import json
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

DOCX_TEXT, ODT_TEXT = "word/document.xml", "content.xml"


def read_files(data: bytes) -> None:
    """Read a file of a format and write its own sentences into it: the first byte chooses.

    Beyond 127, the data are the text of a DOCX or ODT file, which are archives: a fuzzer never packs one by itself.
    """
    from docaps.corpus.formats import FILE_FORMATS, OutputDocument, ReadingOptions, WritingOptions
    from docaps.corpus.formats.format import FileChoices
    from docaps.errors import DocapsError

    choice, content = data[0] if data else 0, data[1:]
    name = [*FILE_FORMATS][choice % len(FILE_FORMATS)]
    if choice > 127:
        name = ("docx", "odt")[choice % 2]
        content = pack({DOCX_TEXT if name == "docx" else ODT_TEXT: content})
    choices = FileChoices(None, choice % 3 == 0, line_length=20)
    try:
        document = FILE_FORMATS[name].read(content, ReadingOptions(Path(f"a.{name}"), choices=choices))
        aligned = tuple([((0, 1), (0, 1))] if sentence else None for sentence in document.sentences)
        output = OutputDocument(document, document.sentences, aligned)
        written = FILE_FORMATS[name].write(output, WritingOptions(choices=choices))
    except DocapsError:
        return
    assert all("\n" not in sentence for sentence in document.sentences)
    assert isinstance(written, bytes)


def read_tags(data: bytes) -> None:
    """Read a text with tags as DeepL's routes do, and put its own sentences into it."""
    from docaps.errors import DocapsError
    from docaps.web.tagged_text import TagHandling, read_tagged

    choice, text = data[0] if data else 0, data[1:].decode("utf-8", errors="replace")
    names = frozenset({"p", "x"})
    handling = TagHandling(
        "html" if choice % 2 else "xml",
        splitting=names if choice & 2 else frozenset(),
        inline=names if choice & 4 else frozenset(),
        ignored=names if choice & 8 else frozenset(),
        outline=not choice & 16,
    )
    try:
        found = read_tagged(text.replace("\0", ""), "en", handling, split=not choice & 32)
        found.join(found.sentences, [None] * len(found.sentences))
    except DocapsError:
        return
    assert all("\n" not in sentence for sentence in found.sentences)


def read_glossaries(data: bytes) -> None:
    """Read a glossary of the command line or of DeepL's routes, and look its terms up: the first byte chooses."""
    from docaps.errors import DocapsError
    from docaps.translation.glossary_files import parse_glossary
    from docaps.web.glossaries import read_entries, write_entries
    from docaps.web.http_errors import HttpError

    choice, text = data[0] if data else 0, data[1:].decode("utf-8", errors="replace")
    try:
        if choice % 3:
            terms = read_entries(text, ("csv", "tsv")[choice % 2])
            assert choice % 3 == 1 or terms == read_entries(write_entries(terms), "tsv")
        else:
            glossary = parse_glossary(text, source="en", target="de")
            for hit in glossary.find(text[:1000]):
                assert text[hit.start : hit.end] == hit.text
    except (DocapsError, HttpError):
        return


def read_forms(data: bytes) -> None:
    """Read a body as JSON or as a form, whole or in pieces, and check its fields: the first byte chooses."""
    from docaps.web.http_errors import HttpError

    choice, body = data[0] if data else 0, data[1:]
    kind = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")[choice % 3]
    size = (1, 7, 1 << 20)[choice // 3 % 3]
    pieces = [body[start : start + size] for start in range(0, len(body), size)] or [b""]
    loop().run_until_complete(_read_form(kind, pieces, HttpError, with_file=choice > 127))


async def _read_form(kind: str, pieces: list[bytes], error: type[Exception], *, with_file: bool) -> None:
    from starlette.requests import Request

    from docaps.web.deepl_schemas import DeepLGlossaryRequest, DeepLRequest, DeepLUpload
    from docaps.web.file_routes import FileOptions
    from docaps.web.forms import parse, read_fields, read_upload
    from docaps.web.libretranslate_routes import LibreTranslateRequest

    rest = iter(pieces)

    async def receive() -> dict[str, Any]:
        piece = next(rest, None)
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b""}
    request = Request({**scope, "headers": [(b"content-type", kind.encode())]}, receive)
    await asyncio.sleep(0)  # what is left of a request before
    try:
        fields = await (read_upload(request, lambda *_: io.BytesIO()) if with_file else read_fields(request))
    except error:
        return
    for model in (DeepLRequest, DeepLUpload, DeepLGlossaryRequest, FileOptions, LibreTranslateRequest):
        try:
            parse(model, fields)
        except error as refused:
            json.dumps(str(refused))


@cache
def loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of all targets."""
    return asyncio.new_event_loop()


def pack(members: Mapping[str, bytes]) -> bytes:
    """Return a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


DOCX = (
    '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>Anna '
    "</w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>left</w:t></w:r><w:r><w:tab/><w:t>. It rained.</w:t></w:r></w:p>"
    "</w:body></w:document>"
)
ODT = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text><text:p>Anna <text:span>left'
    '</text:span>.<text:s text:c="3"/>It rained.</text:p></office:text></office:body></office:document-content>'
)
FILES = {
    "html": '<!doctype html><html lang="en"><p>Anna <b>left</b>.<br><img alt="A dog"><pre>x</pre><!-- c --></html>',
    "srt": "1\n00:00:01,000 --> 00:00:02,000\n- <i>Anna left,</i>\n- and\n\n2\n00:00:02,500 --> 00:00:04,000\n"
    "it rained.\n",
    "vtt": "WEBVTT\n\nNOTE x\n\na\n00:01.000 --> 00:02.000 line:0\n<v Anna>It <b>rained</b>.\n",
    "ass": "[Script Info]\n\n[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, "
    "Text\nDialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{\\i1}Anna{\\i0}\\Nleft.\n",
    "po": '#, fuzzy\n#. note\nmsgctxt "c"\nmsgid "%d coat"\nmsgid_plural "%d coats"\nmsgstr[0] ""\nmsgstr[1] ""\n\n'
    'msgid "It <b>rained</b>."\nmsgstr "Es regnete."\n',
    "xliff": '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="en" '
    'target-language="de" original="a" datatype="plaintext"><body><trans-unit id="1"><source>Anna <x id="1"/> left.'
    "</source></trans-unit></body></file></xliff>",
    "tmx": '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>Anna <ph>x</ph>left.</seg></tuv>'
    "</tu></body></tmx>",
    "json": '{"a": "Anna {name} left.", "b": ["{n, plural, one {# coat} other {# coats}}", "\\u00e4 \\ud83d\\ude00"]}',
    "yaml": "en:\n  a: Anna %{name} left.\n  b: |\n    It rained.\n    Then\n  c: &x 'It''s'\n  d: *x\n",
    "markdown": "# Anna\n\nShe *left* [here](http://a.org). `x`\n\n- It rained.\n\n| a | b |\n|---|---|\n| c | d |\n",
}


def file_seeds() -> list[bytes]:
    """Return files of all formats."""
    from docaps.corpus.formats import FILE_FORMATS

    archives = {"docx": pack({DOCX_TEXT: DOCX.encode()}), "odt": pack({ODT_TEXT: ODT.encode()})}
    contents = {**archives, **{name: text.encode() for name, text in FILES.items()}}
    named = [bytes([number]) + contents[name] for number, name in enumerate(FILE_FORMATS)]
    return [*named, b"\x80" + DOCX.encode(), b"\x81" + ODT.encode()]


def tag_seeds() -> list[bytes]:
    """Return texts with tags, read in several ways."""
    texts = (
        "<doc><p>It <b>was</b> old. &amp; <x/>It <![CDATA[ran]]> away.</p><!-- c --><p>x</p></doc>",
        "a <p> b. <k>c</p> d</k> &lt; < e <x y='>'> f",
    )
    return [bytes([choice]) + text.encode() for text in texts for choice in (0, 1, 10, 23, 32)]


def glossary_seeds() -> list[bytes]:
    """Return glossaries of all kinds."""
    tsv = "# c\nspring|springs\tFeder\tFedern\nUS\tUSA\nit was\tes war\n"
    tbx = (
        '<?xml version="1.0"?><martif><text><body><termEntry><langSet xml:lang="en"><tig><term>house</term></tig>'
        '</langSet><langSet xml:lang="de"><ntig><termGrp><term>Haus</term><termNote type="administrativeStatus">'
        "preferred</termNote></termGrp></ntig></langSet></termEntry></body></text></martif>"
    )
    return [b"\x00" + tsv.encode(), b"\x03" + tbx.encode(), b"\x02a,b\nc,d\n", b'\x04"a, b",c\n', b"\x05a\tb\nc\td\n"]


def form_seeds() -> list[bytes]:
    """Return bodies of all kinds."""
    body = json.dumps({"text": ["It rained."], "target_lang": "DE", "glossary_ids": "a,b"}).encode()
    part = b'--x\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
    form = part % (b"target_lang", b"", b"DE") + part % (b"file", b'; filename="a.txt"', b"It rained.") + b"--x--\r\n"
    fields = part % (b"text[]", b"", "ä".encode()) + part % (b"text[]", b"", b"b") + b"--x--\r\n"
    return [b"\x00" + body, b"\x01text=a+b%20c&text=d&target_lang=DE", b"\x02" + fields, b"\x80" + form, b"\x86" + form]
