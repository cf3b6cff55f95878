"""Compressed files: gzip and zstd, known by their first bytes and unpacked while they are read."""

import gzip
import io
import zlib
from typing import BinaryIO, cast

GZIP_MAGIC = b"\x1f\x8b"
ZSTANDARD_MAGIC = b"\x28\xb5\x2f\xfd"
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


def read_line(file: BinaryIO, limit: int) -> bytes:
    """Read one line of at most `limit` bytes; raise `DamageError` if the compressed data is broken here."""
    try:
        return file.readline(limit)
    except (EOFError, gzip.BadGzipFile, zlib.error) as fault:
        raise DamageError(str(fault)) from None
