"""Start-up time of `docaps --help`, compared with starting Python and with importing torch.

The median of interleaved repeats; the last line is JSON with the ratios.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python": [sys.executable, "-c", "pass"],
    "help": [sys.executable, "-m", "docaps", "--help"],
    "torch": [sys.executable, "-c", "import torch"],
}


def seconds(command: list[str]) -> float:
    """Time one run of a command."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="interleaved repeats, at least 5")
    parser.add_argument("--data", help="accepted for uniformity; this benchmark needs no text")
    repeats = max(5, parser.parse_args().repeats)
    for command in COMMANDS.values():
        seconds(command)
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(repeats):
        for name, command in COMMANDS.items():
            times[name].append(seconds(command))
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, value in medians.items():
        print(f"{name:8} {1000 * value:7.0f} ms (median of {repeats})")
    print(
        json.dumps(
            {"help_vs_python": medians["help"] / medians["python"], "help_vs_torch": medians["help"] / medians["torch"]}
        )
    )


if __name__ == "__main__":
    main()
