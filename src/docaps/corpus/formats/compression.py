"""Compressed files: gzip and zstd, known by their first bytes and unpacked while they are read.

Archives and other packers are known too, so that a message can say what to do about them.
"""

import gzip
import io
import zlib
from typing import BinaryIO, cast

GZIP_MAGIC = b"\x1f\x8b"
ZSTANDARD_MAGIC = b"\x28\xb5\x2f\xfd"
BROKEN = (EOFError, gzip.BadGzipFile, zlib.error)
FOREIGN = {
    GZIP_MAGIC: "compressed twice",
    ZSTANDARD_MAGIC: "compressed twice",
    b"PK\x03\x04": "a zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\xfd7zXZ\0": "an xz file",
    b"BZh91AY&SY": "a bzip2 file",
    b"%PDF-": "a PDF",
}
TAR_MAGIC, TAR_START, TAR_END = b"ustar", 257, 262
PIECE = 4096  # packed bytes at a time: even the densest unpack to some 100 MB


class DamageError(Exception):
    """Compressed data that cannot be unpacked."""


class ZstandardFile(io.RawIOBase):
    """Unpack zstd frames one after another; a file that ends within a frame is damaged, as it is for gzip."""

    def __init__(self, file: io.BufferedReader) -> None:
        import zstandard

        self._file = file
        self._unpacker = zstandard.ZstdDecompressor()
        self._frame = self._unpacker.decompressobj()
        self._within = False
        self._packed = self._ready = b""

    def readable(self) -> bool:
        """Say that this can be read."""
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        """Put unpacked bytes into `buffer`; 0 is the end."""
        while not self._ready:
            if not self._unpack():
                return 0
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _unpack(self) -> bool:
        """Unpack the next piece; False at the end of the file."""
        import zstandard

        piece = self._packed or self._file.read1(PIECE)
        if not piece:
            if self._within:
                raise DamageError("it ends too early")
            return False
        try:
            self._ready = self._frame.decompress(piece)
        except zstandard.ZstdError as fault:
            raise DamageError(str(fault)) from None
        self._within = not self._frame.eof
        self._packed = b"" if self._within else self._frame.unused_data
        if not self._within:
            self._frame = self._unpacker.decompressobj()
        return True


def unpack(file: io.BufferedReader) -> BinaryIO:
    """Look at the first bytes of a file, without taking them, and unpack it if it is compressed."""
    start = file.peek(4)[:4]
    if start[:2] == GZIP_MAGIC:
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if start == ZSTANDARD_MAGIC:
        return io.BufferedReader(ZstandardFile(file), 1 << 16)
    return file


def name_content(unpacked: BinaryIO) -> str | None:
    """Name what a file holds that is no text, by its first bytes, without taking them."""
    try:
        start = cast(io.BufferedReader, unpacked).peek(TAR_END)[:TAR_END]
    except BROKEN as fault:
        raise DamageError(str(fault)) from None
    if start[TAR_START:] == TAR_MAGIC:
        return "a tar archive"
    return next((name for magic, name in FOREIGN.items() if start.startswith(magic)), None)


def read_line(file: BinaryIO, limit: int) -> bytes:
    """Read one line of at most `limit` bytes; raise `DamageError` if the compressed data is broken here."""
    try:
        return file.readline(limit)
    except BROKEN as fault:
        raise DamageError(str(fault)) from None
