// Minimum spanning trees of examples {x, y, label}. Edges are ordered by squared length, then by their
// smaller and their larger end, as in the Python library: so the tree is unique, ties included.

export const squaredDistance = (a, b) => (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);

export const makeEdge = (u, v, examples) =>
  ({ weight: squaredDistance(examples[u], examples[v]), low: Math.min(u, v), high: Math.max(u, v) });

export const compareEdges = (a, b) => a.weight - b.weight || a.low - b.low || a.high - b.high;

const compareEnds = (a, b) => a.low - b.low || a.high - b.high;

// Kruskal: the minimum spanning forest of `edges`, in the order of their ends.
export function spanEdges(n, edges) {
  const parent = Array.from({ length: n }, (_, v) => v);
  const find = (v) => { while (parent[v] !== v) v = parent[v] = parent[parent[v]]; return v; };
  const kept = [...edges].sort(compareEdges).filter(({ low, high }) => {
    const [a, b] = [find(low), find(high)];
    parent[a] = b;
    return a !== b;
  });
  return kept.sort(compareEnds);
}

// Prim, from the first example: measures every pair.
export function growTree(examples) {
  const n = examples.length, best = new Array(n).fill(null), edges = [];
  const outside = new Set(examples.keys());
  for (let u = 0; outside.delete(u);) {
    let next = null;
    for (const v of outside) {
      const edge = makeEdge(u, v, examples);
      if (!best[v] || compareEdges(edge, best[v]) < 0) best[v] = edge;
      if (next === null || compareEdges(best[v], best[next]) < 0) next = v;
    }
    if (next === null) break;
    edges.push(best[next]);
    u = next;
  }
  return { edges: edges.sort(compareEnds), measured: (n * (n - 1)) / 2 };
}

// The tree with the last example, from that of the others: only edges to the new one can enter.
export function insertLast(edges, examples) {
  const z = examples.length - 1;
  const star = examples.slice(0, z).map((_, v) => makeEdge(v, z, examples));
  return { edges: spanEdges(z + 1, [...edges, ...star]), measured: z };
}

// The tree without example `gone`, from that with it: all its other edges stay, so only pairs in
// different components are measured. Larger indices become smaller by one.
export function removeOne(edges, examples, gone) {
  const n = examples.length, kept = edges.filter(({ low, high }) => low !== gone && high !== gone);
  const component = findComponents(n, kept), crossing = [];
  for (let u = 0; u < n; u++) {
    for (let v = u + 1; v < n; v++) {
      if (u !== gone && v !== gone && component[u] !== component[v]) crossing.push(makeEdge(u, v, examples));
    }
  }
  const shift = (v) => v - (v > gone);
  const found = spanEdges(n, [...kept, ...crossing])
    .map(({ weight, low, high }) => ({ weight, low: shift(low), high: shift(high) }));
  return { edges: found, measured: crossing.length };
}

export function listNeighbors(n, edges) {
  const neighbors = Array.from({ length: n }, () => []);
  for (const { low, high, weight } of edges) {
    neighbors[low].push({ v: high, weight });
    neighbors[high].push({ v: low, weight });
  }
  return neighbors;
}

// The smallest vertex of each vertex's component.
function findComponents(n, edges) {
  const neighbors = listNeighbors(n, edges), component = new Array(n).fill(-1);
  for (let start = 0; start < n; start++) {
    if (component[start] >= 0) continue;
    component[start] = start;
    for (const waiting = [start]; waiting.length;) {
      for (const { v } of neighbors[waiting.pop()]) {
        if (component[v] < 0) { component[v] = start; waiting.push(v); }
      }
    }
  }
  return component;
}
