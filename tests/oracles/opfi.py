"""OPFI in plain Python: the paper's pseudo-code with the repairs that docs/theory.md names.

Nothing here is shared with the library. Distances are given by one table of all examples.
"""

from tests.oracles import forest as oracle


class PlainOPFI:
    def __init__(self, D, y, n):
        """Train on the first n examples with the original algorithm."""
        self.D, self.y, self.n = D, y, n
        start = D[:n, :n]
        tree = oracle.kruskal(start)
        prototypes = oracle.prototypes(tree, y[:n])
        predecessor, self.root = oracle.paths(start, tree, y[:n], prototypes)
        self.adjacent = {v: set() for v in range(n)}
        for v, u in enumerate(predecessor):
            if u >= 0:
                self.link(u, v)
        self.pair = {}
        for u, v in tree:
            if y[u] != y[v]:
                for a, b in ((u, v), (v, u)):
                    if a not in self.pair or self.edge(a, b) < self.edge(a, self.pair[a]):
                        self.pair[a] = b
        self.predecessor, self.cost = [-1] * n, [0] * n
        for r in prototypes:
            self.reconquest(r)

    def edge(self, u, v):
        """An edge in the total order."""
        return self.D[u, v], min(u, v), max(u, v)

    def link(self, u, v):
        self.adjacent[u].add(v)
        self.adjacent[v].add(u)

    def cut(self, u, v):
        self.adjacent[u].discard(v)
        self.adjacent[v].discard(u)

    def is_prototype(self, v):
        return self.root[v] == v

    def classify(self, z):
        offers = [(max(self.cost[t], self.D[z, t]), self.cost[t], t) for t in range(self.n)]
        return min(offers)[2]

    def insert_batch(self, end):
        """Algorithm 1."""
        begin = self.n
        conqueror = {z: self.classify(z) for z in range(begin, end)}
        for z in range(begin, end):
            self.insert(z, conqueror[z])

    def insert(self, z, p):
        self.adjacent[z] = set()
        self.root.append(-1)
        self.predecessor.append(-1)
        self.cost.append(0)
        self.n += 1
        if self.y[z] != self.y[p]:
            self.start_tree(z, p)
        elif self.is_prototype(p):
            self.recheck_prototype(z, p)
        else:
            self.insert_into_tree(z, self.root[p])

    def insert_into_tree(self, z, r):
        """Case 1: Algorithm 2, then costs from the root."""
        self.chin_houck(z, r)
        self.reconquest(r)

    def recheck_prototype(self, z, p):
        """Case 2: Algorithm 3."""
        q = self.pair.get(p)
        if q is None or not self.D[z, q] < self.D[p, q]:
            self.insert_into_tree(z, p)
            return
        self.chin_houck(z, p)
        self.pair[z] = self.pair.pop(p)
        for v in self.pair:
            if self.pair[v] == p:
                self.pair[v] = z
        self.reconquest(z)

    def start_tree(self, z, p):
        """Case 3."""
        self.pair[z] = p
        self.reconquest(z)
        if self.is_prototype(p):
            if p not in self.pair or self.D[z, p] < self.D[p, self.pair[p]]:
                self.pair[p] = z
            return
        r, v, steps = self.root[p], p, []
        while v != r:
            steps.append((self.edge(v, self.predecessor[v]), v, self.predecessor[v]))
            v = self.predecessor[v]
        _, a, b = max(steps)
        self.cut(a, b)
        self.pair[p] = z
        self.reconquest(p)
        self.reconquest(r)

    def chin_houck(self, z, r):
        """Algorithm 2, children first, with its last edge."""
        order, parent = [r], {r: None}
        for v in order:
            for w in self.adjacent[v]:
                if w != parent[v]:
                    parent[w] = v
                    order.append(w)
        t = {v: (v, z) for v in order}
        kept = []
        for w in reversed(order):
            v = parent[w]
            if v is None:
                break
            small, large = sorted([t[w], (w, v)], key=lambda e: self.edge(*e))
            kept.append(small)
            t[v] = min(t[v], large, key=lambda e: self.edge(*e))
        kept.append(t[r])
        for v in order:
            for w in list(self.adjacent[v]):
                self.cut(v, w)
        for u, v in kept:
            self.link(u, v)

    def reconquest(self, r):
        """Algorithm 4: costs from the root outwards."""
        self.root[r], self.predecessor[r], self.cost[r] = r, -1, 0
        waiting, seen = [r], {r}
        while waiting:
            u = waiting.pop()
            for v in self.adjacent[u]:
                if v not in seen:
                    seen.add(v)
                    self.root[v], self.predecessor[v] = r, u
                    self.cost[v] = max(self.cost[u], self.D[u, v])
                    waiting.append(v)
