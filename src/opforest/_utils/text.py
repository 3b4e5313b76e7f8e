"""Numbers and lists in messages."""

from collections.abc import Sequence


def count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun in the singular or plural.

    >>> count(1, "class", "classes"), count(1200, "example")
    ('1 class', '1,200 examples')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def join_first(items: Sequence[object], most: int = 8, total: int | None = None) -> str:
    """Return the first items as text, and the number of the others; there are ``total`` in all.

    >>> join_first("abc"), join_first(range(1200), 2)
    ('a, b, c', '0, 1 and 1,198 more')
    """
    shown = ", ".join(map(str, items[:most]))
    more = (len(items) if total is None else total) - min(most, len(items))
    return f"{shown} and {more:,} more" if more else shown
