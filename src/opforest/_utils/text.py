"""Numbers in messages."""


def count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun in the singular or plural.

    >>> count(1, "class", "classes"), count(1200, "example")
    ('1 class', '1,200 examples')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
