"""DOCX and ODT files as tests need them, and damaged ones."""

import io
import zipfile
from collections.abc import Callable, Mapping

from docaps.corpus.documents import Document
from docaps.corpus.formats import OutputDocument

BOMB = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>'


def pack(members: Mapping[str, bytes | str]) -> bytes:
    """Return a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def unpack(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def damaged(member: str) -> dict[str, tuple[Callable[[bytes], bytes], str]]:
    """Return ways to damage an archive whose text is in a member, and what must be said of each."""

    def with_text(text: bytes) -> Callable[[bytes], bytes]:
        return lambda content: pack({**unpack(content), member: text})

    deep = b"<x>" * 300 + b"</x>" * 300
    return {
        "cut off": (lambda content: content[: len(content) // 2], "the zip archive is damaged or cut off"),
        "flipped": (_flip(member), f"the zip archive is damaged: {member}"),
        "zip bomb": (with_text(b" " * (2**24)), f"{member} would unpack to 16,777,216 bytes from"),
        "xml bomb": (with_text(BOMB), f"{member}: XML with a document type .* is not read"),
        "not well-formed": (with_text(b"<x><y></x>"), f"{member}: not well-formed XML: mismatched tag"),
        "too deep": (with_text(deep), f"{member}: XML with more than 200 elements within each other is not read"),
        "another encoding": (with_text("<x>ü</x>".encode("utf-16")), f"{member} is not UTF-8: save the file again"),
        "another prefix": (with_text(b'<a:b xmlns:a="c"/>'), f"{member} begins with <a:b>, expected <.*:...>: save"),
        "without text": (lambda _: pack({"a": b"b"}), f"it has no {member}"),
    }


def _flip(member: str) -> Callable[[bytes], bytes]:
    def flip(content: bytes) -> bytes:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            info = archive.getinfo(member)
        place = info.header_offset + 30 + len(member) + info.compress_size // 2
        return content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]

    return flip


def upper(document: Document) -> OutputDocument:
    return OutputDocument(document, tuple(sentence.upper() for sentence in document.sentences))
