"""`docaps divide` reads compressed files and refuses what it cannot divide."""

import gzip
import json
from pathlib import Path

from tests.cli.calling import docaps, succeed


def write(folder: Path, documents: int = 60) -> list[Path]:
    """Write the two sides of a corpus, compressed."""
    found = []
    for language in ("en", "de"):
        text = "".join(f"<d>\n{language} {number}\nyes\n" for number in range(documents))
        found.append(folder / f"text.{language}.gz")
        found[-1].write_bytes(gzip.compress(text.encode()))
    return found


def test_a_corpus_is_divided_and_prepared(tmp_path: Path) -> None:
    pair = write(tmp_path)
    result = succeed("divide", *pair, "--share", "0.3", "--out", tmp_path / "parts")
    assert "prepare --train" in result.err
    made = json.loads((tmp_path / "parts" / "divided.json").read_text())
    assert made["parts"]["drawn"]["documents"] + made["parts"]["rest"]["documents"] == 60
    again = json.loads(succeed("divide", *pair, "--share", "0.3", "--out", tmp_path / "again", "--json").out)
    assert again["drawn"] == made["parts"]["drawn"]
    parts = tmp_path / "parts"
    trained, tested = ([parts / f"{name}.{side}.gz" for side in ("en", "de")] for name in ("rest", "drawn"))
    merges = ("--merges", "10")
    result = succeed(
        "prepare", "--train", *trained, "--dev", *tested, "--out", tmp_path / "prepared", "--json", *merges
    )
    assert json.loads(result.out)["train"]["documents"] == made["parts"]["rest"]["documents"]


def test_bad_input_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    pair = write(tmp_path)
    out = tmp_path / "parts"
    succeed("divide", *pair, "--out", out)
    before = (out / "divided.json").read_bytes()
    result = docaps("divide", *pair, "--out", out)
    assert (result.code, "give --overwrite" in result.err) == (1, True)
    result = docaps("divide", pair[0], tmp_path / "no.de", "--out", out, "--overwrite")
    assert (result.code, "no.de: no such file" in result.err) == (1, True)
    result = docaps("divide", "-", pair[1], "--out", out, "--overwrite")
    assert (result.code, "standard input" in result.err) == (1, True)
    result = docaps("divide", *pair, "--out", pair[0])
    assert (result.code, "is a file" in result.err) == (1, True)
    (out / "notes.txt").write_text("mine")
    result = docaps("divide", *pair, "--out", out, "--overwrite")
    assert (result.code, "notes.txt" in result.err) == (1, True)
    assert (out / "divided.json").read_bytes() == before
