// A store: its forest, size, accuracy, classes, latest examples and recent changes.

import { call, follow, latest } from "./api.js";
import { AskForm } from "./ask.js";
import { colors, fitToScreen, ForestCanvas } from "./draw.js";
import { chooser, make, showPath, symbol } from "./parts.js";
import { SearchList } from "./search.js";
import { SuspectList } from "./suspects.js";

const find = (id) => document.getElementById(id);
const count = (value) => Number(value).toLocaleString("en");

function formatBytes(bytes) {
  const [name, unit] = bytes > 1e9 ? ["GB", 1e9] : bytes > 1e6 ? ["MB", 1e6] : ["kB", 1e3];
  return `${(bytes / unit).toFixed(bytes && bytes < 10 * unit ? 1 : 0)} ${name}`;
}

const formatDuration = (micros) => (micros < 1e4 ? `${count(micros)} µs` : micros < 1e6 ? `${Math.round(micros / 1e3)} ms` : `${(micros / 1e6).toFixed(1)} s`);

const VERBS = { learn: "learned", correct: "corrected", forget: "forgotten" };

function summary(event) {
  const done = event.learned || event.replaced || event.forgotten || event.labeled;
  const names = event.keys.length ? ` ${event.keys.join(", ")}${done > event.keys.length ? " …" : ""}` : "";
  const report = event.report;
  const more = [
    report.prototypes_gained && `+${report.prototypes_gained} prototype${report.prototypes_gained === 1 ? "" : "s"}`,
    report.prototypes_lost && `−${report.prototypes_lost} prototype${report.prototypes_lost === 1 ? "" : "s"}`,
    report.reconquered && `${count(report.reconquered)} cost${report.reconquered === 1 ? "" : "s"} changed`,
  ].filter(Boolean).join(", ");
  return make("li", {}, make("span", {}, `${count(done)} ${VERBS[event.kind]}${names}`),
    make("span", { className: "soft" }, `${more || "no other changes"} · ${formatDuration(event.micros)}`));
}

