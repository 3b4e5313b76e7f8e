// Examples whose labels are probably wrong, with buttons that correct or forget them.

import { call } from "./api.js";
import { describeRow, make, percent } from "./parts.js";

const SHOWN = 8;

export class SuspectList {
  // `code` returns the number of a class; `ask` sends a change and shows its error.
  constructor({ code, canEdit, ask }) {
    Object.assign(this, { code, canEdit, ask, found: [], isAsking: false, isOld: false });
    this.list = document.getElementById("suspects");
    this.note = document.getElementById("suspects-note");
  }

  // All examples are judged again after a change, so at most a fifth of the time is spent on it.
  async refresh() {
    this.isOld = true;
    if (this.isAsking) return;
    this.isAsking = true;
    while (this.isOld) {
      this.isOld = false;
      const begin = performance.now();
      try {
        this.found = (await call(`/v1/suspects?n=${SHOWN}`)).suspects;
        this.show();
      } catch (error) {
        this.note.textContent = error.message;
      }
      const pause = 4 * (performance.now() - begin);
      await new Promise((done) => setTimeout(done, pause));
    }
    this.isAsking = false;
  }

  show() {
    const hint = this.canEdit() ? "" : "; to correct or forget them, tick the box above";
    this.note.textContent = this.found.length ? `given → suggested label, and its probability${hint}` : "";
    if (!this.found.length) {
      this.list.replaceChildren(make("li", { className: "soft" }, "None: the neighbors of each example support its label."));
      return;
    }
    this.list.replaceChildren(...this.found.map((one) => this.row(one)));
  }

  row(one) {
    const label = (value) => make("b", { className: `k${this.code(value) % 8}` }, String(value));
    const { short, whole } = describeRow(one.row);
    const agreeing = one.voters.filter((voter) => voter.label === one.suggested).length;
    const reason = `${agreeing} of ${one.voters.length} nearest examples have the label ${one.suggested}`;
    const button = (text, title, path, body) => {
      const element = make("button", { type: "button", disabled: !this.canEdit(), title }, text);
      element.addEventListener("click", async () => {
        for (const other of element.parentElement.children) other.disabled = true;
        await this.ask(path, body);
        this.refresh();
      });
      return element;
    };
    return make("li", {},
      make("span", {}, make("code", {}, one.key), make("small", { className: "soft features", title: whole }, short)),
      make("span", { className: "change", title: reason }, label(one.label), "→", label(one.suggested)),
      make("span", { className: "probability", title: "The probability of the suggested label" }, percent(one.probability)),
      make("span", { className: "group" },
        button("Correct", `Change the label of ${one.key} to ${one.suggested}`, "/v1/correct", { key: one.key, label: one.suggested }),
        button("Forget", `Forget ${one.key}`, "/v1/forget", { keys: [one.key] })));
  }
}
