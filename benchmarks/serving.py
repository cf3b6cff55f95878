"""Throughput and latency of `docaps serve` under many clients, against `docaps translate` on the same sentences.

Each client sends one document after the other and waits for each translation. Prints throughput, latency (median and
95th percentile) and the memory of the server over time; the last line is JSON. Without --run, a small model is trained
for a few steps first: its translations are poor, but of realistic length.
"""

import argparse
import asyncio
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Documents = Sequence[Sequence[str]]
DOCAPS = [sys.executable, "-m", "docaps"]
OVERLOADED = (429, 503)
"""Statuses with which an overloaded server may refuse a request."""


@dataclass
class Load:
    """Measurements of the clients."""

    seconds: float = 0.0
    sentences: int = 0
    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    memory: list[int] = field(default_factory=list)

    @property
    def errors(self) -> int:
        """Count failed requests and responses with missing sentences."""
        return sum(count for status, count in self.statuses.items() if status != 200 and status not in OVERLOADED)


def train(folder: Path) -> Path:
    """Train a small document model for a few steps."""
    settings = ["stage.sentence.steps=60", "stage.document.steps=20", "decoding.length_factor=0.5"]
    settings += [f"stage.{stage}.warmup=10" for stage in ("sentence", "document")]
    options = [word for setting in settings for word in ("--set", setting)]
    command = [*DOCAPS, "demo", "--dir", str(folder / "demo"), "--documents", "300", *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder / "demo" / "runs" / "document"


def write_documents(folder: Path, data: Path | None) -> Documents:
    """Read documents, or generate small ones."""
    if data is None:
        out = folder / "text"
        command = [*DOCAPS, "minidocs", "--documents", "2000", "--seed", "5", "--out", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        data = out / "train.en"
    blocks = data.read_text(encoding="utf-8").split("<d>\n")
    return [block.splitlines() for block in blocks if block.strip()]


def start_server(run: Path) -> tuple[subprocess.Popen[str], str]:
    """Start a server on a free port and wait until it listens."""
    process = subprocess.Popen([*DOCAPS, "serve", str(run), "--port", "0"], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if " at http://" in line:
            return process, line.split(" at ")[1].split()[0]
    raise SystemExit("the server did not start")


class Connection:
    """A persistent connection of a client."""

    def __init__(self, url: str) -> None:
        self._host, self._port = url.removeprefix("http://").split(":")
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, body: bytes) -> tuple[int, bytes]:
        """Send a request and wait for its response."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, int(self._port))
        reader, writer = self._streams
        head = f"POST /v1/translate HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:] if line)
        answer = await reader.readexactly(int(headers["content-length"]))
        if headers.get("connection") == "close":
            self.close()
        return int(lines[0].split()[1]), answer

    def close(self) -> None:
        """Close the connection; the next request opens a new one."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def run_client(url: str, documents: Iterator[Sequence[str]], end: float, load: Load) -> None:
    """Translate one document after the other until the time is over."""
    connection = Connection(url)
    while time.monotonic() < end:
        sentences = next(documents)
        start = time.monotonic()
        try:
            status, body = await connection.ask(json.dumps({"sentences": sentences}).encode())
        except (OSError, EOFError):
            connection.close()
            status, body = 0, b""
        if status == 200 and len(json.loads(body)["translations"]) != len(sentences):
            status = -1
        load.statuses[status] += 1
        load.latencies.append(time.monotonic() - start)
        load.sentences += len(sentences) if status == 200 else 0
        if status in OVERLOADED:
            await asyncio.sleep(1)
    connection.close()


async def watch(url: str, load: Load) -> None:
    """Record the memory of the server once a second."""
    while True:
        await asyncio.sleep(1)
        text = await asyncio.to_thread(lambda: urllib.request.urlopen(f"{url}/metrics").read().decode())
        value = next(line for line in text.splitlines() if line.startswith("process_resident_memory_bytes "))
        load.memory.append(int(float(value.split()[1])))


async def apply_load(url: str, documents: Documents, clients: int, seconds: float) -> Load:
    """Run many clients at the same time."""
    load, start = Load(), time.monotonic()
    supply = itertools.cycle(documents)
    watcher = asyncio.create_task(watch(url, load))
    await asyncio.gather(*(run_client(url, supply, start + seconds, load) for _ in range(clients)))
    if watcher.done():
        watcher.result()  # raise its error
    watcher.cancel()
    load.seconds = time.monotonic() - start
    return load


def translate_speed(run: Path, documents: Documents, seconds: float) -> float:
    """Return the sentences per second of `docaps translate`, without its start-up time."""
    few = documents[:20]
    start = time_translate(run, few)
    count = len(few)
    while True:
        count = min(4 * count, len(documents))
        taken = time_translate(run, documents[:count]) - start
        if taken > seconds / 2 or count == len(documents):
            return sum(map(len, documents[len(few) : count])) / taken


def time_translate(run: Path, documents: Documents) -> float:
    """Return the run time of `docaps translate` in seconds."""
    text = "".join("<d>\n" + "".join(f"{sentence}\n" for sentence in document) for document in documents)
    with tempfile.TemporaryDirectory() as scratch:
        source, target = Path(scratch) / "source", Path(scratch) / "target"
        source.write_text(text, encoding="utf-8")
        start = time.monotonic()
        command = [*DOCAPS, "translate", str(run), str(source), "--out", str(target)]
        subprocess.run(command, check=True, capture_output=True)
        return time.monotonic() - start


def report(load: Load, speed: float, clients: int) -> dict[str, float | None]:
    """Print the measurements and return the summary."""
    latencies = sorted(load.latencies)
    p95 = latencies[int(0.95 * (len(latencies) - 1))]
    served = load.sentences / load.seconds
    later = load.memory[len(load.memory) // 3 :]
    half = len(later) // 2
    growth = statistics.median(later[half:]) / statistics.median(later[:half]) if half else None
    print(f"{clients} clients, {load.seconds:.0f} s: {len(latencies)} requests, {load.sentences} sentences")
    print(f"answers       {dict(load.statuses)}")
    print(f"served        {served:8.1f} sentences/s")
    print(f"translate     {speed:8.1f} sentences/s")
    print(f"latency       {statistics.median(latencies):8.2f} s median, {p95:.2f} s at the 95th percentile")
    if load.memory:
        print(f"memory        {load.memory[0] / 1e6:8.0f} MB first, {load.memory[-1] / 1e6:.0f} MB last")
    return {
        "throughput_vs_translate": served / speed,
        "errors": load.errors,
        "refused": sum(load.statuses[status] for status in OVERLOADED),
        "p95_seconds": p95,
        "memory_growth": growth,
    }


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, help="a finished run; by default a small model is trained")
    parser.add_argument("--data", type=Path, help="documents to send, <d> before each; by default generated ones")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of the load")
    parser.add_argument("--repeats", type=int, default=2, help="measurements of docaps translate, before and after")
    options = parser.parse_args()
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    with tempfile.TemporaryDirectory() as scratch:
        run = (options.run or train(Path(scratch))).resolve()
        documents = write_documents(Path(scratch), options.data)
        speeds = [translate_speed(run, documents, options.seconds / 6)]
        server, url = start_server(run)
        try:
            load = asyncio.run(apply_load(url, documents, options.clients, options.seconds))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=60)
        speeds += [translate_speed(run, documents, options.seconds / 6) for _ in range(max(1, options.repeats - 1))]
    print(json.dumps(report(load, statistics.mean(speeds), options.clients)))


if __name__ == "__main__":
    main()
