"""Who wants to hear what happens: server-sent events, and numbers for Prometheus."""

import asyncio
import json
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable
from typing import Any

#: Events that a slow listener may lag behind, before it is dropped and has to ask anew.
BACKLOG = 256

#: Seconds after which a silent stream says that it is alive.
HEARTBEAT = 15.0


class EventBroker:
    """Sends each event to everybody who listens. All of it happens in one event loop."""

    def __init__(self, listeners: int) -> None:
        self.most = listeners
        self.queues: set[asyncio.Queue[str | None]] = set()
        self.recent: deque[dict[str, Any]] = deque(maxlen=50)
        self.number = 0
        self.is_closed = False

    @property
    def is_full(self) -> bool:
        """Whether no further listener is taken."""
        return self.is_closed or len(self.queues) >= self.most

    def publish(self, kind: str, event: dict[str, Any]) -> None:
        """Tell everybody."""
        self.number += 1
        event = {"number": self.number, "kind": kind, **event}
        self.recent.append(event)
        text = f"id: {self.number}\nevent: {kind}\ndata: {json.dumps(event)}\n\n"
        for queue in list(self.queues):
            if queue.qsize() >= BACKLOG:
                self.queues.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(text)

    def forget(self, keys: Iterable[str]) -> None:
        """Leave no key of what was forgotten among the recent events."""
        gone = set(keys)
        for event in self.recent:
            event["keys"] = [key for key in event["keys"] if key not in gone]

    def close(self) -> None:
        """End all streams."""
        self.is_closed = True
        for queue in self.queues:
            queue.put_nowait(None)
        self.queues.clear()

    async def listen(self) -> AsyncIterator[str]:
        """Yield events as they come, and a comment now and then when none does."""
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        self.queues.add(queue)
        try:
            yield "retry: 1000\n\n"
            while not self.is_closed:  # it may have been before anybody waited at this queue
                try:
                    text = await asyncio.wait_for(queue.get(), HEARTBEAT)
                except TimeoutError:
                    text = ": alive\n\n"
                if text is None:
                    return
                yield text
        finally:
            self.queues.discard(queue)


class RequestMetrics:
    """Counts requests, and how long they took."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.seconds: Counter[str] = Counter()

    def note(self, path: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self.requests[path, status] += 1
        self.seconds[path] += seconds  # type: ignore[assignment]

    def text(self, gauges: dict[str, tuple[str, str, float]]) -> str:
        """Return all numbers, and those given by name, in the format of Prometheus."""
        lines = [
            "# HELP opforest_requests_total Requests answered.",
            "# TYPE opforest_requests_total counter",
        ]
        lines += [
            f'opforest_requests_total{{path="{path}",status="{status}"}} {count}'
            for (path, status), count in sorted(self.requests.items())
        ]
        lines += [
            "# HELP opforest_request_seconds_total Time taken to answer them.",
            "# TYPE opforest_request_seconds_total counter",
        ]
        lines += [
            f'opforest_request_seconds_total{{path="{path}"}} {seconds:.9g}'
            for path, seconds in sorted(self.seconds.items())
        ]
        for name, (kind, help, value) in gauges.items():
            lines += [f"# HELP opforest_{name} {help}", f"# TYPE opforest_{name} {kind}"]
            lines += [f"opforest_{name} {value:.9g}"]
        return "\n".join(lines) + "\n"
