"""Limits of a service."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How much a service accepts."""

    body: int = 16 * 1024 * 1024  #: bytes of a request
    rows: int = 10_000  #: rows of a request
    seconds: float = 30.0  #: time that a request may take to arrive
    waiting: int = 256  #: changes in the queue
    listeners: int = 64  #: clients that follow events
