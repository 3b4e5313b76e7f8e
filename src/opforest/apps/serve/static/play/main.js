// The playground: streams, tools, two views, and links to drawings.

import { glyph } from "../draw.js";
import { make } from "../parts.js";
import { CLASSES, Drawing, makeExample, MAX_EXAMPLES } from "./drawing.js";
import { readLink, writeLink } from "./link.js";
import { Panel } from "./panel.js";
import { explainPoint } from "./query.js";
import { makeStream, STREAMS } from "./streams.js";
import { showExplanation, showLegend, showProof } from "./text.js";

const PAUSE = 220; // milliseconds between two examples of a stream
const REST = 400; // milliseconds after which a change is written into the address: browsers refuse frequent writes
const find = (id) => document.getElementById(id);
const page = { drawing: null, stream: "moons", seed: 1, waiting: [], timer: null, change: { title: "Loaded" } };

const panels = ["exact", "opfi", "dift"].map((name) => new Panel(name, { act, forget, hover, isForgetting: () => chosenTool() === "forget" }));
const shownPanels = () => (find("view").classList.contains("three") ? panels : panels.slice(0, 1));

function refresh() {
  let labels = null;
  for (const panel of shownPanels()) {
    const own = panel.show(page.drawing, labels);
    labels ??= own;
  }
  showProof(find("proof"), page.drawing, page.change);
  explain(null);
  const { length = 0 } = page.total ?? {};
  find("progress").value = length ? 1 - page.waiting.length / length : 0;
  find("step").disabled = find("run").disabled = !page.waiting.length;
  if (!page.waiting.length) stop();
  find("again").disabled = Boolean(STREAMS[page.stream].fixed);
  find("stream").value = page.stream;
}

// Changes the drawing, and writes it into the address so that it can be sent and is there after a reload.
function change(title, action) {
  showProblem("");
  action();
  page.change = { title };
  refresh();
  writeAddress(writeLink(page.drawing));
}

function writeAddress(address) {
  clearTimeout(page.writer);
  page.writer = setTimeout(() => history.replaceState(null, "", address), REST);
}

const showProblem = (text) => { find("problem").textContent = text; find("problem").hidden = !text; };

function learn(example) {
  if (page.drawing.examples.length >= MAX_EXAMPLES) {
    showProblem(`The page has ${MAX_EXAMPLES} examples, which is its limit: forget some first.`);
    stop();
    return;
  }
  change(`Learned example ${page.drawing.lastName + 1}`, () => page.drawing.learn(example));
}

function forget(name) {
  change(`Forgot example ${name}`, () => page.drawing.forget(page.drawing.names.indexOf(name)));
}

function act(x, y, name) {
  const tool = chosenTool();
  if (tool === "explain") explain({ x, y });
  else if (tool !== "forget") {
    const example = makeExample(x, y, Number(tool));
    learn(example);
    explain(example);
  } else if (name !== null) forget(name);
}

// Explains a point in all forests that are shown, with the words of the one pointed at.
function explain(point, name = "exact") {
  for (const panel of shownPanels()) {
    const path = point && explainPoint(page.drawing.forests[panel.name], point);
    panel.canvas.setPath(path);
    if (panel.name === name) showExplanation(path, find("path"), find("surprise"), page.drawing.names);
  }
}

function hover(panel, x, y) {
  explain(x === null || page.timer ? null : { x, y }, panel.name);
}

function step() {
  const example = page.waiting.shift(), { window } = STREAMS[page.stream];
  if (!example) return;
  learn(example);
  if (window && page.drawing.examples.length > window) forget(page.drawing.names[0]);
}

function stop() {
  clearInterval(page.timer);
  page.timer = null;
  find("run").textContent = "▶ Play";
}

function run() {
  page.timer = setInterval(step, PAUSE);
  find("run").textContent = "❚❚ Pause";
}

function openStream(name, seed) {
  stop();
  const { examples, begin, shown } = makeStream(name, seed);
  Object.assign(page, { stream: name, seed, total: examples, waiting: examples.slice(shown), drawing: new Drawing(examples.slice(0, shown), begin) });
  page.change = { title: `Learned ${shown} examples` };
  showProblem("");
  refresh();
  explain(STREAMS[name].at ?? null);
  writeAddress(location.pathname + location.search);
}

