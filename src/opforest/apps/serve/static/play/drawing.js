// A drawing: examples in the order in which they were learned, and the three forests that learned them.

import { DIFTForest, OPFIForest } from "./approximate.js";
import { compareForests, ExactForest, fitForest } from "./forest.js";

// The plane is a lattice, so that squared distances are whole numbers and ties are exact.
export const WIDTH = 800, HEIGHT = 600, CLASSES = 4, MAX_EXAMPLES = 400;

const place = (value, limit) => Math.min(limit, Math.max(0, Math.round(value)));

export const makeExample = (x, y, label) => ({ x: place(x, WIDTH - 1), y: place(y, HEIGHT - 1), label });

export class Drawing {
  // The first `begin` examples are learned together, the others one after another. Examples are numbered in the
  // order of arrival, unless a link says otherwise.
  constructor({ examples, begin = 1, names = examples.map((_, i) => i + 1), lastName = examples.length }) {
    this.begin = begin;
    this.outcomes = {};
    this.names = [];
    this.forests = { exact: new ExactForest(examples.slice(0, begin)) };
    this.learnAgain(examples.slice(0, begin));
    this.prove();
    for (const example of examples.slice(begin)) this.learn(example, false);
    if (examples.length > begin) this.prove();
    Object.assign(this, { names, lastName });
  }

  get examples() {
    return this.forests.exact.examples;
  }

  // With `proving`, compares the result with a forest fitted again.
  learn(example, proving = true) {
    this.names.push(++this.lastName);
    if (!this.examples.length) {
      this.forests.exact = new ExactForest([example]);
      this.learnAgain([example]);
    } else {
      for (const [name, forest] of Object.entries(this.forests)) this.outcomes[name] = forest.learn(example);
    }
    if (proving) this.prove();
  }

  forget(index) {
    this.names.splice(index, 1);
    this.forests.exact.forget(index);
    this.learnAgain(this.examples);
    this.prove();
  }

  // OPFI and DIFT cannot forget, so they learn all examples again.
  learnAgain(examples) {
    for (const [name, Forest] of Object.entries({ opfi: OPFIForest, dift: DIFTForest })) {
      this.forests[name] = new Forest(examples.slice(0, this.begin));
      for (const example of examples.slice(this.begin)) this.forests[name].learn(example);
      this.outcomes[name] = "learned again";
    }
  }

  // Fits a forest again, without any knowledge of the old one, and compares.
  prove() {
    const fitted = fitForest(this.examples);
    this.proof = { ...compareForests(this.forests.exact, fitted), updated: this.forests.exact.measured, fitted: fitted.measured };
  }
}