export function openStore(first) {
  let stats = first, plane = null, waiting = false, took = 0, chosen = () => null;
  const codes = new Map(); // a class keeps its color while the page is open
  const codeOf = (label) => codes.get(String(label)) ?? codes.set(String(label), codes.size).get(String(label));
  find("tagline").textContent = first.store;

  const ask = async (path, body) => {
    try {
      await call(path, body);
      find("message").textContent = "";
    } catch (error) {
      find("message").textContent = error.message;
    }
  };
  const canEdit = () => find("edit").checked;
  const canvas = new ForestCanvas(find("forest"), {
    code: codeOf,
    click: (x, y, key) => {
      if (!canEdit()) {
        find("message").textContent = "To learn and forget by clicks, tick the box first.";
        hover(x, y);
      }
      else if (key !== null) ask("/v1/forget", { keys: [key] });
      else if (canvas.data?.is_plain && String(typed(chosen())) === chosen()) ask("/v1/learn", { rows: [[x, y]], labels: [typed(chosen())] });
      else find("message").textContent = "A point of this plane is not a complete example. Learn examples through the API.";
    },
    hover: (x, y) => hover(x, y),
  });
  const suspects = new SuspectList({ code: codeOf, canEdit, ask });
  const search = new SearchList({ code: codeOf, canEdit, ask });
  const form = new AskForm({ code: codeOf });
  const hover = latest(async (x, y) => {
    if (x === null || plane === null) { canvas.setPath(null); find("why").replaceChildren(); return; }
    const path = await call(`/v1/forest/path?plane=${plane}&x=${x}&y=${y}`);
    canvas.setPath({ ...path, at: [x, y] });
    showPath(find("why"), path, codeOf);
  });
  const typed = (name) => (stats.labels === "text" ? name : stats.labels === "boolean" ? name === "true" : Number(name));

  function showStats() {
    const names = Object.keys(stats.classes);
    names.forEach(codeOf);
    const facts = {
      Examples: count(stats.examples), Prototypes: count(stats.prototypes), Features: stats.features ?? "–",
      Metric: stats.metric, "On disk": formatBytes(stats.bytes_on_disk), "In memory": formatBytes(stats.bytes_in_memory),
    };
    if (stats.semi_supervised) facts.Unlabeled = count(stats.unlabeled);
    find("facts").replaceChildren(...Object.entries(facts).map(([name, value]) =>
      make("div", {}, make("span", {}, name), make("strong", {}, String(value)))));
    const most = Math.max(1, ...Object.values(stats.classes));
    find("bars").replaceChildren(...names.slice(0, 12).map((name) => {
      const bar = make("progress", { max: most, value: stats.classes[name] });
      return make("li", { className: `k${codeOf(name) % 8}` },
        make("span", { className: "name", title: name }, symbol(codeOf(name)), make("b", {}, name)), bar,
        make("span", { className: "count" }, count(stats.classes[name])));
    }), make("li", { className: "soft", hidden: names.length > 0 && names.length <= 12 }, names.length ? `and ${names.length - 12} more` : "None yet."));
    find("log").replaceChildren(...stats.events.slice().reverse().map(summary));
    if (!stats.events.length) find("log").replaceChildren(make("li", { className: "soft" }, "None since the service was started."));
    if (!stats.last.length) find("last").replaceChildren(make("li", { className: "soft" }, "None yet."));
    else find("last").replaceChildren(...stats.last.map((row) =>
      make("li", {}, make("code", {}, row.key), row.label === null
        ? make("span", { className: "soft" }, "no label") : make("span", { className: `k${codeOf(row.label) % 8}` }, String(row.label)))));
    find("labels").hidden = !canvas.data?.is_plain || !canEdit();
    chosen = chooser(find("labels"), names.slice(0, 8), codeOf, "A click learns");
    showAccuracy();
    form.show(stats);
    search.setClasses(stats);
  }

  function showAccuracy() {
    const { context, width, height } = fitToScreen(find("accuracy"));
    const color = colors();
    const history = stats.history.filter(([, , total]) => total > 0);
    context.clearRect(0, 0, width, height);
    find("accuracy-note").textContent = stats.score === null
      ? "This store was created without --score."
      : history.length ? `${(100 * stats.score.accuracy).toFixed(1)} % of ${count(stats.score.total)} examples were predicted correctly before they were learned.`
        : "No prediction has been counted yet.";
    find("accuracy").parentElement.hidden = history.length < 2;
    if (history.length < 2) return;
    const last = history.at(-1)[2];
    const low = Math.min(...history.map(([, right, total]) => right / total));
    const floor = Math.min(0.9, Math.floor(low * 10) / 10);
    const at = (right, total) => [34 + (total / last) * (width - 40), 6 + (1 - (right / total - floor) / (1 - floor)) * (height - 26)];
    Object.assign(context, { font: "11px system-ui, sans-serif", fillStyle: color.soft, strokeStyle: color.line });
    for (const value of [floor, (1 + floor) / 2, 1]) {
      const [, y] = at(value, 1);
      context.beginPath(); context.moveTo(34, y); context.lineTo(width - 6, y); context.stroke();
      context.fillText(`${Math.round(100 * value)} %`, 0, y + 4);
    }
    const below = `${count(last)} examples`;
    context.fillText(below, width - 6 - context.measureText(below).width, height - 4);
    Object.assign(context, { strokeStyle: color.accent, lineWidth: 2 });
    context.beginPath();
    for (const [, right, total] of history) context.lineTo(...at(right, total));
    context.stroke();
  }

  async function refresh() {
    const begin = performance.now();
    stats = await call("/v1/stats");
    showStats();
    const forest = await call(plane === null ? "/v1/forest" : `/v1/forest?plane=${plane}`);
    plane = forest.plane;
    const shown = forest.points.length < forest.examples ? `${count(forest.points.length)} of ${count(forest.examples)} examples, evenly by age` : "";
    const where = forest.is_projected ? "projected onto the first two principal axes at the time this page was opened; regions are those of the plane" : "";
    find("seen").textContent = forest.examples ? [shown, where].filter(Boolean).join("; ") : "appears here as soon as examples with labels are learned";
    canvas.show(forest);
    showStats(); // the forest determines which classes a click can learn
    took = performance.now() - begin;
    suspects.refresh();
    search.refresh();
  }

  find("edit").addEventListener("change", () => { showStats(); suspects.show(); search.show(); });
  find("store").hidden = false;
  follow(() => { // several events at once cause one refresh
    if (waiting) return;
    waiting = true;
    setTimeout(() => { waiting = false; refresh().catch(() => {}); }, Math.max(150, 3 * took));
  }, refresh);
}
