"""Join the fragments of all cells to one tree, in rounds of questions and answers.

In each round, as in ``mst.boruvka``, every cluster of fragments finds its smallest outgoing edge
under (weight, smaller vertex, larger vertex). Within a cell, it is in the tree of the cell, so it
is known. To other cells, points ask for it.
"""

import numpy as np

from opforest.core.parts.clusters import Clusters, outline_cell
from opforest.core.parts.links import Links
from opforest.core.parts.rounds import answer_questions, ask_cells


def join_cells(executor, cells, boxes, metric) -> Links:
    """Return the edges that join the fragments of all cells to one tree.

    The executor has the methods ``fetch``, ``hold`` and ``share`` of ``forest.parts.Executor``.
    """
    n = len(cells)
    clusters = Clusters(executor.fetch(outline_cell, cells), boxes)
    while clusters.n_clusters > 1:
        news = [executor.share(clusters.begin_round())] * n
        questions = executor.hold(ask_cells, cells, range(n), news, [metric] * n)
        replies = executor.fetch(describe_questions, questions)
        counts = np.array([count for count, _ in replies])
        asked = np.flatnonzero(counts.any(axis=0)).tolist()
        found = executor.fetch(
            answer_questions,
            [cells[j] for j in asked],
            asked,
            news[: len(asked)],
            [[questions[i] for i in np.flatnonzero(counts[:, j])] for j in asked],
            [metric] * len(asked),
        )
        clusters.end_round(found, [waiting for _, waiting in replies])
    return clusters.joined


def describe_questions(questions):
    """Return how many questions there are for each cell, and the clusters that have more."""
    return np.diff(questions.begin), questions.waiting
