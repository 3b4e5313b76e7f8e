"""A binary heap of (key, vertex) pairs in two growable arrays, and a growable list.

Ties between keys are broken by the smaller vertex.
"""

import numpy as np

from opforest.core.jit import helper


@helper
def append(items, m, item):
    """Put an item behind the first m and return the array, which may be a new one."""
    if m == items.shape[0]:
        longer = np.empty(2 * m, items.dtype)
        for i in range(m):
            longer[i] = items[i]
        items = longer
    items[m] = item
    return items


@helper
def _is_before(keys, vertices, i, key, vertex):
    return keys[i] < key or (keys[i] == key and vertices[i] < vertex)


@helper
def push(keys, vertices, m, key, vertex):
    """Add an entry to a heap of size m; return its arrays and its size."""
    if m == keys.shape[0]:
        keys, vertices = append(keys, m, key), append(vertices, m, vertex)
    return keys, vertices, put(keys, vertices, m, key, vertex)


@helper
def put(keys, vertices, m, key, vertex):
    """Add an entry to a heap of size m that has room for it; return its size."""
    i = m
    while i > 0:
        above = (i - 1) // 2
        if _is_before(keys, vertices, above, key, vertex):
            break
        keys[i] = keys[above]
        vertices[i] = vertices[above]
        i = above
    keys[i] = key
    vertices[i] = vertex
    return m + 1


@helper
def pop(keys, vertices, m):
    """Take the entry with the smallest key, at place 0, off a heap of size m; return its size."""
    m -= 1
    key = keys[m]
    vertex = vertices[m]
    i = 0
    while 2 * i + 1 < m:
        below = 2 * i + 1
        if below + 1 < m and _is_before(keys, vertices, below + 1, keys[below], vertices[below]):
            below += 1
        if not _is_before(keys, vertices, below, key, vertex):
            break
        keys[i] = keys[below]
        vertices[i] = vertices[below]
        i = below
    keys[i] = key
    vertices[i] = vertex
    return m
