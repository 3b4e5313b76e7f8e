"""The playground's JavaScript agrees with the library: same edges, costs, prototypes, labels."""

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api")

from tests.support.browser import MARKS, Page, launch
from tests.support.playground import playground

from opforest import OPFClassifier

pytestmark = MARKS

#: Sides of the lattice: the smaller, the more ties and duplicates.
SIDES = (1, 2, 3, 5, 12, 40, 800)

#: Learns the first examples together and the others one after another, forgets some, and answers
#: queries, for each drawing and each forest.
RUN = """async (drawings) => {
    const { Drawing } = await import("/play/drawing.js");
    const { explainPoint } = await import("/play/query.js");
    const describe = (forest, queries) => ({
        edges: forest.edges.map(({ low, high }) => [low, high]).sort((a, b) => a[0] - b[0] || a[1] - b[1]),
        cost: forest.cost.map(Math.sqrt), prototypes: forest.prototypes,
        predecessor: forest.predecessor, pair: forest.pair,
        paths: queries.map(([x, y]) => {
            const path = explainPoint(forest, { x, y });
            return path && [path, path.rival].map((one) => one && {
                label: one.label, ids: one.steps.slice(0, -1).map((step) => step.id),
                distances: one.steps.map((step) => step.distance), costs: one.steps.map((step) => step.cost),
            });
        }),
    });
    return drawings.map(({ examples, begin, forgotten, queries }) => {
        const drawing = new Drawing({ examples: examples.slice(0, begin).map(([x, y, label]) => ({ x, y, label })), begin });
        const outcomes = [], proofs = [];
        for (const [x, y, label] of examples.slice(begin)) {
            drawing.learn({ x, y, label });
            outcomes.push(drawing.outcomes.opfi);
            proofs.push(drawing.proof.different);
        }
        const describeAll = () => Object.fromEntries(
            Object.entries(drawing.forests).map(([name, forest]) => [name, describe(forest, queries)]));
        const learned = describeAll();
        for (const index of forgotten) {
            drawing.forget(index);
            proofs.push(drawing.proof.different);
        }
        return { learned, outcomes, proofs, left: describeAll() };
    });
}"""  # noqa: E501


def make_drawing(seed):
    """Return examples on a lattice, how many are learned together, whom to forget, and queries."""
    rng = np.random.default_rng(seed)
    side, n = rng.choice(SIDES), int(rng.choice([1, 2, 5, 12, 25, 60]))
    examples = np.column_stack(
        (rng.integers(0, side, (n, 2)), rng.integers(1, rng.choice([2, 3, 5]), n))
    )
    count = int(rng.integers(0, n + 1))
    forgotten = [int(rng.integers(0, n - k)) for k in range(min(count, 10))]
    queries = np.vstack((rng.integers(-1, side + 1, (4, 2)), rng.uniform(0, side, (4, 2))))
    return {
        "examples": examples.tolist(),
        "begin": int(rng.integers(1, n + 1)),
        "forgotten": forgotten,
        "queries": queries.tolist(),
    }


def train(update, examples, begin):
    """Return a model, and the report of each example that was learned alone."""
    model, reports = OPFClassifier(update=update), []
    table = np.array(examples, float)
    X, y = table[:, :2], table[:, 2].astype(int)
    model.partial_fit(X[:begin], y[:begin])
    for i in range(begin, len(X)):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        reports.append(model.update_report_)
    return model, reports


def describe(model, queries):
    """Return what the script returns, from a model."""
    forest = model.forest_
    return {
        "edges": forest.edges.tolist(),
        "cost": forest.cost.tolist(),
        "prototypes": forest.prototypes.tolist(),
        "predecessor": forest.predecessor.tolist(),
        "paths": [describe_paths(model, query) for query in queries],
    }


def describe_paths(model, query):
    found = model.explain(np.array(query, float))
    indices = {id: i for i, id in enumerate(model.forest_.ids.tolist())}
    return [
        path and {
            "label": path.label, "ids": [indices[step.id] for step in path.steps[:-1]],
            "distances": [step.distance for step in path.steps],
            "costs": [step.cost for step in path.steps],
        }
        for path in (found, found.rival)
    ]  # fmt: skip


