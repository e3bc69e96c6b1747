"""Rows between pieces, and how far they are complete: by the word of who writes them, on a real broker."""

import time
from collections.abc import Callable

import pytest

from headway.kafka import topics
from headway.kafka.transactions import TransactionalWriter
from headway.loop.punctuation_text import punctuation_text
from headway.model.piece import Channel
from headway.model.punctuation import Punctuation, UpstreamFlow
from headway.model.time import EventMs, WallMs
from headway.wan.control.flows import ChannelFlows

pytestmark = pytest.mark.kafka
CHANNEL, OTHER = Channel("flows.one", "here", "writer"), Channel("flows.two", "here", "writer")


def said(batch: int, rows: int, complete: int | None, incarnation: int = 1) -> bytes:
    at = None if complete is None else EventMs(complete)
    return punctuation_text(
        Punctuation("writer", "life", incarnation, batch, "digest", 1, WallMs(0), at, rows, 0, UpstreamFlow())
    ).encode()


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def test_rows_are_counted_once_though_a_writer_says_them_again(kafka: str, capsys: pytest.CaptureFixture[str]) -> None:
    for channel in (CHANNEL, OTHER):
        topics.create(kafka, channel.progress)
    writer = TransactionalWriter(kafka, CHANNEL.topic, "writer")
    for text in (said(0, 5, None), said(1, 7, 1_000), b"#what?", b"{}", said(1, 7, 1_000), said(2, 1, 900)):
        writer.note(CHANNEL.progress, text)
    flows = ChannelFlows({"here": kafka})
    try:
        assert flows.rows() == {} and flows.complete() == {}
        flows.follow([CHANNEL, OTHER])
        until(lambda: flows.rows().get(CHANNEL.topic) == 13)
        assert flows.complete() == {CHANNEL.topic: 1_000}, "what was promised stands"
        assert "punctuation" in capsys.readouterr().err
        writer.note(OTHER.progress, said(0, 3, 50))
        until(lambda: flows.rows().get(OTHER.topic) == 3)
        flows.follow([OTHER])
        until(lambda: flows.rows() == {OTHER.topic: 3})
    finally:
        flows.close()
