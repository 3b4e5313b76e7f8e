"""Distances of points and boxes in k-d trees, by Minkowski metrics: never wrong by a bit.

A box is never farther from a point than anything in it, in floating point too: the distance to a
box is that to the point's nearest corner or face, accumulated feature by feature like any other
distance, and rounding respects order. Powers may be off by a unit in the last place, so for p other
than 1, 2 and infinity a margin does what order does for these.

Boxes of nodes are one array: ``box[node, 0]`` is the low corner, ``box[node, 1]`` the high one.
"""

import math

import numpy as np
from numba.np.numpy_support import as_dtype

from opforest._jit import helper, overload
from opforest.kernels.distances import accumulate
from opforest.metrics import Minkowski

#: Places of a box's corners.
LOW, HIGH = 0, 1


@helper
def add_power(total, gap, p):
    """Take one feature into a total, for p = 1, 2 or infinity."""
    if p == 2:
        return total + gap * gap
    if p == 1:
        return total + gap
    return gap if gap > total else total


@helper
def _is_ordered(p):
    return p == 2 or p == 1 or p == np.inf


def _as_type_of(value, like):
    """Convert a number to the type of another (compiled code only)."""


@overload(_as_type_of)
def _convert(value, like):
    dtype = as_dtype(like).type
    return lambda value, like: dtype(value)


@helper
def row_distance(a, i, b, j, p):
    """Measure row i of ``a`` against row j of ``b`` by any Minkowski metric."""
    zero = a[i, 0] - a[i, 0]
    if not _is_ordered(p):
        total = 0.0
        for k in range(a.shape[1]):
            total += math.pow(abs(a[i, k] - b[j, k]), p)
        return _as_type_of(total, zero)
    sum_ = zero
    for k in range(a.shape[1]):
        sum_ = add_power(sum_, abs(a[i, k] - b[j, k]), p)
    return sum_


@helper
def _rounded_down(total, d):
    """Return less than a sum of d powers, by more than rounding may have added."""
    return max(0.0, total * (1 - (d + 4) * 2.0**-51) - d * 2.0**-1070)


def distance_to_box(x, box, node, metric):
    """Return a distance than which no point of a node's box is nearer to x (compiled code only)."""


@overload(distance_to_box)
def _distance_to_box(x, box, node, metric):
    dtype = as_dtype(x.dtype).type
    zero = dtype(0)
    if metric.instance_class is Minkowski:

        def minkowski_distance_to_box(x, box, node, metric):
            total = 0.0
            for k in range(x.shape[0]):
                nearest = min(max(x[k], box[node, LOW, k]), box[node, HIGH, k])
                total += math.pow(abs(x[k] - nearest), metric.p)
            return dtype(_rounded_down(total, x.shape[0]))

        return minkowski_distance_to_box

    def ordered_distance_to_box(x, box, node, metric):
        total = zero
        for k in range(x.shape[0]):
            nearest = min(max(x[k], box[node, LOW, k]), box[node, HIGH, k])
            total = accumulate(total, x[k], nearest, metric)
        return total

    return ordered_distance_to_box


@helper
def row_distance_to_box(points, i, box, node, p):
    """Return a distance than which no point of a node's box is nearer to point i."""
    zero = points[i, 0] - points[i, 0]
    if not _is_ordered(p):
        total = 0.0
        for k in range(box.shape[2]):
            x = points[i, k]
            total += math.pow(abs(x - min(max(x, box[node, LOW, k]), box[node, HIGH, k])), p)
        return _as_type_of(_rounded_down(total, box.shape[2]), zero)
    sum_ = zero
    for k in range(box.shape[2]):
        x = points[i, k]
        sum_ = add_power(sum_, abs(x - min(max(x, box[node, LOW, k]), box[node, HIGH, k])), p)
    return sum_


@helper
def _farther(x, low, high):
    return low if abs(x - low) > abs(high - x) else high


@helper
def _farthest(points, i, box, node, p):
    """Return a distance than which no point of the box is farther, for p = 1, 2 or infinity."""
    total = points[i, 0] - points[i, 0]
    for k in range(box.shape[2]):
        x = points[i, k]
        far = abs(x - _farther(x, box[node, LOW, k], box[node, HIGH, k]))
        total = add_power(total, far, p)
    return total


def _precision(like):
    """Return the spacing of numbers of this type, relative and next to 0 (compiled code only)."""


@overload(_precision)
def _find_precision(like):
    limits = np.finfo(as_dtype(like))
    eps, step = float(limits.eps), float(limits.smallest_subnormal)
    return lambda like: (eps, step)


# For finite p, distances are sums of convex functions f(|a − b|): along each axis f(|q − v|) −
# f(|z − v|) rises or falls all the way, so that d(q, v) − d(z, v) is largest in one corner c of the
# box. With d features, each of the distances is off by less than e = (d + 3 + p) u of itself, u
# being half of eps, and by d subnormal steps. So if d(z, c) − d(q, c), as measured, exceeds about
# 5e times the distance from z to the farthest corner, no v in the box can measure farther from q
# than from z. The margin is 16 (d + 4 + p) u times that distance, and some steps.
@helper
def shadows(points, q, z, box, node, nearest, p):
    """Tell whether everything in a node's box is surely no farther from point q than from z.

    ``nearest`` is the distance from z to the box.
    """
    if p == np.inf:
        return _farthest(points, q, box, node, p) <= nearest
    to_q = to_z = reach = 0.0
    for k in range(box.shape[2]):
        a, b, low, high = points[q, k], points[z, k], box[node, LOW, k], box[node, HIGH, k]
        corner = low if a > b else high
        far = abs(b - _farther(b, low, high))
        if _is_ordered(p):
            to_q = add_power(to_q, abs(a - corner), p)
            to_z = add_power(to_z, abs(b - corner), p)
            reach = add_power(reach, far, p)
        else:
            to_q += math.pow(abs(a - corner), p)
            to_z += math.pow(abs(b - corner), p)
            reach += math.pow(far, p)
    eps, step = _precision(nearest)
    margin = (box.shape[2] + 4 + p) * (8 * eps * reach + 32 * step)
    if to_q + margin <= to_z:
        return margin < np.inf
    # Copies of z are all as near to each other as to z.
    return nearest == 0 and _is_ordered(p) and _farthest(points, q, box, node, p) <= nearest
