"""Lower bounds on distances to the bounding boxes of k-d trees, valid despite rounding.

The computed distance to a box never exceeds the computed distance to a point in it. It is the
distance to the nearest point of the box, accumulated feature by feature like any other distance,
and rounding is monotonic. Powers may be off by one unit in the last place, so for p other than 1,
2, and infinity the bound is lowered by a margin.

The boxes of all nodes are one array: ``box[node, 0]`` is the low corner, ``box[node, 1]`` the high
one.
"""

from numba.np.numpy_support import as_dtype

from opforest.core.jit import helper, overload
from opforest.core.metrics.distances import accumulate, zero_total
from opforest.core.metrics.types import Minkowski

#: Places of a box's corners.
LOW, HIGH = 0, 1


@helper
def _round_down(total, d):
    """Lower a sum of d powers by more than rounding may have added."""
    return max(0.0, total * (1 - (d + 4) * 2.0**-51) - d * 2.0**-1070)


def distance_to_box(x, box, node, metric):
    """Return a lower bound on the distance from x to a node's box (compiled code only)."""


@overload(distance_to_box)
def _distance_to_box(x, box, node, metric):
    dtype, is_power = as_dtype(x.dtype).type, metric.instance_class is Minkowski
    zero = zero_total(dtype, metric)

    def add_features(x, box, node, metric):
        total = zero
        for k in range(x.shape[0]):
            nearest = min(max(x[k], box[node, LOW, k]), box[node, HIGH, k])
            total = accumulate(total, x[k], nearest, metric)
        return dtype(_round_down(total, x.shape[0]) if is_power else total)

    return add_features
