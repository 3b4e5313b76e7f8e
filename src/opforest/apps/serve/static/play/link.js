// A drawing as text that fits into a link: #1-BEGIN-EXAMPLES, four characters for each example.

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

export const writeLink = ({ examples, begin }) => `#1-${begin}-${examples.map(writeExample).join("")}`;

// Returns the examples and how many of them are learned together; null if the text has none. Throws an error
// that says what is wrong with it.
export function readLink(text) {
  if (text.length <= 1) return null;
  const [, begin, codes] = /^#1-(\d{1,3})-((?:[\w-]{4})*)$/.exec(text) ?? [];
  if (codes === undefined) throw new Error("This link is incomplete or not from this page: nothing was loaded.");
  const examples = (codes.match(/.{4}/g) ?? []).map(readExample);
  if (examples.length > MAX_EXAMPLES || examples.some(({ label }) => label > CLASSES) || begin < 1) {
    throw new Error(`This link must have at most ${MAX_EXAMPLES} examples of ${CLASSES} classes: nothing was loaded.`);
  }
  return { examples, begin: Number(begin) };
}
