"""The clusters of fragments of all cells, and the edges known between them."""

from typing import NamedTuple

import numpy as np

from opforest.core.parts.links import Links, choose_edges, unite_clusters
from opforest.core.parts.rounds import Announcement, Boxes


class Outline(NamedTuple):
    """What must be known of a cell to join its fragments to others."""

    n_fragments: int
    boxes: np.ndarray  #: its coarse boxes
    begin: np.ndarray  #: by coarse box: where its fragments begin
    fragments: np.ndarray  #: the fragments in each coarse box
    links: Links  #: the uncertain edges


def outline_cell(forest) -> Outline:
    """Return the outline of a cell; fragments are counted within it."""
    nodes, (u, v, weight) = forest.tree.nodes[forest.coarse], forest.uncertain
    inside = [np.unique(forest.fragment[begin:end]) for begin, end, _ in nodes.tolist()]
    begin = np.append(0, np.cumsum([len(fragments) for fragments in inside]))
    vertex, fragment = forest.tree.vertex, forest.fragment
    # A view would keep the whole forest in memory, which may be a file that is mapped.
    links = Links(vertex[u], vertex[v], weight.copy(), fragment[u], fragment[v])
    n_fragments = int(fragment.max()) + 1
    return Outline(
        n_fragments, forest.tree.box[forest.coarse], begin, np.concatenate(inside), links
    )


class Clusters:
    """Clusters of fragments, which choose their smallest outgoing edges in rounds."""

    def __init__(self, outlines, box):
        counts = [outline.n_fragments for outline in outlines]
        self.begin = np.append(0, np.cumsum(counts)).astype(np.int32)
        self.n_clusters = int(self.begin[-1])
        self._group = np.arange(self.n_clusters)
        self._cluster = np.arange(self.n_clusters, dtype=np.int32)
        self._known = Links.concatenate(
            [cell.links._replace(a=cell.links.a + first, b=cell.links.b + first)
             for cell, first in zip(outlines, self.begin, strict=False)]
        )  # fmt: skip
        self._box, self._coarse = box, np.concatenate([cell.boxes for cell in outlines])
        self._begin_coarse = np.append(0, np.cumsum([len(cell.boxes) for cell in outlines]))
        sizes = np.concatenate([np.diff(cell.begin) for cell in outlines])
        self._begin_inside = np.append(0, np.cumsum(sizes))[:-1]
        self._inside = np.concatenate(
            [cell.fragments + first for cell, first in zip(outlines, self.begin, strict=False)]
        )
        self._joined = [self._known.select(slice(0))]
        self._largest, self._n_rounds = -1, 0

    @property
    def joined(self) -> Links:
        """The edges that have joined clusters so far."""
        return Links.concatenate(self._joined)

    def begin_round(self) -> Announcement:
        """Return what cells must know. The cluster with most fragments waits for the others."""
        limit = np.full(self.begin[-1], np.inf)
        for ends in (self._known.a, self._known.b):
            np.minimum.at(limit, self._cluster[ends], self._known.weight)
        self._largest = int(np.bincount(self._cluster).argmax())
        limit[self._largest] = -1
        coarse = _find_common(self._cluster[self._inside], self._begin_inside)
        cells = _find_common(coarse, self._begin_coarse[:-1])
        boxes = Boxes(self._box, cells, self._begin_coarse, self._coarse, coarse)
        self._n_rounds += 1
        return Announcement(self._cluster, limit, self.begin, boxes, self._n_rounds % 2 == 1)

    def end_round(self, found, waiting):
        """Join each cluster by its smallest edge, unless it waits for answers."""
        known = Links.concatenate([self._known, *found])
        may_choose = np.ones(self.begin[-1], np.bool_)
        may_choose[np.concatenate(waiting)] = False
        may_choose[self._largest] = False
        clusters = self._cluster[known.a], self._cluster[known.b]
        chosen = choose_edges(known[:3], clusters, may_choose)
        self._cluster = self._cluster.copy()  # others may still read the old one
        taken = unite_clusters((known.a, known.b), chosen, self._group, self._cluster)
        self._joined.append(known.select(taken))
        self.n_clusters -= len(taken)
        is_open = self._cluster[known.a] != self._cluster[known.b]
        self._known = known.select(is_open)


def _find_common(values, begin):
    """Return the value that all have from each beginning to the next, or −1."""
    low, high = (function.reduceat(values, begin) for function in (np.minimum, np.maximum))
    return np.where(low == high, low, -1).astype(np.int32)
