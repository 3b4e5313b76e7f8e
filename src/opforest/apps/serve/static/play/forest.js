// The exact optimum-path forest. Costs are squared lengths, which whole coordinates keep exact.

import { growTree, insertLast, listNeighbors, removeOne } from "./tree.js";

// The ends of all edges between two classes, or the first example if there is one class.
function findPrototypes(examples, edges) {
  const ends = edges.filter(({ low, high }) => examples[low].label !== examples[high].label)
    .flatMap(({ low, high }) => [low, high]);
  if (!ends.length && examples.length) ends.push(0);
  return [...new Set(ends)].sort((a, b) => a - b);
}

// The cheapest path to each example along edges of the tree within its class. A path costs as much as its
// longest edge; of equal ones, that with the fewest steps since the cost last rose, then that through the
// neighbor with the smallest index.
export function conquer(examples, edges) {
  const n = examples.length, prototypes = findPrototypes(examples, edges), neighbors = listNeighbors(n, edges);
  const cost = new Array(n).fill(Infinity), level = new Array(n).fill(0), predecessor = new Array(n).fill(-1);
  for (const v of prototypes) cost[v] = 0;
  const waiting = new Set(examples.keys());
  while (waiting.size) {
    let u = -1;
    for (const v of waiting) if (u < 0 || cost[v] < cost[u] || (cost[v] === cost[u] && level[v] < level[u])) u = v;
    waiting.delete(u);
    for (const { v, weight } of neighbors[u]) {
      if (!waiting.has(v) || examples[u].label !== examples[v].label) continue;
      const [offer, steps] = weight > cost[u] ? [weight, 0] : [cost[u], level[u] + 1];
      const isBetter = offer < cost[v] || (offer === cost[v] && steps < level[v]);
      const isEqual = offer === cost[v] && steps === level[v];
      if (isBetter) [cost[v], level[v]] = [offer, steps];
      if (isBetter || (isEqual && predecessor[v] > u)) predecessor[v] = u;
    }
  }
  return { examples, edges, prototypes, cost, predecessor };
}

export function fitForest(examples) {
  const { edges, measured } = growTree(examples);
  return { ...conquer(examples, edges), measured };
}

// How two forests differ: the number of values compared, and of those that are not equal.
export function compareForests(a, b) {
  const flatten = ({ edges, prototypes, cost, predecessor }) => [
    ...edges.flatMap(({ low, high }) => [low, high]), "prototypes", ...prototypes, "costs", ...cost, "predecessors", ...predecessor,
  ];
  const [left, right] = [flatten(a), flatten(b)];
  const length = Math.max(left.length, right.length);
  const different = Array.from({ length }, (_, i) => left[i] !== right[i]).filter(Boolean).length;
  return { compared: length, different };
}

// A forest that learns and forgets one example at a time by updating its tree.
export class ExactForest {
  constructor(examples = []) {
    Object.assign(this, fitForest(examples));
  }

  learn(example) {
    const examples = [...this.examples, example];
    this.replace(examples, insertLast(this.edges, examples));
  }

  forget(index) {
    this.replace(this.examples.filter((_, i) => i !== index), removeOne(this.edges, this.examples, index));
  }

  replace(examples, { edges, measured }) {
    Object.assign(this, conquer(examples, edges), { measured });
  }
}
