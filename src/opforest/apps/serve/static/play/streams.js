// Examples to play with: streams that are drawn at random, and a fixed drawing.

import { HEIGHT, makeExample, WIDTH } from "./drawing.js";

const TURN = 2 * Math.PI;

// Uniform numbers in [0, 1) from a seed (Mulberry32).
function makeRandom(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const makeNormal = (random) => () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(TURN * random());

// The arcs of the Lithuanian classes: center, radius, middle and half width as angles.
const ARCS = [[0.2, -0.3, 10.2, 0, 1.15], [-1.2, 0.2, 7.4, 0, 1.1], [4.5, 5.1, 9.8, Math.PI, 1.15], [6.5, 4.9, 7.4, Math.PI, 1.1]];

// Each function returns [x, y, class] of one example; coordinates are fractions of the height from the middle.
const SHAPES = {
  moons: (random, normal) => {
    const label = random() < 0.5 ? 1 : 2, angle = (TURN / 2) * random(), side = label === 1 ? 1 : -1;
    return [0.38 * side * Math.cos(angle) - side * 0.19 + 0.055 * normal(), side * (0.46 * Math.sin(angle) - 0.12) + 0.055 * normal(), label];
  },
  circle: (random, normal) => {
    if (random() < 0.3) return [0.1 * normal(), 0.1 * normal(), 2];
    const angle = TURN * random(), radius = 0.4 + 0.015 * normal();
    return [radius * Math.cos(angle), radius * Math.sin(angle), 1];
  },
  saturn: (random, normal) => {
    const angle = TURN * random(), label = random() < 0.5 ? 1 : 2, [a, b] = label === 1 ? [0.62, 0.24] : [0.4, 0.4];
    return [a * Math.cos(angle) + 0.008 * normal(), b * Math.sin(angle) + 0.008 * normal(), label];
  },
  lithuanian: (random, normal) => {
    const k = Math.floor(4 * random()), [x, y, radius, middle, width] = ARCS[k];
    const angle = middle + width * (2 * random() - 1);
    return [(x + radius * Math.cos(angle) + 1.2 * normal() - 3) / 28, (y + radius * Math.sin(angle) + 1.2 * normal() - 2.4) / 28, k + 1];
  },
  drift: (random, normal, part) => {
    const label = random() < 0.5 ? 1 : 2, angle = (TURN / 2) * (1.5 * part + label);
    return [0.3 * Math.cos(angle) + 0.12 * normal(), 0.22 * Math.sin(angle) + 0.1 * normal(), label];
  },
};

// A chain of class 2 that turns away from class 1 and then leaves a wide gap before its last example.
const LONELY = [
  ...Array.from({ length: 9 }, (_, i) => [100 + 40 * i, 130 + 8 * (i % 2), 1]), [120, 88, 1], [160, 82, 1], [240, 92, 1],
  [485, 150, 2], [525, 168, 2], [562, 190, 2], [590, 224, 2], [604, 262, 2], [600, 302, 2], [582, 338, 2], [560, 372, 2],
  [610, 385, 2], [640, 350, 2], [350, 352, 2],
].map(([x, y, label]) => makeExample(x, y, label));

export const STREAMS = {
  moons: { title: "Two moons" },
  circle: { title: "Circle and cloud" },
  saturn: { title: "Saturn" },
  lithuanian: { title: "Four sickles" },
  drift: { title: "Drift and a window", window: 60 },
  lonely: { title: "Far from its class", fixed: LONELY, at: { x: 345, y: 300 } },
  empty: { title: "Draw it yourself", fixed: [] },
};

// How many examples of a stream there are, are learned together, and are learned before the page is shown.
export const LENGTH = 160, BEGIN = 12, SHOWN = 60;

export function makeStream(name, seed) {
  const { fixed } = STREAMS[name];
  if (fixed) return { examples: fixed, begin: 1, shown: fixed.length };
  const random = makeRandom(1000 * seed + 17), normal = makeNormal(random);
  const examples = Array.from({ length: LENGTH }, (_, i) => {
    const [x, y, label] = SHAPES[name](random, normal, i / LENGTH);
    return makeExample(WIDTH / 2 + HEIGHT * x, HEIGHT / 2 + HEIGHT * y, label);
  });
  return { examples, begin: BEGIN, shown: SHOWN };
}
