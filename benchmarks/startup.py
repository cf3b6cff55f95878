"""Start-up time of `docaps --help` and of `docaps translate` for one sentence, beside Python's own and torch's import.

The median of interleaved repeats, of seconds on the clock and of seconds of CPU time; the latter depend less on other
load. The last line is JSON: ratios, and by how many seconds a translation takes longer than `import torch`.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

TINY_RUN = Path(__file__).parents[1] / "tests" / "fixtures" / "run-0.1.0" / "document"
SENTENCE = "The cat sat here.\n"


def list_commands(run: Path) -> dict[str, list[str]]:
    """Return what is timed."""
    return {
        "python": [sys.executable, "-c", "pass"],
        "help": [sys.executable, "-m", "docaps", "--help"],
        "torch": [sys.executable, "-c", "import torch"],
        "translate": [sys.executable, "-m", "docaps", "translate", str(run)],
    }


def seconds(command: list[str]) -> tuple[float, float]:
    """Time one run of a command: on the clock, and on the processor."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, input=SENTENCE, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, busy


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="interleaved repeats, at least 5")
    parser.add_argument("--data", help="accepted for uniformity; this benchmark needs no text")
    parser.add_argument("--run", type=Path, default=TINY_RUN, help="the run that translates (default: a tiny one)")
    arguments = parser.parse_args()
    repeats, commands = max(5, arguments.repeats), list_commands(arguments.run)
    for command in commands.values():
        seconds(command)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            times[name].append(seconds(command))
    clock, busy = (
        {name: statistics.median(pair[place] for pair in pairs) for name, pairs in times.items()} for place in (0, 1)
    )
    for name in commands:
        print(f"{name:9} {1000 * clock[name]:7.0f} ms, {1000 * busy[name]:7.0f} ms of CPU time (medians of {repeats})")
    print(
        json.dumps(
            {
                "help_vs_python": clock["help"] / clock["python"],
                "help_vs_torch": clock["help"] / clock["torch"],
                "translate_seconds_after_torch": clock["translate"] - clock["torch"],
                "translate_cpu_seconds_after_torch": busy["translate"] - busy["torch"],
            }
        )
    )


if __name__ == "__main__":
    main()
