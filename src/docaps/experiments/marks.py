"""Generated parts of a Markdown file: they stand between two marks and are replaced as a whole."""

from pathlib import Path

from docaps.errors import RunError
from docaps.files import replacing


def split_at_marks(path: Path, name: str) -> tuple[bytes, bytes]:
    """Return what stands before and after the part of `name`, marks included; refuse a file without the marks."""
    begin, end = (f"<!-- {word} {name} -->" for word in ("begin", "end"))
    if not path.is_file():
        raise RunError(f"no such file; it should hold the lines {begin} and {end}", path=path)
    before, opened, rest = path.read_bytes().partition(begin.encode())
    _, closed, after = rest.partition(end.encode())
    if not opened or not closed:
        raise RunError(f"expected the lines {begin} and, after it, {end}", path=path)
    return before + opened, closed + after


def put_between_marks(path: Path, name: str, text: str) -> None:
    """Replace what stands between the marks of `name` in a file; the rest of the file stays as it is."""
    before, after = split_at_marks(path, name)
    with replacing(path) as temporary:
        temporary.write_bytes(before + f"\n{text.strip()}\n".encode() + after)
