// Parts of both views: elements, class choosers, explanations.

import { glyph } from "./draw.js";

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export function symbol(code, isPrototype) {
  const span = make("span", { className: `k${code % 8}` });
  span.innerHTML = glyph(code, isPrototype);
  return span;
}

export const number = (value, digits = 3) => (value === 0 ? "0" : String(Number(Number(value).toPrecision(digits))));

export const percent = (value) => `${(100 * value).toFixed(1)} %`;

// Describes the features of an example: the first few, and all.
export function describeRow(row, shown = 6) {
  const texts = row.map((cell) => (cell === null ? "–" : typeof cell === "number" ? number(cell, 4) : cell));
  return { short: texts.slice(0, shown).join(", ") + (texts.length > shown ? ", …" : ""), whole: texts.join(", ") };
}

// Radio buttons, one for each class; returns a function that returns the choice.
export function chooser(fieldset, names, codeOf, legend) {
  const before = fieldset.querySelector("input:checked")?.value;
  fieldset.replaceChildren(make("legend", {}, legend));
  names.forEach((name, i) => {
    const input = make("input", { type: "radio", name: fieldset.id, value: String(i) });
    input.checked = before === undefined ? i === 0 : before === String(i);
    const label = make("span", { className: `k${codeOf(name) % 8}` });
    label.innerHTML = glyph(codeOf(name));
    label.append(make("b", {}, String(name)));
    fieldset.append(make("label", { className: "pill", title: `Class ${name}` }, input, label));
  });
  return () => names[Number(fieldset.querySelector("input:checked")?.value ?? 0)];
}

// Adds up the weights of all voters, or of those of one class.
function votesFor(path, label) {
  return (path.voters ?? []).reduce((sum, voter) => sum + (label === undefined || voter.label === label ? voter.weight : 0), 0);
}

// Describes a path: prototype, steps with their lengths, the longest of which is the cost.
export function showPath(place, path, codeOf) {
  place.replaceChildren();
  if (!path) return;
  const steps = path.steps;
  const longest = steps.findIndex((step) => step.distance > 0 && step.distance === path.cost);
  const isShown = (i) => steps.length <= 9 || i < 3 || i >= steps.length - 3 || i === longest - 1 || i === longest;
  const code = codeOf(path.label);
  const rival = path.rival ? ` (class ${path.rival.label} at ${number(path.rival.cost)})` : "";
  const won = votesFor(path, path.label), all = votesFor(path);
  const result = path.voters ? `by ${number(won)} of ${number(all)} votes of ${path.voters.length} examples` : `at cost ${number(path.cost)}${rival}`;
  place.append(make("strong", { className: `k${code % 8}` }, `Class ${path.label}`), ` ${result}: `);
  let hidden = 0;
  steps.forEach((step, i) => {
    if (!isShown(i)) { hidden += 1; return; }
    if (hidden) place.append(`→ … ${hidden} more … `);
    hidden = 0;
    const length = number(step.distance);
    if (i) place.append("→ ", i === longest ? make("b", {}, length) : length, " →");
    const name = step.id === null ? "here" : step.key ?? `example ${step.id}`;
    const chip = make("span", { className: i === longest ? "chip longest" : "chip" }, symbol(code, i === 0), name);
    if (i === longest) chip.title = "The longest step: its length is the cost of the path";
    place.append(chip);
  });
  if (path.features?.has_names) place.append(featureTable(path, codeOf));
}

// The features of the examples that decide, and of the point itself, those that differ most first.
const SHOWN_FEATURES = 5;
function featureTable(path, codeOf) {
  const { names, rows, more } = path.features;
  const hidden = more + Math.max(0, names.length - SHOWN_FEATURES);
  const table = make("table", { className: "features" }, make("caption", {}, `Features, those that differ most first${hidden ? `, and ${hidden} more` : ""}`));
  const head = (name, i) => make("th", { scope: "col", className: typeof rows[0].values[i] === "number" ? "number" : "" }, name);
  table.append(make("tr", {}, head("", -1), head("example", -1), head("class", -1), ...names.slice(0, SHOWN_FEATURES).map(head)));
  const cell = (value) => make("td", typeof value === "number" ? { className: "number" } : {}, value === null ? "?" : typeof value === "number" ? number(value, 6) : String(value));
  for (const row of rows) {
    const name = row.id === null ? "" : row.key ?? `example ${row.id}`;
    table.append(make("tr", {}, make("th", { scope: "row" }, row.role === "x" ? "here" : row.role), make("td", {}, name),
      make("td", { className: `k${codeOf(row.label) % 8}` }, String(row.label)), ...row.values.slice(0, SHOWN_FEATURES).map(cell)));
  }
  return make("div", { className: "wide" }, table);
}