def case_of(report):
    """Return the name of the case that an update of OPFI was."""
    if report.takeovers:
        return "takeover"
    return next(f"case {k}" for k in (1, 2, 3) if getattr(report, f"case_{k}"))


@pytest.fixture(scope="module")
def page():
    with playground() as url, launch() as browser, Page(browser, url) as page:
        yield page


def compare(found, model, queries, update):
    expected = describe(model, queries)
    if update != "exact" and model.forest_.grown_by:
        assert found["pair"] == model.forest_.pair.tolist()
    elif update != "exact":  # nothing was learned alone yet: the library still has the exact tree
        within = [(u, v) for u, v in expected["edges"] if found["predecessor"][u] == v
                  or found["predecessor"][v] == u]  # fmt: skip
        expected["edges"] = [list(edge) for edge in within]
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("block", range(8))
def test_forests_of_random_drawings_are_those_of_the_library(page, block):
    drawings = [make_drawing(50 * block + i) for i in range(50)]
    for drawing, found in zip(drawings, page.evaluate(RUN, drawings), strict=True):
        examples, begin, queries = (drawing[name] for name in ("examples", "begin", "queries"))
        left = list(range(len(examples)))
        for index in drawing["forgotten"]:
            del left[index]
        assert set(found["proofs"]) <= {0}
        for update in ("exact", "opfi", "dift"):
            model, reports = train(update, examples, begin)
            compare(found["learned"][update], model, queries, update)
            if update == "opfi":
                assert found["outcomes"] == [case_of(report) for report in reports]
            if not left:
                assert found["left"][update]["cost"] == []
                continue
            if update == "exact":
                model.forget(sorted(set(range(len(examples))) - set(left)))
            else:
                rest = [examples[i] for i in left]
                model, _ = train(update, rest, min(begin, len(rest)))
            compare(found["left"][update], model, queries, update)


GRID = (16, 12)

#: The classes of a grid: of the forest, and of the nearest examples.
CLASSIFY = """async ([drawings, grid, size]) => {
    const { fitForest } = await import("/play/forest.js");
    const { classifyGrid } = await import("/play/query.js");
    return drawings.map(({ examples }) => {
        const forest = fitForest(examples.map(([x, y, label]) => ({ x, y, label })));
        const { labels, nearest } = classifyGrid(forest, grid, size);
        return [[...labels], [...nearest]];
    });
}"""


def test_regions_are_the_predictions_of_the_library(page):
    drawings = [make_drawing(1000 + seed) for seed in range(60)]
    columns, rows = GRID
    for size in (12, 800):
        found = page.evaluate(CLASSIFY, [drawings, GRID, [size, size]])
        x = (np.arange(columns) + 0.5) / columns * size
        y = (1 - (np.arange(rows) + 0.5) / rows) * size
        cells = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)
        for drawing, (labels, nearest) in zip(drawings, found, strict=True):
            table = np.array(drawing["examples"], float)
            X, label = table[:, :2], table[:, 2].astype(int)
            assert labels == (OPFClassifier().fit(X, label).predict(cells) - 1).tolist()
            distances = ((cells[:, None] - X) ** 2).sum(axis=2)
            assert nearest == (label[distances.argmin(axis=1)] - 1).tolist()


def test_a_forest_that_differs_is_noticed(page):
    found = page.evaluate("""async () => {
        const { Drawing } = await import("/play/drawing.js");
        const examples = [[0, 0, 1], [3, 4, 1], [9, 0, 2], [9, 9, 2]].map(([x, y, label]) => ({ x, y, label }));
        const drawing = new Drawing({ examples, begin: 2 }), found = [drawing.proof.different];
        const changes = [(forest) => { forest.cost[1] += 1; }, (forest) => { forest.predecessor[1] = 2; },
            (forest) => { forest.edges.pop(); }, (forest) => { forest.prototypes.push(3); }];
        for (const change of changes) {
            const broken = new Drawing({ examples, begin: 2 });
            change(broken.forests.exact);
            broken.prove();
            found.push(broken.proof.different);
        }
        return found;
    }""")  # noqa: E501
    assert found[:3] == [0, 1, 1]
    assert min(found[1:]) > 0
