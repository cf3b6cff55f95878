"""The files below a directory come in the order of their names, however many there are."""

import tracemalloc
from pathlib import Path

import pytest

from docaps.corpus.formats import folder
from docaps.corpus.formats.folder import walk_files


@pytest.mark.parametrize("held", [1, 2, 3, 100])
def test_names_are_in_order_however_many_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(folder, "NAMES_HELD", held)
    names = ["b.txt", "a/2", "a/10", "a\nb", "\u00e4", "a\udcff", "c/d/e", "out/x", ".hidden", "a/.hidden", "z"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [str(path.relative_to(tmp_path)) for path in walk_files(tmp_path, tmp_path / "out")]
    assert found == ["a/10", "a/2", "a\nb", "a\udcff", "b.txt", "c/d/e", "z", "\u00e4"]
    assert next(walk_files(tmp_path)).name == "10"  # the rest is not read


def test_memory_does_not_grow_with_the_number_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "NAMES_HELD", 250)
    peaks = []
    for count in (500, 1500):
        for number in range(count):
            (tmp_path / f"{number:06}").touch()
        tracemalloc.start()
        assert sum(1 for _ in walk_files(tmp_path)) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    growth = (peaks[1] - peaks[0]) / 1000
    assert growth < 45, f"{growth:.0f} bytes for each file"  # a list of the names has 67
