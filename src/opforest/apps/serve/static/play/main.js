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
  showProof(find("proof"), page.drawing, page.change, shownPanels().length > 1);
  explain(page.pointed?.point ?? null, page.pointed?.panel);
  const { length = 0 } = page.total ?? {};
  find("progress").value = length ? 1 - page.waiting.length / length : 0;
  find("step").disabled = find("run").disabled = !page.waiting.length;
  if (!page.waiting.length) stop();
  find("again").disabled = Boolean(STREAMS[page.stream].fixed);
  find("stream").value = page.stream;
}

// Changes the drawing, and writes it into the address so that it can be sent and is there after a reload.
function change(title, action) {
  say("");
  action();
  page.change = { title };
  refresh();
  writeAddress(writeLink(page.drawing));
}

function writeAddress(address) {
  clearTimeout(page.writer);
  page.writer = setTimeout(() => history.replaceState(null, "", address), REST);
}

// Says something on the drawing of one panel, until the next change.
const say = (text, panel = panels[0]) => panels.forEach((one) => { one.notice.textContent = one === panel ? text : ""; });

function learn(example, panel) {
  if (page.drawing.examples.length >= MAX_EXAMPLES) {
    say(`The page has ${MAX_EXAMPLES} examples, which is its limit: forget some first.`, panel);
    stop();
    return;
  }
  change(`Learned example ${page.drawing.lastName + 1}`, () => page.drawing.learn(example));
}

function forget(name, panel) {
  if (name === null) say("There is no example here to forget.", panel);
  else change(`Forgot example ${name}`, () => page.drawing.forget(page.drawing.names.indexOf(name)));
}

function act(panel, x, y, name) {
  const tool = chosenTool();
  if (tool === "forget") return forget(name, panel);
  const point = tool === "explain" ? { x, y } : makeExample(x, y, Number(tool));
  if (tool !== "explain") learn(point, panel);
  explain(point, panel);
}

// Explains a point in all forests that are shown, with the words of the one pointed at, until another one is.
function explain(point, pointed) {
  const shown = shownPanels(), panel = shown.includes(pointed) ? pointed : shown[0];
  page.pointed = point && { point, panel };
  for (const one of shown) one.canvas.setPath(point && explainPoint(page.drawing.forests[one.name], point));
  showExplanation(panel.canvas.path, find("path"), find("surprise"), page.drawing.names);
  find("where").textContent = point && shown.length > 1 ? panel.title : "";
  find("why").style.setProperty("--panel", shown.indexOf(panel)); // under which it is on a phone
}

function hover(panel, x, y) {
  explain(x === null ? null : { x, y }, panel);
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
  find("run").textContent = "‖ Pause"; // as wide as “▶ Play”: nothing moves
}

function openStream(name, seed) {
  stop();
  const { examples, begin, shown } = makeStream(name, seed);
  Object.assign(page, { stream: name, seed, total: examples, waiting: examples.slice(shown), drawing: new Drawing({ examples: examples.slice(0, shown), begin }), pointed: null });
  page.change = { title: `Learned ${shown} examples`, isMany: true };
  say("");
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
    say("");
    Object.assign(page, { stream: "empty", total: null, waiting: [], drawing: new Drawing(found), pointed: null, change: { title: `Loaded ${found.examples.length} examples`, isMany: true } });
    refresh();
    return true;
  } catch (error) {
    if (!page.drawing) openStream("moons", 1);
    say(error.message);
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
    if (k === CLASSES) find("tools").append(make("span", { className: "soft" }, "or"));
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
