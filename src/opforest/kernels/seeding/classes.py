"""What an index says of the classes in its nodes, where labels have changed."""

import numpy as np

from opforest._jit import overload
from opforest.kernels.kdtree.index import BUCKET, Flat, class_bit


def reclass(index, changed, n_changed, vertices):
    """Note in the index that the labels of these vertices, and of no others, have changed."""


@overload(reclass)
def _reclass(index, changed, n_changed, vertices):
    if index.instance_class is Flat:
        return lambda index, changed, n_changed, vertices: None

    def reclass_in_nodes(index, changed, n_changed, vertices):
        nodes = index.nodes
        for i in range(n_changed):
            node = np.int64(index.holder[vertices[changed[i]].home // BUCKET])
            while node >= 0:
                own = nodes[node]
                below = np.int64(own.child)
                classes = np.uint64(0)
                if below >= 0:
                    classes = nodes[below].classes | nodes[below + 1].classes
                else:
                    begin = (-1 - below) * BUCKET
                    for place in range(begin, begin + own.count):
                        classes |= class_bit(vertices[index.vertex[place]].label)
                if own.classes == classes:
                    break
                own.classes = classes
                node = np.int64(own.above)

    return reclass_in_nodes
