"""HTML and SVG elements for notebooks.

They inherit colors from the page, light or dark, and need no style sheet. ``text`` escapes all
names and values.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from opforest.core.metrics.types import Array

#: Longer names are cut.
MAX_NAME = 60

CELL = "padding:2px 10px;text-align:{};border:0;border-bottom:1px solid rgba(128,128,128,.3)"
FONT = "font:13px/1.45 system-ui,-apple-system,'Segoe UI',sans-serif;color:inherit"


def text(value: object) -> str:
    """Return a value as escaped and shortened text."""
    plain = str(value)
    return escape(plain if len(plain) <= MAX_NAME else f"{plain[: MAX_NAME - 1]}…")


def chip(value: object, color: str | None) -> str:
    """Return the name of a class after a square in its color."""
    square = (
        f'<span style="display:inline-block;width:.7em;height:.7em;margin-right:.4em;'
        f'border-radius:2px;background:{color}"></span>'
    )
    return f'<span style="white-space:nowrap">{square if color else ""}{text(value)}</span>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return a table of cells in HTML; the first ``left`` columns are aligned left."""

    def line(cells: Sequence[str], tag: str) -> str:
        sides = ["left" if k < left else "right" for k in range(len(cells))]
        weight = "font-weight:600" if tag == "th" else "font-weight:400"
        return "".join(
            f'<{tag} style="{CELL.format(side)};{weight};background:transparent">{cell}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )

    top = f"<thead><tr>{line(head, 'th')}</tr></thead>" if head else ""
    body = "".join(f'<tr style="background:transparent">{line(row, "td")}</tr>' for row in rows)
    style = "border-collapse:collapse;border:0;margin:0;font-variant-numeric:tabular-nums"
    return f'<table style="{style};color:inherit">{top}<tbody>{body}</tbody></table>'


def frame(title: str, *parts: str) -> str:
    """Return a title above parts side by side, which wrap on a narrow page."""
    inside = "".join(f'<div style="max-width:100%">{part}</div>' for part in parts if part)
    return (
        f'<div style="{FONT}"><div style="margin:0 0 6px">{title}</div>'
        f'<div style="display:flex;flex-wrap:wrap;gap:20px;align-items:flex-start">{inside}</div>'
        "</div>"
    )


def svg(width: int, height: int, parts: Iterable[str], label: str) -> str:
    """Return an image; ``label`` is its text for screen readers."""
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{text(label)}" style="max-width:100%;height:auto" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def _stroke(color: str, width: float, dashed: bool) -> str:
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return f'fill="none" stroke="{color}" stroke-width="{width:g}"{dash}'


def lines(ends: Array, color: str, width: float, dashed: bool = False) -> str:
    """Return straight lines, given as an array of shape (n, 2, 2)."""
    if len(ends) == 0:
        return ""
    path = "".join("M{:.1f} {:.1f}L{:.1f} {:.1f}".format(*four) for four in ends.reshape(-1, 4))
    return f'<path d="{path}" {_stroke(color, width, dashed)} stroke-linecap="round"/>'


def polyline(points: Array, color: str, width: float, dashed: bool = False) -> str:
    """Return a line through points."""
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{corners}" {_stroke(color, width, dashed)} stroke-linejoin="round"/>'


def dots(points: Array, color: str, radius: float, opacity: float = 1.0) -> str:
    """Return dots: lines of length 0 with round ends, which take few bytes."""
    if len(points) == 0:
        return ""
    path = "".join("M{:.1f} {:.1f}h0".format(*point) for point in points)
    stroke = _stroke(color, 2 * radius, False)
    return f'<path d="{path}" {stroke} stroke-linecap="round" opacity="{opacity:g}"/>'


def star(point: Array, color: str, radius: float) -> str:
    """Return a five-pointed star."""
    angle = np.pi * (np.arange(10) / 5 - 0.5)
    reach = radius * np.where(np.arange(10) % 2, 0.45, 1.0)
    x, y = point[0] + reach * np.cos(angle), point[1] + reach * np.sin(angle)
    corners = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return f'<polygon points="{corners}" fill="{color}" stroke="currentColor" stroke-width=".6"/>'


def caption(x: float, y: float, value: object, anchor: str = "start") -> str:
    """Return a text with its start, middle or end at a point."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11" '
        f'fill="currentColor" font-family="system-ui,sans-serif">{text(value)}</text>'
    )


def fit_into(points: Array, width: int, height: int, margin: int, keep: bool = False) -> Any:
    """Return a function from the plane of these points to an image, whose y axis points down.

    ``keep`` keeps the proportions.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    room = np.array((width, height)) - 2 * margin
    scale = room / span
    if keep:
        scale = np.full(2, scale.min())
    middle = (low + high) / 2

    def place(some: Array) -> Array:
        around = (some - middle) * scale * np.array((1, -1))
        return np.asarray(around + np.array((width, height)) / 2)

    return place
