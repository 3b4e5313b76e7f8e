"""How notebooks show a forest: its numbers, its classes, and its tree."""

from typing import Any

import numpy as np

from opforest import _html
from opforest._layout import lay_out
from opforest._notebook import count
from opforest._palette import hex_of

#: Larger trees are not drawn: a notebook keeps the picture.
MOST_TO_DRAW = 1000

#: Further classes are only counted.
MOST_CLASSES = 10

SIZE, MARGIN = 260, 12


def forest_html(forest: Any) -> str:
    """Return a forest as HTML."""
    prototypes = forest.prototypes
    kind = f", grown by {forest.grown_by}" if forest.grown_by not in ("", "seeds") else ""
    title = f"<b>Optimum-path forest</b> of {count(len(forest), 'example')}{kind}"
    facts = [
        (f"{forest.seed_name}s", f"{len(prototypes):,}"),
        ("metric", _html.text(forest.metric.name)),
        (
            "features",
            "none: distances" if forest.metric.is_precomputed else f"{forest.n_features:,}",
        ),
        ("precision", str(forest.dtype)),
        ("memory", _bytes(forest.n_bytes)),
    ]
    if len(forest) == 0:
        return _html.frame(title, _html.table((), facts))
    label = forest.label
    facts.insert(1, ("largest cost", f"{forest.cost.max():.4g}"))
    return _html.frame(
        title,
        _html.table((), facts),
        _classes(forest, label, prototypes),
        _tree(forest, label, prototypes) if len(forest) <= MOST_TO_DRAW else "",
    )


def _bytes(number: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} GB"


def _classes(forest: Any, label: Any, prototypes: Any) -> str:
    n = int(label.max()) + 1
    examples = np.bincount(label, minlength=n)
    seeds = np.bincount(label[prototypes], minlength=n)
    cost = np.bincount(label, forest.cost, minlength=n)
    shown = np.flatnonzero(examples)
    rows = [
        (
            _html.chip(k, hex_of(k)),
            f"{examples[k]:,}",
            f"{seeds[k]:,}",
            f"{cost[k] / examples[k]:.4g}",
        )
        for k in shown[:MOST_CLASSES].tolist()
    ]
    if len(shown) > MOST_CLASSES:
        rest = shown[MOST_CLASSES:]
        rows.append(
            (f"… {len(rest)} more", f"{examples[rest].sum():,}", f"{seeds[rest].sum():,}", "")
        )
    return _html.table(("class", "examples", f"{forest.seed_name}s", "mean cost"), rows)


def _tree(forest: Any, label: Any, prototypes: Any) -> str:
    edges = forest.edges
    with np.errstate(all="ignore"):
        length = forest.edge_lengths().astype(np.float64)
        if len(edges) == 0 or not np.isfinite(length.sum()):
            return ""
        at = lay_out(len(forest), edges, length)
    at = _html.fit_into(at, SIZE, SIZE, MARGIN, keep=True)(at)
    u, v = edges.T
    is_cut = label[u] != label[v]
    parts = []
    for k in np.unique(label).tolist():
        inside = edges[~is_cut & (label[u] == k)]
        parts += [_html.lines(at[inside], hex_of(k), 1), _html.dots(at[label == k], hex_of(k), 1.3)]
    parts.append(_html.lines(at[edges[is_cut]], "currentColor", 1, dashed=True))
    parts += [_html.star(at[p], hex_of(label[p]), 4) for p in prototypes.tolist()]
    return _html.svg(SIZE, SIZE, parts, "the tree; edges have their true lengths")
