// Three forests on one stream.

import { call, latest, onReconnect } from "./api.js";
import { ForestCanvas } from "./draw.js";
import { chooser, EXPLAIN, make, showPath } from "./parts.js";

const FORESTS = {
  opfi: ["OPFI", "the algorithm of Ponti & Riva"],
  exact: ["Exact", "equal to the refitted forest"],
  dift: ["DIFT", "the baseline: every new example is a prototype"],
};
const HOVER = "Point at a forest to see the path that explains the point.";
const codeOf = (label) => Math.max(0, Number(label) - 1);
const find = (id) => document.getElementById(id);

export function openPlay() {
  const panels = {};
  let state = null, timer = null, queue = Promise.resolve(), pending = 0, chosen = () => 1;

  const ask = (path, body) => { // clicks wait for each other, so none is lost
    pending += 1;
    queue = queue.then(() => call(`/v1/play/${path}`, body)).then(show, (error) => showMessage(error.message)).then(() => { pending -= 1; });
    return queue;
  };
  const showMessage = (text) => { for (const panel of Object.values(panels)) panel.message.textContent = text; };

  function click(name, x, y, key) {
    if (chosen() === EXPLAIN) hover(name, x, y);
    else if (key !== null) ask("forget", { key });
    else ask("learn", { x: [x, y], label: Number(chosen()) });
  }

  const hover = latest(async (name, x, y) => {
    if (x === null || timer) {
      for (const panel of Object.values(panels)) panel.canvas.setPath(null);
      find("path").textContent = timer ? "" : HOVER;
      return;
    }
    await queue;
    const paths = await call("/v1/play/explain", { x: [x, y] });
    if (pending) return; // the forests are changing
    for (const [other, panel] of Object.entries(panels)) panel.canvas.setPath(paths[other] && { ...paths[other], at: [x, y] });
    showPath(find("path"), paths[name], codeOf);
  });

  for (const [name, [title, subtitle]] of Object.entries(FORESTS)) {
    const canvas = make("canvas", { tabIndex: 0, role: "img" });
    canvas.setAttribute("aria-label", `${title}: a forest. Arrows move the cursor, Enter learns, Delete forgets.`);
    const numbers = make("dl", { className: "numbers" });
    const message = make("p", { className: "message" });
    message.setAttribute("aria-live", "polite");
    find("panels").append(make("article", { className: name === "exact" ? "panel main" : "panel", id: `panel-${name}` },
      make("header", {}, make("h2", {}, `${title} `, make("small", {}, subtitle))),
      make("div", { className: "stage" }, canvas), numbers, message));
    panels[name] = { numbers, message, canvas: new ForestCanvas(canvas, { code: codeOf, click: (...place) => click(name, ...place), hover: (...place) => hover(name, ...place) }) };
    const tab = make("button", { type: "button", value: name }, title);
    find("tabs").append(tab);
  }
  find("tabs").prepend(make("button", { type: "button", value: "all" }, "All"));
  find("tabs").addEventListener("click", (event) => event.target.value && view(event.target.value));
  function view(which) {
    for (const tab of find("tabs").children) tab.setAttribute("aria-pressed", String(tab.value === which));
    for (const name of Object.keys(panels)) find(`panel-${name}`).hidden = which !== "all" && which !== name;
    find("panels").classList.toggle("one", which !== "all");
  }
  view(matchMedia("(max-width: 640px)").matches ? "exact" : "all");

  function show(next) {
    state = next;
    for (const [name, panel] of Object.entries(panels)) {
      const forest = next.forests[name];
      panel.canvas.show(forest);
      const accuracy = forest.accuracy === null ? "–" : `${(100 * forest.accuracy).toFixed(1)} %`;
      const facts = { Examples: forest.examples, Prototypes: forest.prototypes?.length ?? 0, "Accuracy so far": accuracy,
        "Last, in µs": forest.last.micros ?? "–" };
      panel.numbers.replaceChildren(...Object.entries(facts).map(([term, value]) =>
        make("div", {}, make("dt", {}, term), make("dd", {}, String(value)))));
      const [, before, rest] = /^(Case \d)?:?(.*)$/s.exec(forest.last.message || (next.length ? "Click, or play the stream." : "Click to learn the first example."));
      panel.message.replaceChildren(...(before ? [make("b", {}, before), ` ${rest.trim()[0].toUpperCase()}${rest.trim().slice(1)}`] : [rest]));
    }
    find("progress").value = next.length ? next.played / next.length : 0;
    find("step").disabled = find("run").disabled = next.played >= next.length;
    if (next.played >= next.length) stop();
    if (find("set").options.length === 0) {
      find("set").append(...Object.entries(next.sets).map(([label, sets]) => make("optgroup", { label },
        ...Object.entries(sets).map(([value, title]) => make("option", { value }, title)))));
    }
    find("set").value = next.set;
  }

  const label = () => { find("run").innerHTML = timer ? "❚❚ Pause" : "<span aria-hidden=\"true\">▶</span> Play"; };
  function stop() { clearTimeout(timer); timer = null; label(); }
  function run() {
    const next = async () => {
      await ask("step", { count: 1 });
      if (timer) timer = setTimeout(next, 1000 / Number(find("speed").value));
    };
    timer = setTimeout(next, 0);
    label();
  }

  find("run").addEventListener("click", () => (timer ? stop() : run()));
  find("step").addEventListener("click", () => { stop(); ask("step", { count: 1 }); });
  find("again").addEventListener("click", () => ask("start", { set: state.set, seed: state.seed + 1 }));
  find("set").addEventListener("change", () => { stop(); ask("start", { set: find("set").value, seed: state.seed }); });
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("select, input[type=password], input[type=range]") || event.ctrlKey || event.metaKey) return;
    const pill = find("classes").querySelectorAll("input")[Number(event.key) - 1];
    if (pill) pill.checked = true;
    else if (event.key === " " && !event.target.matches("button, input")) find("run").click();
    else if (event.key === "s") find("step").click();
    else return;
    event.preventDefault();
  });
  chosen = chooser(find("classes"), [1, 2, 3, 4, EXPLAIN], codeOf, "A click learns");
  const refresh = async () => show(await call("/v1/play"));
  find("path").textContent = HOVER;
  find("play").hidden = false;
  refresh().catch(() => {});
  onReconnect(refresh);
}
