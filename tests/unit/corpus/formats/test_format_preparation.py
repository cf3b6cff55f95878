"""A corpus is prepared to the same store from every format: the one that `<d>` lines give."""

import gzip
import itertools
import tempfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from docaps.config import PreparationSettings
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.formats import FORMATS, write_parallel
from docaps.corpus.preparation import CorpusFiles, prepare

FORMS = [
    *(name for name in FORMATS if name not in ("lines", "text")),
    "directory",
]  # running text is cut where its splitter cuts
SETTINGS = PreparationSettings(merges=10, minimum_frequency=1)
WORDS = st.sampled_from(
    ["Anna", "left", ".", "it's", "<seg>", "&amp;", "|||", '"', "</w>", "@@", "\u200b", "Ärger", "漢字"]
)
SENTENCES = st.one_of(st.just(""), st.lists(WORDS, min_size=1, max_size=5).map(lambda words: " ".join(["So", *words])))
PACKERS = {"plain": bytes, "gzip": gzip.compress, "zstd": zstandard.compress}


@st.composite
def corpora(draw: st.DrawFn) -> list[ParallelDocument]:
    """Some documents, the first with a word in it."""
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    sides = [[draw(st.lists(SENTENCES, min_size=size, max_size=size)) for size in lengths] for _ in range(2)]
    sides[0][0][0] = "So Anna left."
    pairs = zip(*sides, strict=True)
    return [ParallelDocument(tuple(one), tuple(other), f"{number}") for number, (one, other) in enumerate(pairs)]


def store_hash(folder: Path, name: str, inputs: tuple[Path, Path], named: str | None = None) -> str:
    """Prepare a corpus that is its own development part, and return the hash of all its files."""
    parts = {"train": inputs, "dev": inputs}
    store, built = prepare(CorpusFiles(parts, format=named), SETTINGS, folder / f"{name}-prepared", workers=1)
    assert built
    return store.hash


def pack(path: Path, packer: str, end: bytes) -> None:
    """Compress the files of a text, and give them other line ends."""
    for place in [path, *path.parent.glob(f"{path.name}.starts")] if path.is_file() else path.iterdir():
        place.write_bytes(PACKERS[packer](place.read_bytes().replace(b"\n", end)))


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=5, deadline=None)
@given(
    documents=corpora(), packers=st.tuples(*[st.sampled_from([*PACKERS])] * 2), end=st.sampled_from([b"\n", b"\r\n"])
)
def test_every_format_gives_the_store_of_marked_lines(
    name: str, documents: list[ParallelDocument], packers: tuple[str, str], end: bytes
) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        plain = folder / "plain.en", folder / "plain.de"
        write_parallel(*plain, documents)
        other = folder / "other.source", folder / "other.target"
        write_parallel(*other, documents, name)
        for path, packer in zip(other, packers, strict=True):
            pack(path, packer, end)
        assert store_hash(folder, "other", other, name) == store_hash(folder, "plain", plain)


@pytest.mark.parametrize("name", [name for name, found in FORMATS.items() if found.two_sided])
@settings(max_examples=5, deadline=None)
@given(documents=corpora())
def test_one_file_of_both_sides_gives_it_too(name: str, documents: list[ParallelDocument]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        plain = folder / "plain.en", folder / "plain.de"
        write_parallel(*plain, documents)
        write_parallel(folder / "both", folder / "both", documents, name)
        assert store_hash(folder, "both", (folder / "both",) * 2) == store_hash(folder, "plain", plain)


@pytest.mark.parametrize("names", [*itertools.product(["lines", "blank", "jsonl", "xml"], ["starts", "bars", "sgml"])])
def test_two_sides_may_differ_in_format_and_compression(names: tuple[str, str], tmp_path: Path) -> None:
    documents = [ParallelDocument(("Anna left.", "So?"), ("Anna ging.", "Na und?"), "1")]
    documents += [ParallelDocument(("It rained.",), ("Es regnete.",), "2")]
    sides = tmp_path / "side.en", tmp_path / "side.de"
    for path, name in zip(sides, names, strict=True):
        other = tmp_path / "other"
        write_parallel(*((path, other) if path is sides[0] else (other, path)), documents, name)
    pack(sides[0], "gzip", b"\r\n")
    pack(sides[1], "zstd", b"\n")
    plain = tmp_path / "plain.en", tmp_path / "plain.de"
    write_parallel(*plain, documents)
    assert store_hash(tmp_path, "mixed", sides) == store_hash(tmp_path, "plain", plain)
