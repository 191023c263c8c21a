"""`rdflive watch --to` with sinks of plugins."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

import rdflive
from rdflive.cli import main
from rdflive.sinks import SinkChoice
from support.cli import watch


class Collected:
    """A sink that keeps what it gets, and may fail."""

    def __init__(self, **failing: Exception) -> None:
        self.failing = failing
        self.events: list[Any] = []

    @contextmanager
    def open(self, args: argparse.Namespace) -> Iterator[Callable[[rdflive.Delta], object]]:
        self._do("open", args.url)
        try:
            yield lambda delta: self._do(f"delta{delta.sequence}", len(delta.added), len(delta.removed))
        finally:
            self._do("close")

    def _do(self, what: str, *seen: object) -> None:
        self.events.append((what, *seen))
        if what in self.failing:
            raise self.failing[what]


@contextmanager
def offering(*choices: Any, name: str = "queue_plugin", error: Exception | None = None) -> Iterator[None]:
    """Register a plugin that offers sinks."""

    @rdflive.hookimpl
    def rdflive_sinks() -> Any:
        if error is not None:
            raise error
        return choices

    plugin = SimpleNamespace(rdflive_sinks=rdflive_sinks)
    rdflive.register_plugin(plugin, name)
    try:
        yield
    finally:
        rdflive.unregister_plugin(plugin)


def queue(sink: Collected, name: str = "queue") -> SinkChoice:
    return SinkChoice(name, "a message for each delta", sink.open, ("url",))


def test_a_sink_of_a_plugin_gets_options_and_deltas(capsys: pytest.CaptureFixture[str]) -> None:
    """It is opened once, gets each delta in order, and is closed."""
    sink = Collected()
    with offering(queue(sink)):
        assert watch("--to", "queue", "--url", "queue://late") == 0
    assert sink.events == [("open", "queue://late"), ("delta0", 2, 0), ("delta1", 1, 1), ("close",)]
    assert capsys.readouterr().out == ""


def test_help_and_completion_offer_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Its description stands below those of rdflive, whose column is as wide as the longest name needs."""
    with offering(queue(Collected(), "message-queue")), pytest.raises(SystemExit):
        main(["watch", "--help"])
    shown = capsys.readouterr().out
    assert "\n  --to webhook        a POST" in shown
    assert "\n  --to message-queue  a message for each delta\n" in shown
    pytest.importorskip("shtab", reason="the completion extra is not installed")
    with offering(queue(Collected())), pytest.raises(SystemExit):
        main(["--completion", "bash"])
    choices = next(line for line in capsys.readouterr().out.splitlines() if "watch___to_choices=" in line)
    assert "webhook queue" in choices.replace("'", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "queue", "--out", "o"], "--out goes with --to ndjson or patch, not with --to queue"),
        (["--to", "sse", "--url", "x:"], "--url goes with --to webhook or queue, not with --to sse"),
    ],
)
def test_options_of_other_sinks_are_refused(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the sinks that take the option."""
    sink = Collected()
    with offering(queue(sink)):
        assert watch(*options) == 2
    assert capsys.readouterr().err == f"rdflive: error: {message}\n"
    assert sink.events == []


def test_an_unknown_sink_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """Those of plugins are among them while they are registered."""
    with offering(queue(Collected())), pytest.raises(SystemExit) as ended:
        watch("--to", "quue")
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "argument --to: invalid choice: 'quue'" in said
    assert "queue" in said.partition("choose from")[2]
    with pytest.raises(SystemExit):
        watch("--to", "queue")
    assert "queue" not in capsys.readouterr().err.partition("choose from")[2]


@pytest.mark.parametrize(
    ("failing", "message", "deltas"),
    [
        ({"open": ValueError("--url must begin with queue:")}, "--to queue: --url must begin with queue:", 0),
        ({"open": KeyError("host")}, "--to queue: KeyError: 'host'", 0),
        ({"delta1": RuntimeError("gone")}, "--to queue: RuntimeError: gone", 2),
        ({"delta1": rdflive.RdfliveError("the queue is full")}, "the queue is full", 2),
        ({"delta0": OSError(111, "Connection refused")}, "--to queue: [Errno 111] Connection refused", 1),
        ({"delta0": BrokenPipeError(32, "Broken pipe")}, "--to queue: [Errno 32] Broken pipe", 1),
        ({"delta1": RuntimeError("gone"), "close": OSError("lost")}, "--to queue: RuntimeError: gone", 2),
        ({"close": RuntimeError("not flushed")}, "--to queue: RuntimeError: not flushed", 2),
    ],
    ids=["refuses", "opens", "sends", "says", "connects", "hangs up", "fails twice", "closes"],
)
def test_a_broken_sink_ends_the_run(
    failing: dict[str, Exception], message: str, deltas: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 2, the error names the sink, and an opened sink is closed."""
    sink = Collected(**failing)
    with offering(queue(sink)):
        assert watch("--to", "queue") == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"rdflive: error: {message}"
    names = [event[0] for event in sink.events]
    assert sum(name.startswith("delta") for name in names) == deltas
    assert names[-1] == ("open" if "open" in failing else "close")


def test_an_async_callback_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing would await it, and each delta would be lost without a word."""

    async def send(delta: rdflive.Delta) -> None:
        raise AssertionError

    with offering(SinkChoice("queue", "", lambda _: nullcontext(send))):
        assert watch("--to", "queue") == 2
    assert "--to queue: its callback is an async function" in capsys.readouterr().err


def test_a_broken_plugin_ends_no_other_command(capsys: pytest.CaptureFixture[str]) -> None:
    """A report about it needs `--version`."""
    with offering(error=RuntimeError("no host")):
        for arguments in (["--version"], ["--help"], ["watch", "--help"], ["serve", "--help"]):
            with pytest.raises(SystemExit) as ended:
                main(arguments)
            assert ended.value.code == 0
        assert capsys.readouterr().err == ""
        assert watch("--to", "queue") == 2
    assert "plugin queue_plugin cannot list its sinks" in capsys.readouterr().err


def test_a_failed_delta_is_sent_again(capsys: pytest.CaptureFixture[str]) -> None:
    """With --resume the next run begins with the delta at which the sink of a plugin failed."""
    options = ["--to", "queue", "--resume", "r.sqlite", "--name", "n"]
    broken, whole = Collected(delta2=RuntimeError("gone")), Collected()
    with offering(queue(broken)):
        assert watch(*options) == 2
    assert broken.events[-2][0] == "delta2"
    with offering(queue(whole)):
        assert watch(*options) == 0
    assert next(event for event in whole.events if event[0] != "open") == broken.events[-2]
    assert "--to queue: RuntimeError: gone" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (
            offering(queue(Collected(), "ndjson")),
            "two plugins provide the sink 'ndjson': rdflive.cli.targets and queue_plugin; rename one or "
            "uninstall it",
        ),
        (
            offering(error=RuntimeError("no host")),
            "plugin queue_plugin cannot list its sinks: RuntimeError: no host; repair or uninstall it",
        ),
        (
            offering("queue"),
            "plugin queue_plugin: rdflive_sinks returns objects of rdflive.sinks.SinkChoice, not 'queue'",
        ),
        (
            offering(SinkChoice("queue", "", Collected().open, ("topic",))),  # type: ignore[arg-type]  # unknown
            "plugin queue_plugin: the sink 'queue' takes no option 'topic'; accepted: full, listen, out, "
            "secret_env, url",
        ),
        (
            offering(queue(Collected(), "--queue")),
            "plugin queue_plugin: '--queue' cannot be the name of a sink, which has letters, digits and -",
        ),
        (
            offering(SinkChoice("queue", "", Collected().open, "url")),  # type: ignore[arg-type]  # no tuple
            "plugin queue_plugin: the sink 'queue' needs a function as open and a tuple as options",
        ),
    ],
    ids=["same name", "raises", "no choice", "unknown option", "odd name", "no tuple"],
)
def test_a_broken_plugin_is_named(plugin: Any, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The command ends with exit code 2 before it loads data."""
    with plugin:
        assert watch() == 2
    assert capsys.readouterr().err == f"rdflive: error: {message}\n"
