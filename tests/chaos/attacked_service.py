"""A service under attack: send raw bytes, and check after each attack that it is alive, small and silent."""

import json
import re
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path
from random import Random

from tests.chaos.attack_uploads import send
from tests.chaos.attacks import SENTENCES, TOKEN, Attack, coats, head, valid
from tests.chaos.campaign import Campaign
from tests.chaos.killed_commands import FIXTURE
from tests.chaos.killed_service import free_port, wait_until_serving
from tests.chaos.launcher import Launched, Launcher
from tests.processes import resident

PATIENCE = 60.0
"""Seconds after which a client that waits for an answer or the end of a connection gives up: many times what the
service takes on a free machine, for it may share one with much else."""
QUIET = 0.1
"""Seconds of silence after which no second answer is expected."""
BODY_PAUSE = 1.0
"""Seconds that the body of an answer may be late."""
MORE_MEMORY = 250
"""MiB that the service may grow under attack, after it has warmed up: it holds up to four files in memory."""
MOST_LOG = 2**20
STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
SECRETS = (
    *(b'"largest_request"', b"docaps_queue_sentences", b'"translations"', b'"translatedText"', b'"targets"'),
    *(b'"character_count"', b'"supports_formality"', b'"glossaries"', b'"document_key"'),
)
"""What only a client with the token may see."""
REQUEST_SECONDS = 15.0


@dataclass
class Reply:
    """What came back: the statuses, all bytes, how many were sent before, whether the connection was closed."""

    data: bytes = b""
    sent: int = 0
    closed: bool = False
    hangs: bool = False

    @property
    def statuses(self) -> list[int]:
        """Return the status of each answer."""
        return [int(status) for status in STATUS.findall(self.data)]


def exchange(port: int, attack: Attack, chance: Random) -> Reply:
    """Send an attack and read what comes back."""
    reply = Reply()
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        with suppress(OSError):  # the service may close the connection, or stop reading, while we send
            for part in attack.parts:
                if reply.sent and len(part) > 1000 and select.select([connection], [], [], 0)[0]:
                    break
                connection.sendall(part)
                reply.sent += len(part)
        if attack.ending == "abort":
            time.sleep(chance.uniform(0, 0.3))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return reply
        if attack.ending == "half":
            with suppress(OSError):
                connection.shutdown(socket.SHUT_WR)
        _read(connection, reply)
    return reply


def _read(connection: socket.socket, reply: Reply) -> None:
    """Read until the end of the connection, or until nothing follows an answer."""
    begin = time.monotonic()
    while time.monotonic() - begin < PATIENCE:
        # The answer to a HEAD request names the length of a body that does not follow.
        whole = _is_complete(reply.data)
        connection.settimeout(QUIET if whole else BODY_PAUSE if reply.statuses else PATIENCE)
        try:
            part = connection.recv(65536)
        except TimeoutError:
            reply.hangs = not reply.statuses
            return
        except OSError:  # reset
            reply.closed = True
            return
        reply.data += part
        if not part:
            reply.closed = True
            return
    reply.hangs = True


def _is_complete(data: bytes) -> bool:
    """Return whether data ends with a whole answer."""
    start = data.rfind(b"HTTP/1.")
    beginning, end, body = data[max(start, 0) :].partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", beginning)
    return start >= 0 and bool(end) and (length is None or len(body) >= int(length[1]))


@dataclass
class AttackedService:
    """A running service, what it answers, and its memory before the attacks."""

    launched: Launched
    port: int
    answer: bytes = b""
    memory: int = 0
    reported: set[str] = field(default_factory=set)

    def warm_up(self) -> None:
        """Take the answer to a normal request and the memory after some of them."""
        large = valid(coats(150))
        detection = send("/detect", b'{"q": "It was old."}')  # loads the model that tells languages
        for request in (*[valid()] * 20, large, detection):
            reply = exchange(self.port, Attack("", [request]), Random(0))
            assert reply.statuses == [200], reply.data
        self.answer = self.ask()
        self.memory = resident(self.launched.pid)

    def ask(self) -> bytes:
        """Send a normal request; return the translations. A busy service may say that it should be sent again."""
        end = time.monotonic() + PATIENCE
        reply = exchange(self.port, Attack("", [valid()]), Random(0))
        while reply.statuses == [503] and time.monotonic() < end:
            time.sleep(1)
            reply = exchange(self.port, Attack("", [valid()]), Random(0))
        assert reply.statuses == [200], f"a normal request got {reply.statuses or 'no answer'}: {reply.data[:300]!r}"
        found = json.loads(reply.data.partition(b"\r\n\r\n")[2])
        assert [one["source"] for one in found["translations"]] == SENTENCES
        return reply.data.partition(b"\r\n\r\n")[2]

    def attack(self, campaign: Campaign, attack: Attack) -> None:
        """Send an attack; check its answers, and the service after it."""
        try:
            reply = exchange(self.port, attack, campaign.chance)
        except OSError as error:
            self.note(campaign, attack.name, f"no connection: {error}")
            return
        campaign.counts["attacks"] += 1
        campaign.counts["requests"] += 1
        for what in judge(attack, reply):
            self.note(campaign, attack.name, what)
        self.check(campaign, attack.name)

    def check(self, campaign: Campaign, where: str) -> None:
        """Check that the service answers, has not grown, and logs no traceback."""
        campaign.counts["requests"] += 1
        begin = time.monotonic()
        try:
            if not alike(found := self.ask(), self.answer):
                self.note(campaign, where, f"a normal request is answered differently afterwards: {found!r}")
        except (AssertionError, OSError, ValueError) as error:
            self.note(campaign, where, f"the service does not answer afterwards: {error}")
            return
        waited = round(time.monotonic() - begin)
        campaign.counts["seconds of the slowest answer"] = max(campaign.counts["seconds of the slowest answer"], waited)
        grown = (resident(self.launched.pid) - self.memory) // 1024
        campaign.counts["MiB grown"] = max(campaign.counts["MiB grown"], grown)
        if grown > MORE_MEMORY:
            self.note(campaign, where, f"the service has grown by {grown} MiB")
            self.memory += grown * 1024
        log = self.launched.err
        if "Traceback" in log:
            self.note(campaign, where, f"traceback in the log: {log[log.index('Traceback') :][:1500]}")
        if len(log) > MOST_LOG:
            self.note(campaign, where, f"a log of {len(log)} characters")

    def note(self, campaign: Campaign, where: str, what: str) -> None:
        """Note a fault once for each attack."""
        if where not in self.reported:
            self.reported.add(where)
            campaign.fault(where[:300], what)

    def check_idle(self, campaign: Campaign, seconds: float = 60) -> None:
        """Check that nothing is left of requests whose clients went away."""
        end = time.monotonic() + seconds
        while waiting := self.waiting():
            if time.monotonic() > end:
                campaign.fault("idle", f"{waiting} sentences of clients that went away are still queued")
                return
            time.sleep(0.1)

    def waiting(self) -> int:
        """Return the number of queued sentences."""
        reply = exchange(self.port, Attack("", [head("GET /metrics HTTP/1.1")]), Random(0))
        found = re.search(rb"docaps_queue_sentences\{[^}]*\} (\d+)", reply.data)
        assert found, reply.data
        return int(found[1])


