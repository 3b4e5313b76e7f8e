// The approximate updates of Ponti & Riva: OPFI and their baseline DIFT. Both begin with the exact forest
// of the first examples. They cannot forget: the others are learned again.

import { fitForest } from "./forest.js";
import { findConqueror } from "./query.js";
import { compareEdges, listNeighbors, makeEdge, spanEdges, squaredDistance } from "./tree.js";

class GrownForest {
  constructor(examples) {
    Object.assign(this, fitForest(examples)); // its edges include those between classes
    this.root = this.predecessor.map((_, v) => { while (this.predecessor[v] >= 0) v = this.predecessor[v]; return v; });
    const cut = this.edges.filter(({ low, high }) => examples[low].label !== examples[high].label);
    this.pair = new Array(examples.length).fill(-1);
    for (const { low, high } of cut.sort(compareEdges).reverse()) { // the shortest is written last, so it stays
      this.pair[low] = high;
      this.pair[high] = low;
    }
    this.edges = this.predecessor.flatMap((u, v) => (u < 0 ? [] : [makeEdge(u, v, examples)]));
  }

  // Adds an example without edges, as a prototype.
  append(example) {
    const z = this.examples.length;
    this.examples = [...this.examples, example];
    this.cost.push(0);
    this.predecessor.push(-1);
    this.root.push(z);
    this.pair.push(-1);
    return z;
  }

  listPrototypes() {
    this.prototypes = this.root.flatMap((r, v) => (r === v ? [v] : []));
  }
}

export class DIFTForest extends GrownForest {
  learn(example) {
    this.append(example);
    this.listPrototypes();
    return "new prototype";
  }
}

export class OPFIForest extends GrownForest {
  // Returns which of the three cases it was.
  learn(example) {
    const p = findConqueror(this, example), isPrototype = this.root[p] === p, z = this.append(example);
    let outcome = isPrototype ? "case 2" : "case 1";
    if (this.examples[p].label !== example.label) {
      this.startTree(z, p);
      outcome = "case 3";
    } else {
      this.joinTree(z, this.root[p]);
      const q = this.pair[p];
      const isNearer = q >= 0 && this.distance(z, q) < this.distance(p, q);
      if (isNearer) { this.takePlace(z, p); outcome = "takeover"; }
      this.conquerFrom(isNearer ? z : this.root[p]);
    }
    this.listPrototypes();
    return outcome;
  }

  distance(u, v) {
    return squaredDistance(this.examples[u], this.examples[v]);
  }

  // Algorithm 2: the minimum spanning tree of a tree's members and z.
  joinTree(z, r) {
    const isInside = ({ low }) => this.root[low] === r;
    const star = this.examples.flatMap((_, v) => (v !== z && this.root[v] === r ? [makeEdge(v, z, this.examples)] : []));
    const joined = spanEdges(this.examples.length, [...this.edges.filter(isInside), ...star]);
    this.edges = [...this.edges.filter((edge) => !isInside(edge)), ...joined];
  }

  // Algorithm 3: z, nearer to the pair of prototype p, takes its place.
  takePlace(z, p) {
    this.pair[z] = this.pair[p];
    this.pair[p] = -1;
    this.pair = this.pair.map((q) => (q === p ? z : q));
  }

  // Algorithm 1, lines 10 to 12: z and its conqueror p, of another class, become prototypes.
  startTree(z, p) {
    this.pair[z] = p;
    if (this.root[p] === p) {
      const q = this.pair[p];
      if (q < 0 || this.distance(p, z) < this.distance(p, q)) this.pair[p] = z;
      return;
    }
    const path = [];
    for (let v = p; this.predecessor[v] >= 0; v = this.predecessor[v]) path.push(makeEdge(v, this.predecessor[v], this.examples));
    const longest = path.sort(compareEdges).at(-1), top = this.root[p];
    this.edges = this.edges.filter((edge) => compareEdges(edge, longest) !== 0);
    this.pair[p] = z;
    this.conquerFrom(p);
    this.conquerFrom(top);
  }

  // Algorithm 4: costs, predecessors and roots of a tree, from its prototype outwards.
  conquerFrom(r) {
    const neighbors = listNeighbors(this.examples.length, this.edges);
    [this.root[r], this.predecessor[r], this.cost[r]] = [r, -1, 0];
    for (const waiting = [r]; waiting.length;) {
      const u = waiting.pop();
      for (const { v, weight } of neighbors[u]) {
        if (v === this.predecessor[u]) continue;
        [this.root[v], this.predecessor[v], this.cost[v]] = [r, u, Math.max(this.cost[u], weight)];
        waiting.push(v);
      }
    }
  }
}
