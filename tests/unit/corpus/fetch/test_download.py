"""Downloads are complete and verified, or leave no file, whatever the server does."""

import hashlib
import json
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.calling import listing
from tests.unit.corpus.fetch.servers import File, Handler, Server, redirect, running, sleeping, status

from docaps.corpus.fetch.download import (
    MOST_REDIRECTS,
    RemoteFile,
    RetryPolicy,
    check_redirect,
    check_url,
    download,
)
from docaps.errors import FetchError

CONTENT = bytes(range(256)) * 1000
HASH = hashlib.sha256(CONTENT).hexdigest()
QUICK = RetryPolicy(attempts=3, timeout=5, pause=0)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with running() as found:
        yield found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "train.en"


def test_a_file_arrives_whole_and_alone(server: Server, place: Path) -> None:
    server.answers["/a"] = File(CONTENT)
    assert download(RemoteFile(server.url("/a"), HASH, len(CONTENT)), place, QUICK) == HASH
    assert listing(place.parent) == {"train.en": CONTENT}
    ((_, headers),) = server.asked
    assert headers["user-agent"].startswith("docaps/")
    assert "range" not in headers


def test_a_broken_download_goes_on_where_it_broke(server: Server, place: Path) -> None:
    server.answers["/a"] = file = File(CONTENT, breaks=[100_000, 50_000])
    assert download(RemoteFile(server.url("/a")), place, QUICK) == HASH
    assert server.ranges() == [None, "bytes=100000-", "bytes=150000-"]
    assert server.asked[1][1]["if-range"] == file.etag
    assert listing(place.parent) == {"train.en": CONTENT}


def test_a_later_call_goes_on_where_the_last_one_gave_up(server: Server, place: Path) -> None:
    server.answers["/a"] = File(CONTENT, breaks=[1000, 1000, 1000])
    message = r"the connection broke after 3,000 of 256,000 bytes \(attempt 3 of 3\)\. 3,000 bytes are kept"
    with pytest.raises(FetchError, match=message):
        download(RemoteFile(server.url("/a")), place, QUICK)
    assert sorted(listing(place.parent)) == ["train.en.partial", "train.en.partial.json"]
    assert download(RemoteFile(server.url("/a")), place, QUICK) == HASH
    assert server.ranges()[-1] == "bytes=3000-"
    assert listing(place.parent) == {"train.en": CONTENT}


def test_a_part_that_is_whole_already_is_not_asked_for_again(server: Server, place: Path) -> None:
    place.parent.mkdir()
    (place.parent / "train.en.partial").write_bytes(CONTENT)
    origin = {"url": server.url("/a"), "validator": '"1"', "total": len(CONTENT)}
    (place.parent / "train.en.partial.json").write_text(json.dumps(origin))
    assert download(RemoteFile(server.url("/a")), place, QUICK) == HASH
    assert server.asked == []


def test_a_part_of_another_address_is_not_gone_on_with(server: Server, place: Path) -> None:
    server.answers["/a"], server.answers["/b"] = File(b"x" * 5000, breaks=[1000]), File(CONTENT)
    with pytest.raises(FetchError):
        download(RemoteFile(server.url("/a")), place, RetryPolicy(attempts=1, timeout=5))
    assert download(RemoteFile(server.url("/b")), place, QUICK) == HASH
    assert server.ranges()[-1] is None


def test_a_partial_download_without_validator_is_not_resumed(server: Server, place: Path) -> None:
    server.answers["/a"] = File(CONTENT, breaks=[1000], tag='W/"weak"')
    assert download(RemoteFile(server.url("/a")), place, QUICK) == HASH
    assert server.ranges() == [None, None]


@pytest.mark.parametrize("text", ["{", "[]", '{"url": 1}', '{"url": "u", "validator": null, "total": "many"}'])
def test_a_damaged_note_about_a_part_is_ignored(server: Server, place: Path, text: str) -> None:
    place.parent.mkdir()
    (place.parent / "train.en.partial").write_bytes(b"rubbish")
    (place.parent / "train.en.partial.json").write_text(text)
    server.answers["/a"] = File(CONTENT)
    assert download(RemoteFile(server.url("/a")), place, QUICK) == HASH


