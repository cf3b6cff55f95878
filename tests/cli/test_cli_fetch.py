"""`docaps fetch` brings a corpus together, and says what to do by hand where it cannot."""

import gzip
import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.calling import Result, docaps, listing, succeed
from tests.unit.corpus.fetch.servers import File, Server, running, status

from docaps.corpus.fetch import catalogue

TEXTS = {
    f"{part}.{language}": f"<d>\n{part} {language}.\nTwo.\n<d>\nThree.\n".encode()
    for part in ("train", "dev", "test")
    for language in ("en", "de")
}
PAGE = "https://github.com/sameenmaruf/selective-attn/tree/master/data"
MIRROR = "https://huggingface.co/datasets/gshbao/DocNMT"


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no way to the real network."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(catalogue.KnownCorpus, "addresses", lambda _: {})
    monkeypatch.setattr(time, "sleep", lambda _: None)
    return tmp_path


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that has all files."""
    with running() as found:
        found.answers = {f"/ted/{name}": File(text) for name, text in TEXTS.items()}
        yield found


def fetch(server: Server, *more: str) -> Result:
    return docaps("fetch", "ted", "--from", server.url("/{corpus}/{part}.{language}"), *more)


def put(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(TEXTS[name])


def test_a_corpus_is_fetched_checked_and_written_down(desk: Path, server: Server) -> None:
    result = fetch(server)
    assert result.code == 0, result.err
    found = listing(desk / "data" / "ted")
    record = json.loads(found.pop("fetch.json") or b"")
    assert found == TEXTS
    assert record["corpus"] == "ted"
    for name, text in TEXTS.items():
        entry = record["files"][name]
        assert entry.pop("time").endswith("+00:00")
        digest = hashlib.sha256(text).hexdigest()
        assert entry == {"url": server.url(f"/ted/{name}"), "bytes": len(text), "sha256": digest}
        assert f"data/ted/{name}: {len(text)} bytes, SHA-256 {digest}" in result.err
    rows = [line.replace("│", " ").split() for line in result.out.splitlines()]
    assert ["dev", "2", "3", "1.50", "8,967", "96.42"] in rows
    assert "TED talks (IWSLT 2017) in data/ted" in result.out
    assert "corpus data/ted/train.en data/ted/train.de" in result.err
    options = " ".join(f"--{part} data/ted/{part}.en data/ted/{part}.de" for part in ("train", "dev", "test"))
    assert f"prepare --recipe paper {options} --out data/ted-prepared" in result.err


def test_the_next_command_is_right(desk: Path, server: Server) -> None:
    command = next(line for line in fetch(server, "-o", "my").err.splitlines() if " prepare " in line)
    words = command.split(" docaps ")[-1].split()
    assert json.loads(succeed(*words, "--merges", "3", "--json").out)["train"]["sentences"] == 3


def test_nothing_is_fetched_twice_without_overwrite(desk: Path, server: Server) -> None:
    fetch(server)
    asked = len(server.asked)
    before = listing(desk)
    assert fetch(server).code == 0
    assert succeed("fetch", "ted").out.count("8,967") == 1
    assert (len(server.asked), listing(desk)) == (asked, before)
    server.answers["/ted/dev.en"] = File(TEXTS["dev.en"] + b"Four.\n")
    server.answers["/ted/dev.de"] = File(TEXTS["dev.de"] + b"Vier.\n")
    result = json.loads(fetch(server, "--overwrite", "--json").out)
    assert len(server.asked) == 2 * asked
    assert result["parts"]["dev"]["sentences"] == 4


def test_files_put_in_place_by_hand_are_taken_as_they_are(desk: Path, server: Server) -> None:
    put(desk / "data" / "ted", *TEXTS)
    (desk / "data" / "ted" / "train.en").write_bytes(gzip.compress(TEXTS["train.en"]))
    found = json.loads(succeed("fetch", "ted", "--json").out)
    assert {entry["state"] for entry in found["files"].values()} == {"in place"}
    assert found["parts"]["train"] == {"documents": 2, "sentences": 3, "average_document_length": 1.5}
    assert (found["missing"], found["fault"], found["path"]) == ([], None, "data/ted")
    assert server.asked == []


def test_only_what_is_missing_is_fetched(desk: Path, server: Server) -> None:
    put(desk / "here", "train.en", "train.de")
    found = json.loads(fetch(server, "--json", "-o", "here").out)
    assert {name: entry["state"] for name, entry in found["files"].items()} == {
        name: "in place" if name.startswith("train") else "fetched" for name in TEXTS
    }
    assert "url" not in found["files"]["train.en"]
    assert found["files"]["dev.en"]["url"] == server.url("/ted/dev.en")


def test_without_addresses_it_says_which_files_to_put_where(desk: Path) -> None:
    result = docaps("fetch", "ted")
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        "docaps: ted: 6 of 6 files missing. Put them here, plain or gzip:\n"
        "  data/ted/train.en\n  data/ted/train.de\n  data/ted/dev.en\n  data/ted/dev.de\n"
        "  data/ted/test.en\n  data/ted/test.de\n"
        f"    from {PAGE}/IWSLT2017 or {MIRROR}\n"
        "One sentence a line, a line <d> before each document, the same lines on both sides.\n"
        "Then type the same command again; or give the files' addresses with --from or --catalogue.\n"
    )
    assert listing(desk) == {}


def test_the_original_file_names_are_shown(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = catalogue.RemoteFile("http://127.0.0.1:9/data/concatenated_dev.txt")
    monkeypatch.setattr(catalogue.KnownCorpus, "addresses", lambda _: {"dev.en": address})
    result = docaps("fetch", "ted", "--attempts", "1")
    assert "  data/ted/train.de\n  data/ted/dev.en (there: concatenated_dev.txt)\n  data/ted/dev.de\n" in result.err


def test_files_under_other_names_are_noticed(desk: Path) -> None:
    put(desk / "data" / "ted", "dev.en")
    for name in ("ted.zip", "train.en.gz", ".hidden", "train.en.partial"):
        (desk / "data" / "ted" / name).write_bytes(b"x")
    expected = "In data/ted there is also ted.zip, train.en.gz: unpack archives, and give files these names.\n"
    assert expected in docaps("fetch", "ted").err
    for number in range(9):
        (desk / "data" / "ted" / f"{number}").write_bytes(b"x")
    assert "there is also 0, 1, 2, 3, 4, ...: unpack" in docaps("fetch", "ted").err


def test_an_archive_in_place_of_a_text_leaves_a_next_step(desk: Path, server: Server) -> None:
    server.answers["/ted/dev.de"] = File(b"PK\x03\x04archive")
    for _ in range(2):
        result = fetch(server)
        assert (result.code, result.out) == (1, "")
        assert "data/ted/dev.de: this is a zip archive, not a text file: unpack or convert it first. Put" in result.err
        assert "in its place, then type the same command again (or fetch it again: --overwrite)\n" in result.err
    put(desk / "data" / "ted", "dev.de")
    assert fetch(server).code == 0


def test_each_part_is_sought_on_its_own_page(desk: Path) -> None:
    put(desk / "n", "dev.en", "dev.de", "test.en")
    result = docaps("fetch", "news", "--out", "n", "--json")
    assert result.code == 1
    found = json.loads(result.out)
    assert found["missing"] == ["train.en", "train.de", "test.de"]
    assert list(found["parts"]) == ["dev"]
    dropbox = f"    from {MIRROR} or the Dropbox folder that is named on {PAGE}\n"
    assert f"  n/train.en\n  n/train.de\n{dropbox}  n/test.de\n    from {PAGE}/NC-2016 or {MIRROR}\n" in result.err


def test_without_a_network_it_says_so_and_what_to_do(desk: Path, server: Server) -> None:
    server.server_close()
    result = fetch(server)
    assert (result.code, result.out) == (1, "")
    assert (
        f"docaps: {server.url('/ted/train.en')}: cannot be reached (Connection refused)\nted: 6 of 6 files"
        in result.err
    )
    assert listing(desk) == {}


def test_a_fault_keeps_what_was_fetched_before_and_asks_for_nothing_more(desk: Path, server: Server) -> None:
    server.answers["/ted/dev.en"] = status(404)
    result = fetch(server)
    assert result.code == 1
    assert (
        f"docaps: {server.url('/ted/dev.en')}: the server answered 404 Not Found: is the address right?" in result.err
    )
    assert "ted: 4 of 6 files missing" in result.err
    assert sorted(listing(desk / "data" / "ted")) == ["fetch.json", "train.de", "train.en"]
    assert len(server.asked) == 3
    server.answers["/ted/dev.en"] = File(TEXTS["dev.en"])
    assert fetch(server).code == 0
    assert len(server.asked) == 7


def test_a_fault_while_overwriting_keeps_the_old_file_and_is_reported(desk: Path, server: Server) -> None:
    fetch(server)
    before = listing(desk)
    server.answers["/ted/train.en"] = status(404)
    result = fetch(server, "--overwrite")
    assert (result.code, result.out) == (1, "")
    assert "the server answered 404 Not Found" in result.err
    assert "missing" not in result.err
    assert listing(desk) == before
    Path("c.toml").write_text(f'[files."dev.en"]\nurl = "https://a/b"\nsha256 = "{"0" * 64}"\n')
    result = fetch(server, "--overwrite", "--catalogue", "c.toml")
    assert "train.en: the server answered 404 Not Found" in result.err


def test_a_broken_download_is_kept_aside_and_goes_on(desk: Path, server: Server) -> None:
    server.answers["/ted/train.en"] = File(TEXTS["train.en"], breaks=[5, 5])
    result = fetch(server, "--attempts", "2")
    assert result.code == 1
    assert "broke after 10 of 30 bytes (attempt 2 of 2). 10 bytes are kept: the same command goes on" in result.err
    assert sorted(listing(desk / "data" / "ted")) == ["train.en.partial", "train.en.partial.json"]
    assert fetch(server).code == 0
    assert server.ranges()[2] == "bytes=10-"
    assert {name: text for name, text in listing(desk / "data" / "ted").items() if name != "fetch.json"} == TEXTS


def test_a_catalogue_is_checked_against_what_comes(desk: Path, server: Server) -> None:
    name = "dev.en"
    put(desk / "data" / "ted", *(other for other in TEXTS if other != name))
    entry = f'[files."{name}"]\nurl = "{server.url(f"/ted/{name}")}"\n'
    right = hashlib.sha256(TEXTS[name]).hexdigest()
    Path("bad.toml").write_text(entry + f'sha256 = "{"0" * 64}"\n')
    Path("good.toml").write_text(entry + f'sha256 = "{right}"\nsize = {len(TEXTS[name])}\n')
    result = docaps("fetch", "ted", "--catalogue", "bad.toml")
    assert result.code == 1
    assert f"its SHA-256 is {right}, expected {'0' * 64}: nothing was kept" in result.err
    assert not list((desk / "data" / "ted").glob(f"{name}*"))
    succeed("fetch", "ted", "--catalogue", "good.toml")
    result = docaps("fetch", "ted", "--catalogue", "bad.toml")
    assert result.code == 1
    assert f"data/ted/{name}: its SHA-256 is {right}, expected {'0' * 64}: give --overwrite" in result.err
    Path("long.toml").write_text(entry + "size = 999\n")
    result = docaps("fetch", "ted", "--catalogue", "long.toml")
    assert f"data/ted/{name}: has {len(TEXTS[name])} bytes, expected 999: give --overwrite" in result.err


def test_a_colleague_gets_the_same_files_with_our_record(desk: Path, server: Server) -> None:
    fetch(server)
    succeed("fetch", "ted", "--catalogue", "data/ted/fetch.json", "--out", "theirs")
    assert {name: text for name, text in listing(desk / "theirs").items() if name != "fetch.json"} == TEXTS


def test_files_that_are_not_parallel_are_reported(desk: Path, server: Server) -> None:
    server.answers["/ted/dev.de"] = File(b"<d>\nEins.\n")
    result = fetch(server)
    assert (result.code, result.out) == (1, "")
    assert "data/ted/dev.de:1: document 1 (near line 1) has 2 sentences in data/ted/dev.en, but 1 in" in result.err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("fetch tedd", "no public corpus 'tedd'; did you mean 'ted'?"),
        ("fetch ted --from https://a/b", "--from https://a/b: needs {part} and {language}"),
        ("fetch ted --from file:///x/{part}.{language}", "file:///x/train.en: not an address of a file on the network"),
        ("fetch ted --catalogue absent.toml", "absent.toml: no such catalogue"),
        ("fetch news --out other", "other/fetch.json: belongs to ted, not to news: choose another --out"),
        ("fetch news --out broken", "broken/fetch.json:1: not valid JSON"),
        ("fetch news --out strange", "strange/fetch.json: does not describe a fetched corpus: choose another --out"),
    ],
)
def test_a_fault_is_reported_and_nothing_is_written(desk: Path, command: str, message: str) -> None:
    for folder, text in (("other", '{"corpus": "ted", "files": {}}'), ("broken", "{"), ("strange", "[]")):
        (desk / folder).mkdir()
        (desk / folder / "fetch.json").write_text(text)
    before = listing(desk)
    result = docaps(*command.split())
    assert (result.code, result.out) == (1, "")
    assert f"docaps: {message}" in result.err
    assert listing(desk) == before


def test_an_output_folder_that_is_a_file_is_refused(desk: Path, server: Server) -> None:
    (desk / "file").write_text("mine")
    result = fetch(server, "--out", "file")
    assert result.code == 1
    assert "docaps: file" in result.err
    assert listing(desk) == {"file": b"mine"}


def test_numbers_out_of_range_are_refused() -> None:
    for option in ("--attempts", "--timeout"):
        result = docaps("fetch", "ted", option, "0")
        assert result.code == 2
        assert f"Invalid value for '{option}'" in result.err
