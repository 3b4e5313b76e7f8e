// One forest on the page: its drawing, its numbers and what its last update did.

import { make } from "../parts.js";
import { PlayCanvas } from "./canvas.js";
import { OUTCOMES } from "./text.js";

const TITLES = {
  exact: ["Exact", "equal to the refitted forest"],
  opfi: ["OPFI", "the algorithm of Ponti & Riva"],
  dift: ["DIFT", "the baseline: every new example is a prototype"],
};

export class Panel {
  constructor(name, actions) {
    const [title, subtitle] = TITLES[name], canvas = make("canvas", { tabIndex: 0, role: "img" });
    canvas.setAttribute("aria-label", `${title}: a forest to draw on. Arrows move the cursor, Enter learns, Delete forgets.`);
    Object.assign(this, { name, title });
    this.notice = make("p", { className: "notice", role: "status" });
    this.numbers = make("dl", { className: "numbers" });
    this.message = make("p", { className: "message" });
    this.element = make("article", { className: name === "exact" ? "panel main" : "panel", id: `panel-${name}` },
      make("header", {}, make("h2", {}, `${title} `, make("small", {}, subtitle))),
      make("div", { className: "stage" }, canvas, this.notice), this.numbers, this.message);
    this.canvas = new PlayCanvas(canvas, {
      act: (x, y, key) => actions.act(this, x, y, key),
      forget: (key) => actions.forget(key, this),
      hover: (x, y) => actions.hover(this, x, y),
      isForgetting: actions.isForgetting,
    });
  }

  // Shows a forest; `labels` are the exact forest's classes of the plane. Returns this forest's.
  show(drawing, labels) {
    const forest = drawing.forests[this.name], own = this.canvas.showForest(forest, [...drawing.names]);
    const equal = labels ? own.filter((label, i) => label === labels[i]).length / own.length : 1;
    const facts = {
      Examples: forest.examples.length,
      Prototypes: forest.prototypes.length,
      "Same class as exact": `${(Math.floor(1000 * equal) / 10).toFixed(equal < 1 ? 1 : 0)} %`,
    };
    this.numbers.replaceChildren(...Object.entries(facts).map(([term, value]) =>
      make("div", {}, make("dt", {}, term), make("dd", {}, String(value)))));
    const [title, text] = OUTCOMES[drawing.outcomes[this.name]]
      ?? ["", `Equal to the forest fitted again on all examples: ${drawing.proof.different} differences.`];
    this.message.replaceChildren(...(title ? [make("b", {}, title), " "] : []), text);
    return own;
  }
}