def test_a_server_that_ignores_ranges_sends_everything_again(server: Server, place: Path) -> None:
    server.answers["/a"] = File(CONTENT, breaks=[1000], ranges=False)
    assert download(RemoteFile(server.url("/a")), place, QUICK) == HASH
    assert server.ranges() == [None, "bytes=1000-"]


@pytest.mark.parametrize("polite", [True, False])
@pytest.mark.parametrize("size", [200_000, len(CONTENT), 500])
def test_a_file_that_changed_is_downloaded_again(server: Server, place: Path, polite: bool, size: int) -> None:
    server.answers["/a"] = file = File(b"old" * 1000 + CONTENT, breaks=[1000], if_range=polite)

    def change(number: int) -> None:
        if number == 2:
            file.content = CONTENT[:size]

    file.before = change
    assert download(RemoteFile(server.url("/a")), place, QUICK) == hashlib.sha256(CONTENT[:size]).hexdigest()
    assert listing(place.parent) == {"train.en": CONTENT[:size]}


@pytest.mark.parametrize("tag", [None, '"constant"'])
@pytest.mark.parametrize("size", [200_000, len(CONTENT)])
def test_a_change_shows_in_the_mark_or_in_the_size(server: Server, place: Path, tag: str | None, size: int) -> None:
    old = b"x" * len(CONTENT)
    server.answers["/a"] = file = File(old, breaks=[1000], if_range=False, tag=tag)

    def change(number: int) -> None:
        if number == 2:
            file.content = CONTENT[:size]

    file.before = change
    download(RemoteFile(server.url("/a")), place, QUICK)
    unseen = tag is not None and size == len(old)  # a server that says it is the same file has to be believed
    assert place.read_bytes() == (old[:1000] + CONTENT[1000:] if unseen else CONTENT[:size])


def test_another_part_than_was_asked_for_is_refused(server: Server, place: Path) -> None:
    file = File(CONTENT, breaks=[1000])

    def answer(handler: Handler) -> None:
        if handler.offset:
            total = len(CONTENT)
            handler.head(206, ETag=file.etag, Content_Length=10, Content_Range=f"bytes 7-16/{total}")
            handler.wfile.write(b"x" * 10)
        else:
            file(handler)

    server.answers["/a"] = answer
    assert download(RemoteFile(server.url("/a")), place, QUICK) == HASH
    assert server.ranges() == [None, "bytes=1000-", None]


def test_an_announced_length_that_never_comes_is_reported(server: Server, place: Path) -> None:
    server.answers["/a"] = File(CONTENT, length=len(CONTENT) + 9, ranges=False)
    with pytest.raises(FetchError, match=r"broke after 256,000 of 256,009 bytes \(attempt 3 of 3\)"):
        download(RemoteFile(server.url("/a")), place, QUICK)
    assert not place.exists()


def test_a_file_without_announced_length_is_taken(server: Server, place: Path) -> None:
    def answer(handler: Handler) -> None:
        handler.head(200)
        handler.wfile.write(CONTENT)

    server.answers["/a"] = answer
    assert download(RemoteFile(server.url("/a")), place, QUICK) == HASH
    with pytest.raises(FetchError, match=r"/a: has 256,000 bytes, expected 9: nothing was kept"):
        download(RemoteFile(server.url("/a"), size=9), place, QUICK)
    assert listing(place.parent) == {"train.en": CONTENT}


def test_a_file_of_another_size_is_refused_before_it_is_received(server: Server, place: Path) -> None:
    server.answers["/a"] = File(CONTENT)
    with pytest.raises(FetchError, match=r"/a: has 256,000 bytes, expected 9: nothing was kept"):
        download(RemoteFile(server.url("/a"), size=9), place, QUICK)
    assert listing(place.parent) == {}


def test_a_file_of_another_hash_is_not_kept(server: Server, place: Path) -> None:
    server.answers["/a"] = File(CONTENT)
    with pytest.raises(FetchError, match=rf"/a: its SHA-256 is {HASH}, expected {'0' * 64}: nothing was kept"):
        download(RemoteFile(server.url("/a"), sha256="0" * 64), place, QUICK)
    assert listing(place.parent) == {}


