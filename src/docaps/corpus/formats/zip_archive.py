"""Zip archives: some members are read, within limits, and changed; every other byte of an archive stays as it is."""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from itertools import pairwise

from docaps.corpus.formats.format import ReadingOptions

LARGEST_ARCHIVE = 2**28
"""Bytes of the largest archive that is read; pictures make most of a large one."""
LARGEST_MEMBER = 2**26
"""Bytes of the largest member that is unpacked."""
LARGEST_TOTAL = 2**27
"""Bytes of all members together that are unpacked."""
DENSEST, SMALL = 250, 2**23
"""How many times its packed size a member of more than some bytes may have; text has about 20 times."""
MOST_MEMBERS = 20_000
_LOCAL, _CENTRAL = "<4s5H3L2H", "<4s6H3L5H2L"
_LOCAL_SIZE, _CENTRAL_SIZE = struct.calcsize(_LOCAL), struct.calcsize(_CENTRAL)
_ENCRYPTED, _DESCRIPTOR, _UTF8 = 1, 1 << 3, 1 << 11
_FAULTS = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, OSError, ValueError, KeyError)


class ZipArchive:
    """The members of an archive, which is held in memory."""

    def __init__(self, content: bytes, options: ReadingOptions) -> None:
        self._content, self._options, self._unpacked = content, options, 0
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
        except _FAULTS as fault:
            raise options.fault(f"the zip archive is damaged or cut off: {fault}") from None
        self._members = {info.filename: info for info in self._zip.infolist()}
        if any(not 0 <= info.header_offset < self._zip.start_dir for info in self._members.values()):
            raise options.fault("the zip archive is damaged: its directory names places outside of it")
        if len(self._members) < len(self._zip.infolist()):
            raise options.fault("the zip archive has two members of the same name")
        if len(self._members) > MOST_MEMBERS:
            raise options.fault(f"the zip archive has more than {MOST_MEMBERS:,} members")

    @property
    def names(self) -> list[str]:
        """The names of all members."""
        return [*self._members]

    def read(self, name: str) -> bytes:
        """Unpack a member."""
        member = self._members[name]
        if member.flag_bits & _ENCRYPTED:
            raise self._options.fault(f"{name} is encrypted: save the file without a password")
        size, packed = member.file_size, max(1, member.compress_size)
        if size > LARGEST_MEMBER or (size > SMALL and size > DENSEST * packed):
            message = f"{name} would unpack to {size:,} bytes from {packed:,}, more than is read"
            raise self._options.fault(message)
        self._unpacked += size
        if self._unpacked > LARGEST_TOTAL:
            raise self._options.fault(f"its text would unpack to more than {LARGEST_TOTAL:,} bytes")
        try:
            with self._zip.open(member) as file:
                return file.read(LARGEST_MEMBER + 1)[:LARGEST_MEMBER]
        except _FAULTS as fault:
            raise self._options.fault(f"the zip archive is damaged: {name}: {fault}") from None


def replace_members(content: bytes, changed: Mapping[str, bytes]) -> bytes:
    """Return an archive with the new contents of some members; all others are copied, packed as they are."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members, directory, comment = archive.infolist(), archive.start_dir, archive.comment
    offsets = sorted({directory, *(member.header_offset for member in members)})
    following = dict(pairwise(offsets))
    parts, records, position = list[bytes](), list[bytes](), 0
    for member in members:
        record = content[member.header_offset : following[member.header_offset]]
        entry = _central_record(content, directory)
        directory += len(entry)
        if member.filename in changed:
            record, entry = _pack(entry, changed[member.filename])
        parts.append(record)
        records.append(_with_offset(entry, position))
        position += len(record)
    listing = b"".join(records)
    count = len(members)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(listing), position, len(comment))
    return b"".join((*parts, listing, end, comment))


def _central_record(content: bytes, start: int) -> bytes:
    """Return the record of the central directory that starts at a position."""
    lengths = struct.unpack_from("<3H", content, start + 28)  # of the name, the extra field, the comment
    return content[start : start + _CENTRAL_SIZE + sum(lengths)]


def _with_offset(entry: bytes, offset: int) -> bytes:
    """Return a record of the central directory that points to another place."""
    return entry[:42] + struct.pack("<L", offset) + entry[46:]


def _pack(entry: bytes, content: bytes) -> tuple[bytes, bytes]:
    """Return the two records of a member with a new content, its name, time and rights kept."""
    fields = list(struct.unpack_from(_CENTRAL, entry))
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = packer.compress(content) + packer.flush()
    flags = fields[3] & _UTF8
    changes = (flags, zipfile.ZIP_DEFLATED, *fields[5:7], zlib.crc32(content), len(packed), len(content))
    fields[2], fields[3:10] = 20, list(changes)
    name_size, extra_size, comment_size = fields[10:13]
    name = entry[_CENTRAL_SIZE : _CENTRAL_SIZE + name_size]
    comment = entry[_CENTRAL_SIZE + name_size + extra_size :][:comment_size]
    fields[11] = 0
    local = struct.pack(_LOCAL, b"PK\3\4", 20, *changes, name_size, 0)
    return local + name + packed, struct.pack(_CENTRAL, *fields) + name + comment
