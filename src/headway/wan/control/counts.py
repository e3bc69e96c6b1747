"""How many rows each piece has read, over all of its lives, and each topic has; by the word of nodes and of the topics."""

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from headway.fleet.node.wire import HostedQuery
from headway.model.piece import Piece
from headway.model.time import EventMs
from headway.wan.control.rates import AreaSample

KEPT = 600  # words of a topic about how far it is complete


@dataclass(slots=True)
class _ReadByLives:
    """Of one piece."""

    epoch: int = 0
    before: int = 0  # rows of lives that are over
    now: int = 0
    watermark: EventMs | None = None


@dataclass(slots=True)
class RowCounts:
    """Counts go on when a piece begins another life, and do not count what was read between a look and the end of a life.

    That is mended by what a piece must have read: one whose watermark has come as far as a topic was complete at some look
    has read all rows that were in the topic then.
    """

    _pieces: dict[str, _ReadByLives] = field(default_factory=dict)
    _words: dict[str, deque[tuple[EventMs, int]]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=KEPT)))

    def watermark(self, piece: str) -> EventMs | None:
        found = self._pieces.get(piece)
        return None if found is None else found.watermark

    def saw(self, query: HostedQuery) -> None:
        """A life of a piece, as its node tells."""
        known = self._pieces.setdefault(query.name, _ReadByLives(query.epoch))
        if query.epoch < known.epoch:
            return
        if query.epoch > known.epoch:
            known.epoch, known.before, known.now = query.epoch, known.before + known.now, 0
        known.now = max(known.now, query.rows)
        if query.watermark is not None:
            known.watermark = max(query.watermark, known.watermark or query.watermark)

    def sample(
        self, now_ms: int, pieces: tuple[Piece, ...], rows: Mapping[str, int], complete: Mapping[str, EventMs]
    ) -> AreaSample:
        for topic, at in complete.items():
            words = self._words[topic]
            if not words or words[-1][0] < at:
                words.append((at, rows.get(topic, 0)))
        read = {}
        for piece in pieces:
            known = self._pieces.get(piece.name)
            if known is None:
                continue
            if piece.reads:
                there = sum(rows.get(channel.topic, 0) for channel in piece.reads)
                least = sum(self._passed(channel.topic, known.watermark) for channel in piece.reads)
                known.before += max(0, least - known.before - known.now)
                read[piece.name] = min(known.before + known.now, there)
            else:
                read[piece.name] = known.before + known.now
        return AreaSample(now_ms, read, dict(rows))

    def _passed(self, topic: str, watermark: EventMs | None) -> int:
        """Rows that were in a topic when it was complete up to no more than the watermark."""
        if watermark is None:
            return 0
        return max((rows for at, rows in self._words[topic] if at <= watermark), default=0)