@pytest.mark.parametrize("code", [404, 403, 401])
def test_a_refusal_is_reported_at_once(server: Server, place: Path, code: int) -> None:
    server.answers["/a"] = status(code)
    with pytest.raises(FetchError, match=rf"/a: the server answered {code} \w+.*: is the address right\?"):
        download(RemoteFile(server.url("/a")), place, QUICK)
    assert len(server.asked) == 1
    assert not place.parent.exists()


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_server_in_trouble_is_asked_again(server: Server, place: Path, code: int) -> None:
    server.answers["/a"] = status(code)
    with pytest.raises(FetchError, match=rf"/a: the server answered {code} .* \(attempt 3 of 3\)"):
        download(RemoteFile(server.url("/a")), place, QUICK)
    assert len(server.asked) == 3


def test_a_server_that_does_not_answer_is_asked_again(server: Server, place: Path) -> None:
    server.answers["/a"] = sleeping(0.5, File(CONTENT))
    assert download(RemoteFile(server.url("/a")), place, RetryPolicy(attempts=2, timeout=0.2, pause=0)) == HASH
    server.answers["/b"] = sleeping(0.5, File(CONTENT))
    with pytest.raises(FetchError, match=r"/b: the server did not answer in time \(attempt 1 of 1\)"):
        download(RemoteFile(server.url("/b")), place, RetryPolicy(attempts=1, timeout=0.2, pause=0))


def test_a_server_that_falls_silent_in_the_middle_is_asked_for_the_rest(server: Server, place: Path) -> None:
    file = File(CONTENT)

    def answer(handler: Handler) -> None:
        if handler.offset:
            file(handler)
            return
        handler.head(200, ETag=file.etag, Content_Length=len(CONTENT))
        handler.wfile.write(CONTENT[: 1 << 17])
        sleeping(0.6, file)(handler)

    server.answers["/a"] = answer
    assert download(RemoteFile(server.url("/a")), place, RetryPolicy(attempts=2, timeout=0.3, pause=0)) == HASH
    assert server.ranges() == [None, f"bytes={1 << 17}-"]


