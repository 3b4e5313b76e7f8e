// Finds examples by key, with buttons that correct or forget them.

import { call, latest } from "./api.js";
import { describeRow, make } from "./parts.js";

const SHOWN = 8;

export class SearchList {
  // `code` returns the number of a class; `ask` sends a change and shows its error.
  constructor({ code, canEdit, ask }) {
    Object.assign(this, { code, canEdit, ask, found: [], classes: [], kind: "text" });
    this.input = document.getElementById("search-key");
    this.list = document.getElementById("search-found");
    this.note = document.getElementById("search-note");
    this.refresh = latest(() => this.find());
    this.input.addEventListener("input", () => this.refresh());
    document.getElementById("search").addEventListener("submit", (event) => { event.preventDefault(); this.refresh(); });
  }

  setClasses(stats) {
    this.kind = stats.labels;
    this.classes = Object.keys(stats.classes);
    document.getElementById("search-classes").replaceChildren(...this.classes.map((name) => make("option", { value: name })));
  }

  async find() {
    const text = this.input.value.trim();
    try {
      this.found = text ? (await call("/v1/search", { key: text, n: SHOWN + 1 })).examples : [];
      this.error = "";
    } catch (error) {
      Object.assign(this, { found: [], error: error.message });
    }
    this.show();
  }

  show() {
    if (this.list.contains(document.activeElement) && document.activeElement.value) return; // a label is being typed
    const text = this.input.value.trim();
    this.note.textContent = this.error || (this.found.length && !this.canEdit() ? "to correct or forget them, tick the box above" : "");
    const rows = this.found.slice(0, SHOWN).map((one) => this.row(one));
    if (this.found.length > SHOWN) rows.push(make("li", { className: "soft" }, "and more: type more of the key."));
    if (text && !rows.length && !this.error) rows.push(make("li", { className: "soft" }, "No key begins with this text."));
    this.list.replaceChildren(...rows);
  }

  // Returns a label of the store's type, or null if the text is not one.
  label(text) {
    if (this.kind === "text") return text;
    if (this.kind === "boolean") return { true: true, false: false }[text] ?? null;
    return text !== "" && Number.isFinite(Number(text)) ? Number(text) : null;
  }

  row(one) {
    const disabled = !this.canEdit();
    const { short, whole } = describeRow(one.row);
    const input = make("input", { disabled, autocomplete: "off", placeholder: "new label", ariaLabel: `New label of ${one.key}` });
    input.setAttribute("list", "search-classes");
    const correct = make("button", { type: "submit", disabled }, "Correct");
    const forget = make("button", { type: "button", disabled, title: `Forget ${one.key}` }, "Forget");
    const send = async (path, body) => {
      for (const element of [input, correct, forget]) element.disabled = true;
      input.value = "";
      await this.ask(path, body);
      this.refresh();
    };
    const form = make("form", { className: "group" }, input, correct, forget);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const label = this.label(input.value.trim());
      if (label === null || label === "") { input.focus(); return; }
      send("/v1/correct", { key: one.key, label });
    });
    forget.addEventListener("click", () => { // the second click forgets, as that cannot be undone
      if (forget.dataset.asked) { send("/v1/forget", { keys: [one.key] }); return; }
      forget.dataset.asked = "yes";
      forget.textContent = "Really forget?";
      setTimeout(() => { delete forget.dataset.asked; forget.textContent = "Forget"; }, 4000);
    });
    const label = one.label === null ? make("span", { className: "soft" }, "no label") : make("b", { className: `k${this.code(one.label) % 8}` }, String(one.label));
    return make("li", {}, make("span", {}, make("code", {}, one.key), make("small", { className: "soft features", title: whole }, short)), label, form);
  }
}
