// A form: values of the features in, the class, its probability and the reason out.

import { call } from "./api.js";
import { make, percent, showPath, symbol } from "./parts.js";

// With more features there is one field for a row, separated by commas.
const MAX_FIELDS = 16, SHOWN = 5;

export class AskForm {
  // `code` returns the number of a class.
  constructor({ code }) {
    Object.assign(this, { code, names: null, isPrepared: false });
    this.form = document.getElementById("ask");
    this.fields = document.getElementById("ask-fields");
    this.message = document.getElementById("ask-message");
    this.result = document.getElementById("ask-result");
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.ask(); });
    document.getElementById("ask-latest").addEventListener("click", () => this.fill());
  }

  // Shows a field for each feature, once they are known.
  show(stats) {
    this.isPrepared = stats.preparation !== null;
    this.latest = stats.last[0]?.key;
    document.getElementById("ask-panel").hidden = !stats.features;
    const names = stats.feature_names ?? Array.from({ length: stats.features ?? 0 }, (_, i) => `feature ${i + 1}`);
    if (this.names?.join() === names.join()) return;
    this.names = names;
    const field = (name) => make("label", {}, make("span", { title: name }, name), make("input", { autocomplete: "off", inputMode: this.isPrepared ? "text" : "decimal" }));
    const row = () => make("label", { className: "whole" }, make("span", {}, `${names.length} values, separated by commas: ${names.slice(0, 3).join(", ")}, …`), make("textarea", { rows: 3 }));
    this.fields.replaceChildren(...(names.length > MAX_FIELDS ? [row()] : names.map(field)));
  }

  inputs() { return [...this.fields.querySelectorAll("input, textarea")]; }

  values() {
    const texts = this.names.length > MAX_FIELDS ? this.inputs()[0].value.split(",") : this.inputs().map((input) => input.value);
    return texts.map((text) => text.trim()).map((text) => {
      if (text === "") return null;
      const value = Number(text.replace("−", "-"));
      return Number.isFinite(value) ? value : text;
    });
  }

  // Fills in the latest example, as a start.
  async fill() {
    const found = (await call("/v1/search", { key: this.latest ?? "", n: 1 }).catch(() => ({ examples: [] }))).examples;
    if (!found.length) return;
    const cells = found[0].row.map((cell) => (cell === null ? "" : String(cell)));
    const inputs = this.inputs();
    if (inputs.length === 1 && cells.length > 1) inputs[0].value = cells.join(", ");
    else inputs.forEach((input, i) => { input.value = cells[i]; });
    this.ask();
  }

  async ask() {
    const row = this.values();
    const empty = row.indexOf(null);
    if (!this.isPrepared && empty >= 0) {
      this.tell(`Fill in ${this.names[empty] ?? "all values"}.`);
      return;
    }
    try {
      const [answer, path] = await Promise.all([call("/v1/predict", { rows: [row], proba: true }), call("/v1/explain", { row })]);
      this.tell("");
      this.showAnswer(answer, path);
    } catch (error) {
      this.tell(error.message.replace(/^row 0,? ?/, ""));
    }
  }

  tell(text) {
    this.message.textContent = text;
    if (text) this.result.replaceChildren();
  }

  showAnswer({ labels: [label], classes, probabilities: [probabilities] }, path) {
    const order = classes.map((name, i) => ({ name, p: probabilities[i] })).sort((a, b) => b.p - a.p);
    const mine = order.find((one) => String(one.name) === String(label));
    const bars = order.slice(0, SHOWN).map(({ name, p }) => make("li", { className: `k${this.code(name) % 8}` },
      make("span", { className: "name", title: String(name) }, symbol(this.code(name)), make("b", {}, String(name))),
      make("progress", { max: 1, value: p }), make("span", { className: "count" }, percent(p))));
    const why = make("div", { className: "path" });
    showPath(why, path, this.code);
    this.result.replaceChildren(
      make("p", { className: "answer" }, make("strong", { className: `k${this.code(label) % 8}` }, String(label)), ` with probability ${percent(mine?.p ?? 0)}`),
      make("ul", { className: "bars" }, ...bars), make("h3", {}, "Why?"), why);
  }
}
