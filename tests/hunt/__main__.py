"""Run every test with all its cases and new seeds, planted faults too, until the time is over.

    tox run -e hunt -- --minutes 20 engine query time

Areas are files and folders below tests/; the default is all. A round runs each of their tests once, in a
random order; the next round has another seed. The end of the output counts the tests of each area, and lists
the command that repeats each failure. The output of the tests is in build/hunt.log.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path, PurePosixPath
from random import SystemRandom
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from hunt.clock import END, RECORD
from support.selection import HEAVY

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
LOG = ROOT / "build" / "hunt.log"
LATE = 120
"""Seconds after the end until running tests are interrupted."""
GRACE = 30
"""Seconds after the interrupt until they are killed."""


def main(arguments: list[str] | None = None) -> int:
    """Run the hunt; return 1 if a test failed, and 2 if none ran."""
    parser = argparse.ArgumentParser(
        prog="hunt", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("areas", nargs="*", metavar="area", help="a file or folder below tests/")
    parser.add_argument("--minutes", type=float, default=20.0, help="when to end (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="how many tests run at a time (%(default)s)")
    parser.add_argument(
        "--seed", default=f"{SystemRandom().getrandbits(32)}", help="fresh if it is not given"
    )
    options = parser.parse_args(arguments)
    places = [TESTS / area for area in options.areas] or [TESTS, *(TESTS / name for name in HEAVY)]
    for place in places:
        if not place.exists():
            parser.error(f"there is no {place.relative_to(ROOT)}")
    with tempfile.TemporaryDirectory(prefix="rdflive-hunt-") as folder:
        record = Path(folder, "record")
        record.touch()
        seeds = hunt(places, options.seed, options.minutes * 60, options.workers, record)
        lines = record.read_text(encoding="utf-8").splitlines()
    return report([json.loads(line) for line in lines], seeds)


def hunt(places: list[Path], seed: str, seconds: float, workers: int, record: Path) -> list[str]:
    """Run rounds until the time is over or Ctrl-C is pressed, and return their seeds."""
    LOG.parent.mkdir(exist_ok=True)
    end, seeds = time.time() + seconds, list[str]()
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with LOG.open("w", encoding="utf-8") as log, Progress(*columns) as progress:
        task = progress.add_task("hunting", total=seconds)
        while time.time() < end:
            seeds.append(f"{seed}-{len(seeds) + 1}")
            command = [
                *(sys.executable, "-m", "pytest", "-n", str(workers), "--dist", "worksteal"),
                *("-p", "hunt.clock", "-p", "no:cacheprovider", *map(str, places)),
            ]
            environment = {
                **os.environ,
                "RDFLIVE_HUNT": seeds[-1],
                END: str(end),
                RECORD: str(record),
                "PYTHONPATH": os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH")))),
            }
            # in its own process group, so that Ctrl-C reaches it once and the whole group can be killed
            run = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
            )
            try:
                while run.poll() is None:
                    time.sleep(0.5)
                    tried = record.read_bytes().count(b"\n")
                    text = f"round {len(seeds)}, {tried} tests"
                    progress.update(task, completed=seconds - (end - time.time()), description=text)
                    if time.time() > end + LATE:
                        stop(run)
            except KeyboardInterrupt:
                stop(run)
                break
            if run.returncode not in (0, 1) and time.time() < end:
                print(f"pytest ended with {run.returncode}: {LOG}", file=sys.stderr)
                break
    return seeds


def stop(run: subprocess.Popen[bytes]) -> None:
    """Interrupt a round as Ctrl-C does, then kill workers that still run a test."""
    with suppress(ProcessLookupError):
        run.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        run.wait(GRACE)
    with suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)
    run.wait()


def report(found: list[dict[str, Any]], seeds: list[str]) -> int:
    """Print the outcomes of each area and the commands that repeat failures, and return the exit code."""
    tried = Counter((_area(each["test"]), each["outcome"]) for each in found)
    print(f"{'area':20}{'passed':>8}{'failed':>8}{'skipped':>9}")
    for area in [*sorted({area for area, _ in tried}), "all"]:
        counts = [
            sum(number for (of, what), number in tried.items() if what == outcome and area in (of, "all"))
            for outcome in ("passed", "failed", "skipped")
        ]
        print(f"{area:20}{counts[0]:8}{counts[1]:8}{counts[2]:9}")
    print(f"seeds: {', '.join(seeds)}")
    failed = dict.fromkeys(each["repeat"] for each in found if each["outcome"] == "failed")
    for command in failed:
        print(f"failed: {command}")
    return 1 if failed else 0 if found else 2


def _area(test: str) -> str:
    """Return the folder of a test, or `.` for a module beside the folders."""
    parts = PurePosixPath(test.partition("::")[0]).parts
    return parts[1] if len(parts) > 2 else "."


if __name__ == "__main__":
    sys.exit(main())
