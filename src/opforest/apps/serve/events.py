"""Server-sent events: changes as they happen."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterable
from typing import Any

#: Events that a listener may lag behind before it is dropped.
BACKLOG = 256

#: Seconds of silence after which a stream sends a comment.
HEARTBEAT = 15.0


class EventBroker:
    """Sends each event to all listeners, in one event loop."""

    def __init__(self, max_listeners: int) -> None:
        self.max_listeners = max_listeners
        self.queues: set[asyncio.Queue[str | None]] = set()
        self.recent: deque[dict[str, Any]] = deque(maxlen=50)
        self.number = 0
        self.is_closed = False

    @property
    def is_full(self) -> bool:
        """Whether no further listener is accepted."""
        return self.is_closed or len(self.queues) >= self.max_listeners

    def publish(self, kind: str, event: dict[str, Any]) -> None:
        """Send an event to all listeners."""
        self.number += 1
        event = {"number": self.number, "kind": kind, **event}
        self.recent.append(event)
        text = f"id: {self.number}\nevent: {kind}\ndata: {json.dumps(event)}\n\n"
        for queue in list(self.queues):
            is_slow = queue.qsize() >= BACKLOG
            queue.put_nowait(None if is_slow else text)
            if is_slow:
                self.queues.discard(queue)

    def forget(self, keys: Iterable[str]) -> None:
        """Remove keys from the recent events."""
        forgotten = set(keys)
        for event in self.recent:
            event["keys"] = [key for key in event["keys"] if key not in forgotten]

    def close(self) -> None:
        """End all streams."""
        self.is_closed = True
        for queue in self.queues:
            queue.put_nowait(None)
        self.queues.clear()

    async def listen(self) -> AsyncIterator[str]:
        """Yield events as they happen."""
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        self.queues.add(queue)
        try:
            yield "retry: 1000\n\n"
            while not self.is_closed:  # it may have been closed before this queue was waited on
                try:
                    text = await asyncio.wait_for(queue.get(), HEARTBEAT)
                except TimeoutError:
                    text = ": alive\n\n"
                if text is None:
                    return
                yield text
        finally:
            self.queues.discard(queue)
