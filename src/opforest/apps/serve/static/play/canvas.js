// A forest to draw on: learning and forgetting are different gestures, and a path explains each point.

import { ForestCanvas } from "../draw.js";
import { HEIGHT, WIDTH } from "./drawing.js";
import { classifyGrid } from "./query.js";

const GRID = [160, 120];
const REACH = { mouse: 9, pen: 14, touch: 24, keys: 12 }; // pixels within which an example is meant

export class PlayCanvas extends ForestCanvas {
  // `act(x, y, key)` is a click, `forget(key)` another gesture; `key` is the example that is meant, or null.
  constructor(canvas, { act, forget, hover, isForgetting }) {
    const code = (label) => label - 1;
    super(canvas, { code, click: (x, y) => act(x, y, this.keyAt(...this.pixels(x, y), this.reach)), hover });
    Object.assign(this, { act, forget, isForgetting, reach: REACH.mouse });
    const look = ({ pointerType }) => { this.reach = REACH[pointerType] ?? REACH.mouse; };
    for (const type of ["pointermove", "pointerdown"]) canvas.addEventListener(type, look);
    canvas.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      forget(this.keyAt(event.clientX - box.left, event.clientY - box.top, this.reach));
    });
    canvas.addEventListener("blur", () => { this.cursor = null; this.paint(); });
  }

  pixels(x, y) {
    const { width, height } = this.canvas.getBoundingClientRect();
    return this.toScreen([x, y], width, height);
  }

  move(event, click, hover) {
    this.reach = REACH.keys;
    if (event.key !== "Enter" && event.key !== "Delete" && event.key !== "Backspace") {
      super.move(event, click, hover);
      return;
    }
    const { width, height } = this.canvas.getBoundingClientRect();
    this.cursor ??= [width / 2, height / 2];
    const key = this.keyAt(...this.cursor, this.reach);
    if (event.key === "Enter") this.act(...this.toData(...this.cursor), key);
    else this.forget(key);
    event.preventDefault();
  }

  // Shows a forest; `keys` name its examples.
  showForest(forest, keys) {
    const { examples, edges, predecessor, prototypes } = forest;
    const { labels, nearest } = classifyGrid(forest, GRID, [WIDTH, HEIGHT]);
    this.surprises = labels.map((label, i) => label !== nearest[i]);
    this.show({
      keys, predecessor, prototypes, bounds: [0, 0, WIDTH, HEIGHT], grid: GRID, regions: labels, classes: [1, 2, 3, 4],
      points: examples.map(({ x, y }) => [x, y]),
      label: examples.map(({ label }) => label - 1),
      cut: edges.filter(({ low, high }) => examples[low].label !== examples[high].label).map(({ low, high }) => [low, high]),
    });
    return labels;
  }

  // Dots where the nearest example has another class than the forest gives.
  drawRegions(context, width, height, color, code) {
    super.drawRegions(context, width, height, color, code);
    const [columns, rows] = GRID, size = Math.min(1.1, width / 500);
    context.fillStyle = color.ink;
    context.globalAlpha = 0.5;
    this.surprises.forEach((isSurprise, i) => {
      const column = i % columns, row = Math.floor(i / columns);
      if (!isSurprise || row % 2 || (column + row / 2) % 2) return;
      context.beginPath();
      context.arc(((column + 0.5) / columns) * width, ((row + 0.5) / rows) * height, size, 0, 2 * Math.PI);
      context.fill();
    });
    context.globalAlpha = 1;
  }

  // The longest step is marked, and so is the nearest example if it is of another class.
  drawPath(context, color, width, height) {
    if (!this.path) return;
    const { steps, nearest, label, cost, at } = this.path;
    if (nearest.label !== label) {
      context.setLineDash([2, 5]);
      this.line(context, this.toScreen(nearest.at, width, height), this.toScreen(at, width, height), color.ink, 2, 0.9);
      context.setLineDash([]);
    }
    const longest = steps.findIndex((step, i) => i && step.distance === cost);
    const ends = longest > 0 && [steps[longest - 1], steps[longest]].map((step) => this.toScreen(step.at, width, height));
    if (ends) this.line(context, ...ends, color.glow, 13, 0.9);
    super.drawPath(context, color, width, height);
    if (ends) this.writeLength(context, color, ends, cost);
  }

  writeLength(context, color, [[ax, ay], [bx, by]], cost) {
    const flip = ax === bx || (by - ay) / (bx - ax) > 0 ? 1 : -1;
    const length = Math.hypot(bx - ax, by - ay) || 1;
    const [nx, ny] = [(Math.abs(by - ay) / length) * 20, (-flip * Math.abs(bx - ax) / length) * 16];
    context.font = "600 13px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineWidth = 4;
    context.strokeStyle = color.halo;
    context.fillStyle = color.ink;
    const place = [(ax + bx) / 2 + nx, (ay + by) / 2 + ny];
    context.strokeText(cost.toFixed(0), ...place);
    context.fillText(cost.toFixed(0), ...place);
  }

  // Circles the example that a click would forget.
  drawCursor(context, color) {
    super.drawCursor(context, color);
    const key = this.cursor && this.isForgetting() ? this.keyAt(...this.cursor, this.reach) : null;
    if (key === null) return;
    const { width, height } = this.canvas.getBoundingClientRect();
    const [x, y] = this.toScreen(this.data.points[this.data.keys.indexOf(key)], width, height);
    context.strokeStyle = color.bad;
    context.lineWidth = 2.5;
    context.beginPath();
    context.arc(x, y, 13, 0, 2 * Math.PI);
    context.stroke();
  }
}
