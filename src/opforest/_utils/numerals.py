"""Notations of numbers in cells: affixes around a number, and separators inside it.

Affixes (a currency, a unit, a percent sign) give a number its meaning, so a model remembers them;
separators may differ from file to file.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

#: Currency symbols and codes, before or after an amount.
CURRENCIES = (
    "US$", "R$", "A$", "C$", "$", "€", "£", "¥", "₹", "₩", "₽",
    "USD", "EUR", "GBP", "JPY", "CHF", "CNY", "INR", "CAD", "AUD",
)  # fmt: skip

#: Units that are recognized even if a column has several of them.
UNITS = (
    "%", "‰", "mm", "cm", "dm", "km", "in", "inch", "ft", "yd", "mi", "µm", "nm",
    "mg", "kg", "lb", "lbs", "oz", "ml", "cl", "dl", "ms", "sec", "min", "hr", "hrs",
    "days", "weeks", "months", "years", "°C", "°F", "Hz", "kHz", "MHz", "GHz", "kW", "kWh", "MW",
    "hPa", "kPa", "bar", "psi", "km/h", "kmh", "mph", "m/s", "kB", "MB", "GB", "TB",
)  # fmt: skip

_EXPONENT = r"([eE][+-]?[0-9]+)?"
_FORTRAN = r"([0-9]+\.[0-9]*|\.[0-9]+)[dD][+-]?[0-9]+|[0-9]+[dD][+-][0-9]+"
_BLANKS = " \u00a0\u202f'’"


class Style(NamedTuple):
    """Decimal and thousands separators."""

    description: str  #: its name in notes
    decimal: str  #: the decimal mark
    groups: str  #: characters that may separate groups of three digits
    pattern: str  #: a regular expression for unsigned numbers, for Python and for polars

    def to_plain(self, number: str) -> str:
        """Return a number of this style in Python's notation."""
        bare = number.translate({ord(mark): None for mark in self.groups})
        return re.sub("[dD]", "e", bare.replace(self.decimal, "."))


def _pattern(decimal: str, groups: str = "") -> str:
    """Return a regular expression for numbers with these separators."""
    point = re.escape(decimal)
    plain = rf"([0-9]+{point}?[0-9]*|{point}[0-9]+){_EXPONENT}"
    if not groups:
        return plain
    return rf"{plain}|[1-9][0-9]{{0,2}}([{re.escape(groups)}][0-9]{{3}})+({point}[0-9]*)?"


#: The styles, in the order in which they are tried.
STYLES = {
    "plain": Style("", ".", "", _pattern(".")),
    "fortran": Style("Fortran's exponents", ".", "", f"{_pattern('.')}|{_FORTRAN}"),
    "comma": Style("a decimal comma", ",", "", _pattern(",")),
    "commas": Style("thousands separators", ".", ",", _pattern(".", ",")),
    "points": Style("thousands separators and a decimal comma", ",", ".", _pattern(",", ".")),
    "blanks": Style("thousands separators", ".", _BLANKS, _pattern(".", _BLANKS)),
    "blanks comma": Style(
        "thousands separators and a decimal comma", ",", _BLANKS, _pattern(",", _BLANKS)
    ),
}