def alike(one: bytes, other: bytes) -> bool:
    """Compare two answers. A batch that holds other requests too may round the scores otherwise."""
    found, expected = (json.loads(answer)["translations"] for answer in (one, other))
    texts = ["source", "translation"]
    return len(found) == len(expected) and all(
        all(new[text] == old[text] for text in texts) and isclose(new["score"], old["score"], rel_tol=1e-4)
        for new, old in zip(found, expected, strict=True)
    )


def judge(attack: Attack, reply: Reply) -> Iterator[str]:
    """Yield what is wrong with the answers to an attack."""
    statuses = reply.statuses
    if reply.hangs:
        yield f"the connection hangs after {reply.sent} bytes, answers: {statuses}"
    if attack.answered and not statuses and not reply.hangs:
        yield "closed without an answer"
    if wrong := [status for status in statuses if status not in attack.allowed]:
        yield f"answered with {wrong[0]}, expected one of {sorted(attack.allowed)}"
    if len(statuses) > attack.most:
        yield f"{len(statuses)} answers, expected at most {attack.most}"
    if attack.within is not None and reply.sent > attack.within:
        yield f"{reply.sent} bytes were read, expected a refusal after {attack.within}"
    if attack.protected and any(secret in reply.data for secret in SECRETS):
        yield f"returned what the token protects: {reply.data[:300]!r}"


@contextmanager
def serve_to_attack(campaign: Campaign, launcher: Launcher, folder: Path) -> Iterator[AttackedService]:
    """Run a service to attack; at the end it must be idle and stop in peace."""
    folder.mkdir()
    token, port = folder / "token", free_port()
    token.write_text(TOKEN)
    words = ["serve", FIXTURE / "document", "--port", str(port), "--token-file", token, "--precision", "float32"]
    launched = launcher.start([*words, "--timeout", str(REQUEST_SECONDS)], cwd=folder)
    wait_until_serving(launched)
    service = AttackedService(launched, port)
    service.warm_up()
    yield service
    if launched.poll() is None:
        service.check_idle(campaign)
        launched.signal(signal.SIGTERM, group=False)
    ended = launched.wait(PATIENCE)
    if ended is None or ended.code or launched.leftovers():
        campaign.fault("the end", f"the service did not stop in peace: {ended}")


class SlowClients(threading.Thread):
    """Clients that keep connections open as long as they can: silent, slow, or deaf; and more than may be open."""

    def __init__(self, port: int, count: int) -> None:
        super().__init__()
        self.opened = self.left = 0
        """How many connections there were, and how many the service did not close in time."""
        whole = valid(coats(100), "/v1/translate/stream")
        beginnings = (b"", b"GET /heal", whole[:200], whole[:-10], whole)
        self._port, self._sent = port, [beginnings[number % len(beginnings)] for number in range(count)]

    def run(self) -> None:
        """Open all connections, send a byte to each from time to time, and count those that stay open."""
        opened = []
        for data in self._sent:
            with suppress(OSError):
                connection = socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE)
                opened.append(connection)
                connection.sendall(data)
        self.opened = len(opened)
        end = time.monotonic() + 2.5 * PATIENCE
        while opened and time.monotonic() < end:
            opened = [connection for connection in opened if self._is_open(connection)]
            time.sleep(1)
        self.left = len(opened)
        for connection in opened:
            connection.close()

    def _is_open(self, connection: socket.socket) -> bool:
        """Send one more byte; return whether the service still listens."""
        with suppress(OSError):
            connection.setblocking(False)
            connection.send(b"x")
            with suppress(BlockingIOError):
                if connection.recv(1) == b"":
                    connection.close()
                    return False
            return True
        connection.close()
        return False
