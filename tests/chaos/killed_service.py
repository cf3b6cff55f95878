"""Kill the service under load: it restarts on the same port, answers as before, and leaves no process and no file.

A signal that asks it to stop must cut off no request: each gets its translations, or 503, or no connection at all.
"""

import http.client
import json
import signal
import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.chaos.campaign import Campaign
from tests.chaos.killed_commands import FIXTURE
from tests.chaos.killing import PATIENCE, SIGNALS, fingerprint
from tests.chaos.launcher import Launched, Launcher

CLIENTS = 3
STARTED = "docaps: serving "
ANSWERED = "all accepted requests were answered"
RUN = FIXTURE / "document"


def documents() -> list[list[str]]:
    """Return documents of several lengths."""
    lines = (FIXTURE / "prepared" / "dev.source.txt").read_text(encoding="utf-8").splitlines()
    sentences = [line for line in lines if line != "<d>"]
    return [sentences[:1], sentences, sentences * 8]


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def ask(port: int, sentences: list[str]) -> tuple[int, list[str]]:
    """Send a document; return the status and the translations."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        body = json.dumps({"sentences": sentences, "beam": 1})
        connection.request("POST", "/v1/translate", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        found = json.loads(response.read())
        return response.status, [one["translation"] for one in found.get("translations", ())]
    finally:
        connection.close()


@dataclass
class Load:
    """Clients that send documents all the time, and what became of their requests."""

    port: int
    expected: list[list[str]]
    seed: int
    answered: int = 0
    refused: int = 0
    cut_off: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    signalled: float = 0.0
    _stopped: bool = False
    _clients: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Start the clients."""
        self._clients = [threading.Thread(target=self._send, args=(Random(self.seed + n),)) for n in range(CLIENTS)]
        for client in self._clients:
            client.start()

    def stop(self) -> None:
        """Wait for the answers that are under way."""
        self._stopped = True
        for client in self._clients:
            client.join()

    def _send(self, chance: Random) -> None:
        texts = documents()
        while not self._stopped:
            number, begin = chance.randrange(len(texts)), time.monotonic()
            try:
                status, found = ask(self.port, texts[number])
            except ConnectionRefusedError:
                self.refused += 1
                return
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.cut_off.append(f"{error!r}, sent {begin - self.signalled:.3f} s after the signal")
                return
            if status == 200 and found == self.expected[number]:
                self.answered += 1
            elif status == 503:
                self.refused += 1
                time.sleep(0.1)  # it asks for seconds; at full speed, one would meet the moment when the port is closed
            else:
                self.wrong.append(f"status {status}, {len(found)} translations")


def start(launcher: Launcher, port: int, folder: Path) -> Launched:
    """Start the service in an empty folder."""
    folder.mkdir(exist_ok=True)
    return launcher.start(["serve", RUN, "--port", str(port)], cwd=folder)


def wait_until_serving(launched: Launched) -> None:
    """Wait until it listens."""
    end = time.monotonic() + PATIENCE
    while STARTED not in launched.err:
        assert launched.poll() is None, launched.err
        assert time.monotonic() < end, "the service does not start"
        time.sleep(0.01)


def undisturbed_answers(launcher: Launcher, folder: Path) -> list[list[str]]:
    """Return the translations of all documents by a service that is stopped in peace."""
    port = free_port()
    launched = start(launcher, port, folder)
    wait_until_serving(launched)
    answers = [ask(port, sentences) for sentences in documents()]
    assert [status for status, _ in answers] == [200] * len(answers)
    launched.signal(signal.SIGTERM, group=False)
    ended = launched.wait(PATIENCE)
    assert ended is not None
    assert ended.code == 0, ended.err
    return [translations for _, translations in answers]


def kill_service(campaign: Campaign, launcher: Launcher, expected: list[list[str]], folder: Path) -> None:
    """Start the service, send requests, kill it at a random moment, and start it again on the same port."""
    chance, port, run = campaign.chance, free_port(), fingerprint(RUN)
    number = chance.choice(SIGNALS)
    where = f"serve, {signal.Signals(number).name}"
    launched = start(launcher, port, folder)
    load = Load(port, expected, chance.randrange(10**6))
    if chance.random() < 0.9:
        wait_until_serving(launched)
        load.start()
    launched.wait_at_most(chance.uniform(0, 1.5))
    begun = STARTED in launched.err
    load.signalled = time.monotonic()
    launched.signal(number, group=chance.random() < 0.5)
    ended = launched.wait(PATIENCE)
    load.stop()
    if ended is None:
        campaign.fault(where, "does not stop")
        return
    _check_end(campaign, where, number, ended.code, ended.err, begun=begun)
    if left := launched.leftovers():
        campaign.fault(where, f"left the processes {left}")
    if load.cut_off and number != signal.SIGKILL:
        campaign.fault(where, f"cut off {len(load.cut_off)} requests: {load.cut_off[0]}")
    for what in load.wrong:
        campaign.fault(where, f"answered wrongly: {what}")
    campaign.counts["kills"] += 1
    campaign.counts["kills of serve"] += 1
    campaign.counts["requests answered under load"] += load.answered
    _restart(campaign, launcher, where, port, expected, folder)
    if fingerprint(RUN) != run or any(folder.iterdir()):
        campaign.fault(where, "wrote files")


def _check_end(campaign: Campaign, where: str, number: int, code: int, err: str, *, begun: bool) -> None:
    """Check how a service ended: stopped in peace if it could."""
    if "Traceback" in err:
        campaign.fault(where, err[-1500:])
    if number == signal.SIGKILL:
        return
    if code not in ((0,) if begun else (0, 128 + number, -number)):
        campaign.fault(where, f"ended with code {code}: {err[-500:]}")
    if begun and ANSWERED not in err:
        campaign.fault(where, f"did not answer accepted requests: {err[-500:]}")


def _restart(
    campaign: Campaign, launcher: Launcher, where: str, port: int, expected: list[list[str]], folder: Path
) -> None:
    """Start the service again on the port that the killed one had, and compare an answer."""
    launched = start(launcher, port, folder)
    try:
        wait_until_serving(launched)
        if ask(port, documents()[1]) != (200, expected[1]):
            campaign.fault(where, "answers differently after a restart")
    except (AssertionError, OSError) as error:
        campaign.fault(where, f"does not restart on its port: {error}")
    launched.signal(signal.SIGTERM, group=False)
    ended = launched.wait(PATIENCE)
    if ended is None or ended.code:
        campaign.fault(where, f"does not stop after its restart: {ended}")
