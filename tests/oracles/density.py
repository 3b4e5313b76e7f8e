"""Forests of densities, slow and obvious. Nothing here is shared with the library."""

import math
from decimal import Decimal

import numpy as np

MAX_DENSITY = 1000.0

#: ln 2 in two parts: 32 bits, so that multiples are exact, and the rest.
LN2_HIGH = math.floor(math.log(2) * 2**32) / 2**32
LN2_LOW = float(Decimal(2).ln() - Decimal(LN2_HIGH))


def neighbors(D, k):
    n = len(D)
    return [sorted((j for j in range(n) if j != i), key=lambda j: (D[i, j], j))[:k]
            for i in range(n)]  # fmt: skip


def exp_minus(x):
    """exp(−x) = 2 ** −m · exp(r) with r near 0, whose series is summed by Horner's rule."""
    m = math.floor(x / math.log(2) + 0.5)
    r = (m * LN2_HIGH - x) + m * LN2_LOW
    total = 1 / math.factorial(13)
    for i in range(12, -1, -1):
        total = total * r + 1 / math.factorial(i)
    return total / 2**m


def densities(D, near):
    k = len(near[0])
    longest = max(D[i, j] for i, row in enumerate(near) for j in row)
    unit = 2 * longest / 9
    raw = []
    for i, row in enumerate(near):
        total = 0.0
        for j in row:
            total += exp_minus(D[i, j] / unit) if unit > 0 else 1.0
        raw.append(total / (k + 1))
    low, high = min(raw), max(raw)
    if high == low:
        return [MAX_DENSITY] * len(D), (unit, low, high)
    return [(MAX_DENSITY - 1) * (r - low) / (high - low) + 1 for r in raw], (unit, low, high)


def arcs(near, level):
    out = [list(row) for row in near]
    for i, row in enumerate(near):
        for j in row:
            if level[i] == level[j] and i not in near[j]:
                out[j].append(i)
    return out


def conquest(density, start, out, label=None):
    """Search the whole list for the next one, every time."""
    n = len(density)
    value, root, before = list(start), list(range(n)), [-1] * n
    left = set(range(n))
    while left:
        u = max(left, key=lambda v: (value[v], density[v], -v))
        left.remove(u)
        if before[u] < 0:
            value[u] = density[u]
        for v in out[u]:
            if v in left and (label is None or label[u] == label[v]):
                offer = min(value[u], density[v])
                if offer > value[v]:
                    value[v], root[v], before[v] = offer, root[u], u
    return value, root, before


def cut(D, out, root):
    inside, outside = {}, {}
    for u, row in enumerate(out):
        stays = leaves = 0.0
        for v in row:
            if D[u, v] > 0 and root[u] == root[v]:
                stays += 1 / D[u, v]
            elif D[u, v] > 0:
                leaves += 1 / D[u, v]
        inside[root[u]] = inside.get(root[u], 0.0) + stays
        outside[root[u]] = outside.get(root[u], 0.0) + leaves
    clusters = sorted(set(root))
    total = 0.0
    vacuous = 0
    for r in clusters:
        weight = inside.get(r, 0.0) + outside.get(r, 0.0)
        if weight > 0:
            total += outside.get(r, 0.0) / weight
        else:
            vacuous += 1
    return total + (vacuous if len(clusters) > 1 else 0), len(clusters)


def grow(D, k, label=None):
    near = neighbors(D, k)
    density, scale = densities(D, near)
    out = arcs(near, density)
    value, root, before = conquest(density, [d - 1 for d in density], out, label)
    return {"k": k, "density": density, "scale": scale, "value": value, "root": root,
            "before": before, "cut": cut(D, out, root)}  # fmt: skip


def cluster(D, k_max, k_min=1, allow_one=False):
    k_max = min(k_max, len(D) - 1)
    cuts, best, single = [], None, None
    for k in range(min(k_min, k_max), k_max + 1):
        value, clusters = grow(D, k)["cut"]
        cuts.append(value)
        if clusters == 1 and not allow_one:
            single = single or k
            continue
        if best is None or value < best[0]:
            best = (value, k)
        if value == 0:
            break
    return best[1] if best else single, cuts


def opening(density, near, size, by_volume):
    """Cut off, at each density from above, all domes that are small enough."""
    n = len(density)
    linked = [set(near[i]) | {j for j in range(n) if i in near[j]} for i in range(n)]
    order = sorted(range(n), key=lambda v: (-density[v], v))
    level, seen, dome = list(density), set(), {}
    for p in order:
        seen.add(p)
        domes = {id(dome[q]): dome[q] for q in linked[p] if q in seen and q != p}
        joined = {p}
        for members in domes.values():
            amount = sum(density[v] - density[p] for v in members) if by_volume else len(members)
            if amount <= size:
                for v in members:
                    level[v] = density[p]
            joined |= members
        for v in joined:
            dome[v] = joined
    return level


def filtered(D, k, filter, amount):
    near = neighbors(D, k)
    density, _ = densities(D, near)
    level = density
    if filter == "height":
        start = [max(d - amount * max(density), 0) for d in density]
    else:
        size = amount * (len(D) if filter == "area" else float(np.mean(density)))
        level = opening(density, near, size, filter == "volume")
        start = [max(d - 1, 0) for d in level]
    return conquest(density, start, arcs(near, level))


def predict(model, DQ):
    """The example that conquers each query."""
    unit, low, high = model["scale"]
    winners = []
    for row in DQ:
        near = sorted(range(len(row)), key=lambda j: (row[j], j))[: model["k"]]
        raw = np.mean([math.exp(-row[j] / unit) if unit > 0 else float(row[j] == 0) for j in near])
        density = (MAX_DENSITY - 1) * (raw - low) / (high - low) + 1 if high > low else MAX_DENSITY
        offers = [min(model["value"][j], density) for j in near]
        winners.append(near[offers.index(max(offers))])
    return winners
