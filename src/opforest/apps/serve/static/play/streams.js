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
    return [0.31 * side * Math.cos(angle) - side * 0.15 + 0.045 * normal(), side * (0.33 * Math.sin(angle) - 0.1) + 0.045 * normal(), label];
  },
  circle: (random, normal) => {
    if (random() < 0.3) return [0.1 * normal(), 0.1 * normal(), 2];
    const angle = TURN * random(), radius = 0.4 + 0.015 * normal();
    return [radius * Math.cos(angle), radius * Math.sin(angle), 1];
  },
  saturn: (random, normal) => {
    const angle = TURN * random(), label = random() < 0.5 ? 1 : 2, [a, b] = label === 1 ? [0.58, 0.22] : [0.35, 0.35];
    return [a * Math.cos(angle) + 0.008 * normal(), b * Math.sin(angle) + 0.008 * normal(), label];
  },
  lithuanian: (random, normal) => {
    const k = Math.floor(4 * random()), [x, y, radius, middle, width] = ARCS[k];
    const angle = middle + width * (2 * random() - 1);
    return [(x + radius * Math.cos(angle) + 1.2 * normal() - 3) / 34, (y + radius * Math.sin(angle) + 1.2 * normal() - 2.4) / 34, k + 1];
  },
  drift: (random, normal, part) => {
    const label = random() < 0.5 ? 1 : 2, angle = (TURN / 2) * (1.5 * part + label);
    return [0.26 * Math.cos(angle) + 0.1 * normal(), 0.26 * Math.sin(angle) + 0.1 * normal(), label];
  },
};

// A row of small steps, and one example far from the others of its class.
const LONELY = [
  ...Array.from({ length: 9 }, (_, i) => [90 + 40 * i, 150 + 6 * (i % 2), 1]),
  [110, 200, 1], [150, 204, 1], [470, 170, 2], [505, 190, 2], [540, 172, 2], [575, 200, 2], [600, 240, 2], [570, 270, 2],
  [590, 305, 2], [540, 300, 2], [300, 345, 2],
].map(([x, y, label]) => makeExample(x, y, label));

export const STREAMS = {
  moons: { title: "Two moons" },
  circle: { title: "A circle around a cloud" },
  saturn: { title: "Saturn and its ring" },
  lithuanian: { title: "Four sickles" },
  drift: { title: "Drift: the oldest are forgotten", window: 60 },
  lonely: { title: "Far from its class", fixed: LONELY },
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