def test_pauses_grow(server: Server, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("docaps.corpus.fetch.download.time.sleep", pauses.append)
    server.answers["/a"] = status(503)
    with pytest.raises(FetchError):
        download(RemoteFile(server.url("/a")), place, RetryPolicy(attempts=4, timeout=5, pause=1.5))
    assert pauses == [1.5, 3.0, 6.0]


def test_an_unreachable_server_is_reported_at_once(server: Server, place: Path) -> None:
    url = server.url("/a")
    server.server_close()
    with pytest.raises(FetchError, match=rf"{re.escape(url)}: cannot be reached \(Connection refused\)"):
        download(RemoteFile(url), place, QUICK)
    with pytest.raises(FetchError, match=r"http://nowhere\.invalid/a: cannot be reached \("):
        download(RemoteFile("http://nowhere.invalid/a"), place, QUICK)


def test_a_web_page_is_no_file(server: Server, place: Path) -> None:
    server.answers["/a"] = lambda handler: handler.head(200, Content_Type="text/html; charset=utf-8", Content_Length=0)
    with pytest.raises(FetchError, match=r"/a: answers with a web page, not with a file: give the address of the file"):
        download(RemoteFile(server.url("/a")), place, QUICK)
    assert not place.parent.exists()


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirects_are_followed(server: Server, place: Path, code: int) -> None:
    server.answers["/a"] = redirect("b", code)
    server.answers["/b"] = redirect(server.url("/c"), code)
    server.answers["/c"] = File(CONTENT, breaks=[1000])
    assert download(RemoteFile(server.url("/a")), place, QUICK) == HASH
    assert [path for path, _ in server.asked] == ["/a", "/b", "/c", "/a", "/b", "/c"]
    assert server.ranges()[-1] == "bytes=1000-"


def test_redirects_come_to_an_end(server: Server, place: Path) -> None:
    server.answers["/a"] = redirect("/a")
    with pytest.raises(FetchError, match=r"/a: redirected more than 5 times"):
        download(RemoteFile(server.url("/a")), place, QUICK)
    assert len(server.asked) == MOST_REDIRECTS + 1


def test_as_many_redirects_as_allowed_are_followed(server: Server, place: Path) -> None:
    for number in range(MOST_REDIRECTS):
        server.answers[f"/{number}"] = redirect(f"/{number + 1}")
    server.answers[f"/{MOST_REDIRECTS}"] = File(CONTENT)
    assert download(RemoteFile(server.url("/0")), place, QUICK) == HASH


def test_a_redirect_that_leads_nowhere_is_reported(server: Server, place: Path) -> None:
    server.answers["/a"] = status(302)
    with pytest.raises(FetchError, match=r"/a: the server answered 302 Found"):
        download(RemoteFile(server.url("/a")), place, QUICK)


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/a", "data:text/plain,a"])
def test_redirects_do_not_leave_the_network(server: Server, place: Path, target: str) -> None:
    server.answers["/a"] = redirect(target)
    with pytest.raises(FetchError, match=rf"/a: redirects to {target}, which is not on the network: refused"):
        download(RemoteFile(server.url("/a")), place, QUICK)
    assert not place.exists()


def test_redirects_do_not_give_up_encryption() -> None:
    check_redirect("https://a/b", "https://c/d")
    check_redirect("http://a/b", "https://c/d")
    with pytest.raises(FetchError, match="https://a/b: redirects to http://c/d, an unencrypted connection: refused"):
        check_redirect("https://a/b", "http://c/d")


BAD = [
    ("file:///etc/passwd", "file:///etc/passwd: not an address of a file on the network: it must begin with http"),
    ("ftp://a/b", "ftp://a/b: not an address of a file on the network"),
    ("train.en", "train.en: not an address of a file on the network"),
    ("https:///a", "https:///a: not an address of a file on the network"),
    ("http://a:port/b", "http://a:port/b: not an address: Port could not be cast"),
    ("http://[::1/b", "not an address: Invalid IPv6 URL"),
    ("https://anna:secret@a/b", "https://...@a: an address must not hold a name and password"),
]


@pytest.mark.parametrize(("url", "message"), BAD)
def test_an_address_off_the_network_is_refused(place: Path, url: str, message: str) -> None:
    for attempt in (lambda: check_url(url), lambda: download(RemoteFile(url), place, QUICK)):
        with pytest.raises(FetchError, match=re.escape(message)) as caught:
            attempt()
        assert "secret" not in str(caught.value)
    assert not place.parent.exists()


def test_spaces_and_letters_of_all_languages_may_stand_in_an_address(server: Server, place: Path) -> None:
    server.answers["/a%20%C3%A4?x=%201"] = File(CONTENT)
    assert download(RemoteFile(server.url("/a ä?x=%201")), place, QUICK) == HASH


def test_nothing_touches_the_network_on_import() -> None:
    script = "import sys\nsys.addaudithook(lambda event, _: event.startswith('socket.') and print(event))\n"
    script += "import docaps.corpus.fetch, docaps.cli.fetch\n"
    script += "print(len(docaps.corpus.fetch.known_corpus('ted').addresses()))\n"
    for more, expected in (("", "4\n"), ("import socket; socket.socket().close()", "4\nsocket.__new__\n")):
        found = subprocess.run([sys.executable, "-c", script + more], capture_output=True, text=True, check=False)
        assert (found.stdout, found.stderr) == (expected, "")


def test_a_full_disk_is_reported_and_what_came_is_kept(server: Server, place: Path) -> None:
    """A limit on the size of files stands for the full disk."""
    server.answers["/file"] = File(CONTENT)
    address, before = RemoteFile(server.url("/file")), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(CONTENT) // 2, before[1]))
    try:
        with pytest.raises(
            FetchError, match=r"partial: cannot be written: File too large\. [\d,]+ bytes are kept"
        ) as caught:
            download(address, place, QUICK)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert f"{len(CONTENT) // 2:,} bytes are kept: the same command goes on from there" in str(caught.value)
    download(address, place, QUICK)
    assert place.read_bytes() == CONTENT
    assert server.ranges()[-1] == f"bytes={len(CONTENT) // 2}-"
