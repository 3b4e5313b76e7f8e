// Answers of a forest: the class of a point, and the path that explains it.

import { squaredDistance } from "./tree.js";

// The example with the cheapest offer, the larger one of its cost and its distance; of equal ones, that of
// the smaller cost, then of the smaller index. Only examples for which `isAllowed` holds; −1 for none.
export function findConqueror({ examples, cost }, point, isAllowed = () => true) {
  let best = Infinity, found = -1;
  for (let i = 0; i < examples.length; i++) {
    const offer = Math.max(cost[i], squaredDistance(examples[i], point));
    if ((offer < best || (offer === best && cost[i] < cost[found])) && isAllowed(examples[i])) { best = offer; found = i; }
  }
  return found;
}

export function findNearest(examples, point) {
  let best = Infinity, found = -1;
  examples.forEach((example, i) => {
    const distance = squaredDistance(example, point);
    if (distance < best) { best = distance; found = i; }
  });
  return found;
}

// The path from a prototype to a point through example `last`; lengths and costs are not squared.
function tracePath({ examples, predecessor }, point, last) {
  const indices = [];
  for (let v = last; v >= 0; v = predecessor[v]) indices.unshift(v);
  const places = [...indices.map((v) => examples[v]), point];
  let cost = 0;
  const steps = places.map((place, i) => {
    const distance = i ? Math.sqrt(squaredDistance(places[i - 1], place)) : 0;
    cost = Math.max(cost, distance);
    return { id: indices[i] ?? null, at: [place.x, place.y], distance, cost };
  });
  return { label: examples[last].label, cost, steps };
}

// The path of the conqueror, the best path of another class, and the nearest example.
export function explainPoint(forest, point) {
  const winner = findConqueror(forest, point);
  if (winner < 0) return null;
  const { label } = forest.examples[winner];
  const rival = findConqueror(forest, point, (example) => example.label !== label);
  const path = tracePath(forest, point, winner), near = forest.examples[findNearest(forest.examples, point)];
  return {
    ...path,
    at: [point.x, point.y],
    rival: rival < 0 ? null : tracePath(forest, point, rival),
    nearest: { label: near.label, at: [near.x, near.y], distance: Math.sqrt(squaredDistance(near, point)) },
  };
}

// For each point of a grid, row by row from the top left: the forest's class and the nearest example's class,
// counted from 0; 255 where there is no example. Examples are sorted by cost and index,
// so the first one of equal offers wins.
export function classifyGrid({ examples, cost }, [columns, rows], [width, height]) {
  const order = [...examples.keys()].sort((i, j) => cost[i] - cost[j] || i - j);
  const [x, y, costs] = [(i) => examples[i].x, (i) => examples[i].y, (i) => cost[i]].map((get) => Float64Array.from(order, get));
  const code = Uint8Array.from([...order.map((i) => examples[i].label - 1), 255]), n = order.length;
  const labels = new Uint8Array(columns * rows), nearest = new Uint8Array(columns * rows);
  for (let cell = 0; cell < labels.length; cell++) {
    const px = (((cell % columns) + 0.5) / columns) * width, py = (1 - (Math.floor(cell / columns) + 0.5) / rows) * height;
    let best = Infinity, conqueror = n, least = Infinity, near = n;
    for (let i = 0; i < n; i++) {
      const distance = (x[i] - px) * (x[i] - px) + (y[i] - py) * (y[i] - py), offer = Math.max(costs[i], distance);
      if (offer < best) { best = offer; conqueror = i; }
      if (distance < least || (distance === least && order[i] < order[near])) { least = distance; near = i; }
    }
    labels[cell] = code[conqueror];
    nearest[cell] = code[near];
  }
  return { labels, nearest };
}
