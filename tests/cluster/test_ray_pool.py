"""Work mapped over a cluster: in order, to the byte as on one machine, with clear errors."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from docaps import cluster as docaps_cluster
from docaps.cluster import RayPool, RayWorker, connected
from docaps.config import load_recipe
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.errors import DocapsError
from tests.cli.calling import listing, start, succeed
from tests.cluster.conftest import STORE
from tests.unit.corpus.test_processes import Counted

ROOT = Path(__file__).parents[2]


@pytest.fixture
def pool(cluster: Any) -> Iterator[RayPool]:
    with connected(cluster.address) as ray, RayPool(ray, workers=2) as workers:
        yield workers


def slow_first(number: int) -> tuple[int, int]:
    time.sleep(0.5 if number == 0 else 0)
    return number, os.getpid()


def refuse(number: int) -> int:
    raise DocapsError(f"no {number}", path=Path("x.txt"), line=3)


def test_results_come_in_order_from_other_processes_and_few_tasks_wait(pool: RayPool) -> None:
    drawn = []

    def tasks() -> Iterator[int]:
        for number in range(20):
            drawn.append(number)
            yield number

    results = pool.map(slow_first, tasks())
    first, process = next(results)
    assert first == 0
    assert 3 <= len(drawn) <= 7  # three for each of two workers, and the next one
    found = [(first, process), *results]
    assert [number for number, _ in found] == list(range(20))
    assert os.getpid() not in {process for _, process in found}


def test_the_error_of_a_task_is_raised_as_it_was(pool: RayPool) -> None:
    with pytest.raises(DocapsError, match=r"x\.txt:3: no 0"):
        list(pool.map(refuse, [0]))


@dataclass(frozen=True)
class Deadly:
    """A task that kills its worker a number of times; a file counts them."""

    name: str
    counter: Path
    times: int


def die(task: Deadly) -> str:
    with task.counter.open("a+") as file:
        file.write("x")
        if file.tell() <= task.times:
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    return task.name


@pytest.mark.stress
def test_the_task_of_a_lost_worker_is_repeated(pool: RayPool, tmp_path: Path) -> None:
    tasks = [Deadly(name, tmp_path / name, times) for name, times in (("first", 1), ("second", 0))]
    assert list(pool.map(die, tasks)) == ["first", "second"]
    assert (tmp_path / "first").read_text() == "xx"


@pytest.mark.stress
def test_a_task_that_loses_each_worker_is_named(pool: RayPool, tmp_path: Path) -> None:
    always = Deadly("a.en, document 1", tmp_path / "a", 1000)
    with pytest.raises(DocapsError, match=r"a\.en, document 1: 4 workers were lost with it, perhaps because memory"):
        list(pool.map(die, [always]))
    assert list(pool.map(die, [Deadly("second", tmp_path / "second", 1)])) == ["second"]  # other workers go on


@pytest.mark.stress
def test_leaving_a_call_ends_its_workers(pool: RayPool, tmp_path: Path) -> None:
    (results := pool.map(note_and_wait, [tmp_path / "1", tmp_path / "2"])).close()
    results = pool.map(note_and_wait, [tmp_path / name for name in ("1", "2", "3")])
    assert next(results) == 0
    process = int((tmp_path / "2").read_text()) if wait_for(tmp_path / "2") else 0
    results.close()
    end = time.monotonic() + 30
    while Path(f"/proc/{process}").exists():
        assert time.monotonic() < end
        time.sleep(0.05)


def note_and_wait(path: Path) -> int:
    """Note this process; the first task is done at once, the others never."""
    path.write_text(str(os.getpid()))
    time.sleep(0 if path.name == "1" else 1000)
    return 0


def wait_for(path: Path) -> bool:
    end = time.monotonic() + 60
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return True


class Crashing(RayWorker):
    """A worker that cannot start, for want of something on its machine."""

    def introduce(self) -> tuple[str, str]:
        raise OSError("libfast.so: cannot open shared object file")


@pytest.mark.stress
def test_workers_that_never_start_are_an_error_with_its_cause(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docaps_cluster, "RayWorker", Crashing)
    refused = pytest.raises(DocapsError, match=r"4 workers in a row ended as they started: (?s:.*)libfast\.so: cannot")
    with connected(cluster.address) as ray, RayPool(ray, workers=2) as workers, refused:
        list(workers.map(slow_first, range(5)))


def test_one_task_starts_one_worker_which_unpickles_a_function_once(cluster: Any, tmp_path: Path) -> None:
    with connected(cluster.address) as ray, RayPool(ray, workers=2) as workers:
        assert list(workers.map(Counted(tmp_path), [1])) == [2]
        assert workers.machines.total() == 1
        assert list(workers.map(Counted(tmp_path), range(9))) == [*range(1, 10)]
    assert 1 <= len(list(tmp_path.iterdir())) <= 2


def test_a_ray_that_is_started_here_sends_no_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = pytest.importorskip("ray._common.usage.usage_lib")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    assert usage.usage_stats_enabled()
    with contextlib.suppress(DocapsError), connected("127.0.0.1:1"):
        pass
    assert not usage.usage_stats_enabled()


def test_a_machine_with_another_version_is_named(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docaps_cluster, "__version__", "9.9")
    refused = pytest.raises(DocapsError, match=r"the machine \S+ has docaps \S+, this one 9\.9: install the same")
    with connected(cluster.address) as ray, RayPool(ray, workers=1) as workers, refused:
        list(workers.map(die, [Deadly("x", Path("x"), 0)]))


def lines(count: int, word: str) -> str:
    """Return documents of ten sentences."""
    sentences = (f"{word} {number} is No. {number % 7}, isn't it?\n" for number in range(count))
    return "".join(("<d>\n" if number % 10 == 0 else "") + sentence for number, sentence in enumerate(sentences))


def write_corpus(folder: Path, sentences: int) -> dict[str, tuple[Path, Path]]:
    """Write two parts in two languages."""
    pairs = {}
    for name, count in (("train", sentences), ("dev", 20)):
        source, target = (folder / f"{name}.{language}" for language in ("en", "de"))
        for path, word in ((source, "House"), (target, "Haus")):
            path.write_text(lines(count, word), encoding="utf-8")
        pairs[name] = source, target
    return pairs


def prepare_alone(pairs: dict[str, tuple[Path, Path]], out: Path) -> dict[str, bytes | None]:
    """Prepare a corpus on one machine, and return its files."""
    prepare(CorpusFiles(pairs), load_recipe(None, ["preparation.merges=50"]).preparation, out, command="the same")
    return without_command(out)


def without_command(store: Path) -> dict[str, bytes | None]:
    """Return the files of a store; the manifest without the command that made it."""
    found = listing(store)
    manifest = found["manifest.json"] or b""
    found["manifest.json"] = b"".join(line for line in manifest.splitlines() if b'"command"' not in line)
    return found


def command_for(pairs: dict[str, tuple[Path, Path]], out: Path, address: str) -> list[str | Path]:
    """Return the words of the command that prepares a corpus on a cluster."""
    words = [word for name, pair in pairs.items() for word in (f"--{name}", *pair)]
    return ["prepare", *words, "--out", out, "--merges", "50", "--engine", "ray", "--address", address]


def test_a_corpus_prepared_on_a_cluster_is_the_same_to_the_byte(tmp_path: Path, cluster: Any) -> None:
    pairs = write_corpus(tmp_path, 4000)
    alone = prepare_alone(pairs, tmp_path / "alone")
    succeed(*command_for(pairs, tmp_path / "together", cluster.address))
    assert without_command(tmp_path / "together") == alone


def workers() -> int:
    """Count the processes of workers that do a task, or wait for one after that."""
    found = 0
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            found += place.read_bytes().startswith((b"ray::RayWorker.call", b"ray::RayWorker\0"))
    return found


@pytest.mark.stress
def test_a_corpus_is_the_same_to_the_byte_if_a_machine_dies(tmp_path: Path, cluster: Any) -> None:
    pairs = write_corpus(tmp_path, 60_000)
    lost = cluster.add_node(num_cpus=1, object_store_memory=STORE)
    with start(*command_for(pairs, tmp_path / "together", cluster.address)) as process:
        end = time.monotonic() + 300
        while workers() < 3:
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.01)
        cluster.remove_node(lost, allow_graceful=False)
        _, err = process.communicate(timeout=400)
    assert (process.returncode, "Traceback" in err) == (0, False), err
    assert without_command(tmp_path / "together") == prepare_alone(pairs, tmp_path / "alone")
