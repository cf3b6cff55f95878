"""`docaps serve` as a process: it listens, answers, and on a signal finishes accepted requests before it stops."""

import importlib.util
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from tests.cli.calling import AS_MODULE, docaps, running_service
from tests.cli.conftest import Chain

pytest.importorskip("fastapi", reason="fastapi is not installed (docaps[serve])")


def ask(url: str, sentences: list[str], token: str = "") -> tuple[int, str]:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    body = json.dumps({"sentences": sentences}).encode()
    request = urllib.request.Request(f"{url}/v1/translate", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as fault:
        with fault:
            return fault.code, fault.read().decode()


def keep_asking(url: str, outcomes: list[str]) -> None:
    """Send requests until the server is gone; note how each ended."""
    while True:
        try:
            status, body = ask(url, ["x"])
            assert status != 503 or "about to stop" in body
            outcomes.append(str(status))
        except urllib.error.URLError as fault:
            outcomes.append("refused" if isinstance(fault.reason, ConnectionRefusedError) else repr(fault.reason))
            return
        except OSError as fault:
            outcomes.append(repr(fault))


def waiting(url: str) -> float:
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("docaps_queue_sentences{"))


def test_sigterm_finishes_accepted_requests_and_refuses_new_ones(chain: Chain) -> None:
    with running_service(chain.document, chain.sentence) as (process, url):
        story = [f"It rained {place} times in London." for place in range(1500)]
        answers: list[tuple[int, str]] = []
        accepted = threading.Thread(target=lambda: answers.append(ask(url, story)))
        accepted.start()
        while not waiting(url):
            pass
        late: list[str] = []
        others = [threading.Thread(target=keep_asking, args=(url, late)) for _ in range(8)]
        for other in others:
            other.start()
        process.send_signal(signal.SIGTERM)
        accepted.join()
        for other in others:
            other.join()
        assert set(late) <= {"200", "503", "refused"}  # 200: before the signal; refused: after the end
        assert late.count("503") >= 8
        assert late.count("refused") == 8
        status, body = answers[0]
        assert status == 200
        assert [one["source"] for one in json.loads(body)["translations"]] == story
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0
        assert out == ""
        assert err == "docaps: stopped; all accepted requests were answered\n"


LATE = """
import signal, time
from docaps.web.server import DrainingServer
signal.signal(signal.SIGINT, signal.default_int_handler)
run = DrainingServer.run
def run_late(self, **options):
    time.sleep(2)
    run(self, **options)
DrainingServer.run = run_late
"""
"""The server takes two seconds to start, while connections may already wait."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_server_starts_stops_it_in_order(chain: Chain, number: int) -> None:
    words = [sys.executable, "-c", LATE + AS_MODULE, "serve", str(chain.sentence), "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "serving" in process.stderr.readline()
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "docaps: stopped; all accepted requests were answered\n")


def test_the_token_comes_from_the_environment_or_a_file(
    chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCAPS_TOKEN", "from the environment ")
    with running_service(chain.sentence, "--host", "127.0.0.2") as (_, url):
        assert url.startswith("http://127.0.0.2:")
        assert ask(url, ["x"])[0] == 401
        assert ask(url, ["x"], "from the environment")[0] == 200
    (tmp_path / "token").write_text("from a file\n", encoding="utf-8")
    with running_service(chain.sentence, "--token-file", tmp_path / "token") as (_, url):
        assert ask(url, ["x"], "from the environment")[0] == 401
        assert ask(url, ["x"], "from a file")[0] == 200


def test_errors_are_reported_before_anything_is_served(
    chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = docaps("serve", tmp_path / "none", "--port", "0")
    assert (found.code, found.err) == (1, f"docaps: {tmp_path}/none: no such run\n")
    (tmp_path / "token").write_text("\n", encoding="utf-8")
    found = docaps("serve", chain.sentence, "--token-file", tmp_path / "token")
    assert "holds no token" in found.err
    (tmp_path / "token").write_text("Schlüssel\n", encoding="utf-8")
    found = docaps("serve", chain.sentence, "--token-file", tmp_path / "token")
    assert "a token must consist of printable ASCII characters" in found.err
    monkeypatch.setenv("DOCAPS_TOKEN", " ")
    found = docaps("serve", chain.sentence)
    assert (found.code, found.err) == (1, "docaps: DOCAPS_TOKEN is empty: unset it\n")
    monkeypatch.delenv("DOCAPS_TOKEN")
    found = docaps("serve", chain.sentence, "--token-file", tmp_path / "nothing")
    assert "cannot read the token" in found.err
    found = docaps("serve", chain.sentence, "--origin", "friend.example")
    assert (found.code, found.err.partition(":")[2][:50]) == (1, " --origin must be like https://example.org, or * f")
    assert "found 'friend.example'" in found.err
    found = docaps("serve", chain.sentence, chain.sentence, "--port", "0")
    assert f"{chain.sentence}: is given twice" in found.err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = docaps("serve", chain.sentence, "--port", str(port))
        assert found.code == 1
        assert f"cannot listen on 127.0.0.1 port {port}: " in found.err
        assert "Choose another --port" in found.err
    found = docaps("serve", chain.sentence, "--host", "nowhere.invalid")
    assert found.code == 1
    assert "cannot listen on nowhere.invalid port 8000: " in found.err
    assert "Choose another --host" in found.err


def test_without_the_extra_the_error_names_it(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    found = docaps("serve", chain.sentence)
    assert found.code == 1
    assert found.err == "docaps: docaps serve needs fastapi: pip install 'docaps[serve]'\n"


def test_the_documented_limits_are_the_defaults() -> None:
    from docaps.web.schemas import Limits

    table = (Path(__file__).parents[2] / "docs" / "how-to" / "serve.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| [^|]+ \| ([\d,]+) \| `--", table, flags=re.MULTILINE)
    names = ("body", "file", "sentences", "characters", "beam", "queue", "routing", "terms", "seconds")
    assert [int(value.replace(",", "")) for value in documented] == [getattr(Limits(), name) for name in names]


def test_the_url_is_printed_as_json_at_once(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with running_service(chain.sentence, "--json") as (process, url):
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            text += process.stdout.readline()
        assert json.loads(text) == {"url": url, "models": [chain.sentence.name]}
