"""How a number may be written in a cell: what stands around it, and which marks stand within it.

Both are ordered lists of small rules. What stands around a number (a currency, a unit, a percent
sign) says what it means, so a model remembers it; the marks within it belong to a file.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

#: Marks of currencies, before or after an amount.
CURRENCIES = (
    "US$", "R$", "A$", "C$", "$", "€", "£", "¥", "₹", "₩", "₽",
    "USD", "EUR", "GBP", "JPY", "CHF", "CNY", "INR", "CAD", "AUD",
)  # fmt: skip

#: Units that are known as such even where a column has several of them.
UNITS = (
    "%", "‰", "mm", "cm", "dm", "km", "in", "inch", "ft", "yd", "mi", "µm", "nm",
    "mg", "kg", "lb", "lbs", "oz", "ml", "cl", "dl", "ms", "sec", "min", "hr", "hrs",
    "days", "weeks", "months", "years", "°C", "°F", "Hz", "kHz", "MHz", "GHz", "kW", "kWh", "MW",
    "hPa", "kPa", "bar", "psi", "km/h", "kmh", "mph", "m/s", "kB", "MB", "GB", "TB",
)  # fmt: skip

_EXPONENT = r"([eE][+-]?[0-9]+)?"
_PLAIN = rf"([0-9]+\.?[0-9]*|\.[0-9]+){_EXPONENT}"
_COMMA = rf"([0-9]+,?[0-9]*|,[0-9]+){_EXPONENT}"
_FORTRAN = r"([0-9]+\.[0-9]*|\.[0-9]+)[dD][+-]?[0-9]+|[0-9]+[dD][+-][0-9]+"
_BLANKS = " \u00a0\u202f'’"


class Style(NamedTuple):
    """Which marks stand within numbers.

    Attributes
    ----------
    told : str
        What a note calls it.
    decimal : str
        The mark before the fraction.
    groups : str
        The marks between groups of three digits, each of which may be used.
    pattern : str
        What a number without its sign looks like, for Python and for polars.
    """

    told: str
    decimal: str
    groups: str
    pattern: str

    def to_plain(self, number: str) -> str:
        """Return a number in this style as Python writes it."""
        bare = number.translate({ord(mark): None for mark in self.groups})
        return re.sub("[dD]", "e", bare.replace(self.decimal, "."))


def _grouped(marks: str, decimal: str, ungrouped: str) -> str:
    mark = f"[{re.escape(marks)}]"
    return rf"{ungrouped}|[1-9][0-9]{{0,2}}({mark}[0-9]{{3}})+({re.escape(decimal)}[0-9]*)?"


#: The styles, in the order in which they are tried.
STYLES = {
    "plain": Style("", ".", "", _PLAIN),
    "fortran": Style("Fortran's exponents", ".", "", f"{_PLAIN}|{_FORTRAN}"),
    "comma": Style("a decimal comma", ",", "", _COMMA),
    "commas": Style("thousands separators", ".", ",", _grouped(",", ".", _PLAIN)),
    "points": Style("thousands separators and a decimal comma", ",", ".",
                    _grouped(".", ",", _COMMA)),
    "blanks": Style("thousands separators", ".", _BLANKS, _grouped(_BLANKS, ".", _PLAIN)),
    "blanks comma": Style("thousands separators and a decimal comma", ",", _BLANKS,
                          _grouped(_BLANKS, ",", _COMMA)),
}  # fmt: skip


def _any_of(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_NUMBER = "|".join(style.pattern for style in STYLES.values())

#: A cell that is a number for a person, whatever the rest of its column is.
NUMBER_LIKE = (
    rf"^[+-]?({_any_of(CURRENCIES)})?\s*[+-]?({_NUMBER})\s*"
    rf"({_any_of((*CURRENCIES, *UNITS))})?$"
)
_NUMBER_LIKE = re.compile(NUMBER_LIKE)

#: Characters of a cell that can be a number; what is longer is not looked at.
LONGEST = 100

#: A number between anything that may stand around it: a unit that all cells share may be any word.
_SHAPE = re.compile(
    rf"[+-]?(?P<prefix>{_any_of(CURRENCIES)})?\s*[+-]?(?:{_NUMBER})\s*"
    r"(?P<suffix>(?:[^\W\d_]|[%‰°$€£¥₹₩₽/²³·]){1,15}(?:\^?[23])?)?"
)


class Affix(NamedTuple):
    """What stands before and after each number of a column."""

    prefix: str = ""
    suffix: str = ""

    @property
    def told(self) -> str:
        """What a note calls it."""
        if self.suffix in ("%", "‰"):
            return "percentages" if self.suffix == "%" else "per mille"
        if self.prefix or self.suffix in CURRENCIES:
            return f"amounts in {self.prefix or self.suffix}"
        return f"the unit {self.suffix}" if self.suffix else ""


class Form(NamedTuple):
    """How the numbers of a column are written.

    Examples
    --------
    >>> from opforest._utils.numerals import Affix, Form
    >>> form = Form(Affix("$"), "commas")
    >>> form.to_plain("-$1,234.50"), form.to_plain("12 cm")
    ('-1234.50', None)
    """

    affix: Affix = Affix()
    style: str = "plain"

    @property
    def told(self) -> str:
        """What a note calls it."""
        return ", ".join(filter(None, (self.affix.told, STYLES[self.style].told)))

    @property
    def pattern(self) -> str:
        """What cells look like, for Python and for polars: sign, sign and number are groups."""
        before, after = re.escape(self.affix.prefix), re.escape(self.affix.suffix)
        return (
            rf"^(?P<sign>[+-]?){before}\s*(?P<inner>[+-]?)"
            rf"(?P<number>{STYLES[self.style].pattern})\s*{after}$"
        )

    def to_plain(self, cell: str) -> str | None:
        """Return a cell as Python writes numbers; None if it is not written in this form."""
        found = re.match(self.pattern, cell)
        if found is None or (found["sign"] and found["inner"]):
            return None
        number = STYLES[self.style].to_plain(found["number"])
        return f"{found['sign']}{found['inner']}{number}"


#: Numbers as Python writes them.
PLAIN = Form()


def looks_like_number(cell: str) -> bool:
    """Tell whether a cell is a number for a person: with a sign, a unit or other marks."""
    return len(cell) <= LONGEST and bool(_NUMBER_LIKE.match(cell.strip()))


def affix_of(cell: str) -> Affix | None:
    """Return what stands around the number in a cell; None if there is no number."""
    found = _SHAPE.fullmatch(cell) if len(cell) <= LONGEST else None
    return None if found is None else Affix(found["prefix"] or "", found["suffix"] or "")


@dataclass(frozen=True)
class Cells:
    """What a model or a store remembers of how the cells of its data are read.

    Attributes
    ----------
    affixes : dict of int to Affix
        What stands around the numbers of a feature, counted from 1, where anything does.
    decimal : str
        The decimal mark of its data, where that is known; it decides what could be read two ways.
    missing : tuple of str
        Cells that mean a missing value, beside those that always do.
    """

    affixes: Mapping[int, Affix] = field(default_factory=dict)
    decimal: str = ""
    missing: tuple[str, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """Return it as data that JSON can hold; empty if there is nothing to remember."""
        data: dict[str, Any] = {}
        if self.affixes:
            data["affixes"] = {str(place): list(affix) for place, affix in self.affixes.items()}
        if self.decimal:
            data["decimal"] = self.decimal
        if self.missing:
            data["missing"] = list(self.missing)
        return data

    @classmethod
    def from_data(cls, data: Any, n_features: int | None = None) -> Self:
        """Return what ``to_data`` was called of, or say in a ``ValueError`` what is wrong."""
        known = {"affixes": {}, "decimal": "", "missing": []}
        if not isinstance(data, dict) or not set(data) <= set(known):
            raise ValueError("what it says of cells cannot be.")
        told = {**known, **data}
        affixes, missing = told["affixes"], told["missing"]
        most = 10**6 if n_features is None else n_features
        proper = (
            isinstance(affixes, dict)
            and all(_is_place(place, most) and _is_affix(a) for place, a in affixes.items())
            and told["decimal"] in ("", ".", ",")
            and isinstance(missing, list)
            and all(type(mark) is str and 0 < len(mark) <= 1000 for mark in missing)
        )
        if not proper:
            raise ValueError("what it says of cells cannot be.")
        return cls({int(place): Affix(*affix) for place, affix in affixes.items()},
                   told["decimal"], tuple(missing))  # fmt: skip


def _is_place(place: Any, most: int) -> bool:
    proper = type(place) is str and re.fullmatch("[1-9][0-9]{0,6}", place) is not None
    return proper and int(place) <= most


def _is_affix(affix: Any) -> bool:
    if not isinstance(affix, list) or len(affix) != 2 or not all(type(a) is str for a in affix):
        return False
    prefix, suffix = affix
    return any(affix) and affix_of(f"{prefix}1{suffix}") == (prefix, suffix)
