// Sentences and lists beside the forests.

import { make, number, showPath, symbol } from "../parts.js";

const count = (value) => value.toLocaleString("en");
const plural = (value, noun) => `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

const HINT = matchMedia("(hover: none)").matches
  ? "Choose “Explain” and tap anywhere to see the path that decides." : "Point anywhere to see the path that decides.";

export const OUTCOMES = {
  "case 1": ["Case 1", "An example of its own class conquers it: it joins that tree."],
  "case 2": ["Case 2", "A prototype of its own class conquers it: it joins that tree."],
  takeover: ["Case 2", "A prototype of its own class conquers it, and it takes the prototype’s place."],
  "case 3": ["Case 3", "Another class conquers it: the two become prototypes."],
  "new prototype": ["", "It becomes a prototype, as every new example does."],
  "learned again": ["", "It cannot forget, so it has learned all examples again."],
};

// Says what the last change was, and how the updated forest compares with one fitted again; beside other
// forests, by name.
export function showProof(place, drawing, change, isNamed) {
  const { compared, different, updated, fitted } = drawing.proof, n = drawing.examples.length;
  place.classList.toggle("failed", different > 0);
  const result = different ? `differs from refitting in ${plural(different, "value")}` : "identical to refitting";
  const title = isNamed ? `Exact: ${result}` : result[0].toUpperCase() + result.slice(1);
  const mark = make("span", { className: "mark" }, different ? "✗" : "✓");
  const text = make("p", {});
  if (!n) {
    text.append("Click on the plane to learn the first example.");
    place.replaceChildren(make("h2", {}, "No examples"), text);
    return;
  }
  if (n === 1) text.append(make("b", {}, change.title), ".");
  else {
    text.append(make("b", {}, change.title), `: the ${change.isMany ? "last update" : "update"} measured ${plural(updated, "distance")}, refitting all ${count(fitted)}. `,
      make("b", {}, `${count(compared)} values`), ` (edges, costs, paths, prototypes) were compared, and ${different ? "not all" : "all"} are equal.`);
  }
  place.replaceChildren(make("h2", {}, mark, title), text);
}

// Explains a point: its path, and why the nearest example did not win.
export function showExplanation(path, pathPlace, surprisePlace, names) {
  surprisePlace.hidden = true;
  if (!path) {
    pathPlace.textContent = names.length ? HINT : "Paths begin at examples: learn one first.";
    return;
  }
  const steps = path.steps.map((step) => ({ ...step, key: step.id === null ? null : String(names[step.id]) }));
  showPath(pathPlace, { ...path, steps }, (label) => label - 1);
  const { nearest, label, cost, rival } = path;
  if (nearest.label === label) return;
  surprisePlace.hidden = false;
  const name = (code, word = "class") => make("b", { className: `k${code - 1}` }, `${word} ${code}`);
  surprisePlace.replaceChildren("The nearest example, at ", number(nearest.distance), ", is of ", name(nearest.label),
    ", but no path of ", name(rival.label), " comes here without a step of ", number(rival.cost), ". ", name(label, "Class"), " needs none longer than ",
    number(cost), ". ", make("strong", {}, "The longest step decides, not the nearest point."));
}

export function showLegend(place) {
  const sample = (...parts) => make("span", { className: "sample" }, ...parts);
  const box = (name) => make("span", { className: name });
  const rows = [
    [sample(symbol(0), symbol(1)), "example; shape and color are its class"],
    [sample(symbol(0, true), symbol(1, true)), "prototype, where paths begin: it has a tree edge to another class, or there is only one class"],
    [sample(box("line")), "step of a path"],
    [sample(box("line cut")), "edge of the tree between two classes, which is cut"],
    [sample(box("line longest")), "longest step of the path to your pointer: its cost"],
    [sample(box("region")), "class that a new point would get"],
    [sample(box("dots")), "the nearest example is of another class"],
  ];
  place.replaceChildren(...rows.map(([left, text]) => make("li", {}, left, make("span", {}, text))));
}
