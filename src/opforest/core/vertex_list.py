"""A growable list of vertices: an array whose first entry is its length."""

import numpy as np

from opforest.core.jit import helper


@helper
def new_list():
    """Return an empty list."""
    vertex_list = np.empty(16, np.int64)
    vertex_list[0] = 0
    return vertex_list


@helper
def add(vertex_list, v):
    """Add a vertex; return the list, which may be a new array."""
    m = vertex_list[0] + 1
    if m == vertex_list.shape[0]:
        longer = np.empty(2 * m, np.int64)
        for i in range(m):
            longer[i] = vertex_list[i]
        vertex_list = longer
    vertex_list[m] = v
    vertex_list[0] = m
    return vertex_list


@helper
def members(vertex_list):
    """Return the vertices as an array."""
    return vertex_list[1 : vertex_list[0] + 1]