def _any_of(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_NUMBER = "|".join(style.pattern for style in STYLES.values())

#: Cells that a person would read as a number, whatever the rest of the column.
NUMBER_LIKE = (
    rf"^[+-]?({_any_of(CURRENCIES)})?\s*[+-]?({_NUMBER})\s*"
    rf"({_any_of((*CURRENCIES, *UNITS))})?$"
)
_NUMBER_LIKE = re.compile(NUMBER_LIKE)

#: Longer cells are never numbers.
MAX_LENGTH = 100

#: A number with any affixes: a unit that all cells share may be any word.
_SHAPE = re.compile(
    rf"[+-]?(?P<prefix>{_any_of(CURRENCIES)})?\s*[+-]?(?:{_NUMBER})\s*"
    r"(?P<suffix>(?:[^\W\d_]|[%‰°$€£¥₹₩₽/²³·]){1,15}(?:\^?[23])?)?"
)


class Affix(NamedTuple):
    """The texts before and after each number of a column."""

    prefix: str = ""
    suffix: str = ""

    @property
    def description(self) -> str:
        """Its name in notes."""
        if self.suffix in ("%", "‰"):
            return "percentages" if self.suffix == "%" else "per mille"
        if self.prefix or self.suffix in CURRENCIES:
            return f"amounts in {self.prefix or self.suffix}"
        return f"the unit {self.suffix}" if self.suffix else ""


class Form(NamedTuple):
    """The notation of the numbers of a column.

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
    def description(self) -> str:
        """Its name in notes."""
        return ", ".join(filter(None, (self.affix.description, STYLES[self.style].description)))

    @property
    def pattern(self) -> str:
        """A regular expression for cells, for Python and for polars."""
        before, after = re.escape(self.affix.prefix), re.escape(self.affix.suffix)
        return (
            rf"^(?P<sign>[+-]?){before}\s*(?P<inner>[+-]?)"
            rf"(?P<number>{STYLES[self.style].pattern})\s*{after}$"
        )

    def to_plain(self, cell: str) -> str | None:
        """Return a cell in Python's notation, or None if it does not have this form."""
        found = re.match(self.pattern, cell)
        if found is None or (found["sign"] and found["inner"]):
            return None
        number = STYLES[self.style].to_plain(found["number"])
        return f"{found['sign']}{found['inner']}{number}"


#: Python's notation.
PLAIN = Form()


def looks_like_number(cell: str) -> bool:
    """Return whether a person would read a cell as a number, perhaps with a unit or separators."""
    return len(cell) <= MAX_LENGTH and bool(_NUMBER_LIKE.match(cell.strip()))


def affix_of(cell: str) -> Affix | None:
    """Return the affixes of the number in a cell, or None if it is not a number."""
    found = _SHAPE.fullmatch(cell) if len(cell) <= MAX_LENGTH else None
    return None if found is None else Affix(found["prefix"] or "", found["suffix"] or "")


@dataclass(frozen=True)
class Cells:
    """The notation of cells that a model or a store remembers."""

    affixes: Mapping[int, Affix] = field(default_factory=dict)  #: by feature, counted from 1
    decimal: str = ""  #: the decimal mark, if known; it decides between two readings of a cell
    missing: tuple[str, ...] = ()  #: cells that mean a missing value, beside the usual ones

    def to_data(self) -> dict[str, Any]:
        """Return a dict for JSON, with the fields that are not empty."""
        affixes = {str(place): list(affix) for place, affix in self.affixes.items()}
        data = {"affixes": affixes, "decimal": self.decimal, "missing": list(self.missing)}
        return {name: value for name, value in data.items() if value}

    @classmethod
    def from_data(cls, data: Any, n_features: int | None = None) -> Self:
        """Restore the result of ``to_data``; raise a ValueError if it is invalid."""
        defaults = {"affixes": {}, "decimal": "", "missing": []}
        fields = {**defaults, **data} if isinstance(data, dict) else {}
        affixes: Any = fields.get("affixes")
        missing: Any = fields.get("missing")
        is_valid = (
            set(fields) == set(defaults)
            and isinstance(affixes, dict)
            and all(_is_place(k, n_features) and _is_affix(a) for k, a in affixes.items())
            and fields["decimal"] in ("", ".", ",")
            and isinstance(missing, list)
            and all(type(mark) is str and 0 < len(mark) <= 1000 for mark in missing)
        )
        if not is_valid:
            raise ValueError("its notation of cells is invalid.")
        return cls({int(place): Affix(*affix) for place, affix in affixes.items()},
                   fields["decimal"], tuple(missing))  # fmt: skip


def _is_place(place: Any, n_features: int | None) -> bool:
    if type(place) is not str or not re.fullmatch("[1-9][0-9]{0,6}", place):
        return False
    return int(place) <= (10**6 if n_features is None else n_features)


def _is_affix(affix: Any) -> bool:
    if not isinstance(affix, list) or len(affix) != 2 or not all(type(a) is str for a in affix):
        return False
    prefix, suffix = affix
    return any(affix) and affix_of(f"{prefix}1{suffix}") == (prefix, suffix)
