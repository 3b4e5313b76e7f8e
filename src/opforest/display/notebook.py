"""HTML of a forest (numbers, classes, tree) and of an explanation (path, rival) in notebooks."""

from typing import Any

import numpy as np

from opforest._utils.text import count
from opforest.display import html
from opforest.display.layout import make_layout, split_edges
from opforest.display.palette import hex_of
from opforest.forest.explanation import PRINTED_STEPS, Explanation
from opforest.forest.feature_table import print_cell

#: Larger trees are not drawn: a notebook stores the image.
MAX_DRAWN = 1000

#: Further classes are only counted.
MAX_CLASSES = 10

#: Further features of the examples that explain a label are only counted.
MAX_FEATURES = 6

SIZE, MARGIN = 260, 12

#: The size and margin of the image of a path.
PATH_WIDTH, PATH_HEIGHT, PATH_MARGIN = 300, 230, 20


def forest_html(forest: Any) -> str:
    """Return a forest as HTML."""
    prototypes = forest.prototypes
    kind = f", grown by {forest.grown_by}" if forest.grown_by not in ("", "seeds") else ""
    title = f"<b>Optimum-path forest</b> of {count(len(forest), 'example')}{kind}"
    is_table = forest.metric.is_precomputed
    facts = [
        (f"{forest.seed_name}s", f"{len(prototypes):,}"),
        ("metric", html.text(forest.metric.name)),
        ("features", "none: distances" if is_table else f"{forest.n_features:,}"),
        ("precision", str(forest.dtype)),
        ("memory", _bytes(forest.n_bytes)),
    ]
    if len(forest) == 0:
        return html.frame(title, html.table((), facts))
    label = forest.label
    facts.insert(1, ("largest cost", f"{forest.cost.max():.4g}"))
    return html.frame(
        title,
        html.table((), facts),
        _classes(forest, label, prototypes),
        _tree_svg(forest, label, prototypes) if len(forest) <= MAX_DRAWN else "",
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
    mean = np.bincount(label, forest.cost, minlength=n) / np.maximum(examples, 1)
    names = range(n) if forest.class_names is None else forest.class_names.tolist()
    shown, rest = np.split(np.flatnonzero(examples), [MAX_CLASSES])
    rows = [
        (html.chip(names[k], hex_of(k)), f"{examples[k]:,}", f"{seeds[k]:,}", f"{mean[k]:.4g}")
        for k in shown.tolist()
    ]
    if len(rest):
        sums = f"{examples[rest].sum():,}", f"{seeds[rest].sum():,}"
        rows.append((f"… {len(rest)} more", *sums, ""))
    return html.table(("class", "examples", f"{forest.seed_name}s", "mean cost"), rows)


def _tree_svg(forest: Any, label: Any, prototypes: Any) -> str:
    with np.errstate(all="ignore"):
        length = forest.edge_lengths().astype(np.float64)
        if len(length) == 0 or not np.isfinite(length.sum()):
            return ""
        at = make_layout(len(forest), forest.edges, length)
    at = html.fit_into(at, SIZE, SIZE, MARGIN, keep=True)(at)
    inside, cut = split_edges(forest.edges, label)
    parts = []
    for k in np.unique(label).tolist():
        own = inside[label[inside[:, 0]] == k]
        parts += [html.lines(at[own], hex_of(k), 1), html.dots(at[label == k], hex_of(k), 1.3)]
    parts.append(html.lines(at[cut], "currentColor", 1, dashed=True))
    parts += [html.star(at[p], hex_of(label[p]), 4) for p in prototypes.tolist()]
    return html.svg(SIZE, SIZE, parts, "the tree; edges have their true lengths")


def explanation_html(why: Explanation) -> str:
    """Return an explanation as HTML: the path, the rival, and an image of two features."""
    result, conquered = f"at cost <b>{why.cost:.4g}</b>", "conquered by"
    if why.voters:
        won, total = why.votes[why.label], sum(why.votes.values())
        result, conquered = f"by <b>{won:.3g}</b> of {total:.3g} votes", "its best voter is"
    title = (
        f"<b>{html.chip(repr(why.label), _color(why))}</b> {result}: "
        f"{conquered} {html.text(why.steps[-2].name)}, on the path of "
        f"{html.text(why.steps[0].name.replace('example', 'prototype'))}"
    )
    rows = [_step_cells(why, i) for i in range(len(why.steps))]
    if len(rows) > PRINTED_STEPS:
        half = PRINTED_STEPS // 2
        rows[half:-half] = [["", f"… {len(rows) - 2 * half} more steps …", "", "", ""]]
    head = ("", "example", "class", "distance", "cost")
    body = html.table(head, rows, left=3) + _rival(why) + _voters(why)
    return html.frame(title, body, _path_svg(why), _features(why))


def _features(why: Explanation) -> str:
    """Return the table of features that differ most; "" if they have no names."""
    table = why.table
    if table is None or not table.has_names:
        return ""
    rows = []
    for role, values in zip(table.roles, table.values, strict=True):
        step = why.find_step(role)
        path = why.rival if role == "rival" and why.rival is not None else why
        name = "" if step.id is None else html.text(step.name)
        cells = [html.text(print_cell(value)) for value in values[:MAX_FEATURES]]
        rows.append([role, name, html.chip(repr(step.label), _color(path)), *cells])
    head = ["", "example", "class", *map(html.text, table.names[:MAX_FEATURES])]
    more = len(table.names) - MAX_FEATURES
    rest = f"<div>and {count(more, 'more feature')}</div>" if more > 0 else ""
    title = '<div style="margin:6px 0">Features, those that differ most first:</div>'
    shown = html.table(head, rows, left=3)
    return f'{title}<div style="overflow-x:auto;white-space:nowrap">{shown}</div>{rest}'


def _voters(why: Explanation) -> str:
    """Return the table of voters; "" if there is one voter."""
    if not why.voters:
        return ""
    rows = [
        [
            html.text(voter.name),
            html.text(repr(voter.label)),
            f"{voter.offer:.4g}",
            f"{voter.weight:.3g}",
        ]
        for voter in why.voters[:PRINTED_STEPS]
    ]
    if len(why.voters) > PRINTED_STEPS:
        rows.append([f"… {len(why.voters) - PRINTED_STEPS} more voters …", "", "", ""])
    return html.table(("voter", "class", "offer", "weight"), rows, left=2)


def _color(why: Explanation) -> str | None:
    return None if why.view is None else hex_of(why.view.code)


def _step_cells(why: Explanation, i: int) -> list[str]:
    step = why.steps[i]
    mark = "prototype" if i == 0 else "→" if step.id is None else ""
    numbers = ["", ""] if i == 0 else [f"{step.distance:.4g}", f"{step.cost:.4g}"]
    return [mark, html.text(step.name), html.chip(repr(step.label), _color(why)), *numbers]


def _rival(why: Explanation) -> str:
    rival = why.rival
    if rival is None:
        return ""
    if rival.cost == why.cost:
        more = ", which is a tie; the cheaper conqueror wins, then the older one"
    else:
        more = f", {rival.cost / why.cost:.3g} times as much" if why.cost > 0 else ""
    name, conqueror = html.chip(repr(rival.label), _color(rival)), rival.steps[-2].name
    sentence = f"Nearest rival: {name} would have cost <b>{rival.cost:.4g}</b>"
    return f'<div style="margin-top:6px">{sentence}, from {html.text(conqueror)}{more}.</div>'


def _path_svg(why: Explanation) -> str:
    view, rival = why.view, why.rival
    if view is None or view.places is None or view.around is None or view.codes is None:
        return ""
    paths = [(view.places, view.code, False)]
    if rival is not None and rival.view is not None and rival.view.places is not None:
        paths.insert(0, (rival.view.places, rival.view.code, True))
    shown = np.concatenate((view.around, view.places))
    place = html.fit_into(shown, PATH_WIDTH, PATH_HEIGHT, PATH_MARGIN)
    parts = [
        f'<rect x=".5" y=".5" width="{PATH_WIDTH - 1}" height="{PATH_HEIGHT - 1}" rx="4" '
        'fill="none" stroke="currentColor" stroke-opacity=".3"/>'
    ]
    parts += [
        html.dots(place(view.around[view.codes == code]), hex_of(code), 2, 0.4)
        for code in np.unique(view.codes).tolist()
    ]
    for points, code, is_rival in paths:
        at, color = place(points), hex_of(code)
        parts.append(html.polyline(at, color, 2, is_rival))
        parts += [html.dots(at[1:-1], color, 3), html.star(at[0], color, 8)]
    x, y = place(view.places[-1:])[0]
    parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="none" stroke="currentColor" '
                 'stroke-width="2"/>')  # fmt: skip
    parts += [html.caption(PATH_WIDTH - 6, PATH_HEIGHT - 6, view.names[0], "end"),
              html.caption(6, 14, view.names[1])]  # fmt: skip
    return html.svg(PATH_WIDTH, PATH_HEIGHT, parts, "the path to x, and that of the nearest rival")
