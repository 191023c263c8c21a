"""Which cases of an earlier commit the deep tests no longer have.

    python tests/running/cases.py c596c8c

Both lists are collected by pytest, the earlier one in a checkout of that commit beside this one, and compared
by their whole names. What moved is in a table, and so are the tests with other parameters than before, of
which there must be as many cases as there were.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
KILLS = "tests/spark/test_kills.py::test_what_is_killed_goes_on_where_it_was"
MOVED = {
    "tests/adapters/endpoint/test_endpoint_http.py::": "tests/adapters/endpoint/test_endpoint_requests.py::",
    "tests/feeds/tables/test_rows.py::": "tests/feeds/tables/test_held_rows.py::",
    "tests/resume/test_rows.py::": "tests/resume/test_row_texts.py::",
    "tests/adapters/test_planted_faults.py::": "tests/faults/test_contract_suite.py::",
    "tests/server/test_isolated.py::test_serving_is": "tests/test_forking.py::test_serving_is",
    "tests/server/test_isolated.py::": "tests/server/isolation/test_children.py::",
    "tests/server/test_readers.py::": "tests/server/isolation/test_disk_forks.py::",
    "tests/server/test_guards.py::": "tests/server/sparql/test_guards.py::",
    "tests/server/test_answering.py::": "tests/server/sparql/test_answering.py::",
    "tests/server/test_follower.py::": "tests/sinks/events/test_follower.py::",
    "tests/server/test_pace.py::": "tests/sinks/events/test_pace.py::",
    "tests/sinks/test_events.py::test_a_reader_waits_for_an_event": (
        "tests/sinks/events/test_log.py::test_a_reader_that_leaves_is_over"
    ),
    "tests/sinks/test_events.py::": "tests/sinks/events/test_log.py::",
    "tests/server/test_small.py::test_one_pattern_with_few_matches_is_small": (
        "tests/server/test_quick_queries.py::test_one_pattern_with_few_matches_opens_quickly"
    ),
    "tests/server/test_small.py::": "tests/server/test_quick_queries.py::",
    "tests/sinks/test_webhook.py::test_retry_after": "tests/http/test_answers.py::test_retry_after",
    "tests/spark/test_kill_mirror.py::test_a_killed_mirror_loses_nothing_and_applies_nothing_twice": (
        f"{KILLS}[mirror]"
    ),
    "tests/spark/test_kill_subscription.py::test_a_killed_subscription_tells_each_micro_batch_as_it_is": (
        f"{KILLS}[subscription]"
    ),
}
"""The beginnings of names that are others now."""
CHANGED = {
    "tests/cli/test_watch_bad_input.py::test_bad_input_ends_with_its_place",
    "tests/docs/test_snippets.py::test_doctests_of_a_module_pass",
    "tests/faults/test_faults.py::test_code_without_a_fault_passes",
    "tests/faults/test_faults.py::test_planted_fault_is_caught",
    "tests/engine/operators/test_left_join.py::test_left_join_of_examples",
    "tests/engine/operators/test_slice.py::test_slice_of_examples",
    "tests/feeds/test_event_stream.py::test_events_are_parsed_as_the_standard_says",
    "tests/sinks/events/test_log.py::test_large_events_are_written_in_pieces",
    "tests/sinks/test_ndjson.py::test_ndjson_terms_are_those_of_sparql_results",
    "tests/sinks/test_webhook.py::test_webhook_can_be_closed_while_it_waits",
    "tests/sinks/test_webhook.py::test_webhook_cannot_use_a_proxy_that_is_none_of_http",
    "tests/sinks/test_webhook.py::test_webhook_waits_as_long_as_the_server_says",
    "tests/test_subscription.py::test_a_graph_that_is_dropped_takes_its_subscriptions_with_it",
}
"""Tests that got more parameters, or examples before others, which pytest names by their place."""


def collect(root: Path) -> list[str]:
    """List the cases of a checkout, at full effort."""
    shared = str(Path(os.environ.get("RDFLIVE_SHARED") or ROOT.parent / "shared").resolve())
    environment = {**os.environ, "RDFLIVE_EFFORT": "deep", "RDFLIVE_SHARED": shared}
    environment["PYTHONPATH"] = f"{root / 'plugin'}{os.pathsep}{root / 'store_adapters'}"
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    run = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(run.stdout + run.stderr)
    return [line for line in run.stdout.splitlines() if line.startswith("tests/") and "::" in line]


def lost(earlier: list[str], now: list[str]) -> list[str]:
    """List the cases that are no longer there."""
    cases, functions = set(now), Counter(map(_function, now))
    before = Counter(map(_function, earlier))
    return [
        name
        for name in earlier
        if _moved(name) not in cases
        and not (
            _function(_moved(name)) in CHANGED
            and functions[_function(_moved(name))] >= before[_function(name)]
        )
    ]


def _moved(name: str) -> str:
    return next(
        (there + name.removeprefix(here) for here, there in MOVED.items() if name.startswith(here)), name
    )


def _function(name: str) -> str:
    return name.partition("[")[0]


def main(revision: str) -> int:
    """Print the numbers of cases and what is missing; the exit code tells if anything is."""
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder, "before")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(before), revision], check=True)
        try:
            earlier = collect(before)
        finally:
            subprocess.run([*git, "remove", "--force", str(before)], check=True)
    now = collect(ROOT)
    missing = lost(earlier, now)
    print(
        f"{len(earlier)} cases at {revision}, {len(now)} now, {len(missing)} of the earlier ones are missing"
    )
    print(*missing, sep="\n")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
