// A drawing as text that fits into a link: #1-BEGIN-EXAMPLES, four characters for each example. If examples were
// forgotten, their numbers follow: ~1.3-7.

import { CLASSES, HEIGHT, makeExample, MAX_EXAMPLES, WIDTH } from "./drawing.js";

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

function writeExample({ x, y, label }) {
  const code = ((label - 1) * HEIGHT + y) * WIDTH + x;
  return [18, 12, 6, 0].map((shift) => DIGITS[(code >> shift) & 63]).join("");
}

function readExample(text) {
  const code = [...text].reduce((sum, digit) => 64 * sum + DIGITS.indexOf(digit), 0);
  const row = Math.floor(code / WIDTH);
  return makeExample(code % WIDTH, row % HEIGHT, Math.floor(row / HEIGHT) + 1);
}

// The numbers that no example has any more, up to the last one given.
function writeGaps(names, lastName) {
  const gaps = [];
  let next = 1;
  for (const name of [...names, lastName + 1]) {
    if (name > next) gaps.push(name - next > 1 ? `${next}-${name - 1}` : `${next}`);
    next = name + 1;
  }
  return gaps.length ? `~${gaps.join(".")}` : "";
}

// The numbers of that many examples, without those in the gaps; null if no drawing has such gaps.
function readNames(gaps, count) {
  const names = [];
  let next = 1;
  for (const gap of gaps ? gaps.split(".") : []) {
    const [first, last = first] = /^\d{1,7}(-\d{1,7})?$/.test(gap) ? gap.split("-").map(Number) : [];
    while (next < first && names.length < count) names.push(next++);
    if (next !== first || last < first) return null;
    next = last + 1;
  }
  while (names.length < count) names.push(next++);
  return { names, lastName: next - 1 };
}

export const writeLink = ({ examples, begin, names, lastName }) =>
  `#1-${begin}-${examples.map(writeExample).join("")}${writeGaps(names, lastName)}`;

// Returns the examples, how many of them are learned together, and their numbers; null if the text has none.
// Throws an error that says what is wrong with it.
export function readLink(text) {
  if (text.length <= 1) return null;
  const [, begin, codes, gaps] = /^#1-(\d{1,3})-((?:[\w-]{4})*)(?:~([^~]+))?$/.exec(text) ?? [];
  const examples = (codes?.match(/.{4}/g) ?? []).map(readExample), numbers = readNames(gaps, examples.length);
  if (codes === undefined || !numbers) throw new Error("This link is incomplete or not from this page: nothing was loaded.");
  if (examples.length > MAX_EXAMPLES || examples.some(({ label }) => label > CLASSES) || begin < 1) {
    throw new Error(`This link must have at most ${MAX_EXAMPLES} examples of ${CLASSES} classes: nothing was loaded.`);
  }
  return { examples, begin: Number(begin), ...numbers };
}
