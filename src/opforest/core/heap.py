"""A binary heap of (key, vertex) pairs in two growable arrays; ties go to the smaller vertex."""

import numpy as np

from opforest.core.jit import borrow, helper


@helper
def append(items, m, item):
    """Append an item to the first m; return the array, which may be a new one."""
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
    """Push an entry onto a heap of size m; return its arrays and its size."""
    if m == keys.shape[0]:
        keys, vertices = append(keys, m, key), append(vertices, m, vertex)
    keys[m], vertices[m] = key, vertex
    _sift_up(keys, vertices, m)
    return keys, vertices, m + 1


@helper
def _sift_up(keys, vertices, i):
    keys, vertices = borrow((keys, vertices))
    key, vertex = keys[i], vertices[i]
    while i > 0:
        above = (i - 1) // 2
        if _is_before(keys, vertices, above, key, vertex):
            break
        keys[i], vertices[i] = keys[above], vertices[above]
        i = above
    keys[i], vertices[i] = key, vertex


@helper
def pop(keys, vertices, m):
    """Remove the smallest entry, at position 0, from a heap of size m; return its size."""
    keys, vertices = borrow((keys, vertices))
    m -= 1
    key, vertex = keys[m], vertices[m]
    i = 0
    while 2 * i + 1 < m:
        below = 2 * i + 1
        if below + 1 < m and _is_before(keys, vertices, below + 1, keys[below], vertices[below]):
            below += 1
        if not _is_before(keys, vertices, below, key, vertex):
            break
        keys[i], vertices[i] = keys[below], vertices[below]
        i = below
    keys[i], vertices[i] = key, vertex
    return m
