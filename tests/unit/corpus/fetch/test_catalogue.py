"""The catalogue: addresses at fixed commits only; a user's own is checked before anything is fetched."""

import json
import re
from pathlib import Path

import pytest

from docaps.corpus.fetch.catalogue import expand, find_addresses, known_corpora, known_corpus
from docaps.corpus.fetch.download import RemoteFile
from docaps.errors import ConfigError, FetchError

TED = known_corpus("ted")
NAMES = ["train.en", "train.de", "dev.en", "dev.de", "test.en", "test.de"]
HASH = "ab" * 32


def test_the_three_corpora_of_the_paper_are_known_with_its_table_1() -> None:
    sizes = {
        name: [(part.sentences, part.average) for part in corpus.parts.values()]
        for name, corpus in known_corpora().items()
    }
    assert sizes == {
        "ted": [(206_126, 121.39), (8_967, 96.42), (2_271, 98.74)],
        "news": [(236_287, 38.93), (2_169, 26.78), (2_999, 19.35)],
        "europarl": [(1_666_904, 14.14), (3_587, 14.95), (5_134, 14.26)],
    }
    assert all(list(corpus.names()) == NAMES for corpus in known_corpora().values())


def test_only_files_at_a_fixed_commit_of_the_authors_repository_have_an_address() -> None:
    fixed = r"https://raw\.githubusercontent\.com/sameenmaruf/selective-attn/[0-9a-f]{40}/data/\w+[-\w]*/"
    for corpus in known_corpora().values():
        found = corpus.addresses()
        assert list(found) == ["dev.en", "dev.de", "test.en", "test.de"]
        for name, address in found.items():
            part, language = name.split(".")
            assert re.fullmatch(rf"{fixed}concatenated_en2de_{part}_{language}\.txt", address.url)
            assert (address.sha256, address.size) == (None, None)


def test_every_part_has_a_page() -> None:
    pages = [page for corpus in known_corpora().values() for part in corpus.parts.values() for page in part.pages]
    assert len(pages) == 18
    homes = ("github.com/sameenmaruf/selective-attn/tree/master/data", "huggingface.co/datasets/gshbao/DocNMT")
    assert all(any(home in page for home in homes) for page in pages)


def test_a_mistyped_corpus_is_answered_with_the_nearest() -> None:
    with pytest.raises(FetchError, match=r"no public corpus 'europal'; did you mean 'europarl'\?"):
        known_corpus("europal")
    with pytest.raises(FetchError, match="no public corpus 'xyz'; known: ted, news, europarl"):
        known_corpus("xyz")


def test_a_pattern_is_filled_for_every_file() -> None:
    found = expand("https://a/{corpus}/{part}/{language}.{part}", TED)
    assert list(found) == NAMES
    assert found["dev.de"] == "https://a/ted/dev/de.dev"


FAULTS = [
    ("https://a/{part}.{lang}", "--from https://a/{part}.{lang}: unknown placeholder {lang}; known: {corpus}, {part}"),
    ("https://a/{part}", "--from https://a/{part}: needs {part} and {language}, or all files would be the same"),
    ("https://a/b", "--from https://a/b: needs {part} and {language}"),
    ("file:///{part}.{language}", "file:///train.en: not an address of a file on the network"),
]


@pytest.mark.parametrize(("pattern", "message"), FAULTS)
def test_a_pattern_that_cannot_be_used_is_reported(pattern: str, message: str) -> None:
    with pytest.raises(FetchError, match=re.escape(message)):
        find_addresses(TED, pattern, None)


def test_a_catalogue_goes_before_a_pattern_and_a_pattern_before_what_comes_along(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(f'[files."dev.en"]\nurl = "https://c/dev"\nsha256 = "{HASH.upper()}"\nsize = 7\n')
    assert find_addresses(TED, None, None) == TED.addresses()
    found = find_addresses(TED, "https://p/{part}.{language}", path)
    assert found["dev.en"] == RemoteFile("https://c/dev", HASH, 7)
    assert found["dev.de"] == RemoteFile("https://p/dev.de")
    assert found["train.de"] == RemoteFile("https://p/train.de")
    found = find_addresses(TED, None, path)
    assert found["dev.de"] == TED.addresses()["dev.de"]
    assert "train.en" not in found


def test_what_was_fetched_is_a_catalogue(tmp_path: Path) -> None:
    path = tmp_path / "fetch.json"
    entry = {"url": "https://c/x", "bytes": 5, "sha256": HASH, "time": "2019-11-03T09:00:00+00:00"}
    path.write_text(json.dumps({"corpus": "ted", "files": {"train.de": entry}}))
    assert find_addresses(TED, None, path)["train.de"] == RemoteFile("https://c/x", HASH, 5)
    with pytest.raises(ConfigError, match=r"fetch\.json: is a catalogue of ted, not of news"):
        find_addresses(known_corpus("news"), None, path)


GOOD = '[files."train.en"]\nurl = "https://a/b"\n'
BROKEN = [
    ("c.toml", '[files."train.eng"]\nurl = "https://a/b"', "train.eng: no file of ted; did you mean 'train.en'?"),
    ("c.toml", '[files."x"]\nurl = "https://a/b"', "x: no file of ted; known: train.en, train.de, dev.en"),
    ("c.toml", f"{GOOD}sha = 'x'", "files.train.en.sha: unknown key; did you mean 'sha256'?"),
    ("c.toml", f"{GOOD}sha256 = 'x'", "files.train.en.sha256: String should match pattern"),
    ("c.toml", f"{GOOD}size = 0", "(found 0)"),
    ("c.toml", '[files."train.en"]\nsize = 3', "files.train.en.url: Field required"),
    ("c.toml", f'{GOOD}[files."train.de"]\nurl = "https://a/b"', "train.en and train.de have the same address: https"),
    ("c.toml", '[files."train.en"]\nurl = "file:///a"', "file:///a: not an address of a file on the network"),
    ("c.toml", "[files", "c.toml: not valid as TOML: "),
    ("c.json", "{", "c.json: not valid as a JSON object: "),
    ("c.json", "[1]", "c.json: not valid as a JSON object: "),
    ("c.json", "{}", "files: Field required"),
]


@pytest.mark.parametrize(("name", "text", "message"), BROKEN, ids=[message for _, _, message in BROKEN])
def test_a_catalogue_that_cannot_be_used_is_reported(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises((ConfigError, FetchError), match=re.escape(message)):
        find_addresses(TED, None, tmp_path / name)


def test_a_catalogue_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent: no such catalogue"):
        find_addresses(TED, None, tmp_path / "absent")
    with pytest.raises(ConfigError, match=r"cannot be read: .*directory"):
        find_addresses(TED, None, tmp_path)
