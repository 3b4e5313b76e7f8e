"""How much a client may ask for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a service takes on.

    Attributes
    ----------
    body : int
        Bytes of a request.
    rows : int
        Rows of a request.
    seconds : float
        How long a request may take to arrive.
    waiting : int
        Changes that may wait for their turn.
    listeners : int
        Clients that may follow events.
    """

    body: int = 16 * 1024 * 1024
    rows: int = 10_000
    seconds: float = 30.0
    waiting: int = 256
    listeners: int = 64