function openLink() {
  clearTimeout(page.writer);
  try {
    const found = readLink(location.hash);
    if (!found) return false;
    stop();
    const drawing = new Drawing(found.examples, found.begin);
    Object.assign(page, { stream: "empty", total: null, waiting: [], drawing, change: { title: `Loaded ${found.examples.length} examples` } });
    refresh();
    return true;
  } catch (error) {
    if (!page.drawing) openStream("moons", 1);
    showProblem(error.message);
    return true;
  }
}

function view(which) {
  find("view").className = which;
  for (const tab of find("tabs").children) tab.setAttribute("aria-pressed", String(tab.value === which));
  panels.forEach((panel) => { panel.element.hidden = !shownPanels().includes(panel); });
  if (page.drawing) refresh();
}

function chosenTool() {
  return find("tools").querySelector("input:checked").value;
}

function addTools() {
  const titles = { forget: "Forget the example that is clicked (F)", explain: "Show the path to the point that is clicked (E)" };
  const names = [...Array.from({ length: CLASSES }, (_, k) => String(k + 1)), "forget", "explain"];
  names.forEach((name, k) => {
    const input = make("input", { type: "radio", name: "tool", value: name, checked: k === 0 });
    const label = make("span", { className: k < CLASSES ? `k${k}` : "word" });
    if (k < CLASSES) label.innerHTML = glyph(k);
    label.append(make("b", {}, name[0].toUpperCase() + name.slice(1)));
    find("tools").append(make("label", { className: "pill", title: titles[name] ?? `Learn an example of class ${name} (${name})` }, input, label));
  });
}

const addressOf = (drawing) => new URL(writeLink(drawing), location.href).href;

async function copyLink() {
  const address = addressOf(page.drawing);
  find("address").value = address;
  try {
    await navigator.clipboard.writeText(address);
    find("copied").textContent = "Copied ✓";
    setTimeout(() => { find("copied").textContent = ""; }, 2000);
  } catch { // not allowed here: show it, to be copied by hand
    find("address").hidden = false;
    find("address").select();
  }
}

function pressKey(event) {
  if (event.target.matches("select, input[type=text], summary") || event.ctrlKey || event.metaKey || event.altKey) return;
  const tool = { f: "forget", e: "explain" }[event.key] ?? event.key;
  const input = [...find("tools").querySelectorAll("input")].find(({ value }) => value === tool);
  if (input) input.checked = true;
  else if (event.key === " " && !event.target.matches("button, input")) find("run").click();
  else if (event.key === "s") find("step").click();
  else return;
  event.preventDefault();
}

// On another page, follow its width and report the height.
function embed() {
  document.body.classList.add("embedded");
  find("alone").hidden = false;
  find("alone").href = location.href;
  find("alone").addEventListener("click", () => { find("alone").href = addressOf(page.drawing); });
  const report = () => parent.postMessage({ playgroundHeight: Math.ceil(document.body.getBoundingClientRect().height) }, "*");
  new ResizeObserver(report).observe(document.body);
  report(); // nothing is observed before the frame is on the screen
}

addTools();
find("help").open = matchMedia("(min-width: 1101px)").matches; // there is room beside the legend
showLegend(find("legend"));
find("panels").append(...panels.map((panel) => panel.element));
find("stream").append(...Object.entries(STREAMS).map(([value, { title }]) => make("option", { value }, title)));
find("stream").addEventListener("change", () => openStream(find("stream").value, page.seed));
find("again").addEventListener("click", () => openStream(page.stream, page.seed + 1));
find("run").addEventListener("click", () => (page.timer ? stop() : run()));
find("step").addEventListener("click", () => { stop(); step(); });
find("tabs").addEventListener("click", (event) => event.target.value && view(event.target.value));
find("copy").addEventListener("click", copyLink);
document.addEventListener("keydown", pressKey);
addEventListener("hashchange", openLink);
view("one");
if (!openLink()) openStream("moons", 1);
if (parent !== self) embed();
