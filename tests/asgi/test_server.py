"""Streams end when the program is told to end, also where another server runs the application."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from rdflive.asgi.server import AsgiServer, ending_at_signals

SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


async def nothing() -> None:
    """End no streams."""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_streams_and_is_handed_on(number: signal.Signals) -> None:
    """The earlier handler is called too, and only it after the block."""
    told: list[Any] = []

    async def program() -> None:
        ended = asyncio.Event()

        async def end() -> None:
            ended.set()

        signal.signal(number, lambda *given: told.append(given[0]))
        with ending_at_signals(end):
            signal.raise_signal(number)
            await asyncio.wait_for(ended.wait(), 30)
            ended.clear()
        signal.raise_signal(number)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not ended.is_set()

    asyncio.run(program())
    assert told == [number, number]


def uvicorns(kind: type[uvicorn.Server], *more: Any) -> Any:
    return kind(uvicorn.Config(lambda: None), *more).handle_exit


@pytest.mark.parametrize(
    "handler", [signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler, uvicorns(AsgiServer, nothing)]
)
def test_signals_without_a_handler_are_left_alone(handler: Any) -> None:
    """A signal does what it does without; the server of `rdflive serve` ends the streams itself."""

    async def program() -> None:
        for number in SIGNALS:
            signal.signal(number, handler)
        with ending_at_signals(nothing):
            assert [signal.getsignal(number) for number in SIGNALS] == [handler, handler]

    asyncio.run(program())


def test_the_handler_of_uvicorn_is_there_again_after_the_block() -> None:
    """Inside it stands behind another; in other threads than the main one nothing is changed."""
    handler = uvicorns(uvicorn.Server)

    async def inside() -> bool:
        with ending_at_signals(nothing):
            return signal.getsignal(signal.SIGINT) == handler

    signal.signal(signal.SIGTERM, handler)

    async def program() -> bool:
        signal.signal(signal.SIGINT, handler)
        return await inside()

    assert not asyncio.run(program())
    assert signal.getsignal(signal.SIGINT) == signal.getsignal(signal.SIGTERM) == handler
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(asyncio.run(inside())))
    thread.start()
    thread.join()
    assert found == [True]
